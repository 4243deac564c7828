"""PyTorch's operators in this project's words: names, the order of arguments, defaults.

An adapter is a function with the parameters of PyTorch's operator.  It renames and reorders them and fills defaults;
what computes is a function of numpy under `jit`, or a declared op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

ADAPTERS: dict[str, Callable[..., Any]] = {}
UNTRACED: set[str] = set()
"""Names of those that run op by op, since the sizes of what they give depend on values."""


def adapts(*names: str, traced: bool = True) -> Callable[[F], F]:
    """The function stands for these operators of PyTorch."""

    def note(function: F) -> F:
        table(dict.fromkeys(names, function), traced)
        return function

    return note


def table(functions: Mapping[str, Callable[..., Any]], traced: bool = True) -> None:
    """Functions that take the arguments of PyTorch's operators as they are, by their names."""
    for name, function in functions.items():
        if name in ADAPTERS:
            raise ValueError(f"two adapters of {name}")
        ADAPTERS[name] = function
        if not traced:
            UNTRACED.add(name)


def dims(dim: int | Iterable[int] | None) -> Any:
    """Axes as numpy takes them: one, a tuple, None for all (which an empty list means, too)."""
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(dim) or None


def of_vector(function: Callable[..., Any], *arrays: Any) -> Any:
    """What is said of tensors with axes; of numbers, too, each of which counts as one element along one axis."""
    if arrays[0].ndim:
        return function(*arrays)
    found = function(*[each.reshape((1,)) for each in arrays])
    return (
        tuple([each.reshape(()) for each in found]) if isinstance(found, tuple | list) else found.reshape(())
    )
