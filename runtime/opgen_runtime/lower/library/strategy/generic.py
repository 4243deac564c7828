"""Generic functions: one name, an implementation for each target key, and a default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ....base import Target
from ....base.errors import StrategyError, shown

AnyFunction = Callable[..., Any]


class HasKeys(Protocol):
    """A target, as far as dispatch is concerned: its keys, most specific first."""

    @property
    def keys(self) -> tuple[str, ...]: ...


def keys_of(target: HasKeys) -> tuple[str, ...]:
    """What a strategy may be for: the keys of a target, then the features of its instruction set."""
    return (*target.keys, *sorted(target.enabled_features)) if isinstance(target, Target) else target.keys


class GenericFunction:
    """A function whose implementation is picked by the first key of a target that one is registered for.

    The target is always given: `f(target, *args)` calls the implementation with `args`.
    """

    def __init__(self, name: str, default: AnyFunction | None = None, doc: str | None = None) -> None:
        self.name = name
        self.__doc__ = doc
        self._default = default
        self._by_key: dict[str, AnyFunction] = {}

    def register(
        self, function: AnyFunction | None = None, *, keys: str | Sequence[str], override: bool = False
    ) -> Any:
        """Registers an implementation for one or more keys and returns it; without a function, a decorator.

        Raises StrategyError for a key that has one already, unless `override` is given.
        """
        if function is None:
            return lambda given: self.register(given, keys=keys, override=override)
        names = (keys,) if isinstance(keys, str) else tuple(keys)
        taken = [key for key in names if key in self._by_key and self._by_key[key] is not function]
        if taken and not override:
            raise StrategyError(
                f"{self.name}: key {taken[0]!r} already has an implementation ({_name(self._by_key[taken[0]])}); "
                f"found another ({_name(function)}); pass override=True to replace it"
            )
        self._by_key.update(dict.fromkeys(names, function))
        return function

    def set_default(self, function: AnyFunction, override: bool = False) -> AnyFunction:
        """Sets what targets without a registered key use. Raises StrategyError if there is one already."""
        if self._default not in (None, function) and not override:
            raise StrategyError(
                f"{self.name}: already has a default ({_name(self._default)}); pass override=True"
            )
        self._default = function
        return function

    def keys(self) -> tuple[str, ...]:
        """The keys that have an implementation, sorted."""
        return tuple(sorted(self._by_key))

    def dispatch(self, target: HasKeys) -> tuple[AnyFunction, str]:
        """The implementation for a target, and the key that chose it ("default" for the default).

        Raises StrategyError, naming the target's keys and the registered ones, if there is none.
        """
        for key in target.keys:
            found = self._by_key.get(key)
            if found is not None:
                return found, key
        if self._default is None:
            registered = ", ".join(self.keys()) or "none"
            raise StrategyError(
                f"{self.name}: no implementation for a target with keys {', '.join(target.keys) or '(none)'}, and no "
                f"default; registered keys: {registered}"
            )
        return self._default, "default"

    def __call__(self, target: HasKeys, *args: Any, **kwargs: Any) -> Any:
        return self.dispatch(target)[0](*args, **kwargs)

    def __repr__(self) -> str:
        return f"GenericFunction({self.name})"


def generic_function(name: str) -> Callable[[AnyFunction], GenericFunction]:
    """Decorator: the function becomes the default of a generic function of that name."""
    return lambda function: GenericFunction(name, function, function.__doc__)


def _name(function: AnyFunction | None) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', shown(function))}"
