"""Ops on arrays, at once: `eager.add(a, b)` takes numpy arrays and gives a numpy array.

Every op of `opgen_runtime.ops` is here under its name; `eager.op("project.relu")` gives those of other projects.
An op is compiled once for each combination of shapes, dtypes and attrs.  Python numbers among the operands are weak:
they take the other operands' dtype.  `out=` names the array (or, for several results, the tuple of arrays) that is
to hold the result; it may be one of the operands.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from . import ops as _ops
from .declaration import OpDeclaration
from .errors import CallError
from .executor import Entry, Executable, Value, array_type, build
from .ir import Call, Constant, Expr, Function, Operand, Tuple, Var, is_literal, literal_array, make_call
from .registry import Op
from .types import TensorType
from .vocabulary import DType

_KEPT: Final = 1024  # compiled signatures an op


class EagerOp:
    """One op on arrays."""

    def __init__(self, op: Op) -> None:
        declaration: OpDeclaration | None = op.get_attr("declaration")
        if declaration is None:
            raise CallError(f"op {op.name!r} has no declaration; only declared ops run on arrays")
        self.op = op
        self.__name__ = self.__qualname__ = declaration.name
        self.__doc__ = declaration.doc
        self.declaration = declaration
        self._attrs = declaration.attrs
        self._inputs = declaration.signature.inputs
        self._names = {declared.name: k for k, declared in enumerate(self._inputs)}
        self._plain = not any(declared.variadic for declared in self._inputs)
        self._compiled: dict[tuple[object, ...], _Compiled] = {}
        self._entry: Entry | None = None  # of the signature of arrays alone that was called last

    def __call__(self, *args: object, out: Any = None, **kwargs: object) -> Any:
        """The op on arrays. Raises CallError, AttrError, ShapeError, DTypeError; ExecutorError for a wrong `out`."""
        entry = self._entry
        if entry is not None and not kwargs:
            result = entry.new(*args) if out is None else entry.into(*args, out)
            if result is not NotImplemented:
                return result
        key: list[object] = []
        arrays: list[Any] = []
        count = len(self._inputs)
        plain = len(args) >= count
        for position, arg in enumerate(args):
            if position >= count:
                key.append(_attr_key(arg))
            elif type(arg) is np.ndarray and arg.dtype.isnative:
                key.append(arg.dtype)
                key.append(arg.shape)
                arrays.append(arg)
            else:
                plain = False
                break
        if plain and (not kwargs or self._names.keys().isdisjoint(kwargs)):
            for name, value in kwargs.items():
                key.append(name)
                key.append(_attr_key(value))
            attrs = kwargs
        else:
            operands, args, attrs = self._split(args, kwargs)
            key, arrays = [], []
            taken = [
                _operand(value, f"{self.op.name}: argument {name!r}", declared.variadic, key, arrays)
                for value, declared, name in zip(operands, self._inputs, self._names, strict=True)
            ]
            args = (*taken, *args)
            key.extend([_attr_key(value) for value in args[count:]])
            for name, value in attrs.items():
                key.extend((name, _attr_key(value)))
        found = self._compiled.get(tuple(key))
        if found is None:
            found = self._compile(tuple(key), args[:count], args[count:], attrs)
        elif plain and len(args) == count and not kwargs:
            self._entry = found.executable.entry()
        for position, dtype in found.literals:
            arrays[position] = literal_array(arrays[position], dtype)
        if out is None:
            return found.executable.run(arrays)
        return found.executable.run(arrays, out if isinstance(out, tuple) else (out,))

    def _split(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[list[object], tuple[object, ...], dict[str, object]]:
        """One operand a declared input, attrs by position, attrs by name."""
        operands = list(args[: len(self._inputs)])
        by_name = {name: value for name, value in kwargs.items() if name in self._names}
        for position in range(len(operands), len(self._inputs)):
            declared = self._inputs[position]
            if declared.name not in by_name and not declared.optional:
                raise CallError(f"{self.op.name}: missing argument {declared.name!r}")
            operands.append(by_name.pop(declared.name, None))
        if by_name:
            raise CallError(f"{self.op.name}: argument {next(iter(by_name))!r} is given twice")
        attrs = {name: value for name, value in kwargs.items() if name not in self._names}
        return operands, args[len(self._inputs) :], attrs

    def _compile(
        self,
        key: tuple[object, ...],
        operands: tuple[object, ...],
        positional: tuple[object, ...],
        named: dict[str, object],
    ) -> _Compiled:
        attrs = None
        if self._attrs is not None:
            attrs = self._attrs.init_by_packed_args(*positional, **named)
        elif positional or named:
            raise CallError(f"{self.op.name}: has no attrs, found {len(positional) + len(named)}")
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
        executable = build(Function(tuple(variables), Call(self.op, tuple(args), attrs)))
        if len(self._compiled) >= _KEPT:
            self._compiled.clear()
        made = self._compiled[key] = _Compiled(executable, tuple(literals))
        return made

    def __repr__(self) -> str:
        return f"<eager op {self.op.name}>"


@dataclass(frozen=True, slots=True)
class _Compiled:
    """An op for one signature; `literals`: which arrays are given as Python numbers, and their dtypes."""

    executable: Executable
    literals: tuple[tuple[int, DType], ...]


def _operand(value: object, what: str, variadic: bool, key: list[object], arrays: list[Any]) -> object:
    """The operand as an array, a number, None or a tuple of these; what it is goes to `key`, its leaves to `arrays`.

    `what` names it in errors.  Raises CallError for what is no operand.
    """
    if isinstance(value, Expr) and not isinstance(value, Constant):
        raise CallError(
            f"{what} must be an array, found an expression; ops of `opgen_runtime.ops` build expressions"
        )
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
    if isinstance(value, Constant):
        array = value.data
    elif isinstance(value, np.ndarray | np.generic | Value):
        array = np.asarray(value)
    else:
        hint = "; numpy.asarray makes one" if isinstance(value, list | tuple) else ""
        raise CallError(f"{what} must be an array or a number, found {type(value).__name__}{hint}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    key.extend((array.dtype, array.shape))
    arrays.append(array)
    return array


def _attr_key(value: object) -> object:
    """A key that is equal only for the same value of the same type; -0.0 is not 0.0, True is not 1."""
    if type(value) is int or type(value) is str or value is None:
        return value
    if isinstance(value, list | tuple):
        return tuple([_attr_key(item) for item in value])
    return (type(value), repr(value))


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


_ops_by_name: Final[dict[str, EagerOp]] = {}


def op(name: str) -> EagerOp:
    """The op of that full name on arrays. Raises RegistryError, listing near names, if there is none."""
    registered = Op.get(name)
    found = _ops_by_name.get(name)
    if found is None or found.declaration is not registered.get_attr("declaration"):
        found = _ops_by_name[name] = EagerOp(registered)
    return found


def __getattr__(name: str) -> EagerOp:
    if name.startswith("_") or name not in dir(_ops):
        near = difflib.get_close_matches(name, dir(_ops), n=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no op {name!r}{hint}", name=name)
    found = globals()[name] = op(name)  # found without this function from now on
    return found


def __dir__() -> list[str]:
    return sorted({"EagerOp", "op", *dir(_ops)})
