"""Every op in onnxruntime: `python -m tests.bridges.ort_ops [OP ...]`.

All declared cases as nodes of a library: of open dims where such a program can be compiled, and of the case's sizes
where that gives other bits than `eager`.  Results are equal to `eager`, to the bit.

Prints how many of how many, and each op that is not among them with its reason.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from opgen_runtime import eager
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.bridges import onnxruntime as bridge
from opgen_runtime.operator import TensorType
from opgen_runtime.run.executor import build_program
from opgen_runtime.run.op_programs.programs import program_of
from opgen_runtime.testing.suite import Suite
from tests.gradients import suites

from .operands import arrays_of, attrs_of
from .ort_models import run_request

SECONDS = 20
"""To compile a program for any size; some, whose every dim is open, keep the prover busy for minutes."""


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
    """Raises OpgenError in what takes longer."""

    def give_up(number: int, frame: object) -> None:
        raise OpgenError(f"it takes more than {seconds} s to compile")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


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
    made = build_program(request.program.function(request.types, request.values))
    own = made.run([array for array in arrays if array is not None])
    check_equal(found, list(own) if isinstance(own, tuple) else [own], "the open program")
    return True, all(
        [a.tobytes() == np.ascontiguousarray(b).tobytes() for a, b in zip(found, expected, strict=True)]
    )


def check(suite: type[Suite], folder: Path, refused: list[str]) -> tuple[int, int, int]:
    """How many cases are exported, how many of them for any size, and how many of those have eager's bits.

    `refused` gets the cases that are not, with the reasons; where none is, the last reason is raised.
    """
    name = suite.op.name
    why_not = bridge.why_not_callable(program_of(name))
    if why_not is not None:
        raise OpgenError(why_not)
    count, open_count, same_count = 0, 0, 0
    last = OpgenError("there are no cases")
    path = folder / f"{name}.so"
    for case in suite.declared_cases:
        operands, attrs = arrays_of(suite, case), attrs_of(suite, case)
        try:
            fixed = bridge.request(name, types_of(operands), attrs)
        except OpgenError as error:
            last = error
            refused.append(f"{name}({case}): {str(error).splitlines()[0]}")
            continue
        count += 1
        wanted = eager.op(name)(*operands, **attrs)
        expected = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        arrays = flat(operands)
        is_open, is_same = of_any_size(fixed, path, arrays, expected)
        open_count, same_count = open_count + is_open, same_count + is_same
        if not is_same:
            check_equal(results(fixed, path, arrays), expected, case)
    if not count:
        raise last
    return count, open_count, same_count


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    options = parser.parse_args(arguments)
    refused, wrong, counts = list[str](), list[str](), list[tuple[int, int, int]]()
    left_out: list[str] = []
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for suite in suites(options.ops):
            name = suite.op.name
            try:
                count = check(suite, Path(folder), left_out)
            except OpgenError as error:
                refused.append(f"{name}: {str(error).splitlines()[0]}")
                print(f"{name:30} not exported", flush=True)
            except Exception as error:  # whatever onnxruntime raises is a reason, of which all are printed
                wrong.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:240]}")
                print(f"{name:30} WRONG", flush=True)
            else:
                counts.append(count)
                print(
                    f"{name:30} {count[0]} cases, {count[1]} of any size, {count[2]} to the bit", flush=True
                )
    print("not exported:", *refused, sep="\n  ")
    print("cases that are not exported:", *left_out, sep="\n  ")
    print("wrong:", *wrong, sep="\n  ")
    total = len(counts) + len(refused) + len(wrong)
    cases, opened, same = [sum(column) for column in zip(*counts, strict=True)] if counts else [0, 0, 0]
    print(
        f"{len(counts)} of {total} ops equal eager to the bit; of {cases} cases {opened} have entries of any size, "
        f"{same} of those to the bit; "
        f"{len(refused)} are not exported, {len(wrong)} are wrong; {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
