"""One op on arrays: its operands, the signatures for which it is compiled, and calls of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from ....base.errors import CallError
from ....base.lru_cache import Footprint
from ....base.vocabulary import DType, dataclass
from ....ir import (
    Call,
    Expr,
    Function,
    Operand,
    Tuple,
    Var,
    admit,
    declared,
    is_literal,
    literal_array,
    make_call,
)
from ....operator import Attrs, Op, TensorType
from ...executor import (
    Entry,
    Executable,
    Specialisations,
    VectorcallObject,
    array_type,
    build_program,
    entered,
)


class EagerOp(VectorcallObject):
    """One op on arrays."""

    def __init__(self, op: Op) -> None:
        declaration = declared(op)
        if declaration is None:
            raise CallError(f"op {op.name!r} has no declaration; only declared ops run on arrays")
        self.op = op
        self.__name__ = self.__qualname__ = declaration.name
        self.__doc__ = declaration.doc
        self.declaration = declaration
        self._attrs = declaration.attrs
        self._inputs = declaration.signature.inputs
        self._names = {each.name: k for k, each in enumerate(self._inputs)}
        self._entry: Entry | None = None  # of the signature of arrays alone that was called last
        self._trampoline = entered(self, has_out=True)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled by the name of its op."""
        return _named, (self.op.name,)

    def __call__(self, *args: object, out: Any = None, **kwargs: object) -> Any:
        """The op on arrays. Raises CallError, AttrError, ShapeError, DTypeError; ExecutorError for a wrong `out`."""
        entry = self._entry
        if entry is not None and self._trampoline is None and not kwargs:
            result = entry.new(*args) if out is None else entry.into(*args, out)
            if result is not NotImplemented:
                return result
        key: list[object] = []
        arrays: list[Any] = []
        count = len(self._inputs)
        plain = len(args) >= count
        for position in range(count if plain else 0):
            arg = args[position]
            if type(arg) is not np.ndarray or not arg.dtype.isnative:
                plain = False
                break
            key.append(arg.dtype)
            key.append(arg.shape)
            arrays.append(arg)
        operands, positional, attrs = args[:count], args[count:], kwargs
        if not plain or (kwargs and not self._names.keys().isdisjoint(kwargs)):
            given, positional, attrs = self._split(args, kwargs)
            key, arrays = [], []
            operands = tuple(
                [
                    _operand(value, f"{self.op.name}: argument {name!r}", each.variadic, key, arrays)
                    for value, each, name in zip(given, self._inputs, self._names, strict=True)
                ]
            )
        found = self._signature(key, operands, positional, attrs)
        if plain and len(args) == count and not kwargs and found.is_warm:
            self._entry = found.executable.entry()
            if self._trampoline is not None:
                self._trampoline.use(self._entry)
        found.is_warm = True
        for position, dtype in found.literals:
            arrays[position] = literal_array(arrays[position], dtype)
        if out is None:
            return found.executable.run(arrays)
        return found.executable.run(arrays, out if isinstance(out, tuple) else (out,))

    def _signature(
        self,
        key: list[object],
        operands: tuple[object, ...],
        positional: tuple[object, ...],
        named: dict[str, object],
    ) -> _Compiled:
        """What is compiled for the operands that `key` tells, and for the attrs.

        Programs are specialised on the normalised values of attrs; what was written in plain values is found again
        without normalising it.
        """
        written: tuple[object, ...] | None
        try:
            named_key = [(name, _plain_key(value)) for name, value in named.items()]
            written = (self, *key, *[_plain_key(value) for value in positional], *named_key)
        except _NotPlain:
            written = None
        found = None if written is None else by_text.get(written)
        if found is None:
            attrs = self._normalised(positional, named)
            exact = (self, *key, attrs)
            found = compiled.made(exact, lambda: self._compile(operands, attrs))
            if written is not None:
                by_text.put(written, found)
        return found

    def _normalised(self, positional: tuple[object, ...], named: dict[str, object]) -> Attrs | None:
        if self._attrs is not None:
            return self._attrs.init_by_packed_args(*positional, **named)
        if positional or named:
            raise CallError(f"{self.op.name}: has no attrs, found {len(positional) + len(named)}")
        return None

    def _split(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[list[object], tuple[object, ...], dict[str, object]]:
        """One operand a declared input, attrs by position, attrs by name."""
        operands = list(args[: len(self._inputs)])
        by_name = {name: value for name, value in kwargs.items() if name in self._names}
        for position in range(len(operands), len(self._inputs)):
            expected = self._inputs[position]
            if expected.name not in by_name and not expected.optional:
                raise CallError(f"{self.op.name}: missing argument {expected.name!r}")
            operands.append(by_name.pop(expected.name, None))
        if by_name:
            raise CallError(f"{self.op.name}: argument {next(iter(by_name))!r} is given twice")
        attrs = {name: value for name, value in kwargs.items() if name not in self._names}
        return operands, args[len(self._inputs) :], attrs

    def _compile(self, operands: tuple[object, ...], attrs: Attrs | None) -> _Compiled:
        values = list(_leaves(operands))
        params = [None if is_literal(v) else Var(f"p{k}", array_type(v)) for k, v in enumerate(values)]
        stand_ins = iter([v if p is None else p for v, p in zip(values, params, strict=True)])
        call = make_call(self.op, [_filled(operand, stand_ins) for operand in operands], attrs)
        # Numbers became constants of the dtype that the op gives them; they turn into parameters of that dtype.
        exprs = [leaf for arg in call.args for leaf in (arg.fields if isinstance(arg, Tuple) else (arg,))]
        variables: list[Var] = []
        literals: list[tuple[int, DType]] = []
        for position, (param, expr) in enumerate(zip(params, exprs, strict=True)):
            if param is None:
                param = Var(f"p{position}", expr.checked_type)
                literals.append((position, _dtype(param)))
            variables.append(param)
        rest = iter(variables)
        args: list[Expr] = []
        for arg in call.args:
            args.append(
                Tuple(tuple([next(rest) for _ in arg.fields])) if isinstance(arg, Tuple) else next(rest)
            )
        executable = build_program(Function(tuple(variables), Call(self.op, tuple(args), attrs)))
        return _Compiled(executable, tuple(literals))

    def __repr__(self) -> str:
        return f"<eager op {self.op.name}>"


@dataclass(slots=True)
class _Compiled:
    """An op for one signature; `literals`: which arrays are given as Python numbers, and their dtypes.

    `is_warm`: it was called before; only what is called again gets an entry.
    """

    executable: Executable
    literals: tuple[tuple[int, DType], ...]
    is_warm: bool = False

    def footprint(self) -> Footprint:
        """The memory of the program."""
        return self.executable.footprint()


compiled: Final[Specialisations[_Compiled]] = (
    Specialisations()
)  # by the op, the operands' types and the attrs
by_text: Final[Specialisations[_Compiled]] = Specialisations()  # the same, by how the attrs are written


def _operand(value: object, what: str, variadic: bool, key: list[object], arrays: list[Any]) -> object:
    """The operand as an array, a number, None or a tuple of these; what it is goes to `key`, its leaves to `arrays`.

    `what` names it in errors.  Raises CallError for what is no operand.
    """
    if value is None:
        key.append(None)
        return None
    if variadic and isinstance(value, list | tuple):
        key.append(len(value))
        return tuple([_operand(item, f"{what}[{k}]", False, key, arrays) for k, item in enumerate(value)])
    if is_literal(value):
        key.append(type(value))
        arrays.append(value)
        return value
    array = admit(value, what)
    key.extend((array.dtype, array.shape))
    arrays.append(array)
    return array


class _NotPlain(Exception):
    """An attr that is not written in plain values: ints, floats, bools, texts, None, and sequences of these."""


def _plain_key(value: object) -> object:
    """A key that is equal only for plain values of the same types and bits: -0.0 is not 0.0, True is not 1."""
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value
    if kind is float:
        return (float, repr(value))  # which tells all floats but NaNs apart
    if kind is bool:
        return (bool, value)
    if kind is tuple or kind is list:
        return tuple([_plain_key(item) for item in value])  # type: ignore[attr-defined]  # a sequence
    raise _NotPlain


def _leaves(operands: Iterable[object]) -> Iterator[Any]:
    for operand in operands:
        if isinstance(operand, tuple):
            yield from _leaves(operand)
        elif operand is not None:
            yield operand


def _filled(operand: object, leaves: Iterator[Any]) -> Operand:
    """The structure of `operand` over other leaves."""
    if operand is None:
        return None
    return tuple([next(leaves) for _ in operand]) if isinstance(operand, tuple) else next(leaves)


def _dtype(var: Var) -> DType:
    assert isinstance(var.checked_type, TensorType)
    return var.checked_type.dtype


def _named(name: str) -> EagerOp:
    return EagerOp(Op.get(name))
