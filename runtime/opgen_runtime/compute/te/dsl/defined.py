"""The tensors that users have made, by what defines them: `create_schedule(C.op)` means C."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from ..tensor import Operation, Tensor

P = ParamSpec("P")
R = TypeVar("R")

# By the id of the operation, which its tensor holds as long as it is here.
_tensors: Final[WeakValueDictionary[int, Tensor]] = WeakValueDictionary()


def defining(function: Callable[P, R]) -> Callable[P, R]:
    """A function that makes tensors, each of which is found by its operation from then on."""

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        for tensor in result if isinstance(result, list) else (result,):
            if isinstance(tensor, Tensor):
                _tensors.setdefault(id(tensor.op), tensor)
        return result

    return made


def tensor_of(op: Operation) -> Tensor | None:
    """The first tensor that a user made of an operation; None where there is none any more."""
    return _tensors.get(id(op))
