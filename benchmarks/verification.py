"""What it costs to check contracts: seconds of this process's clock, a kernel, beside those of its stages.

    python -m benchmarks.verification [ROUNDS]

"always" is what is checked of every kernel, the first and the last loop IR; "tests" what is checked of ours under
OPGEN_VERIFY=1 besides, and of what users' functions gave always.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

from opgen_runtime import ir, ops
from opgen_runtime.base.contract import When
from opgen_runtime.base.target import Target
from opgen_runtime.lower import tir
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.records import Lowered, Request
from opgen_runtime.run.compile.kernel.segments import segments_of
from opgen_runtime.transform import PassContext
from opgen_runtime.transform.contract import PASS, SEGMENTS, Step


def variable(name: str, *shape: int) -> ir.Var:
    return ir.var(name, TensorType(shape, "float32"))


def programs() -> dict[str, ir.Function]:
    """A kernel each: cheap ones, and those of many statements."""
    a, b, w = variable("a", 256, 256), variable("b", 256, 256), variable("w", 64, 32, 3, 3)
    image = variable("image", 1, 32, 56, 56)
    return {
        "tanh(a * b + a)": ir.Function((a, b), ops.tanh(ops.add(ops.multiply(a, b), a))),
        "softmax": ir.Function((a,), ops.softmax(a, axis=1)),
        "dense": ir.Function((a, b), ops.dense(a, b)),
        "conv2d": ir.Function((image, w), ops.conv2d(image, w, padding=(1, 1))),
        "cumsum": ir.Function((a,), ops.cumsum(a, axis=1)),
    }


def clock() -> float:
    return time.process_time() * 1000


def measure(function: ir.Function) -> Counter[str]:
    """Milliseconds of the stages ("stages"), and of what is checked after them, by when it is."""
    spent: Counter[str] = Counter()
    module = ir.IRModule.from_expr(function)
    start = clock()
    for _, after in pipeline.through_graph(module, PassContext()):
        spent["stages"] += clock() - start
        start = clock()
        PASS.verify(Step(module, after, changes_type=True), "a pass")
        spent["tests"] += clock() - start
        module, start = after, clock()
    start = clock()
    SEGMENTS.verify(module, "FuseOps")
    spent["tests"] += clock() - start
    (segment,) = segments_of(module["main"]).functions
    record: Any = Request(segment, Target.host())
    for stage in pipeline.upto("compile"):
        start = clock()
        record = stage.run(record)
        spent["stages"] += clock() - start
        for contract in stage.verify:
            assert isinstance(record, Lowered)
            always = contract.when is When.ALWAYS
            start = clock()
            contract.verify(tir.View(record.func), stage.name)
            spent["always" if always else "tests"] += clock() - start
    return spent


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'milliseconds a kernel':24}{'stages':>10}{'always':>10}{'share':>8}{'tests':>10}{'share':>8}")
    for name, function in programs().items():
        best = min((measure(function) for _ in range(rounds)), key=lambda spent: spent["stages"])
        stages, always, tests = best["stages"], best["always"], best["tests"]
        print(
            f"{name:24}{stages:10.1f}{always:10.2f}{always / stages:8.1%}{tests:10.2f}{tests / stages:8.1%}"
        )


if __name__ == "__main__":
    main()
