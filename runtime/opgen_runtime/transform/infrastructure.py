"""Passes: functions from modules to modules, with names, levels and requirements.

    @module_pass(opt_level=1, required=("InferType",))
    def MyPass(module: IRModule, context: PassContext) -> IRModule: ...

    @function_pass(opt_level=0)
    def MyFunctionPass(function: Function, module: IRModule, context: PassContext) -> Function: ...

`MyPass()` gives the pass, and so does the global function `transform.MyPass`.  What a pass requires is named by
either: `required=(InferType,)` is that very pass, `required=("MyPass",)` the one of that name when it is needed.  A
name belongs to the module that defined its pass.  A module remembers which passes' results hold for it, so that a
requirement that is still valid is not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from ..base.contract import handed_in, is_own, verify, verifying
from ..base.errors import PassError, RegistryError
from ..ir import Function, IRModule
from ..operator.registry import get_global_func, has_global_func, provide_func
from .context import PassContext, PassInfo
from .contract import RULES, Step

NAMESPACE = "transform"
P = TypeVar("P", bound="Pass")
Maker: TypeAlias = "Callable[[], Pass]"
Requirement: TypeAlias = "str | Maker"
ModuleFunction = Callable[[IRModule, PassContext], IRModule]
FunctionFunction = Callable[[Function, IRModule, PassContext], Function]


class Pass:
    """A pass; calling it runs it, after the passes that it requires and that are not valid any more.

    `maker`: what a decorator has registered under the pass's name; a pass without one leaves no result that others
    may rely on.  `required`: the makers, or the names, of the passes that it requires.
    """

    def __init__(
        self, info: PassInfo, required: Sequence[Requirement] = (), maker: Maker | None = None
    ) -> None:
        self.info = info
        self.maker = maker
        self.required: tuple[Requirement, ...] = tuple(required) or info.required

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        """The work itself: valid IR in, valid IR out."""
        raise NotImplementedError

    def __call__(self, module: IRModule, context: PassContext | None = None) -> IRModule:
        """Run on `module`.

        Raises PassError for a requirement that is unknown, disabled or circular, and, for a pass that users wrote,
        where what it gives breaks a rule of `transform/contract.py`.
        """
        return self.run(module, context or PassContext.current(), ())

    def run(self, module: IRModule, context: PassContext, above: tuple[str, ...]) -> IRModule:
        """Like a call; `above` names the passes for which this one runs."""
        if not isinstance(module, IRModule):
            raise PassError(f"pass {self.info.name} runs on an IRModule, found {type(module).__name__}")
        if not all([watch.should_run(module, self.info) for watch in context.instruments]) and not above:
            return module
        module = self._meet_requirements(module, context, above)
        for watch in context.instruments:
            watch.run_before_pass(module, self.info)
        result = self._transformed(module, context)
        valid = module.valid if result is module else module.valid & frozenset(self.info.preserves)
        result = result.with_valid(valid | self._mark())
        for watch in context.instruments:
            watch.run_after_pass(result, self.info)
        return result

    def _transformed(self, module: IRModule, context: PassContext) -> IRModule:
        """`transform`, with what users wrote held to the contract."""
        if self.is_own and not verifying():
            return self.transform(module, context)
        what = f"pass {self.info.name}"
        with handed_in(what, PassError):
            result = self.transform(module, context)
        if not isinstance(result, IRModule):
            raise PassError(f"{what} gave {result!r:.80}, expected an IRModule")
        if result is not module:
            changes = self.info.changes_type or self.is_own
            verify(Step(module, result, changes), RULES, what, PassError)
        return result

    @property
    def is_own(self) -> bool:
        """Whether the pass is one of the runtime's."""
        return is_own(type(self))

    def _mark(self) -> frozenset[str]:
        """What later passes may rely on: the name, if it is this pass's."""
        name = f"{NAMESPACE}.{self.info.name}"
        registered = self.maker is not None and has_global_func(name) and get_global_func(name) is self.maker
        return frozenset((self.info.name,)) if registered else frozenset()

    def _meet_requirements(self, module: IRModule, context: PassContext, above: tuple[str, ...]) -> IRModule:
        chain = (*above, self.info.name)
        for needed in self.required:
            name = needed if isinstance(needed, str) else needed.__name__
            if name in module.valid:
                continue
            if name in chain:
                raise PassError(f"passes require each other in a circle: {' -> '.join((*chain, name))}")
            if name in context.disabled:
                raise PassError(f"pass {self.info.name} requires {name}, which the context disables")
            found = find_pass(needed, self.info.name) if isinstance(needed, str) else needed()
            module = found.run(module, context, chain)
        return module

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name}, opt_level={self.info.opt_level})"


