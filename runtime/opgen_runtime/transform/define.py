"""Passes of decorated functions.

    @module_pass(opt_level=1, required=("InferType",))
    def MyPass(module: IRModule, context: PassContext) -> IRModule: ...

    @function_pass(opt_level=0, options={"limit": Option(100, "How many nodes it looks at.", least=1)})
    def MyFunctionPass(function: Function, module: IRModule, context: PassContext, *, limit: int) -> Function: ...

    @module_pass(opt_level=1)
    class MyClassPass:
        def __init__(self, rounds: int) -> None: ...
        def transform_module(self, module: IRModule, context: PassContext) -> IRModule: ...

`MyPass()` gives the pass, `MyFunctionPass(limit=3)` one with an option, and so do the global functions
`transform.MyPass` and `transform.MyFunctionPass`; `MyClassPass(3)` gives a pass with an instance of the class, made of
what is given (`transform_function` is the method of a function pass).  An option is a configuration key, too:
`MyFunctionPass.limit`.  What a pass requires is named by either: `required=(InferType,)` is that very pass,
`required=("MyPass",)` the one of that name when it is needed.  A name belongs to the function that defined its pass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from ..base.contract import handed_in
from ..base.errors import PassError
from ..base.functions import get_global_func, list_global_func_names, provide_func
from .context import NAMESPACE, register_options
from .info import Option, PassInfo, candidates
from .infrastructure import (
    ErrorBound,
    FunctionFunction,
    FunctionPass,
    ModuleFunction,
    ModulePass,
    Requirement,
    _Given,
)

P = TypeVar("P", bound=_Given)
NONE: Final[Mapping[str, Option]] = MappingProxyType({})


class PassMaker(Generic[P]):
    """Makes a pass with options, given by name or in their order: `DivToMul(approximate=True)`."""

    def __init__(
        self,
        kind: type[P],
        function: Callable[..., object],
        info: PassInfo,
        required: Sequence[Requirement],
        options: Mapping[str, Option],
        error_bound: ErrorBound,
        override: bool,
    ) -> None:
        self.info = info
        self.options = MappingProxyType(dict(options))
        self._kind, self._function = kind, function
        self._required, self._error_bound = tuple(required), error_bound
        self.__name__ = self.__qualname__ = info.name
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        origin = f"{function.__module__}.{function.__qualname__}"
        provide_func(f"{NAMESPACE}.{info.name}", self, origin, override)
        self._keys = register_options(info.name, options)

    def __call__(self, *values: object, **options: object) -> P:
        """Raises PassError for an option that is unknown, given twice, or of the wrong type."""
        name = self.info.name
        if len(values) > len(self.options):
            raise PassError(f"pass {name} has {len(self.options)} options, found {len(values)} values")
        given = dict(zip(self.options, values, strict=False))
        for option, value in options.items():
            if option not in self.options:
                raise PassError(f"pass {name} has no option {option!r}{candidates(option, self.options)}")
            if option in given:
                raise PassError(f"pass {name}: option {option!r} is given twice")
            given[option] = value
        return self._made(self._function, given)

    def _made(self, function: Callable[..., object], given: dict[str, object]) -> P:
        """The pass of `function` with the options that are given."""
        info = self.info
        for option, value in given.items():
            reason = self.options[option].why_not(value)
            if reason is not None:
                raise PassError(f"pass {info.name}: option {option!r} {reason}")
        if given:
            info = replace(info, options=MappingProxyType(given))
        return self._kind(function, info, self._required, self, self._keys, self._error_bound)

    def __repr__(self) -> str:
        return f"<pass {self.info.name}>"


class ClassPassMaker(PassMaker[P]):
    """Makes a pass with an instance of a class; what is no option goes to the class: `MyClassPass(3)`."""

    def __call__(self, *values: object, **given: object) -> P:
        """Raises PassError for what the class cannot be made of, and for options of the wrong type."""
        options = {name: given.pop(name) for name in self.options if name in given}
        name, cls = self.info.name, self._function
        try:
            inspect.signature(cls).bind(*values, **given)
        except TypeError as error:
            raise PassError(f"pass {name} cannot be made of what is given: {error}") from None
        with handed_in(f"pass {name}", PassError):
            instance = cls(*values, **given)
        return self._made(getattr(instance, _METHODS[self._kind]), options)


_METHODS: Final[Mapping[type[_Given], str]] = {
    ModulePass: "transform_module",
    FunctionPass: "transform_function",
}
"""Which method of a class is the work of a pass."""


def all_passes() -> list[PassMaker[_Given]]:
    """What makes each pass that a decorator has registered, by name."""
    found = [get_global_func(name) for name in sorted(list_global_func_names(NAMESPACE))]
    return [maker for maker in found if isinstance(maker, PassMaker)]


def module_pass(
    opt_level: int = 0,
    name: str = "",
    required: Sequence[Requirement] = (),
    preserves: Sequence[str] = (),
    changes_type: bool = False,
    override: bool = False,
    options: Mapping[str, Option] = NONE,
    error_bound: ErrorBound = "",
) -> Callable[[ModuleFunction | type], PassMaker[ModulePass]]:
    """Make a module pass of the decorated function, or class, and register it under its name.

    `changes_type`: the type of `main` may be another one after it.  `options`: what the function takes by name.
    `error_bound`: how far values may be from those before, in words, or a function of the options that says it;
    "" for a pass that keeps every bit.  Raises RegistryError for a name that another pass has; `override` replaces
    that pass for all that ask for it by name.  Raises PassError for a class without the method `transform_module`.
    """

    def decorate(function: ModuleFunction | type) -> PassMaker[ModulePass]:
        info = _info(
            name or function.__name__, opt_level, required, preserves, changes_type, error_bound, options
        )
        maker = _maker(ModulePass, function, info.name)
        return maker(ModulePass, function, info, required, options, error_bound, override)

    return decorate


def function_pass(
    opt_level: int = 0,
    name: str = "",
    required: Sequence[Requirement] = (),
    preserves: Sequence[str] = (),
    changes_type: bool = False,
    override: bool = False,
    options: Mapping[str, Option] = NONE,
    error_bound: ErrorBound = "",
) -> Callable[[FunctionFunction | type], PassMaker[FunctionPass]]:
    """Make a function pass of the decorated function, or class with a method `transform_function`, and register it
    under its name; see `module_pass`."""

    def decorate(function: FunctionFunction | type) -> PassMaker[FunctionPass]:
        info = _info(
            name or function.__name__, opt_level, required, preserves, changes_type, error_bound, options
        )
        maker = _maker(FunctionPass, function, info.name)
        return maker(FunctionPass, function, info, required, options, error_bound, override)

    return decorate


def _maker(kind: type[P], function: Callable[..., object] | type, name: str) -> type[PassMaker[P]]:
    if not isinstance(function, type):
        return PassMaker
    method = _METHODS[kind]
    if not callable(getattr(function, method, None)):
        raise PassError(f"pass {name}: the class {function.__name__} has no method {method}")
    return ClassPassMaker


def _info(
    name: str,
    opt_level: int,
    required: Sequence[Requirement],
    preserves: Sequence[str],
    changes_type: bool,
    error_bound: ErrorBound,
    options: Mapping[str, Option],
) -> PassInfo:
    names = tuple([needed if isinstance(needed, str) else needed.__name__ for needed in required])
    defaults = {option: value.default for option, value in options.items()}
    bound = error_bound if isinstance(error_bound, str) else error_bound(**defaults)
    return PassInfo(name, opt_level, names, tuple(preserves), changes_type, bound)
