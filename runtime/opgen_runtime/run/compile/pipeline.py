"""The compiler, in two tables: what becomes of a program, stage by stage.

GRAPH    passes, module to module; the last of them partitions the program into segments
         (`compile/program/plan.py` then says in which order segments run, and where their results lie)
KERNEL   once a segment, between the caches: tensor expressions, schedule, loop IR, LLVM IR, machine code

A pass is a row of GRAPH, a phase over loop IR one of `tir.PHASES`, which KERNEL takes up.  Whatever goes through the
compiler goes through these tables: `optimise` and `compile_segment`, the texts of `opgen explain`, hooks and
instruments of a PassContext, the tests of every prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

import numpy as np

from ...base import Target
from ...base.contract import Contract, Rule
from ...base.errors import CodegenError, PassError, did_you_mean
from ...base.lru_cache import LRUCache
from ...base.vocabulary import dataclass
from ...ir import Function, IRModule
from ...lower import tir
from ...lower.library.segment import Segment
from ...lower.schedule import Schedule
from ...transform import (
    AlterOpLayout,
    CanonicalizeCast,
    CanonicalizeOps,
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
    DeadCodeElimination,
    DivToMul,
    EliminateCommonSubexpr,
    FastMath,
    FoldConstant,
    FoldScaleAxis,
    FuseOps,
    InferType,
    Inline,
    IntegerProducts,
    Pass,
    PassContext,
    RemoveUnusedFunctions,
    SimplifyExpr,
    SimplifyInference,
    Winograd,
)
from ...transform.contract import PASS, SEGMENTS
from .interpret import Arrays, run_op_by_op
from .kernel import steps
from .kernel.footprint import programs
from .kernel.kernel import Kernel, NativeKernel
from .kernel.key import front_key
from .kernel.parts import Parts, whole
from .kernel.records import Compiled, Emitted, Lowered, Normal, Request, Scheduled
from .kernel.segments import segments_of
from .kernel.symbolic import SymbolicKernel
from .kernel.written import Program, Written
from .tuning.records import tuned

A = TypeVar("A")
B = TypeVar("B")
Oracle = Callable[[B, Sequence[np.ndarray]], Any]


@dataclass(frozen=True, slots=True)
class Stage(Generic[A, B]):
    """One row: what it is called, what it does, and what can be asked of what it gives.

    `verify`: the contracts of what it gives, which are checked after it; `inside`: those that it checks itself, where
    users' functions have given something.  `texts`: (name, text) of what there is to see.  `oracle` computes the
    results from what it gave, for tests: as te.evaluate, the interpreter of loop IR, or the machine does.  `hooked`
    applies a user's function to what it gave.
    """

    name: str
    run: Callable[[A], B]
    verify: tuple[Contract[Any], ...] = ()
    texts: Callable[[B], Iterable[tuple[str, str]]] | None = None
    oracle: Oracle[B] | None = None
    inside: tuple[Contract[Any], ...] = ()
    hooked: Callable[[B, str, tir.Phase, Contract[Any]], B] | None = None
    needed: bool = False


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
    graph_stage(Inline(), needed=True),
    graph_stage(RemoveUnusedFunctions(), needed=True),
    graph_stage(InferType()),
    graph_stage(SimplifyInference()),
    graph_stage(DeadCodeElimination()),
    graph_stage(IntegerProducts()),
    graph_stage(FoldConstant()),
    graph_stage(SimplifyExpr()),
    graph_stage(DivToMul()),
    graph_stage(CanonicalizeOps()),
    graph_stage(FoldScaleAxis()),
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
            for contract in stage.verify:
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
        for contract in () if ended else stage.verify:  # of loop IR
            for func in record.funcs:
                tir.check(contract, func, stage.name, record.segment.is_own)
        hook = request.hooks.get(stage.name)
        if hook is not None and stage.hooked is not None:
            record = stage.hooked(record, stage.name, hook, stage.verify[0])
        for watch in watching:
            watch.run_after_stage(name, stage.name, partial(texts_of, stage, record))
        yield stage, record
        if ended:
            return


def texts_of(stage: Stage[Any, B], record: B | Kernel) -> Iterable[tuple[str, str]]:
    """(name, text) of what a stage has given; nothing of a kernel."""
    return () if stage.texts is None or isinstance(record, Kernel) else stage.texts(record)


def upto(name: str) -> tuple[Stage[Any, Any], ...]:
    """The rows of KERNEL up to the stage of that name, included."""
    names = [stage.name for stage in KERNEL]
    return KERNEL[: names.index(name) + 1]


def after(name: str) -> tuple[Stage[Any, Any], ...]:
    """The rows of KERNEL after the stage of that name."""
    return KERNEL[len(upto(name)) :]


def between(name: str, last: str) -> tuple[Stage[Any, Any], ...]:
    """The rows of KERNEL after the stage of the first name up to that of the second, included."""
    return upto(last)[len(upto(name)) :]


_MAX_CACHED_KERNELS: Final = 4096
_MOST_BYTES: Final = 1 << 26
_kernels: Final[LRUCache[Parts]] = programs(_MAX_CACHED_KERNELS, _MOST_BYTES)  # by front key


def forget_kernels() -> None:
    """Drop the kernels that this process remembers; those on disk stay."""
    _kernels.clear()


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
    kernel = compile_parts(function, (), target, context, digest).main
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

    What depends on these alone is computed by a kernel of its own.  As `compile_segment` otherwise.
    """
    request = requested(function, target, context or PassContext.current(), constant, digest)
    hooks = request.hooks
    key = front_key(function, request.target, hooks, digest, constant)
    parts = None if key is None else _kernels.get(key) or steps.kept(function, key)
    if parts is None:
        parts = _compile(request, key)
    return parts if key is None else _kernels.put(key, parts)


