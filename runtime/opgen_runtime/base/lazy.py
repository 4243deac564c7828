"""Attributes that are made on first use.

`functools.cached_property` of Python 3.11 has one lock for all objects of a class, held while the attribute is made:
threads that look at different objects wait for each other, and a fork meanwhile leaves it taken in the child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T", covariant=True)


class lazy(Generic[T]):
    """A method as an attribute, called once an object and kept in it; threads that come together may both call it."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        if instance is None:
            return self
        made = self._make(instance)
        return instance.__dict__.setdefault(self._name, made)  # type: ignore[no-any-return]
