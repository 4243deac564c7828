"""The compiler, in three tables: what becomes of a program, stage by stage.

PROGRAM  from a module to one native function; its stage `partition` goes through GRAPH, `compile` through KERNEL
GRAPH    passes, module to module; the last of them partitions the program into segments
KERNEL   once a segment, between the caches: tensor expressions, schedule, loop IR, LLVM IR, machine code

A pass is a row of GRAPH, a phase over loop IR one of `tir.PHASES`, which KERNEL takes up.  Whatever goes through the
compiler goes through these tables: `compile_program` (programs.py), `optimise` and `compile_segment`, the texts of
`opgen explain`, hooks and instruments of a PassContext, the tests of every prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from ...base import Target
from ...base.contract import Contract, Rule
from ...base.errors import AccessError, CodegenError, PassError, did_you_mean
from ...base.forks import importing
from ...base.lru_cache import LRUCache
from ...ir import Function, IRModule
from ...lower import tir
from ...lower.library.segment import Segment
from ...transform import (
    AlterOpLayout,
    CanonicalizeCast,
    CanonicalizeOps,
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
    DeadCodeElimination,
    DecomposeOps,
    DivToMul,
    EliminateCommonSubexpr,
    FastMath,
    FoldConstant,
    FoldScaleAxis,
    FoldShift,
    FoldStatic,
    FuseOps,
    InferType,
    Inline,
    IntegerProducts,
    LowerExternalFunctions,
    Pass,
    PassContext,
    PruneFilterTaps,
    RemoveUnusedFunctions,
    SimplifyExpr,
    SimplifyInference,
    ToGraphNormalForm,
    Winograd,
)
from ...transform.contract import PASS, SEGMENTS
from .interpret import Arrays, run_op_by_op
from .kernel import disk_cache, steps
from .kernel.dims import dims_in
from .kernel.kernel import Kernel, NativeKernel
from .kernel.key import front_key
from .kernel.lazy_kernel import is_lazy, lazy_parts
from .kernel.parts import Parts, evaluated, whole
from .kernel.precompute_cache import compiled_once, forget_precomputes
from .kernel.records import Compiled, Emitted, Lowered, Normal, Request, Scheduled
from .kernel.shared import shared_out
from .kernel.symbolic import SymbolicKernel
from .kernel.written import Written
from .program import program_steps
from .program.program_records import Built, Closed, Cut, Linked, Planned, Prepared, Specialised
from .stage import B, Stage, Table
from .tuning.records import tuned

# ------------------------------------------------------------------ the graph


def _main(module: IRModule, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of a module's main, op by op."""
    main = module["main"]
    return run_op_by_op(main.body, dict(zip(main.params, arrays, strict=True)), module)


def graph_stage(each: Pass, *verify: Contract[IRModule], needed: bool = False) -> Stage[IRModule, IRModule]:
    """The row of a pass, which checks by itself what every pass must give; one that is `needed` runs at every level."""
    name = each.info.name
    return Stage(
        name, each, verify, lambda module: [(name, str(module))], _main, inside=(PASS,), needed=needed
    )


GRAPH: Final[tuple[Stage[IRModule, IRModule], ...]] = (
    graph_stage(LowerExternalFunctions(), needed=True),
    graph_stage(Inline(), needed=True),
    graph_stage(RemoveUnusedFunctions(), needed=True),
    graph_stage(InferType()),
    graph_stage(ToGraphNormalForm()),
    graph_stage(SimplifyInference()),
    graph_stage(DecomposeOps()),
    graph_stage(FoldStatic()),
    graph_stage(DeadCodeElimination()),
    graph_stage(IntegerProducts()),
    graph_stage(FoldConstant()),
    graph_stage(PruneFilterTaps()),
    graph_stage(SimplifyExpr()),
    graph_stage(DivToMul()),
    graph_stage(CanonicalizeOps()),
    graph_stage(FoldScaleAxis()),
    graph_stage(FoldShift()),
    graph_stage(AlterOpLayout()),
    graph_stage(CombineParallelConv2D()),
    graph_stage(CombineParallelDense()),
    graph_stage(CombineParallelBatchMatmul()),
    graph_stage(Winograd()),
    graph_stage(FastMath()),
    graph_stage(EliminateCommonSubexpr()),
    graph_stage(CanonicalizeCast()),
    graph_stage(FuseOps(), SEGMENTS),
)


