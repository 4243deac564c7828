"""What the records of a program compute, by Python and numpy: what tests compare its stages with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....base.arith import Var, evaluate_scalar
from ....base.errors import ExecutorError
from ....ir import Call, Function
from ....ir.loops import beyond
from ....operator import TupleType
from ..interpret import Arrays, run, run_op_by_op
from .plan import Again, Copy, Else, End, If, Leave, Loop, Plan, Put, PutSlice, Run, ends, nested
from .program_records import Built, Closed, Cut, Linked, Planned, Prepared, Specialised


def of_module(closed: Closed, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of main, op by op."""
    return run_op_by_op(closed.main.body, dict(zip(closed.main.params, arrays, strict=True)), closed.module)


def of_cut(cut: Cut, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of main; of its sections one after the other, where there are some."""
    if not cut.sections:
        return of_module(cut.closed, arrays)
    values = list(arrays)
    for each in cut.sections:
        given = dict(zip(each.function.params, [values[k] for k in each.takes], strict=True))
        found = run_op_by_op(each.function.body, given)
        assert isinstance(found, tuple)
        values += [part for part in found if isinstance(part, np.ndarray)]
    return nested(values, cut.result)


def of_segments(made: Specialised, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of main whose segments are the functions that kernels are compiled from, op by op."""

    class ByOp(_Segments):
        def segment(self, number: int, function: Function, args: Sequence[np.ndarray]) -> Arrays:
            return run_op_by_op(function.body, dict(zip(function.params, args, strict=True)))

    return _by_segment(made, ByOp(), arrays)


def of_kernels(made: Built, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of main whose segments are kernels; what is prepared is so at each call."""
    segments = made.specialised.segments

    class ByKernel(_Segments):
        def segment(self, number: int, function: Function, args: Sequence[np.ndarray]) -> Arrays:
            parts = made.parts[number]
            prepared = (
                [] if parts.precompute is None else parts.precompute.run([args[k] for k in parts.constants])
            )
            return tuple(parts.main.run([*[args[k] for k in parts.operands], *prepared]))

    assert len(segments.functions) == len(made.parts)
    return _by_segment(made.specialised, ByKernel(), arrays)


def of_sites(made: Prepared, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of main whose segments are calls of kernels."""

    class BySite(_Segments):
        def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
            site = made.sites[id(function)]
            flat = _flat(args)
            found = made.kernels[site.kernel].run([*[flat[k] for k in site.operands], *site.precomputed])
            return tuple(found) if isinstance(function.body.checked_type, TupleType) else found[0]

    return _by_segment(made.built.specialised, BySite(), arrays)


def of_plan(made: Planned, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of a plan, whose every slot has memory of its own; of what has none, of its calls of kernels."""
    if made.plan is None:
        return of_sites(made.prepared, arrays)
    return _PlanRun(made.plan, made.prepared, arrays).value()


def of_linked(made: Linked, arrays: Sequence[np.ndarray]) -> Arrays:
    """The value of machine code, on copies of what is donated to it."""
    if made.whole is None:
        return of_plan(made.planned, arrays)
    plan = made.planned.plan
    given = set() if plan is None else {each.param for each in plan.donations}
    taken = [array.copy() if k in given else array for k, array in enumerate(arrays)]
    return nested(made.whole.run(taken), made.result)


class _Segments:
    """Runs segments, by the number of their kernel."""

    made: Specialised

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        raise ExecutorError(f"a call was left out of all segments: {call}")

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        number = self.made.segments.numbers[id(function)]
        found = self.segment(number, self.made.functions[number], _flat(args))
        if isinstance(function.body.checked_type, TupleType):
            return found
        return found[0] if isinstance(found, tuple) else found

    def segment(self, number: int, function: Function, args: Sequence[np.ndarray]) -> Arrays:
        raise NotImplementedError


def _by_segment(made: Specialised, runner: _Segments, arrays: Sequence[np.ndarray]) -> Arrays:
    runner.made = made
    main = made.closed.main
    return run(main.body, dict(zip(main.params, arrays, strict=True)), runner, made.closed.module)  # type: ignore[return-value]  # main gives tensors


def _flat(args: Sequence[Arrays]) -> list[np.ndarray]:
    return [array for arg in args for array in (arg if isinstance(arg, tuple) else (arg,))]  # type: ignore[misc]  # operands nest one level deep


class _PlanRun:
    """One run of a plan."""

    def __init__(self, plan: Plan, prepared: Prepared, arrays: Sequence[np.ndarray]) -> None:
        self.plan = plan
        self.kernels = prepared.kernels
        self.slots: dict[int, np.ndarray] = dict(enumerate(arrays)) | plan.constants
        self.donors = {plan.outputs[each.result]: each.param for each in plan.donations}
        self.dims = {
            dim: extent
            for held, array in zip(plan.held, arrays, strict=False)
            for dim, extent in zip(held.shape, array.shape, strict=True)
            if isinstance(dim, Var)
        }
        self.loops: dict[int, int] = {}  # steps of each loop, by where it begins
        self.ends = ends(plan.code)
        self.around: list[int] = []  # the loops that are open, by where they begin

    def value(self) -> Arrays:
        position = 0
        while position < len(self.plan.code):
            position = self._step(position)
        return nested([self.slots[slot] for slot in self.plan.outputs], self.plan.result)

    def _step(self, position: int) -> int:
        """Run one instruction; the position of the next."""
        slots = self.slots
        match self.plan.code[position]:
            case Run() as each:
                kernel = self.kernels[each.kernel]
                found = kernel.run([slots[slot] for slot in each.inputs])
                slots.update(zip(each.outputs, found, strict=True))
                for output, axis, length in kernel.lengths:
                    slots[each.lengths[length]] = np.array(found[output].shape[axis])
            case Copy(source, target):
                slots[target] = slots[source].copy()
            case Put() as each:
                self._put(each)
            case PutSlice() as each:
                slots[each.whole] = self._with_slice(each)
            case If(condition):
                if not slots[condition]:
                    return self._else_of(position) + 1
            case Else():
                return min(last for first, last in self.ends.items() if first < position < last)
            case Loop(params, initial):
                self.around.append(position)
                self.loops[position] = 0
                slots.update(zip(params, [slots[slot] for slot in initial], strict=True))
            case Again(values):
                start = self.around[-1]
                loop = self.plan.code[start]
                assert isinstance(loop, Loop)
                self.loops[start] += 1
                if 0 <= loop.limit < self.loops[start]:
                    raise ExecutorError(beyond([loop.limit]))
                slots.update(zip(loop.params, [slots[slot] for slot in values], strict=True))
                return start + 1
            case Leave():
                return self.ends[self.around.pop()] + 1
            case End():
                pass
        return position + 1

    def _put(self, each: Put) -> None:
        """Put a row where there is one of its number."""
        rows = self.slots[each.rows]
        row, count = int(self.slots[each.place].item()), len(rows)
        if -count <= row < count:
            rows[row] = self.slots[each.value].reshape(rows.shape[1:])

    def _with_slice(self, each: PutSlice) -> np.ndarray:
        """What lies in the memory of a param once a slice is put there."""
        start = each.start if isinstance(each.start, int) else int(evaluate_scalar(each.start, self.dims))
        part = self.slots[each.part]
        whole = self.slots[self.donors[each.whole]].copy()
        whole[(slice(None),) * each.axis + (slice(start, start + part.shape[each.axis]),)] = part
        return whole

    def _else_of(self, position: int) -> int:
        depth = 0
        for k in range(position + 1, len(self.plan.code)):
            each = self.plan.code[k]
            if isinstance(each, Else) and depth == 0:
                return k
            depth += isinstance(each, If | Loop) - isinstance(each, End)
        raise AssertionError("an If without an Else")
