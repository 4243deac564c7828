"""Calls that a pattern may match: its captures filled with operands and attrs of many kinds, values at the ends.

Every operand has one dtype unless the rule's `samples` say otherwise, and constants are of one number, or of several.
Values of float operands hold NaN, infinities, both zeros, the least and greatest subnormal and normal numbers; those of
ints their ends.  Two operands meet in every pair of such values.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..base.errors import OpgenError
from ..base.vocabulary import DTYPE_CLASSES, DTYPES, DType
from ..declaration import index  # noqa: F401  # which finds ops by name
from ..declaration.patterns import (
    CONSTANT,
    KNOWN,
    Apply,
    Capture,
    Fields,
    Literal,
    Pattern,
    Rest,
)
from ..ir import Call, Constant, Expr, Tuple, Var
from ..operator import Op, TensorType
from ..transform.build import CAST, EXPAND, NAMED, RESHAPE, SYMBOLS, TRANSPOSE
from ..transform.pattern import call, operator
from .data import Spec

_DTYPES: Final = (
    "float32", "int32", "bool", "float16", "int8", "uint8", "float64", "bfloat16", "int64", "uint32",
)  # fmt: skip
_SHAPES: Final = ((2,), (2, 3), (2, 3, 4), (25, 27))  # in the last all pairs of special values have room
_FEW: Final = ("float32", "int32")  # dtypes in the shapes between the first and the last
_ROUNDS: Final = 4  # of values, for one call
_ROUNDS_OF_GIVEN: Final = 24  # where the rule states its samples
_MOST: Final = 600  # calls of one rule
_BITS: Final = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>", "truncdiv": "/"}
_COPY: Final = "copy"
_FLOATS: Final = (2.0, 0.0, -0.0, 1.0, -1.0, 0.5, -4.0, 3.0, 0.1, np.inf, -np.inf, np.nan)
_ORDINARY: Final = (np.pi, 1 / 3, -0.7, 10.0, 1e3 / 7, 1.9999, 5.1e-3)  # with fractions that round
_INTS: Final = (2, 0, 1, -1, 3, 7)
_ATTRS: Final[Mapping[str, Sequence[object]]] = {
    "bool": (False, True),
    "int": (0, 1, -1),
    "float": (0.0, 1.0, -1.0, 0.5, 6.0),
    "dtype": tuple(DType(name) for name in _DTYPES),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A call, its variables, and the ids of what stands for the pattern's captures."""

    call: Call
    variables: tuple[Var, ...]
    leaves: frozenset[int]


def samples_of(pattern: Apply, given: Mapping[str, tuple[str, ...]]) -> Iterator[Sample]:
    """Calls that may be of a pattern, the smallest first; those that no op takes are left out."""
    kinds = captures(pattern)
    own = {name: _given(kinds[name], texts) for name, texts in given.items()}
    found = 0
    variants = (False, True) if _has_reshape(pattern) else (False,)
    for shape, dtype, is_back in itertools.product(_SHAPES, map(DType, _DTYPES), variants):
        if found >= _MOST:
            return
        if shape in _SHAPES[1:-1] and str(dtype) not in _FEW:
            continue
        choices = [
            own[name] if name in own else list(_choices(kind, shape, dtype)) for name, kind in kinds.items()
        ]
        for chosen in itertools.islice(itertools.product(*choices), _MOST):
            filled = {name: _filled(name, each) for name, each in zip(kinds, chosen, strict=True)}
            try:
                made = _Builder(filled, pattern, is_back).expr(pattern)
            except (OpgenError, KeyError):
                continue
            assert isinstance(made, Call)
            leaves = [part for each in filled.values() for part in _parts(each)]
            variables = tuple(part for part in leaves if isinstance(part, Var))
            yield Sample(made, variables, frozenset(map(id, leaves)))
            found += 1
        if own and all(name in own for name, kind in kinds.items() if kind.startswith("operand")):
            return


def captures(pattern: Pattern | Rest) -> dict[str, str]:
    """Name -> what may stand there: `operand:<kind>`, `rest`, `attr:<kind>` (of the op's field)."""
    match pattern:
        case Capture(name, kind):
            return {name: f"operand:{kind}"}
        case Rest(name):
            return {name: "rest"}
        case Fields(parts):
            return {key: value for part in parts for key, value in captures(part).items()}
        case Apply(_, args, attrs, _):
            if not pattern.is_form:
                Op.get(pattern.name)  # which raises RegistryError where there is none
            found = {key: value for arg in args for key, value in captures(arg).items()}
            named = [(name, value.name) for name, value in attrs if isinstance(value, Capture)]
            return {**found, **{value: f"attr:{_attr_kind(pattern, name)}" for name, value in named}}


def _has_reshape(pattern: Pattern | Rest) -> bool:
    if isinstance(pattern, Apply):
        return (pattern.is_form and pattern.name == "reshape") or any(map(_has_reshape, pattern.args))
    return False


def _attr_kind(pattern: Apply, name: str) -> str:
    if pattern.is_form:
        return "dtype" if name == CAST[1] else name
    kind = Op.get(pattern.name).get_attr("declaration").attrs
    if kind is None:
        return ""
    return next(
        (field.kind if name != TRANSPOSE[1] else name for field in kind.fields() if field.name == name), ""
    )


