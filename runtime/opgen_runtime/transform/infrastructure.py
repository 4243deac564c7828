"""Passes: functions from modules to modules, with names, levels and requirements.

    @module_pass(opt_level=1, required=("InferType",))
    def MyPass(module: IRModule, context: PassContext) -> IRModule: ...

    @function_pass(opt_level=0)
    def MyFunctionPass(function: Function, module: IRModule, context: PassContext) -> Function: ...

`MyPass()` gives the pass, and so does the global function `transform.MyPass`, by which requirements are found.  A
module remembers which passes' results hold for it, so that a requirement that is still valid is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import PassError, RegistryError
from ..ir import Function, IRModule
from ..registry import get_global_func, register_func
from .context import PassContext, PassInfo

NAMESPACE = "transform"
P = TypeVar("P", bound="Pass")
ModuleFunction = Callable[[IRModule, PassContext], IRModule]
FunctionFunction = Callable[[Function, IRModule, PassContext], Function]


class Pass:
    """A pass; calling it runs it, after the passes that it requires and that are not valid any more."""

    def __init__(self, info: PassInfo) -> None:
        self.info = info

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        """The work itself: valid IR in, valid IR out."""
        raise NotImplementedError

    def __call__(self, module: IRModule, context: PassContext | None = None) -> IRModule:
        """Run on `module`. Raises PassError for a requirement that is unknown, disabled or circular."""
        return self.run(module, context or PassContext.current(), ())

    def run(self, module: IRModule, context: PassContext, above: tuple[str, ...]) -> IRModule:
        """Like a call; `above` names the passes for which this one runs."""
        if not all([watch.should_run(module, self.info) for watch in context.instruments]) and not above:
            return module
        module = self._meet_requirements(module, context, above)
        for watch in context.instruments:
            watch.run_before_pass(module, self.info)
        result = self.transform(module, context)
        valid = module.valid if result is module else module.valid & frozenset(self.info.preserves)
        result = result.with_valid(valid | {self.info.name})
        for watch in context.instruments:
            watch.run_after_pass(result, self.info)
        return result

    def _meet_requirements(self, module: IRModule, context: PassContext, above: tuple[str, ...]) -> IRModule:
        chain = (*above, self.info.name)
        for name in self.info.required:
            if name in module.valid:
                continue
            if name in chain:
                raise PassError(f"passes require each other in a circle: {' -> '.join((*chain, name))}")
            if name in context.disabled:
                raise PassError(f"pass {self.info.name} requires {name}, which the context disables")
            module = find_pass(name, self.info.name).run(module, context, chain)
        return module

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name}, opt_level={self.info.opt_level})"


class ModulePass(Pass):
    """A pass given by a function of the whole module."""

    def __init__(self, function: ModuleFunction, info: PassInfo) -> None:
        super().__init__(info)
        self._function = function

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        return self._function(module, context)


class FunctionPass(Pass):
    """A pass given by a function of one function of the module."""

    def __init__(self, function: FunctionFunction, info: PassInfo) -> None:
        super().__init__(info)
        self._function = function

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        result = module
        for var, function in module.functions.items():
            changed = self._function(function, module, context)
            if changed is not function:
                result = result.with_function(var, changed)
        return result


class Sequential(Pass):
    """Several passes in order; those that the context does not enable are left out."""

    def __init__(self, passes: Sequence[Pass], name: str = "Sequential", opt_level: int = 0) -> None:
        super().__init__(PassInfo(name, opt_level))
        self.passes = tuple(passes)

    def run(self, module: IRModule, context: PassContext, above: tuple[str, ...]) -> IRModule:
        for each in self.passes:
            if isinstance(each, Sequential) or context.enabled(each.info):
                module = each.run(module, context, above)
        return module

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        return self.run(module, context, ())


def find_pass(name: str, needed_by: str = "") -> Pass:
    """The pass of that name. Raises PassError if there is none."""
    try:
        make = get_global_func(f"{NAMESPACE}.{name}")
    except RegistryError as error:
        raise PassError(f"pass {needed_by} requires {name}: {error}" if needed_by else str(error)) from None
    found = make()
    assert isinstance(found, Pass)
    return found


def module_pass(
    opt_level: int = 0, name: str = "", required: Sequence[str] = (), preserves: Sequence[str] = ()
) -> Callable[[ModuleFunction], Callable[[], ModulePass]]:
    """Make a module pass of the decorated function and register it under its name."""

    def decorate(function: ModuleFunction) -> Callable[[], ModulePass]:
        info = PassInfo(name or function.__name__, opt_level, tuple(required), tuple(preserves))
        return _register(info, lambda: ModulePass(function, info), function.__doc__)

    return decorate


def function_pass(
    opt_level: int = 0, name: str = "", required: Sequence[str] = (), preserves: Sequence[str] = ()
) -> Callable[[FunctionFunction], Callable[[], FunctionPass]]:
    """Make a function pass of the decorated function and register it under its name."""

    def decorate(function: FunctionFunction) -> Callable[[], FunctionPass]:
        info = PassInfo(name or function.__name__, opt_level, tuple(required), tuple(preserves))
        return _register(info, lambda: FunctionPass(function, info), function.__doc__)

    return decorate


def _register(info: PassInfo, make: Callable[[], P], doc: str | None) -> Callable[[], P]:
    make.__name__ = make.__qualname__ = info.name
    make.__doc__ = doc
    register_func(f"{NAMESPACE}.{info.name}", make, override=True)
    return make
