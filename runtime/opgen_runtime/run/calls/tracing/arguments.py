"""Arguments of compiled functions: what decides the program, and what is given when it runs.

arrays, of numpy and others      given when it runs; shape and dtype decide the program
floats                           given when it runs, as weak scalars
states                           given when it runs; all decides the program but the length and the capacity
ints, bools, texts, None, complex numbers of Python, dtypes, enums, slices, and arguments named static
                                 decide the program, by type and value
tuples, lists, dicts             of these
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from types import EllipsisType, NoneType
from typing import Any, Final

import numpy as np

from ....base.errors import CallError, DTypeError
from ....base.vocabulary import DType
from ....ir import Constant, Expr, Traced, Var, admissible, admit
from ....operator import Dim, TensorType, dim
from ...executor import State, array_type
from .tracer import Tracer, wrap

_STATIC: Final = (bool, int, complex, str, bytes, NoneType, Enum, slice, EllipsisType, np.dtype, type)


def key_of(value: object, leaves: list[Any]) -> object:
    """What of an argument decides the program; its arrays and floats go to `leaves`, None for a traced value.

    Raises CallError for what is no argument.
    """
    kind = type(value)
    if kind is np.ndarray and value.dtype.isnative:  # type: ignore[attr-defined]  # an array
        leaves.append(value)
        return value.dtype, value.shape  # type: ignore[attr-defined]  # an array
    if kind is float:
        leaves.append(value)
        return float
    if isinstance(value, tuple | list):
        return kind, *[key_of(item, leaves) for item in value]
    if isinstance(value, dict):
        return kind, *[(static_key(name), key_of(item, leaves)) for name, item in value.items()]
    if is_traced(value):
        leaves.append(None)
        return None
    if isinstance(value, State):
        same = next(
            (k for k, leaf in enumerate(leaves) if isinstance(leaf, State) and leaf.length == value.length),
            -1,
        )
        leaves.append(value)
        others = (*value.shape[: value.axis], *value.shape[value.axis + 1 :])
        return State, value.dtype, value.axis, others, same  # those of one length have one dim
    if not admissible(value):
        return static_key(value, any_kind=False)
    array = admit(value, "an argument of a compiled function")
    leaves.append(array)
    return array.dtype, array.shape


def is_traced(value: object) -> bool:
    """Whether `value` is computed by a program that is being built."""
    return isinstance(value, Traced) or (isinstance(value, Expr) and not isinstance(value, Constant))


def static_key(value: object, any_kind: bool = True) -> object:
    """A key that is equal only for a value of the same type that is the same: -0.0 is not 0.0, NaN is NaN.

    Raises CallError for a value without a hash; without `any_kind`, for one that is not static by itself.
    """
    kind = type(value)
    if kind is float or kind is complex:
        return kind, repr(value)
    if isinstance(value, slice):
        return slice, static_key(value.start), static_key(value.stop), static_key(value.step)
    if isinstance(value, tuple | list):
        return kind, *[static_key(item) for item in value]
    if not any_kind and not isinstance(value, _STATIC):
        raise CallError(
            f"a compiled function takes arrays, numbers and texts, found {kind.__name__}; "
            "an argument that is named in jit(..., static_argnames=...) may be anything with a hash"
        )
    if not isinstance(value, Hashable):
        raise CallError(f"a static argument must have a hash, found {kind.__name__}")
    return kind, value


class Parameters:
    """The variables of a program that is being traced, in the order of `key_of`."""

    def __init__(self) -> None:
        self.params: list[Var] = []
        self.given: list[
            tuple[int, DType | None]
        ] = []  # the leaf of each, and the dtype in which a float is given
        self.donated: list[int] = []  # the positions of those whose memory results may take
        self.growing: list[int] = []  # the positions of those that stand for states
        self.capacity = 0  # of the largest state
        self._lengths: dict[int, Dim] = {}
        self.leaves = 0  # arrays and floats of the arguments; floats that nothing computes with are not given

    def stand_in(self, value: object, name: str, is_donated: bool = False) -> Any:
        """The argument with tracers for its arrays and floats; `is_donated`: results may take its arrays' memory."""
        first = len(self.params)
        made = self._stand_in(value, name)
        if is_donated:
            self.donated.extend(range(first, len(self.params)))
        return made

    def _stand_in(self, value: object, name: str) -> Any:
        if type(value) is float:
            return self._scalar(name)
        if isinstance(value, tuple | list):
            items = [self._stand_in(item, f"{name}{k}") for k, item in enumerate(value)]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self._stand_in(item, str(key)) for key, item in value.items()}
        if isinstance(value, State):
            return self._state(value, name)
        if not admissible(value):
            return value
        self._add(Var(name, array_type(admit(value))), self._leaf(), None)
        return Tracer(self.params[-1])

    def _state(self, state: State, name: str) -> Tracer:
        """A tensor whose extent along the state's axis is an open dim, one for all states of one length."""
        if state.length not in self._lengths:
            hint = max(1, state.capacity // 2)
            self._lengths[state.length] = dim(f"{name}_length", hint)
        shape = list[Dim](state.shape)
        shape[state.axis] = self._lengths[state.length]
        self.growing.append(len(self.params))
        self.capacity = max(self.capacity, state.capacity)
        self._add(Var(name, TensorType(tuple(shape), str(state.dtype))), self._leaf(), None)
        return Tracer(self.params[-1])

    def _leaf(self) -> int:
        self.leaves += 1
        return self.leaves - 1

    def _add(self, var: Var, leaf: int, dtype: DType | None) -> None:
        self.params.append(var)
        self.given.append((leaf, dtype))

    def _scalar(self, name: str) -> Tracer:
        """A Python float: a variable for each dtype in which the program uses it."""
        leaf = self._leaf()
        by_dtype: dict[DType, Var] = {}

        def typed(dtype: DType) -> Expr:
            if not dtype.is_float:
                raise DTypeError(f"the float {name!r} does not suit dtype {dtype}; cast one side explicitly")
            if dtype not in by_dtype:
                by_dtype[dtype] = Var(name, TensorType((), dtype))
                self._add(by_dtype[dtype], leaf, dtype)
            return by_dtype[dtype]

        return Tracer(None, typed, name)


def with_faces(value: Any) -> Any:
    """The argument with a tracer for each expression."""
    if isinstance(value, tuple | list):
        items = [with_faces(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: with_faces(item) for key, item in value.items()}
    return wrap(value) if isinstance(value, Expr) and not isinstance(value, Constant) else value


def holds_tracer(value: object) -> bool:
    if isinstance(value, dict):
        return any([holds_tracer(item) for item in value.values()])
    return (
        any([holds_tracer(item) for item in value])
        if isinstance(value, tuple | list)
        else isinstance(value, Traced)
    )