class ModulePass(Pass):
    """A pass given by a function of the whole module."""

    def __init__(
        self,
        function: ModuleFunction,
        info: PassInfo,
        required: Sequence[Requirement] = (),
        maker: Maker | None = None,
    ) -> None:
        super().__init__(info, required, maker)
        self._function = function

    @property
    def is_own(self) -> bool:
        return is_own(self._function)

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        return self._function(module, context)


class FunctionPass(Pass):
    """A pass given by a function of one function of the module."""

    def __init__(
        self,
        function: FunctionFunction,
        info: PassInfo,
        required: Sequence[Requirement] = (),
        maker: Maker | None = None,
    ) -> None:
        super().__init__(info, required, maker)
        self._function = function

    @property
    def is_own(self) -> bool:
        return is_own(self._function)

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        result = module
        for var, function in module.functions.items():
            changed = self._function(function, module, context)
            if not isinstance(changed, Function):
                raise PassError(f"of @{var.name} it made {changed!r:.80}, expected a Function")
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
    if not isinstance(found, Pass):
        raise PassError(f"the function {NAMESPACE}.{name} gave {found!r:.80}, expected a pass")
    return found


def module_pass(
    opt_level: int = 0,
    name: str = "",
    required: Sequence[Requirement] = (),
    preserves: Sequence[str] = (),
    changes_type: bool = False,
    override: bool = False,
) -> Callable[[ModuleFunction], Callable[[], ModulePass]]:
    """Make a module pass of the decorated function and register it under its name.

    `changes_type`: the type of `main` may be another one after it.  Raises RegistryError for a name that a pass of
    another module has; `override` replaces that pass for all that ask for it by name.
    """

    def decorate(function: ModuleFunction) -> Callable[[], ModulePass]:
        info = _info(name or function.__name__, opt_level, required, preserves, changes_type)

        def make() -> ModulePass:
            return ModulePass(function, info, required, make)

        return _register(info, make, function, override)

    return decorate


def function_pass(
    opt_level: int = 0,
    name: str = "",
    required: Sequence[Requirement] = (),
    preserves: Sequence[str] = (),
    changes_type: bool = False,
    override: bool = False,
) -> Callable[[FunctionFunction], Callable[[], FunctionPass]]:
    """Make a function pass of the decorated function and register it under its name; see `module_pass`."""

    def decorate(function: FunctionFunction) -> Callable[[], FunctionPass]:
        info = _info(name or function.__name__, opt_level, required, preserves, changes_type)

        def make() -> FunctionPass:
            return FunctionPass(function, info, required, make)

        return _register(info, make, function, override)

    return decorate


def _info(
    name: str, opt_level: int, required: Sequence[Requirement], preserves: Sequence[str], changes_type: bool
) -> PassInfo:
    names = tuple([needed if isinstance(needed, str) else needed.__name__ for needed in required])
    return PassInfo(name, opt_level, names, tuple(preserves), changes_type)


def _register(
    info: PassInfo, make: Callable[[], P], function: Callable[..., object], override: bool
) -> Callable[[], P]:
    make.__name__ = make.__qualname__ = info.name
    make.__module__ = function.__module__
    make.__doc__ = function.__doc__
    provide_func(f"{NAMESPACE}.{info.name}", make, function.__module__, override)
    return make