def through_graph(
    module: IRModule, context: PassContext
) -> Iterator[tuple[Stage[IRModule, IRModule], IRModule]]:
    """Each stage of GRAPH that the context enables, with the module after it."""
    for stage in GRAPH:
        assert isinstance(stage.run, Pass)
        if stage.needed or context.enabled(stage.run.info):
            module = stage.run(module, context)
            for contract in stage.contracts:
                contract.check(module, f"pass {stage.name}")
            yield stage, module


def optimise(module: IRModule, context: PassContext | None = None) -> IRModule:
    """The module after GRAPH, in segments.  Raises what the passes raise."""
    for _, after in through_graph(module, context or PassContext.current()):
        module = after
    return module


# ------------------------------------------------------------------ one kernel


def _loop_ir(name: str, run: Callable[[Any], Lowered], contract: Contract[Any]) -> Stage[Any, Lowered]:
    """The row of a stage that gives loop IR."""
    return Stage(
        name,
        run,
        (contract,),
        texts=lambda lowered: [(name, lowered.text())],
        oracle=Lowered.interpret,
        hooked=steps.hooked,
    )


KERNEL: Final[tuple[Stage[Any, Any], ...]] = (
    Stage("segment", steps.translate, (), Segment.texts, Segment.evaluate, inside=steps.COMPUTES),
    Stage("normalize", steps.normalize, (), Normal.texts, Normal.evaluate, inside=steps.FUNCTIONS),
    Stage("schedule", steps.schedule, (), Scheduled.texts, inside=steps.SCHEDULES),
    Stage("split", steps.split, texts=Scheduled.part_texts),
    _loop_ir("lower", steps.lower, tir.LOWERED),
    *[_loop_ir(row.name, steps.phase(row.run), row.contract) for row in tir.PHASES],
    Stage("emit", steps.emit, texts=Emitted.texts),
    Stage("compile", steps.compile_, texts=Compiled.texts),
    Stage("load", steps.load, oracle=NativeKernel.run),
)
HOOKABLE: Final = tuple(stage.name for stage in KERNEL if stage.hooked)


def through_kernel(
    request: Request | Written, stages: Sequence[Stage[Any, Any]] = KERNEL, record: Any = None
) -> Iterator[tuple[Stage[Any, Any], Any]]:
    """Each stage with the record after it, users' hooks included; a record that is a Kernel ends the way.

    `record`: what the first of the stages takes, the request by default.
    """
    record = request if record is None else record
    watching = request.instruments
    name = request.name if watching else ""
    for stage in stages:
        for watch in watching:
            watch.run_before_stage(name, stage.name)
        record = stage.run(record)
        ended = isinstance(record, Kernel)
        for contract in () if ended else stage.contracts:  # of loop IR
            for func in record.funcs:
                tir.check(contract, func, stage.name, record.segment.is_own)
        hook = request.hooks.get(stage.name)
        if hook is not None and stage.hooked is not None:
            record = stage.hooked(record, stage.name, hook, stage.contracts[0])
        for watch in watching:
            watch.run_after_stage(name, stage.name, partial(texts_of, stage, record))
        yield stage, record
        if ended:
            return


def texts_of(stage: Stage[Any, B], record: B | Kernel) -> Iterable[tuple[str, str]]:
    """(name, text) of what a stage has given; nothing of a kernel."""
    return () if stage.texts is None or isinstance(record, Kernel) else stage.texts(record)


def upto(name: str, table: Table = KERNEL) -> Table:
    """The rows of a table up to the stage of that name, included."""
    names = [stage.name for stage in table]
    return table[: names.index(name) + 1]


def after(name: str, table: Table = KERNEL) -> Table:
    """The rows of a table after the stage of that name."""
    return table[len(upto(name, table)) :]


def between(name: str, last: str) -> Table:
    """The rows of KERNEL after the stage of the first name up to that of the second, included."""
    return upto(last)[len(upto(name)) :]


_MAX_CACHED_KERNELS: Final = 4096
_MAX_BYTES: Final = 1 << 26
_kernels: Final[LRUCache[Parts]] = LRUCache(
    _MAX_CACHED_KERNELS, _MAX_BYTES, Parts.footprint, least=8
)  # by front key