def _compile(request: Request, key: str | None) -> Parts:
    _check_runs_here(request.target)
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
        for _, precompute in through_kernel(request, after("split"), scheduled.precompute):
            if isinstance(precompute, Compiled):
                compiled.append(precompute)
        constants = scheduled.precompute.normal.segment.operands
        parts = Parts(record, scheduled.normal.segment.operands, precompute, constants)
    if key is not None:
        steps.keep(compiled, key)
    return parts


def compile_written(written: Written) -> Compiled:
    """Object code of a schedule that a user wrote, through the rows of KERNEL after "split".

    LRUCache in the object cache by the LLVM IR that it gives.  Raises what lowering, hooks and LLVM raise.
    """
    *_, (_, emitted) = through_kernel(written, between("split", "emit"))

    def compiled() -> Compiled:
        ((_, record),) = through_kernel(written, between("emit", "compile"), emitted)
        assert isinstance(record, Compiled)
        return record

    return steps.compile_cached(emitted, compiled)


def load_written(written: Written, compiled: Compiled) -> NativeKernel:
    """The kernel of a schedule that a user wrote, for operands of the dims that `compiled.segment` has.

    Raises CodegenError for a target that this machine is not.
    """
    _check_runs_here(written.program.target)
    ((_, kernel),) = through_kernel(written, after("compile"), compiled)
    assert isinstance(kernel, NativeKernel)
    return kernel


def _check_runs_here(target: Target) -> None:
    if not target.is_host:
        raise CodegenError(f"a kernel for {target.cpu} on {target.triple} cannot run on this machine")


def written_by_hand(program: Program, schedule: Schedule, context: PassContext) -> Written:
    """A user's schedule to compile under a context. Raises PassError as `requested` does."""
    _check_hooks(context)
    return Written(program, schedule, context.hooks, context.instruments)


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
    _check_hooks(context)
    chosen = tuned(Target.host() if target is None else Target.parse(target), function, digest, constant)
    return Request(function, chosen, context.hooks, context.instruments, frozenset(constant))


def _check_hooks(context: PassContext) -> None:
    for name in context.hooks:
        if name not in HOOKABLE:
            raise PassError(
                f"there is no stage {name!r} to hook{did_you_mean(name, HOOKABLE)}; "
                f"the stages are: {', '.join(HOOKABLE)}"
            )


# ------------------------------------------------------------------ what there is to see


def texts(
    function: Function, target: Target | str | None = None, context: PassContext | None = None
) -> Iterator[tuple[str, str]]:
    """(stage, text) of a program on its way to machine code: the module after each pass, then each kernel.

    Where there are several kernels, their stages have the kernel's name in front.  A segment that calls hand-written
    functions ends with the choice of the strategy: they run in Python.
    """
    context = (context or PassContext.current()).for_target(target)
    partitioned = IRModule.from_expr(function)
    for row, module in through_graph(partitioned, context):
        partitioned = module
        yield from () if row.texts is None else row.texts(module)
    segments = segments_of(*partitioned.functions.values()).functions
    for number, segment in enumerate(segments):
        prefix = f"kernel {number}: " if len(segments) > 1 else ""
        for name, text in kernel_texts(segment, target, context):
            yield prefix + name, text


def kernel_texts(
    segment: Function, target: Target | str | None = None, context: PassContext | None = None
) -> Iterator[tuple[str, str]]:
    """(stage, text) of one segment; nothing is kept in the caches or loaded, so that any target will do."""
    request = requested(segment, target, context or PassContext.current())
    for stage, record in through_kernel(request, [stage for stage in KERNEL if stage.texts]):
        yield from texts_of(stage, record)


def contracts() -> Iterator[tuple[str, Contract[Any], Rule[Any]]]:
    """(stage, contract, rule): all that is checked, with when."""
    for stage in (*GRAPH, *KERNEL):
        for contract in (*stage.inside, *stage.verify):
            yield from ((stage.name, contract, rule) for rule in contract.rules)
