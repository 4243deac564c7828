"""Every op under `vmap`: `python -m tests.vmaps [OP ...]`.

Of each declared case a batch of three calls against the three calls one by one: all operands batched, along their
first and along their last axis; and each operand alone, the others the same for all.  Results are the same to the bit,
or within the suites' tolerance where sums are added in another order.  Printed are the ops by the form that their batch
has: the op itself (on more axes, or folded into one of them), or a batched op; and those without one, with the reason.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import opgen_runtime as rt
from opgen_runtime.base.errors import OpgenError, PassError
from opgen_runtime.declaration.structure import structure_of
from opgen_runtime.ir import Call, make_call, post_order
from opgen_runtime.operator import Op, TensorType, TupleType, Type
from opgen_runtime.run.calls.tracing.tracer import wrap
from opgen_runtime.testing.cases import Case, case_call, declaration_of, specs_of
from opgen_runtime.testing.compare import assert_close
from opgen_runtime.testing.data import Spec, ordinary
from opgen_runtime.testing.suite import Suite
from tests.gradients import suites

ROWS = 3


class Result:
    """An array, with the face that `assert_close` asks for."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def numpy(self) -> np.ndarray:
        return self.array


def leaves_of(op: Op, case: Case) -> list[Spec]:
    """The specs of a case's tensors, in line."""
    flat: list[Spec] = []
    for spec in specs_of(op, case):
        flat += list(spec) if isinstance(spec, tuple) else [] if spec is None else [spec]
    return flat


def function_of(op: Op, case: Case) -> Any:
    """The call of a case as a function of its tensors."""
    call, _ = case_call(op, case)
    specs = specs_of(op, case)

    def function(*leaves: Any) -> Any:
        rest = iter([leaf.expr for leaf in leaves])
        operands = [
            [next(rest) for _ in spec] if isinstance(spec, tuple) else None if spec is None else next(rest)
            for spec in specs
        ]
        return wrap(make_call(op, operands, call.attrs))

    return function


def batches(count: int) -> Iterator[tuple[int | None, ...]]:
    """Which of the tensors have the axis, and where."""
    yield (0,) * count
    yield (-1,) * count
    if count > 1:
        for k in range(count):
            yield tuple([0 if j == k else None for j in range(count)])


def check(op: Op, case: Case) -> set[str]:
    """Compares batches with calls; the forms that they have."""
    specs = leaves_of(op, case)
    function = function_of(op, case)
    single = rt.jit(function)
    rows = [[ordinary(spec, f"{case} {k} {row}") for k, spec in enumerate(specs)] for row in range(ROWS)]
    forms: set[str] = set()
    for axes in batches(len(specs)):
        given = [
            rows[0][k] if axis is None else np.stack([row[k] for row in rows], axis)
            for k, axis in enumerate(axes)
        ]
        calls = [[rows[0][k] if axis is None else row[k] for k, axis in enumerate(axes)] for row in rows]
        mapped = rt.vmap(function, in_axes=axes)
        forms.add(form_of(op, mapped.trace(*given)))
        compare(op, case, mapped(*given), [single(*each) for each in calls], calls[0], str(axes))
    return forms


def form_of(op: Op, program: Any) -> str:
    names = {
        node.op.name for node in post_order(program) if isinstance(node, Call) and isinstance(node.op, Op)
    }
    return "batched op" if f"batch.{op.name}" in names else "itself"


def compare(
    op: Op, case: Case, found: Any, wanted: Sequence[Any], inputs: Sequence[np.ndarray], what: str
) -> None:
    call, _ = case_call(op, case)
    structure = structure_of(op, call.attrs, [arg.checked_type for arg in call.args])
    several = isinstance(call.checked_type, TupleType)
    results = found if several else [found]
    columns = list(zip(*wanted, strict=True)) if several else [wanted]
    types: Sequence[Type] = (
        call.checked_type.fields if isinstance(call.checked_type, TupleType) else [call.checked_type]
    )
    for result, column, type_ in zip(results, columns, types, strict=True):
        expected = np.stack(column)
        assert result.shape == expected.shape, (
            f"{case}, {what}: shape {result.shape}, expected {expected.shape}"
        )
        if result.tobytes() == expected.tobytes():
            continue
        assert isinstance(type_, TensorType)
        wide = type_.with_shape((ROWS, *type_.shape))
        assert_close(
            Result(result), expected, wide, inputs, declaration_of(op).pattern, f"{case}, {what}", structure
        )


def check_op(suite: type[Suite], cases: int | None = None) -> str:
    """How the batches of an op's first declared cases are computed, or why there are none.  Raises AssertionError."""
    forms: set[str] = set()
    for case in suite.declared_cases[:cases]:
        if not leaves_of(suite.op, case):
            continue
        try:
            forms |= check(suite.op, case)
        except PassError as error:
            return f"none: {str(error).partition(chr(10))[0]}"
    return " and ".join(sorted(forms)) or "no operands"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    options = parser.parse_args(arguments)
    counts: dict[str, int] = {}
    wrong: list[str] = []
    for suite in suites(options.ops):
        try:
            state = check_op(suite)
        except (AssertionError, OpgenError, ValueError) as error:
            state = f"WRONG: {type(error).__name__}: {str(error)[:400]}"
            wrong.append(suite.op.name)
        kind = state.partition(":")[0]
        counts[kind] = counts.get(kind, 0) + 1
        print(f"{suite.op.name:30} {state}", flush=True)
    print(*[f"{count} {kind}" for kind, count in sorted(counts.items())], sep="; ")
    print(f"wrong: {len(wrong)} {wrong}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
