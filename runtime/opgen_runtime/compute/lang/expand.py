"""Calls of ops inside a compute function: `y = ops.softmax(x, axis=1)`.

The called op's own compute runs among the tensors of the caller, on the caller's tensors: what it defines are further
intermediates, as if its text stood there.  A call is bound and expanded where one of its results is first read, or at
the end, so that its operands may be defined below it, as any tensor may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, Protocol

from ...base.arith.expr import Shape
from ...base.errors import (
    AttrError,
    CallError,
    DTypeError,
    LanguageError,
    OpgenError,
    ShapeError,
    UndecidedError,
)
from ...base.vocabulary import DType
from ...operator import (
    Attrs,
    Binding,
    TensorType,
    bind,
    canonical_indices,
    parse_layout,
    stored_indices,
)
from .build import Builder, ComputeDeclaration, current_builder, prepare
from .failures import Poisoned
from .scalars import with_scalars
from .scope import current
from .separate import wide
from .tensors import Defined, Operand
from .weak import Value, cast, describe

_CODES: Final = (
    (AttrError, "bounds"),
    (ShapeError, "shape"),
    (DTypeError, "dtype"),
    (CallError, "call"),
    (UndecidedError, "undecided"),
)


Expanded = Operand | Defined
"""A result of a call; an operand where the call is kept apart."""


class Callee(ComputeDeclaration, Protocol):
    """What a call needs of the declaration of the op that it calls."""

    @property
    def full_name(self) -> str: ...

    @property
    def attrs(self) -> type[Attrs] | None: ...


class Result:
    """One result of a call: a tensor that is read like an intermediate."""

    __slots__ = ("_call", "_position")

    def __init__(self, call: _Call, position: int) -> None:
        self._call = call
        self._position = position

    @property
    def handle(self) -> Expanded:
        """The tensor that the called op defines."""
        return self._call.expand()[self._position]

    @property
    def name(self) -> str:
        return self.handle.name

    @property
    def shape(self) -> Shape:
        return self.handle.shape

    @property
    def ndim(self) -> int:
        return self.handle.ndim

    @property
    def dtype(self) -> DType:
        return _dtype_of(self.handle)

    def __getitem__(self, key: Value) -> Value:
        return self.handle[key]


Handle = Operand | Defined | Result


class _Call:
    """A call; expanded once."""

    def __init__(self, builder: Builder, make: Callable[[], Sequence[Expanded]]) -> None:
        self._builder = builder
        self._make = make
        self._made: Sequence[Expanded] | None = None
        self._failed = False

    def expand(self) -> Sequence[Expanded]:
        """The results.  Raises Poisoned where failures are collected and one has been noted."""
        if self._made is not None:
            return self._made
        failures = self._builder.around.failures
        if failures is None:
            self._made = self._expanded()
        elif self._failed:
            raise Poisoned
        else:
            made, complete = failures.attempt(self._expanded)
            self._failed = not complete
            if self._failed:
                raise Poisoned
            self._made = made
        return self._made

    def _expanded(self) -> Sequence[Expanded]:
        with self._builder.static():
            return self._make()


def call_op(make: Callable[[], Sequence[Expanded]], count: int = 1) -> Value:
    """The results of the call that `make` expands: one, or a tuple of `count`."""
    builder = current_builder()
    call = _Call(builder, make)
    builder.calls.append(call)
    return Result(call, 0) if count == 1 else tuple([Result(call, position) for position in range(count)])


def expand(callee: Callee, count: int, /, *operands: Value, **attrs: object) -> tuple[Expanded, ...]:
    """What the called op computes for tensors of the caller: its results, spread, of which there are to be `count`.

    An operand is a tensor, a number, a tuple of tensors for a variadic one, or None for one that is absent.
    Raises LanguageError naming the op for operands and attrs that it refuses, and for an op that cannot be expanded.
    """
    name = callee.full_name
    if callee.compute is None:
        text = f"`{name}` is computed by a hand-written function, which no compute expression can hold"
        raise LanguageError(text, "op-call")
    if callee.signature.dynamic:
        sizes = ", ".join(callee.signature.dynamic)
        raise LanguageError(f"the sizes of what `{name}` gives depend on data ({sizes})", "op-call")
    builder = current_builder()
    given = with_scalars(name, callee.signature, operands, _dtype_of, partial(_scalar, builder))
    handles = tuple([_operand(name, position, operand) for position, operand in enumerate(given)])
    with refusals_of(name):
        kind = callee.attrs
        if kind is None and attrs:
            raise CallError(f"{name}: takes no attrs, found {', '.join(attrs)}")
        made = None if kind is None else kind(**attrs)
        types = [_type_of(name, handle) for handle in handles]
        binding = bind(callee.signature, name, made, types, site="the declaration")
    if len(binding.outputs) != count:
        wanted = ", ".join("abcdefgh"[: len(binding.outputs)])
        text = f"`{name}` gives {len(binding.outputs)} here, not {count}: write `{wanted} = ...`"
        raise LanguageError(text, "op-call")
    _require_proved(name, binding)
    absent = (None,) * (len(callee.signature.inputs) - len(handles))
    handles = (*handles, *absent)
    if builder.separate is not None and builder.separate.is_separate(callee):
        stored = [_stored(builder, handle) for handle in handles]
        return builder.separate.note(callee, made, stored, binding)
    names = dict(binding.names)
    for declared, handle in zip(callee.signature.inputs, handles, strict=True):
        names[declared.name] = _seen(builder, declared.name, handle, declared.layout, names)
    run, outputs, _ = prepare(callee, binding, builder, names)
    run()
    return tuple(
        [
            _in_layout(builder, handle, layout, given.shape, names)
            for (handle, layout), given in zip(outputs, binding.outputs, strict=True)
        ]
    )


@contextmanager
def refusals_of(name: str) -> Iterator[None]:
    """What the called op refuses, as errors of the caller's declaration: its place is that of the call."""
    try:
        yield
    except LanguageError:
        raise
    except OpgenError as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), "op-call")
        lines = [line.strip() for line in str(error).splitlines() if not line.strip().startswith("at ")]
        text = "; ".join(lines).removeprefix(f"{name}: ")
        raise LanguageError(f"`{name}` refuses this call: {text}", code) from None


