"""Which share of a kernel's work each thread gets, counted in its loop IR.

Work is counted in stores, of vectors or of scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from opgen_runtime import ir
from opgen_runtime.base.arith import Expr, Var, free_vars
from opgen_runtime.base.arith.evaluate import evaluate_scalar
from opgen_runtime.base.target import Target
from opgen_runtime.lower.tir.analysis.cost import iteration_cost
from opgen_runtime.lower.tir.nodes import stmt as tir
from opgen_runtime.lower.tir.nodes.visit import children, statements
from opgen_runtime.run.compile import pipeline
from opgen_runtime.transform import PassContext

_PER_THREAD, _STAGES = 2, 4  # of codegen/objects/threads/chunks_text.py


def chunks(count: int, grain: int, threads: int) -> list[tuple[int, int]]:
    """How the pool cuts a loop of `count` iterations, in the order in which chunks are dealt."""
    if count <= grain or threads < 2:
        return [(0, count)]
    parts, done = threads * _PER_THREAD, 0
    found: list[tuple[int, int]] = []
    for stage in range(_STAGES):
        if count >> stage < 2 * parts * grain:
            break
        half = (count >> stage) - (count >> stage + 1)
        bounds = [done + k * half // parts for k in range(parts + 1)]
        found += pairwise(bounds)
        done += half
    last = max(grain, -(-(count - done) // (2 * parts)))
    return [*found, *[(begin, min(begin + last, count)) for begin in range(done, count, last)]]


def span_of(costs: Sequence[int], grain: int, threads: int) -> int:
    """The work of the thread that has most, of a parallel loop whose iterations cost so much.

    Who is free first takes the next of its own chunks, else of those of the next thread that has any.
    """
    cut = chunks(len(costs), grain, threads)
    hands = [cut[k::threads] for k in range(threads)]
    busy = [0] * threads
    while any(hands):
        free = busy.index(min(busy))
        begin, end = next(hand for k in range(threads) if (hand := hands[(free + k) % threads])).pop(0)
        busy[free] += sum(costs[begin:end])
    return max(busy)


def imbalance(function: ir.Function, constant: Sequence[int], target: Target) -> float:
    """How much longer the main kernel of a segment takes than if its work were shared equally: 1 is perfect."""
    request = pipeline.requested(function, target, PassContext(), constant)
    *_, (_, record) = pipeline.through_kernel(request, pipeline.upto("remove_no_op"))
    work = _Work(record.funcs[-1].body)
    span, whole = 0, 0
    for costs, body in work.regions():
        one = sum(costs)
        whole += one
        if body is None:
            span += one
            continue
        cost = iteration_cost(body)
        assert isinstance(cost, int)
        span += span_of(costs, max(1, -(-target.parallel_threshold // max(1, cost))), target.num_threads)
    return span * target.num_threads / whole


class _Work:
    """The parts of a kernel one after the other, and what their iterations cost."""

    def __init__(self, body: tir.Stmt) -> None:
        self._body = body
        self._deciding = _deciding(body)

    def regions(self) -> Iterator[tuple[list[int], tir.Stmt | None]]:
        """The cost of each iteration of a parallel loop, with its body; of what is not shared, with None."""
        yield from self._regions(self._body)

    def _regions(self, s: tir.Stmt) -> Iterator[tuple[list[int], tir.Stmt | None]]:
        if isinstance(s, tir.For) and s.kind is tir.ForKind.PARALLEL:
            low, extent = (int(evaluate_scalar(e, {})) for e in (s.minimum, s.extent))
            yield [self._cost(s.body, {s.var: k}) for k in range(low, low + extent)], s.body
        elif isinstance(s, tir.Block | tir.Allocate):
            for part in children(s):
                yield from self._regions(part)
        else:
            assert not any(isinstance(e, tir.For) and e.kind is tir.ForKind.PARALLEL for e in statements(s))
            yield [self._cost(s, {})], None

    def _cost(self, s: tir.Stmt, values: dict[Var, int]) -> int:
        match s:
            case tir.For(var, minimum, extent, _, body):
                low, count = (int(evaluate_scalar(e, values)) for e in (minimum, extent))
                if var not in self._deciding:
                    return count and count * self._cost(body, {**values, var: low})
                return sum(self._cost(body, {**values, var: k}) for k in range(low, low + count))
            case tir.If(condition, then, otherwise):
                taken = then if evaluate_scalar(condition, values) else otherwise
                return 0 if taken is None else self._cost(taken, values)
            case tir.LetStmt(var, value, body) if var in self._deciding:
                return self._cost(body, {**values, var: int(evaluate_scalar(value, values))})
        return isinstance(s, tir.Store) + sum(self._cost(part, values) for part in children(s))


def _deciding(body: tir.Stmt) -> set[Var]:
    """The vars on which it depends what runs."""
    found: set[Var] = set()
    lets: dict[Var, Expr] = {}
    for s in statements(body):
        if isinstance(s, tir.LetStmt):
            lets[s.var] = s.value
        elif isinstance(s, tir.For):
            found |= {*free_vars(s.minimum), *free_vars(s.extent)}
        elif isinstance(s, tir.If):
            found.update(free_vars(s.condition))
    waiting = list(found)
    while waiting:
        var = waiting.pop()
        for each in free_vars(lets[var]) if var in lets else ():
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found
