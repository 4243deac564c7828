"""Every op over arrays that are cut at random: `python -m tests.run.chunked.every_op [OP ...] [--seed N]`.

Each declared case, on ordinary data, with chunks of one element, of uneven lengths, and whole ones: equal to what
`eager` gives, to the bit where nothing is summed.  Prints how many ops of how many, and each that is not among them
with its reason; where an axis is needed whole the rechunk that is asked for is done, and the op counted beside.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opgen_runtime import eager, ops
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.declaration.structure import structure_of
from opgen_runtime.operator import TupleType
from opgen_runtime.run.chunked import WholeAxisError, stream
from opgen_runtime.testing.cases import Case, case_call, declaration_of
from opgen_runtime.testing.compare import assert_close
from opgen_runtime.testing.suite import Suite
from tests.bridges.operands import arrays_of, attrs_of
from tests.gradients import suites
from tests.vmaps import Result


def cut(extent: int, chance: random.Random) -> Any:
    """Chunks of one element, of several lengths, or one."""
    kind = chance.choice(["one", "uneven", "uneven", "whole"])
    if kind == "whole" or extent < 2:
        return None
    if kind == "one":
        return 1
    ends = sorted({chance.randrange(1, extent) for _ in range(2)} | {extent})
    return tuple([end - before for before, end in zip([0, *ends], ends, strict=False)])


def leaves(arrays: Sequence[Any]) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for each in arrays:
        found += [] if each is None else leaves(each) if isinstance(each, tuple) else [each]
    return found


def filled(form: Sequence[Any], rest: Iterator[Any]) -> list[Any]:
    """The structure of operands over other leaves."""
    return [
        None if each is None else tuple(filled(each, rest)) if isinstance(each, tuple) else next(rest)
        for each in form
    ]


def make_whole(chunks: list[list[Any]], error: WholeAxisError) -> None:
    """Does the rechunk that is asked for.  Raises AssertionError where that is of no operand, or is done."""
    if error.place is None or chunks[error.place][error.axis] is None:
        raise AssertionError(f"there is no such rechunk: {error}")
    chunks[error.place][error.axis] = None


def check(suite: type[Suite], case: Case, chance: random.Random) -> list[str]:
    """Why axes had to be whole, for each of them; the rechunk that is asked for is done.  Raises what is wrong."""
    arrays, attrs = arrays_of(suite, case), attrs_of(suite, case)
    op = suite.op.name
    wanted = eager.op(op)(*arrays, **attrs)
    flat = leaves(arrays)
    chunks: list[list[Any]] = [[cut(n, chance) for n in array.shape] for array in flat]

    def function(*operands: Any) -> Any:
        return getattr(ops, op)(*filled(arrays, iter(operands)), **attrs)

    reasons: list[str] = []
    while True:
        try:
            found = stream(function, *flat, chunks=chunks)
            break
        except WholeAxisError as error:
            reasons.append(str(error))
            make_whole(chunks, error)
    compare(suite, case, listed(found), listed(wanted), flat, f"chunks {chunks}")
    return reasons


def compare(
    suite: type[Suite],
    case: Case,
    found: Sequence[Any],
    wanted: Sequence[Any],
    inputs: Sequence[np.ndarray],
    what: str,
) -> None:
    """Raises AssertionError where results are not those wanted: to the bit, or within the tolerance of sums."""
    call, _ = case_call(suite.op, case)
    structure = structure_of(suite.op, call.attrs, [arg.checked_type for arg in call.args])
    type_ = call.checked_type
    types = type_.fields if isinstance(type_, TupleType) else [type_]
    for a, b, each in zip(found, wanted, types, strict=True):
        if (a.shape, a.dtype, a.tobytes()) != (b.shape, b.dtype, np.ascontiguousarray(b).tobytes()):
            pattern = declaration_of(suite.op).pattern
            assert_close(Result(a), b, each, inputs, pattern, f"{case}, {what}", structure)


def listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.run.chunked.every_op", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, help="how many of an op's declared cases; all by default")
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    found: dict[str, list[str]] = {"in chunks": [], "with axes made whole": [], "refused": [], "wrong": []}
    for suite in suites(options.ops):
        name = suite.op.name
        chance = random.Random(f"{options.seed} {name}")
        try:
            reasons = [
                each for case in suite.declared_cases[: options.cases] for each in check(suite, case, chance)
            ]
        except AssertionError as error:
            found["wrong"].append(name)
            print(f"{name}: WRONG: {error}", flush=True)
        except OpgenError as error:
            found["refused"].append(name)
            print(f"{name}: {str(error).splitlines()[0]}", flush=True)
        else:
            found["with axes made whole" if reasons else "in chunks"].append(name)
            for reason in dict.fromkeys([each.partition("; it is cut")[0] for each in reasons]):
                print(reason, flush=True)
    counts = ", ".join([f"{len(names)} {what}" for what, names in found.items()])
    print(f"{sum(map(len, found.values()))} ops: {counts}; {time.perf_counter() - begun:.0f} s")
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