def _scalar(builder: Builder, value: Value, dtype: DType) -> Defined:
    """A number as a tensor."""
    made = builder.tensor("scalar", (), dtype)
    made.define(lambda: value)
    return made


def _operand(name: str, position: int, value: Value) -> Value:
    if value is None or isinstance(value, Handle):
        return value
    if isinstance(value, tuple) and all(isinstance(item, Handle) for item in value):
        return value
    text = f"operand {position} of `{name}` is {describe(value)}, expected a tensor; attrs are given by name"
    raise LanguageError(text, "op-call")


def _stored(builder: Builder, handle: Value) -> Value:
    """An operand as a tensor of its own, or several, without a half among them."""
    if handle is None:
        return None
    if isinstance(handle, tuple):
        return tuple([_stored(builder, each) for each in handle])
    dtype = _dtype_of(handle)
    held = wide(dtype)
    made = builder.tensor(handle.name, handle.shape, held)
    made.define(lambda *i: handle[i] if held is dtype else cast(handle[i], held))
    return made


def _type_of(name: str, handle: Value) -> TensorType | tuple[TensorType, ...] | None:
    if handle is None:
        return None
    if isinstance(handle, tuple):
        return tuple([TensorType(item.shape, _dtype_of(item)) for item in handle])
    return TensorType(handle.shape, _dtype_of(handle))


def _dtype_of(handle: Handle) -> DType:
    """The dtype, for which an intermediate is built.  Raises LanguageError in the midst of its own definition."""
    return handle.inferred_dtype() if isinstance(handle, Defined) else handle.dtype


def _require_proved(name: str, binding: Binding) -> None:
    """What the called op leaves to be checked with the values must follow from what the caller asks."""
    scope = current()
    if scope.trusted:
        return
    for assumption in binding.undecided:
        if assumption.condition is not None:
            with scope.analysis() as analyzer:
                if analyzer.prove(assumption.condition):
                    continue
        text = f"`{name}` asks that {assumption.text}, which does not follow from what this op requires"
        if scope.unproved is None:
            raise LanguageError(text, "undecided")
        scope.unproved.append(text)


def _seen(
    builder: Builder, name: str, handle: Value, layout: tuple[str, str] | None, names: Mapping[str, Value]
) -> Value:
    """The operand as the called op sees it: in its canonical layout."""
    if handle is None or layout is None or names[layout[0]] == layout[1]:
        return handle
    stored, canonical = parse_layout(names[layout[0]]), parse_layout(layout[1])
    view = builder.tensor(name, names[name].shape)
    view.define(lambda *i: handle[stored_indices(i, stored, canonical)])
    return view


def _in_layout(
    builder: Builder,
    handle: Defined,
    layout: tuple[str, str] | None,
    shape: Shape,
    names: Mapping[str, Value],
) -> Defined:
    """A result in the layout that the called op gives it in."""
    if layout is None or names[layout[0]] == layout[1]:
        return handle
    stored, canonical = parse_layout(names[layout[0]]), parse_layout(layout[1])
    made = builder.tensor(handle.name, shape)
    made.define(lambda *i: handle[canonical_indices(i, stored, canonical)])
    return made