def forget_kernels() -> None:
    """Drop the kernels that this process remembers; those on disk stay."""
    _kernels.clear()
    forget_precomputes()


def compile_segment(
    function: Function,
    target: Target | str | None = None,
    context: PassContext | None = None,
    digest: str = "",
) -> Kernel:
    """The kernel of a segment: parameters to the body's tensors, tuples spread.

    Looks in this process, then in the object cache, by a key that is computed before anything is lowered; else goes
    through KERNEL.  What has no key (users' functions that cannot be digested) is compiled each time.  Raises
    CodegenError for types that are not known or not static, and what schedules, lowering and LLVM raise.  `digest`: the
    structural digest of the function, where it is known.
    """
    chosen = Target.host() if target is None else Target.parse(target)
    check_runs_here(chosen)
    kernel = compile_parts(function, (), chosen, context, digest).main
    if isinstance(kernel, SymbolicKernel):
        kinds = [param.checked_type for param in function.params]
        raise CodegenError(
            f"the function takes {', '.join(map(str, kinds))}; its dims must be bound to values before compilation"
        )
    return kernel


def compile_parts(
    function: Function,
    constant: Collection[int],
    target: Target | str | None = None,
    context: PassContext | None = None,
    digest: str = "",
) -> Parts:
    """The kernels of a segment whose operands at the positions `constant`, tuples spread, have one value in all runs.

    What depends on these alone is computed by a kernel of its own, which runs on this machine.  `main` is for the
    target, whatever that is.  As `compile_segment` otherwise.
    """
    request = requested(function, target, context or PassContext.current(), constant, digest)
    hooks = request.hooks
    key = front_key(function, request.target, hooks, digest, constant, request.options)
    parts = None if key is None else _kernels.get(key) or disk_cache.load(function, key, request.target)
    if parts is None:
        parts = _compile(request, key)
    return parts if key is None else _kernels.put(key, parts)


def _compile(request: Request, key: str | None) -> Parts:
    scheduled: Scheduled | None = None
    compiled: list[Compiled] = []
    for _, record in through_kernel(request):
        if isinstance(record, Scheduled):
            scheduled = record
        elif isinstance(record, Compiled):
            compiled.append(record)
    assert isinstance(record, Kernel)
    if scheduled is None or scheduled.precompute is None:
        parts = whole(record)
    else:
        code, precompute = _compile_precompute(request, scheduled.precompute)
        compiled.append(code)
        constants = scheduled.precompute.normal.segment.operands
        parts = Parts(record, scheduled.normal.segment.operands, precompute, constants)
    if key is not None:
        disk_cache.store(compiled, key)
    return parts


def _compile_precompute(request: Request, scheduled: Scheduled) -> tuple[Compiled, Kernel]:
    """The part of a segment that runs once: its code, of equal loops where there is some, and the kernel.

    Where users' functions watch, it goes all the way.
    """
    *_, (_, lowered) = through_kernel(request, between("split", "lower"), steps.on_this_machine(scheduled))

    def compile_it() -> Compiled:
        *_, (_, made) = through_kernel(request, between("lower", "compile"), lowered)
        assert isinstance(made, Compiled)
        return made

    is_watched = bool(request.hooks or request.instruments)
    code = compile_it() if is_watched else compiled_once(lowered, compile_it)
    *_, (_, kernel) = through_kernel(request, after("compile"), code)
    return code, kernel


def check_runs_here(target: Target) -> None:
    """Raises CodegenError for a target that this machine is not."""
    if not target.is_host:
        raise CodegenError(f"a kernel for {target.cpu} on {target.triple} cannot run on this machine")


def requested(
    function: Function,
    target: Target | str | None,
    context: PassContext,
    constant: Collection[int] = (),
    digest: str = "",
) -> Request:
    """A segment to compile under a context, for the target as it is tuned for the segment.

    `digest`: the structural digest of the function, where it is known.  Raises PassError for a hook after no stage that
    takes one, and StrategyError for records of tuning that are damaged.
    """
    check_hooks(context)
    chosen = tuned(Target.host() if target is None else Target.parse(target), function, digest, constant)
    hooks = {name: hook for name, hook in context.hooks.items() if name in HOOKABLE}
    options = tir.Options.of(context.config)
    return Request(function, chosen, hooks, context.instruments, frozenset(constant), options)


