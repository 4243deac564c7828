"""`build`: whatever can be compiled, by what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from ...base import Target
from ...base.forks import importing
from ...ir import Function, IRModule, Var
from ...transform import InferType, PassContext, ToGraphNormalForm
from ..compile.pipeline import optimise
from ..compile.program.program_steps import as_module, check_closed, constants_of, module_given
from ..compile.scheduled import PrimFunc, Schedule, Tensor, TensorFunction, build_loop_ir, build_schedule
from .executable import Executable
from .module_key import key_of_module
from .source import Source


@overload
def build(
    program: IRModule | Function,
    params: Mapping[str, object] | Mapping[Var, object] | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
    *,
    context: PassContext | None = None,
    donate: Sequence[str] = (),
    shape: Mapping[str, Iterable[object]] | None = None,
    dtype: Mapping[str, str] | str | None = None,
    layout: Mapping[str, str] | None = None,
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
    `params`: values of parameters, which become constants.  `donate`: parameters by name; the first result of the type
    of each takes the memory of the array that is given for it.  `shape`, `dtype`: of inputs by name, as for `infer`.
    `layout`: of inputs by name, that lie otherwise than the ops that read them say.  Without `opt_level` that of the
    current PassContext holds.

    Without `target` it is that of the `with Target(...)` around, this machine outside of any.  Of another machine the
    Executable is one that can be saved and exported for it, and does not run here.

    `build(schedule, args, target=None, name=None)` gives a callable on arrays, one for each tensor of `args`, results
    among them; see `TensorFunction`.

    `build(kernel, target=None, name=None)` gives one for each parameter of a kernel of loop IR.
    """
    if isinstance(program, Schedule):
        return build_schedule(program, *args, **options)
    if isinstance(program, PrimFunc):
        return build_loop_ir(program, *args, **options)
    return _build_module(program, *args, **options)


def _build_module(
    program: IRModule | Function,
    params: Mapping[str, object] | Mapping[Var, object] | None = None,
    target: Target | str | None = None,
    opt_level: int | None = None,
    *,
    context: PassContext | None = None,
    donate: Sequence[str] = (),
    shape: Mapping[str, Iterable[object]] | None = None,
    dtype: Mapping[str, str] | str | None = None,
    layout: Mapping[str, str] | None = None,
) -> Executable:
    """The program compiled, or as another process has left it in the cache, for the values of its params."""
    known = constants_of(as_module(program)["main"], params or {})
    source = Source(
        as_module(program),
        tuple([var.name_hint for var in known]),
        shape or {},
        dtype,
        layout or {},
        Target.current() if target is None else Target.parse(target),
        opt_level,
        context or PassContext.current(),
        tuple(donate),
    )
    module, values = source.closed({var.name_hint: constant.data for var, constant in known.items()})
    is_kept = context is None and not donate and source.target.is_host
    key = None if not is_kept else key_of_module(module, source.target, opt_level)
    made = source.compiled(module) if key is None else _kept(key, lambda: source.compiled(module))
    if values:
        made.keep_params(values, source.executable)
    return made


def _kept(key: str, make: Callable[[], Executable]) -> Executable:
    """What the cache of programs has of a key, else what is made, which it has from then on."""
    with importing:
        from . import program_cache
    known = program_cache.found(key)
    if known is not None:
        return known[0]
    made = make()
    program_cache.keep(key, made, {})
    return made


def optimize(
    program: IRModule | Function,
    params: Mapping[str, object] | Mapping[Var, object] | None = None,
    target: Target | str | None = None,
) -> IRModule:
    """The module as `build` partitions it: after all passes that the current PassContext enables, in kernels.

    `params`: values of parameters, which become constants.  `target`: as for `build`.  Raises what `build` raises
    before it compiles kernels.
    """
    chosen = Target.current() if target is None else Target.parse(target)
    module = module_given(program, params)
    check_closed(module)
    return optimise(module, PassContext.current().for_target(chosen))


def as_graph(module: IRModule) -> IRModule:
    """A module with all types, whose values stand where they are used: without `let`."""
    return ToGraphNormalForm()(InferType()(module))