def special_values(dtype: DType) -> np.ndarray:
    """The values of a dtype that rules go wrong at."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.float_format is None:
        ends = [number for number in (*_INTS, dtype.lowest, dtype.highest) if dtype.lowest <= number]
        return np.array(ends, object).astype(dtype.numpy)
    form = dtype.float_format
    ends = [form.tiny, -form.tiny, form.step, -form.step, form.highest, -form.highest]
    with np.errstate(all="ignore"):
        return np.array([*_FLOATS, *_ORDINARY, *ends], np.float64).astype(dtype.numpy)


def arrays_for(variables: Sequence[Var], is_given: bool, seed: int) -> Iterator[dict[Var, np.ndarray]]:
    """Arrays for variables: special values, as many pairs of them in the first two as there is room for.

    `seed`: where among the pairs they begin.
    """
    kinds = [var.checked_type for var in variables if isinstance(var.checked_type, TensorType)]
    columns = [special_values(kind.dtype) for kind in kinds]
    if not columns:
        yield {}
        return
    rows = list(itertools.product(*[range(len(column)) for column in columns[:2]]))
    size = max([int(np.prod(kind.concrete_shape)) for kind in kinds] + [1])
    starts = range(0, len(rows), size)[: _ROUNDS_OF_GIVEN if is_given else _ROUNDS]
    for start in [seed * size + each for each in starts]:
        place = [rows[(start + k) % len(rows)] for k in range(size)]
        found = {}
        for number, (var, column) in enumerate(zip(variables, columns, strict=True)):
            at = [p[number] if number < 2 else (p[0] + 3 * p[-1] + number) % len(column) for p in place]
            shape = kinds[number].concrete_shape
            found[var] = np.resize(column[at], shape)
        yield found


def _choices(kind: str, shape: tuple[int, ...], dtype: DType) -> Iterator[Any]:
    what, _, detail = kind.partition(":")
    if what == "rest":
        yield ()
        yield (TensorType(shape, dtype),)
    elif what == "attr":
        if detail == TRANSPOSE[1]:
            yield from itertools.permutations(range(len(shape)))
        yield from _ATTRS.get(detail, ())
    elif detail in (CONSTANT, KNOWN):
        values = special_values(dtype)
        yield from [Constant(np.asarray(number)) for number in values]
        yield Constant(np.resize(values[2:4] if len(values) > 3 else values, shape))
    elif not detail or dtype in DTYPE_CLASSES.get(detail, ()) or detail == str(dtype):
        yield TensorType(shape, dtype)


def _given(kind: str, texts: Sequence[str]) -> list[Any]:
    """What a rule's own samples state.  Raises ValueError for a text that is none."""
    if kind.startswith("attr"):
        return [_attr(text) for text in texts]
    specs = [Spec.parse(text) for text in texts]
    if kind == "rest":
        return [tuple(spec.type for spec in specs)]
    if kind.partition(":")[2] in (CONSTANT, KNOWN):
        return [Constant(np.resize(special_values(spec.dtype)[2:], spec.shape)) for spec in specs]
    return [spec.type for spec in specs]


def _attr(text: str) -> object:
    if text in DTYPES:
        return DType(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _filled(name: str, chosen: object) -> object:
    """What stands for a capture: variables of types, else the constant or the attr's value that was chosen."""
    if isinstance(chosen, TensorType):
        return Var(name, chosen)
    if isinstance(chosen, tuple) and all(isinstance(part, TensorType) for part in chosen):
        return tuple(Var(f"{name}{k}", part) for k, part in enumerate(chosen))
    return chosen


def _parts(filled: object) -> tuple[Expr, ...]:
    if isinstance(filled, tuple):
        return tuple(part for part in filled if isinstance(part, Expr))
    return (filled,) if isinstance(filled, Expr) else ()


class _Builder:
    """A pattern as an expression over what fills its captures."""

    def __init__(self, filled: Mapping[str, Any], root: Pattern, is_back: bool) -> None:
        self.filled = filled
        self.root = root
        self.is_back = is_back  # reshapes end in the shape that they began with

    def expr(self, pattern: Pattern) -> Expr:
        match pattern:
            case Capture(name, _):
                found = self.filled[name]
                assert isinstance(found, Expr)
                return found
            case Fields(parts):
                listed = [self.filled[p.name] if isinstance(p, Rest) else (self.expr(p),) for p in parts]
                return Tuple(tuple(part for each in listed for part in each))
            case Apply(name, args, attrs, is_form):
                operands = [self.expr(arg) for arg in args]
                values = {
                    key: value.value if isinstance(value, Literal) else self.filled[value.name]
                    for key, value in attrs
                }
                if is_form:
                    return self.form(name, operands, values, pattern is self.root)
                return call(name, *operands, out=None, **values)

    def form(self, name: str, operands: Sequence[Expr], attrs: Mapping[str, Any], is_root: bool) -> Expr:
        """The op that has a form by what it is called, or by the operator that it is bound to."""
        if name == "permutation":
            return call(TRANSPOSE[0], *operands, axes=attrs[TRANSPOSE[1]])
        if name == "conversion":
            return call(CAST[0], *operands, dtype=attrs[CAST[1]])
        if name == "reshape":
            if not is_root:
                return call(EXPAND[0], *operands, axis=0)
            inner = operands[0]
            kind = (inner.args[0] if isinstance(inner, Call) and self.is_back else inner).checked_type
            assert isinstance(kind, TensorType)
            shape = kind.concrete_shape if self.is_back else kind.concrete_shape[::-1]
            return call(RESHAPE[0], inner, newshape=shape)
        if name == _COPY:
            return call(_COPY, *operands)
        if name in NAMED:
            return call(NAMED[name], *operands)
        return operator({**SYMBOLS, **_BITS}[name], *operands)