def check_hooks(context: PassContext) -> None:
    """Raises PassError for a hook after no stage that takes one."""
    for name in context.hooks:
        if name not in HOOKS:
            raise PassError(
                f"there is no stage {name!r} to hook{did_you_mean(name, HOOKS)}; the stages are: {', '.join(HOOKS)}"
            )


# ------------------------------------------------------------------ the program


def _partition(cut: Cut) -> Closed:
    """In segments, by GRAPH."""
    closed = cut.closed
    return replace(closed, module=optimise(closed.module, closed.context))


def _evaluate(closed: Closed) -> Closed:
    """Segments of constants alone are their values."""
    known = {
        var.name: evaluated(
            function, lambda segment: compile_segment(segment, closed.target.evaluating, closed.context)
        )
        for var, function in closed.module.functions.items()
    }
    return closed.with_functions(known)


def _compile_all(made: Specialised) -> Built:
    """A kernel for each segment, by KERNEL, on two threads; in turn where users' functions watch."""
    target, context = made.closed.target, made.closed.context

    def compiled(segment: Function, digest: str, constant: Collection[int]) -> Parts:
        lazy = lazy_parts(segment, lambda specialised: compile_parts(specialised, (), target, context).main)
        try:
            return lazy if is_lazy(segment) else compile_parts(segment, constant, target, context, digest)
        except AccessError:
            if not dims_in(segment):
                raise
            return lazy  # it is inside for some sizes only, as where dims meet several numbers in broadcasts

    tasks = [
        partial(compiled, *each)
        for each in zip(made.functions, made.digests, made.segments.constant, strict=True)
    ]
    in_turn = len(tasks) < 2 or target.num_threads < 2 or context.hooks or context.instruments
    return Built(made, tuple([task() for task in tasks] if in_turn else shared_out(tasks)))


def _oracle(name: str) -> Callable[[Any, Sequence[np.ndarray]], Arrays]:
    """A function of `program_oracles`, which builds do not wait for."""

    def computed(record: Any, arrays: Sequence[np.ndarray]) -> Arrays:
        with importing:
            from .program import program_oracles
        found: Arrays = getattr(program_oracles, name)(record, arrays)
        return found

    return computed


def _contract(name: str) -> Callable[[], tuple[Contract[Any], ...]]:
    """A contract of the stages of programs, which builds do not wait for."""

    def found() -> tuple[Contract[Any], ...]:
        with importing:
            from .program import program_contracts
        return (getattr(program_contracts, name),)

    return found


PROGRAM: Final[tuple[Stage[Any, Any], ...]] = (
    Stage("bind", program_steps.bind, oracle=_oracle("of_module")),
    Stage("cut", program_steps.cut, _contract("SECTIONS"), Cut.texts, _oracle("of_cut")),
    Stage("partition", _partition, oracle=_oracle("of_module")),
    Stage("evaluate", _evaluate, (SEGMENTS,), oracle=_oracle("of_module")),
    Stage("specialise", program_steps.specialise, _contract("TO_COMPILE"), oracle=_oracle("of_segments")),
    Stage("compile", _compile_all, _contract("BUILT"), oracle=_oracle("of_kernels")),
    Stage("prepare", program_steps.prepare, _contract("SITES"), Prepared.texts, _oracle("of_sites")),
    Stage(
        "plan",
        program_steps.plan,
        _contract("PLAN"),
        Planned.texts,
        _oracle("of_plan"),
        hooked=program_steps.hooked_plan,
    ),
    Stage("link", program_steps.link, _contract("LINKED"), Linked.texts, _oracle("of_linked")),
)
HOOKS: Final = (*HOOKABLE, *[stage.name for stage in PROGRAM if stage.hooked])


def contracts() -> Iterator[tuple[str, Contract[Any], Rule[Any]]]:
    """(stage, contract, rule): all that is checked, with when."""
    for stage in (*PROGRAM, *GRAPH, *KERNEL):
        for contract in (*stage.inside, *stage.contracts):
            yield from ((stage.name, contract, rule) for rule in contract.rules)
