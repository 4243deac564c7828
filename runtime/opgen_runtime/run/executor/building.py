"""`build`: whatever can be compiled, by what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from ...base import Target
from ...base.errors import ExecutorError, did_you_mean
from ...base.forks import importing
from ...ir import Function, IRModule, Var
from ...lower.tir import PrimFunc
from ...transform import InferType, PassContext
from ..compile.program.program_steps import module_given
from ..compile.scheduled import Schedule, Tensor, TensorFunction, build_loops, build_schedule
from .donating import donations_of
from .driver import build_program
from .executable import Executable
from .module_key import key_of_module


@overload
def build(
    program: IRModule | Function,
    params: Mapping[str, object] | Mapping[Var, object] | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
    *,
    context: PassContext | None = None,
    donate: Sequence[str] = (),
) -> Executable: ...
@overload
def build(
    program: Schedule, args: Sequence[Tensor], target: Target | str | None = None, name: str | None = None
) -> TensorFunction: ...


@overload
def build(
    program: PrimFunc, target: Target | str | None = None, name: str | None = None
) -> TensorFunction: ...


def build(program: Any, *args: Any, **options: Any) -> Any:
    """A module or a function of the graph IR compiled; a schedule, or a kernel of loop IR, as a function of arrays.

    `build(module_or_function, params=None, target=None, opt_level=2)` gives an Executable for the module's main.
    `params`: values of parameters, which become constants.  `target`: of another machine the Executable is one that
    can be saved and exported for it, and does not run here.  `donate`: parameters by name; the first result of the type
    of each takes the memory of the array that is given for it.  Without `opt_level` that of the current PassContext
    holds.

    `build(schedule, args, target=None, name=None)` gives a callable on arrays, one for each tensor of `args`, results
    among them; see `TensorFunction`.

    `build(kernel, target=None, name=None)` gives one for each parameter of a kernel of loop IR.
    """
    if isinstance(program, PrimFunc):
        return build_loops(program, *args, **options)
    if isinstance(program, Schedule):
        return build_schedule(program, *args, **options)
    return _build_module(program, *args, **options)


def _build_module(
    program: IRModule | Function,
    params: Mapping[str, object] | Mapping[Var, object] | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
    *,
    context: PassContext | None = None,
    donate: Sequence[str] = (),
) -> Executable:
    """The program compiled, or as another process has left it in the cache."""
    module = module_given(program, params)
    chosen = None if target is None else Target.parse(target)
    if donate:
        main = InferType()(module)["main"]
        names = [param.name_hint for param in main.params]
        unknown = [name for name in donate if name not in names]
        if unknown:
            raise ExecutorError(
                f"donate: main has no parameter {unknown[0]!r}{did_you_mean(unknown[0], names)}"
            )
        donations = donations_of(main, [names.index(name) for name in donate])
        return build_program(module, None, chosen, opt_level, context=context, donations=donations)
    is_kept = context is None and (chosen is None or chosen.is_host)
    key = key_of_module(module, chosen, opt_level) if is_kept else None
    if key is None:
        return build_program(module, None, chosen, opt_level, context=context)
    with importing:
        from . import program_cache
    known = program_cache.found(key)
    if known is not None:
        return known[0]
    made = build_program(module, None, chosen, opt_level)
    program_cache.keep(key, made, {})
    return made
