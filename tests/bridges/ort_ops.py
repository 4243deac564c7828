"""Every op in onnxruntime: `python -m tests.bridges.ort_ops [OP ...]`.

All declared cases as nodes of a library: of open dims where such a program can be compiled, and of the case's sizes
where that gives other bits than `eager`.  Results are equal to `eager`, to the bit.

Prints how many of how many, and each op that is not among them with its reason.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from opgen_runtime import eager
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.bridges import onnxruntime as bridge
from opgen_runtime.bridges.onnxruntime.splitting import parts_of
from opgen_runtime.operator import TensorType
from opgen_runtime.run.executor import build_program
from opgen_runtime.run.op_programs.programs import program_of
from opgen_runtime.testing.suite import Suite
from tests.gradients import suites

from .every_op import each_op, parser
from .operands import arrays_of, attrs_of
from .ort_models import run_request

SECONDS = 20
"""Of the processor, to compile a program for any size; where every dim is open, the prover may be busy for minutes."""


@dataclass
class Outcome:
    """Of the cases of an op: how many are exported, how many of them for any size, and how many of those have eager's
    bits; `left_out`: those that are not exported, with their reasons; `refused`, `wrong`: why there is no more."""

    op: str
    cases: int = 0
    opened: int = 0
    same: int = 0
    left_out: list[str] = field(default_factory=list)
    refused: str = ""
    wrong: str = ""


def flat(operands: Sequence[Any]) -> list[np.ndarray | None]:
    return [leaf for each in operands for leaf in (each if isinstance(each, tuple) else [each])]


def types_of(operands: Sequence[Any]) -> list[Any]:
    def of(array: np.ndarray) -> TensorType:
        return TensorType(array.shape, array.dtype.name)

    return [
        tuple(map(of, each)) if isinstance(each, tuple) else None if each is None else of(each)
        for each in operands
    ]


def results(request: bridge.Request, path: Path, arrays: Sequence[np.ndarray | None]) -> list[np.ndarray]:
    """Of a library with this request alone.  Raises OpgenError where there is none."""
    bridge.export(path, [request])
    found = run_request(request, path, arrays)
    path.unlink()
    return found


def check_equal(found: list[np.ndarray], expected: list[np.ndarray], case: object) -> None:
    assert len(found) == len(expected), f"{case}: {len(found)} results, expected {len(expected)}"
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{case}: another type"
        assert a.tobytes() == np.ascontiguousarray(b).tobytes(), f"{case}: other values"


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raises OpgenError in what takes longer, in time of the processor."""

    def give_up(number: int, frame: object) -> None:
        raise OpgenError(f"it takes more than {seconds} s to compile")

    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def of_any_size(
    fixed: bridge.Request, path: Path, arrays: Sequence[np.ndarray | None], expected: list[np.ndarray]
) -> tuple[bool, bool]:
    """Whether there is an entry for any size, and whether it gives eager's bits; it gives those of its own program.

    A schedule for any size may add in another order than one for the case's sizes.
    """
    try:
        opened = bridge.as_open(fixed.program, fixed.types)
        request = bridge.request(fixed.program.path[0], opened, fixed.values)
        with at_most(SECONDS):
            found = results(request, path, arrays)
    except OpgenError:
        return False, False
    check_equal(
        found, of_own_program(request, [array for array in arrays if array is not None]), "the open program"
    )
    return True, all(
        [a.tobytes() == np.ascontiguousarray(b).tobytes() for a, b in zip(found, expected, strict=True)]
    )


def of_own_program(request: bridge.Request, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the first of the programs of a request gives that the sizes suit, run by the runtime."""
    for part in parts_of(request):
        try:
            found = build_program(part.program.function(part.types, part.values)).run(arrays)
        except OpgenError:  # sizes of another program
            continue
        return list(found) if isinstance(found, tuple) else [found]
    raise AssertionError(f"{request}: no program suits the sizes of its case")


def check(suite: type[Suite], folder: Path, outcome: Outcome) -> None:
    """Count the cases.  Raises OpgenError where none can be exported."""
    name = suite.op.name
    why_not = bridge.why_not_callable(program_of(name))
    if why_not is not None:
        raise OpgenError(why_not)
    last = OpgenError("there are no cases")
    path = folder / f"{name}.so"
    for case in suite.declared_cases:
        operands, attrs = arrays_of(suite, case), attrs_of(suite, case)
        try:
            fixed = bridge.request(name, types_of(operands), attrs)
        except OpgenError as error:
            last = error
            outcome.left_out.append(f"{name}({case}): {str(error).splitlines()[0]}")
            continue
        wanted = eager.op(name)(*operands, **attrs)
        expected = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        arrays = flat(operands)
        is_open, is_same = of_any_size(fixed, path, arrays, expected)
        if not is_same:
            check_equal(results(fixed, path, arrays), expected, case)
        outcome.cases += 1
        outcome.opened += is_open
        outcome.same += is_same
    if not outcome.cases:
        raise last


def outcome_of(op: str) -> Outcome:
    """Of all declared cases of one op."""
    (suite,) = suites([op])
    found = Outcome(op)
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(suite, Path(folder), found)
        except OpgenError as error:
            found.refused = str(error).splitlines()[0]
        except Exception as error:  # whatever onnxruntime raises is a reason, of which all are printed
            found.wrong = f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"
    return found


def main(arguments: Sequence[str]) -> int:
    options = parser(__doc__).parse_args(arguments)
    start = time.perf_counter()
    found = list(each_op(outcome_of, options.ops, options.processes))
    refused = [each for each in found if each.refused]
    wrong = [each for each in found if each.wrong]
    right = [each for each in found if not each.refused and not each.wrong]
    print("not exported:", *[f"{each.op}: {each.refused}" for each in refused], sep="\n  ")
    print("cases that are not exported:", *[text for each in found for text in each.left_out], sep="\n  ")
    print("wrong:", *[f"{each.op}: {each.wrong}" for each in wrong], sep="\n  ")
    cases, opened, same = (
        sum([getattr(each, name) for each in right]) for name in ("cases", "opened", "same")
    )
    print(
        f"{len(right)} of {len(found)} ops equal eager to the bit; of {cases} cases {opened} have entries of any size, "
        f"{same} of those to the bit; "
        f"{len(refused)} are not exported, {len(wrong)} are wrong; {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
