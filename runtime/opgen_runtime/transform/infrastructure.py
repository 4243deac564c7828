"""Passes: functions from modules to modules, with names, levels, options and requirements.

    Pass                what runs: requirements, instruments, the work, the contract
    ModulePass          a function of the whole module
    FunctionPass        a function of each function of it
    Sequential          several passes in order
    find_pass           a pass by its name

A module remembers which passes' results hold for it, so that a requirement that is still valid is not run again.
`define.py` makes passes of decorated functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, overload

from ..base.contract import handed_in, is_own
from ..base.errors import PassError, RegistryError
from ..base.functions import get_global_func, has_global_func
from ..ir import Function, IRModule
from .context import NAMESPACE, ConfigKey, PassContext, know_pass
from .contract import PASS, Step
from .info import NO_OPTIONS, PassInfo
from .regions import COMPILER

Maker: TypeAlias = "Callable[[], Pass]"
Requirement: TypeAlias = "str | Maker"
ModuleFunction = Callable[..., IRModule]
"""`(module, context, **options) -> module`"""
FunctionFunction = Callable[..., Function]
"""`(function, module, context, **options) -> function`"""
ErrorBound: TypeAlias = "str | Callable[..., str]"


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
        if maker is None:
            know_pass(info.name)

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        """The work itself: valid IR in, valid IR out."""
        raise NotImplementedError

    def stated(self, context: PassContext) -> PassInfo:
        """The pass's info as it holds under `context`, whose config decides options that were not given."""
        return self.info

    @overload
    def __call__(self, module: IRModule, context: PassContext | None = None) -> IRModule: ...
    @overload
    def __call__(self, module: Function, context: PassContext | None = None) -> Function: ...
    def __call__(
        self, module: IRModule | Function, context: PassContext | None = None
    ) -> IRModule | Function:
        """Run on `module`; a function is the `main` of a module of its own, and gives a function.

        Raises PassError for a requirement that is unknown, disabled or circular, and, for a pass that users wrote,
        where what it gives breaks a rule of `transform/contract.py`.
        """
        context = context or PassContext.current()
        if isinstance(module, Function):
            return self.run(IRModule.from_expr(module), context, ())["main"]
        return self.run(module, context, ())

    def run(self, module: IRModule, context: PassContext, above: tuple[str, ...]) -> IRModule:
        """Like a call; `above` names the passes for which this one runs."""
        if not isinstance(module, IRModule):
            raise PassError(
                f"pass {self.info.name} runs on an IRModule or a Function, found {type(module).__name__}"
            )
        info = self.stated(context)
        if not all([watch.should_run(module, info) for watch in context.instruments]) and not above:
            return module
        module = self._meet_requirements(module, context, above)
        for watch in context.instruments:
            watch.run_before_pass(module, info)
        result = self._transformed(module, context)
        valid = module.valid if result is module else module.valid & frozenset(info.preserves)
        result = result.with_valid(valid | self._mark())
        for watch in context.instruments:
            watch.run_after_pass(result, info)
        return result

    def _transformed(self, module: IRModule, context: PassContext) -> IRModule:
        """`transform`, with what users wrote held to the contract."""
        if not PASS.applies(self.is_own):
            return self.transform(module, context)
        what = f"pass {self.info.name}"
        with handed_in(what, PassError):
            result = self.transform(module, context)
        if not isinstance(result, IRModule):
            raise PassError(f"{what} gave {result!r:.80}, expected an IRModule")
        if result is not module:
            changes = self.info.changes_type or self.is_own
            PASS.verify(Step(module, result, changes), what)
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
        """Run what is required and does not hold; again, where one of them undid what another had given."""
        chain = (*above, self.info.name)
        names = [needed if isinstance(needed, str) else needed.__name__ for needed in self.required]
        met: set[str] = set()
        for _ in range(len(names) + 1):  # each round settles one of them at least, or they undo each other
            met |= module.valid.intersection(names)
            if met.issuperset(names):
                return module
            for needed, name in zip(self.required, names, strict=True):
                if name in met or name in module.valid:
                    continue
                if name in chain:
                    raise PassError(f"passes require each other in a circle: {' -> '.join((*chain, name))}")
                if name in context.disabled:
                    raise PassError(f"pass {self.info.name} requires {name}, which the context disables")
                found = find_pass(needed, self.info.name) if isinstance(needed, str) else needed()
                before, module = module, found.run(module, context, chain)
                if module.functions != before.functions:
                    met &= module.valid
                met.add(name)
        lost = ", ".join([name for name in names if name not in met])
        raise PassError(
            f"pass {self.info.name} requires {', '.join(names)}, which undo each other: {lost} never holds"
        )

    def __repr__(self) -> str:
        given = "".join([f", {name}={value!r}" for name, value in self.info.options.items()])
        return f"{type(self).__name__}({self.info.name}, opt_level={self.info.opt_level}{given})"


class _Given(Pass):
    """A pass given by a function with options.

    `keys`: the configuration key of each option; `given`: the values with which the pass was made.
    """

    def __init__(
        self,
        function: Callable[..., object],
        info: PassInfo,
        required: Sequence[Requirement] = (),
        maker: Maker | None = None,
        keys: Mapping[str, ConfigKey] | None = None,
        error_bound: ErrorBound = "",
    ) -> None:
        super().__init__(info, required, maker)
        self._function = function
        self._keys = dict(keys or {})
        self._error_bound = error_bound

    @property
    def is_own(self) -> bool:
        return is_own(self._function)

    def options(self, context: PassContext) -> Mapping[str, object]:
        """The values of the options: as given, else as the context's config says, else the defaults."""
        if not self._keys:
            return NO_OPTIONS
        given = self.info.options
        return {n: given[n] if n in given else context.value(key) for n, key in self._keys.items()}

    def stated(self, context: PassContext) -> PassInfo:
        if isinstance(self._error_bound, str):
            return self.info
        return replace(self.info, error_bound=self._error_bound(**self.options(context)))


class ModulePass(_Given):
    """A pass given by a function of the whole module."""

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        result: IRModule = self._function(module, context, **self.options(context))  # type: ignore[assignment]
        return result


class FunctionPass(_Given):
    """A pass given by a function of one function of the module; those for other compilers stay as they are."""

    def transform(self, module: IRModule, context: PassContext) -> IRModule:
        options = self.options(context)
        made: dict[str, Function] = {}
        for var, function in module.functions.items():
            if COMPILER in function.attrs:
                continue
            changed = self._function(function, module, context, **options)
            if not isinstance(changed, Function):
                raise PassError(f"of @{var.name} it made {changed!r:.80}, expected a Function")
            if changed is not function:
                made[var.name] = changed
        return module.with_functions(made) if made else module


class Sequential(Pass):
    """Several passes in order; those that the context does not enable are left out, nested Sequentials with all
    that they hold."""

    def __init__(self, passes: Sequence[Pass], name: str = "Sequential", opt_level: int = 0) -> None:
        super().__init__(PassInfo(name, opt_level))
        self.passes = tuple(passes)
        for each in self.passes:
            if not isinstance(each, Pass):
                raise PassError(f"Sequential {name} takes passes, found {each!r:.80}")

    def run(self, module: IRModule, context: PassContext, above: tuple[str, ...]) -> IRModule:
        if not isinstance(module, IRModule):
            raise PassError(
                f"{self.info.name} runs on an IRModule or a Function, found {type(module).__name__}"
            )
        for each in self.passes:
            if context.enabled(each.info):
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
