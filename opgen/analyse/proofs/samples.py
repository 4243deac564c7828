"""Sample signatures on which a declaration's code is run: its tests, and further ranks, shapes and dtypes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

from opgen_runtime.base import arith
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPE_CLASSES, dataclass
from opgen_runtime.operator import types
from opgen_runtime.operator.types import TensorType

from ...diagnostics import Place
from ...document.kinds import KINDS
from ...model import AttrValue, CheckedAttr, CheckedCase, CheckedSignature
from ..signatures.values import parse_operand
from .located import PYTHON_ERRORS

OperandType = TensorType | tuple[TensorType, ...] | None

_PREFERRED: Final = ("float32", "int32", "bool", "int64", "uint8")
_SHAPES: Final = ((3, 4), (5,), (2, 3, 4), (), (2, 3, 4, 5))
_SIZES: Final = (4, 6, 3, 5, 2, 7)
MAX_SAMPLES: Final = 40


@dataclass(frozen=True, slots=True)
class Sample:
    """One signature.  `place` is that of the test it comes from; None: made up, so it need not fit."""

    operands: tuple[OperandType, ...]
    attrs: Mapping[str, AttrValue]
    place: Place | None = None
    case: int | None = None
    symbolic: bool = field(default=False)
    _written: str | None = field(default=None, init=False, compare=False)

    @property
    def key(self) -> Hashable:
        """Equal for the same signature, wherever it comes from."""
        return self.operands, self.attrs_text

    @property
    def attrs_text(self) -> str:
        """Equal for equal attrs of the same types."""
        if self._written is None:
            object.__setattr__(self, "_written", repr(sorted(self.attrs.items())))
        assert self._written is not None
        return self._written

    def describe(self, names: Sequence[str]) -> str:
        """`data: Tensor[(3, 4), float32], axis=1`."""
        shown = []
        for name, operand in zip(names, self.operands, strict=True):
            text = ", ".join(map(str, operand)) if isinstance(operand, tuple) else str(operand)
            shown.append(f"{name}: {f'({text})' if isinstance(operand, tuple) else text}")
        shown += [f"{name}={value!r}" for name, value in self.attrs.items()]
        return ", ".join(shown)


def case_samples(cases: Sequence[CheckedCase]) -> Iterator[Sample]:
    """One sample a test."""
    for number, case in enumerate(cases):
        operands = tuple(_operand(value) for value in case.inputs.values())
        yield Sample(operands, case.attrs, case.place, number)


def varied_sample(case: CheckedCase) -> Sample:
    """The sample of a case that is made up: it stands nowhere."""
    return Sample(tuple(map(_operand, case.inputs.values())), case.attrs, None, 0)


def symbolic(sample: Sample, symbols: list[arith.Var]) -> Sample:
    """The same signature with symbolic dims: one a size, but 0 and 1 stay.

    The dims are the first of `symbols`, which grows: samples that differ in sizes alone become the same one.
    """
    dims: dict[int, arith.Var] = {}

    def turn(type_: TensorType) -> TensorType:
        return TensorType(tuple([_dim(size, dims, symbols) for size in type_.shape]), type_.dtype)

    return Sample(
        tuple([_mapped(operand, turn) for operand in sample.operands]), sample.attrs, None, None, True
    )


def _mapped(operand: OperandType, turn: Callable[[TensorType], TensorType]) -> OperandType:
    if isinstance(operand, TensorType):
        return turn(operand)
    return operand if operand is None else tuple([turn(item) for item in operand])


def _dim(size: Any, dims: dict[int, arith.Var], symbols: list[arith.Var]) -> Any:
    if not isinstance(size, int) or size < 2:
        return size
    if size not in dims:
        if len(dims) == len(symbols):
            symbols.append(arith.dim(f"n{len(symbols)}"))
        dims[size] = symbols[len(dims)]
    return dims[size]


def _operand(value: str | tuple[str, ...] | None) -> OperandType:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_type(item) for item in value)
    return _type(value)


@lru_cache(maxsize=4096)  # the variations of a test have most operands in common
def _type(text: str) -> TensorType:
    dtype, shape = parse_operand(text)
    return TensorType(shape, dtype)


# -------------------------------------------------------------------------- made up


def other_dtypes(sample: Sample, signature: CheckedSignature) -> Iterator[Sample]:
    """The sample with each other dtype that each dtype variable, and each input without one, admits."""
    groups: dict[str, list[int]] = {}
    for position, operand in enumerate(signature.inputs):
        known = isinstance(operand.dtype, str) and operand.dtype in signature.dtypes
        groups.setdefault(str(operand.dtype) if known else f"input {operand.name}", []).append(position)
    for members in groups.values():
        first = signature.inputs[members[0]]
        for dtype in _dtypes(first.dtype, signature):
            operands = list(sample.operands)
            for position in members:
                operands[position] = _with_dtype(operands[position], dtype)
            if tuple(operands) != sample.operands:
                yield Sample(tuple(operands), sample.attrs, sample.place)


def _with_dtype(operand: OperandType, dtype: str) -> OperandType:
    return _mapped(operand, lambda type_: TensorType(type_.shape, dtype))


def _dtypes(dtype: str | tuple[str, ...], signature: CheckedSignature) -> tuple[str, ...]:
    """The dtypes that a declared dtype admits."""
    if isinstance(dtype, tuple):
        return dtype
    if dtype in signature.dtypes:
        return _dtypes(signature.dtypes[dtype], signature)
    return tuple(map(str, DTYPE_CLASSES[dtype])) if dtype in DTYPE_CLASSES else (dtype,)


def made_up(
    signature: CheckedSignature, functions: types.Signature, attrs: Sequence[CheckedAttr]
) -> Iterator[Sample]:
    """Signatures of several ranks and attrs.  Many fit no declaration; those are passed over."""
    chosen = [_attr_values(attr) for attr in attrs]
    defaults = {attr.name: attr.default for attr in attrs if not attr.required}
    count = 0
    for shapes in _all_shapes(signature):
        operands = _operands(signature, functions, shapes, defaults)
        if operands is None:
            continue
        for values in itertools.islice(itertools.product(*chosen), 6):
            given = {attr.name: value for attr, value in zip(attrs, values, strict=True) if value is not ...}
            yield Sample(operands, given)
            count += 1
            if count == MAX_SAMPLES:
                return


def _all_shapes(signature: CheckedSignature) -> Iterator[Mapping[str, tuple[int, ...]]]:
    """A shape for each input without a pattern: all alike, then later ones broadcast."""
    free = [operand.name for operand in signature.inputs if operand.shape is None]
    if not free:
        yield from ({}, {"*": (2,)}, {"*": (2, 3)})
        return
    for shape in _SHAPES:
        yield dict.fromkeys(free, shape)
        if len(free) > 1 and shape:
            ones = (1, *shape[1:])
            yield {name: shape if position == 0 else ones for position, name in enumerate(free)}
            yield {name: shape if position == 0 else shape[1:] for position, name in enumerate(free)}


def _operands(
    signature: CheckedSignature,
    functions: types.Signature,
    shapes: Mapping[str, tuple[int, ...]],
    defaults: Mapping[str, Any],
) -> tuple[OperandType, ...] | None:
    """Types for all inputs; None if a pattern holds an equation that cannot be computed from those before it."""
    known: dict[str, Any] = dict(defaults)
    dims: dict[str, tuple[int, ...]] = {}
    found: list[OperandType] = []
    for operand, entries in zip(signature.inputs, functions.inputs, strict=True):
        if entries.shape is None:
            shape: tuple[int, ...] | None = shapes[operand.name]
        else:
            shape = _pattern(entries.shape, dims, known, shapes.get("*", ()))
        if shape is None:
            return None
        allowed = _dtypes(operand.dtype, signature)
        dtype = next((name for name in _PREFERRED if name in allowed), allowed[0])
        one = TensorType(shape, dtype)
        found.append((one, one) if operand.variadic else one)
        known[operand.name] = found[-1]
        if isinstance(operand.dtype, str):
            known.setdefault(operand.dtype, one.dtype)
    return tuple(found)


def _pattern(
    entries: Sequence[Any], dims: dict[str, tuple[int, ...]], known: dict[str, Any], starred: tuple[int, ...]
) -> tuple[int, ...] | None:
    """A shape for a pattern: fresh sizes for names, computed ones for equations."""
    shape: list[int] = []
    for entry in entries:
        if isinstance(entry, int):
            shape.append(entry)
        elif isinstance(entry, str) and entry.startswith("*"):
            shape += dims.setdefault(entry, starred)
            known[entry[1:]] = dims[entry]
        elif isinstance(entry, str):
            shape += dims.setdefault(entry, (_SIZES[len(dims) % len(_SIZES)],))
            known[entry] = dims[entry][0]
        else:
            value = _value(entry, known)
            if value is None:
                return None
            shape += value
    return tuple(shape)


def _value(entry: types.Static | types.Spread, known: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The dims of a computed entry, None if it needs what is not known or gives no dims."""
    code = entry.function.__code__
    needs = code.co_varnames[: code.co_argcount]
    if not all(name in known for name in needs):
        return None
    try:
        value = entry.function(*(known[name] for name in needs))
    except (OpgenError, *PYTHON_ERRORS):
        return None
    dims = value if isinstance(value, tuple) else (value,)
    return dims if all(isinstance(dim, int) and dim >= 0 for dim in dims) else None


def _attr_values(attr: CheckedAttr) -> tuple[Any, ...]:
    """A few values of an attr; `...` stands for its default."""
    if not attr.required:
        return (...,)
    if attr.choices:
        return attr.choices[:3]
    return KINDS[attr.kind].samples
