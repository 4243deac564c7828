"""Programs compiled once for all sizes beside the same compiled for each: how many times the processor time.

    python -m benchmarks.symbolic [--only matmul,softmax] [--repeats 9]
    python -m benchmarks.symbolic --models [NAME ...] [--details] [--json FILE]
    python -m benchmarks.symbolic --ops [NAME ...] [--every-subset]

One thread; each figure is the least of interleaved repeats.  The last lines are a transformer encoder of two layers.
With `--models`, ONNX models with open dims beside onnxruntime too (`open_models.py`); with `--ops`, single ops of which
all dims, each alone or every subset are open (`open_ops.py`): exit code 1 where values differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import opgen_runtime as rt
from benchmarks import open_models, open_ops
from opgen_runtime import ir, ops

Dims = Mapping[str, object]  # ints, or symbolic dims
TARGET = "llvm -num-threads=1"


@dataclass(frozen=True)
class Case:
    """A program over dims, what its dims are likely to be, and the sizes at which it is timed."""

    make: Callable[[Dims], ir.Expr]
    hints: Mapping[str, int]
    sizes: tuple[tuple[int, ...], ...]


def var(name: str, *shape: object) -> ir.Var:
    return ir.Var(name, rt.TensorType(shape, "float32"))


def attention(d: Dims) -> ir.Expr:
    q, k, v = (var(name, d["b"], d["s"], 64) for name in "qkv")
    scores = ops.multiply(ops.batch_matmul(q, k, transpose_b=True), ir.const(0.125, "float32"))
    return ops.batch_matmul(ops.softmax(scores), v, transpose_b=False)


def encoder(d: Dims, width: int = 64, heads: int = 4) -> ir.Expr:
    """(batch, sequence, width) through two layers of attention and dense layers, with constant weights."""
    random = np.random.default_rng(0)

    def weight(*shape: int) -> ir.Expr:
        return ir.const(random.standard_normal(shape).astype(np.float32) / 8)

    def split(h: ir.Expr) -> ir.Expr:
        return ops.transpose(ops.reshape(h, newshape=(0, 0, heads, width // heads)), axes=(0, 2, 1, 3))

    def normal(h: ir.Expr) -> ir.Expr:
        return ops.layer_norm(h, weight(width), weight(width))

    h: ir.Expr = var("x", d["b"], d["s"], width)
    for _ in range(2):
        q, k, v = (split(ops.dense(h, weight(width, width))) for _ in range(3))
        scores = ops.multiply(ops.matmul(q, ops.transpose(k, axes=(0, 1, 3, 2))), ir.const(0.25, "float32"))
        mixed = ops.transpose(ops.matmul(ops.softmax(scores), v), axes=(0, 2, 1, 3))
        joined = ops.reshape(mixed, newshape=(0, 0, width))
        h = normal(ops.add(h, ops.dense(joined, weight(width, width))))
        inner = ops.gelu(ops.add(ops.dense(h, weight(4 * width, width)), weight(4 * width)))
        h = normal(ops.add(h, ops.dense(inner, weight(width, 4 * width))))
    return h


ROWS = ((1,), (2,), (3,), (4,), (5,), (6,), (7,), (64,), (77,), (512,))
PLANES = ((3, 5), (64, 64), (77, 333), (1024, 1024))
SEQUENCES = ((1, 32), (2, 77), (8, 128))
PLANE = {"n": 128, "m": 128}
SEQUENCE = {"b": 2, "s": 64}
CASES = {
    "matmul n": Case(lambda d: ops.matmul(var("x", d["n"], 256), var("w", 256, 256)), {"n": 128}, ROWS),
    "matmul n k": Case(
        lambda d: ops.matmul(var("x", d["n"], d["k"]), var("w", d["k"], 256)),
        {"n": 128, "k": 256},
        ((3, 5), (7, 100), (64, 256), (77, 333), (1024, 256)),
    ),
    "matmul n k m": Case(
        lambda d: ops.matmul(var("x", d["n"], d["k"]), var("w", d["k"], d["m"])),
        {"n": 128, "k": 256, "m": 256},
        ((3, 5, 7), (64, 256, 256), (77, 333, 99), (512, 512, 512)),
    ),
    "softmax n": Case(lambda d: ops.softmax(var("x", d["n"], 512)), {"n": 128}, ROWS),
    "softmax n m": Case(lambda d: ops.softmax(var("x", d["n"], d["m"])), PLANE, PLANES),
    "add n m": Case(lambda d: ops.add(var("x", d["n"], d["m"]), var("y", d["n"], d["m"])), PLANE, PLANES),
    "add row": Case(lambda d: ops.add(var("x", d["n"], d["m"]), var("y", d["m"])), PLANE, PLANES),
    "dense n": Case(
        lambda d: ops.relu(ops.add(ops.dense(var("x", d["n"], 256), var("w", 256, 256)), var("b", 256))),
        {"n": 128},
        ROWS,
    ),
    "layer_norm n m": Case(
        lambda d: ops.layer_norm(var("x", d["n"], d["m"]), var("g", d["m"]), var("b", d["m"])), PLANE, PLANES
    ),
    "batch_matmul": Case(
        lambda d: ops.batch_matmul(
            var("x", d["b"], d["s"], 64), var("y", d["b"], 64, d["s"]), transpose_b=False
        ),
        SEQUENCE,
        SEQUENCES,
    ),
    "attention": Case(attention, SEQUENCE, SEQUENCES),
    "encoder": Case(encoder, SEQUENCE, SEQUENCES),
}


def program(case: Case, dims: Dims) -> ir.Function:
    body = case.make(dims)
    return ir.Function(tuple(ir.free_vars(body)), body)


def arguments(function: ir.Function) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [
        random.standard_normal(param.checked_type.concrete_shape).astype(np.float32)
        for param in function.params
    ]


def compared(case: Case, repeats: int) -> Iterator[tuple[tuple[int, ...], float, float]]:
    """(size, seconds of the static program, of the symbolic one) at each size."""
    dims = {name: rt.dim(name, hint=hint) for name, hint in case.hints.items()}
    symbolic = rt.build(program(case, dims), target=TARGET)
    for size in case.sizes:
        function = program(case, dict(zip(case.hints, size, strict=True)))
        static = rt.build(function, target=TARGET)
        given = arguments(function)
        wanted = static.run(given)
        np.testing.assert_allclose(symbolic.run(given), wanted, rtol=1e-4, atol=1e-4)
        a, b = open_models.least(
            [lambda f=static, g=given: f.run(g), lambda g=given: symbolic.run(g)], repeats
        )
        yield size, a, b


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--models", nargs="*", metavar="NAME", help="ONNX models instead; all by default")
    parser.add_argument("--ops", nargs="*", metavar="NAME", help="single ops instead; all by default")
    parser.add_argument("--every-subset", action="store_true", help="of the dims of ops open, not each alone")
    parser.add_argument("--shapes", type=int, default=10, help="of each model")
    parser.add_argument("--seed", type=int, default=0, help="of their sizes")
    parser.add_argument("--details", action="store_true", help="a line for each size too")
    parser.add_argument("--json", type=Path, help="the file for what was measured of models")
    given = parser.parse_args()
    if given.models is not None:
        return open_models.table(
            given.models, given.shapes, given.repeats, given.seed, given.details, given.json
        )
    if given.ops is not None:
        return open_ops.table(given.ops, given.every_subset, given.repeats)
    wanted = [name for name in given.only.split(",") if name]
    for name, case in CASES.items():
        if wanted and not any(word in name for word in wanted):
            continue
        for size, static, symbolic in compared(case, given.repeats):
            shown = "x".join(map(str, size))
            print(
                f"{name:16} {shown:>14}  {static * 1e6:10.1f} us  {symbolic * 1e6:10.1f} us  "
                f"{symbolic / static:6.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
