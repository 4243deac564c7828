"""Random shapes of single ONNX nodes, by family, beside onnxruntime: `python benchmarks/shapes.py --seed 3`.

Each peer is a process of its own, with as many threads; they take turns case by case, several rounds, and the least
time of each counts.
The ratio is onnxruntime's time over ours: above 1 is ahead.  Needs onnx and onnxruntime (in the environment of
`--python`, if not in this one).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TextIO

_ROUNDS: Final = 4
_SECONDS: Final = 0.03  # of a block
_LARGEST: Final = 3 * 10**8  # multiplications of a case


@dataclass(frozen=True)
class Case:
    """One node: `inputs` are given at each call, `weights` are constants; names to shapes, in the node's order."""

    op: str
    inputs: dict[str, list[int]]
    weights: dict[str, list[int]] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shapes = [str(shape) for shape in (*self.inputs.values(), *self.weights.values())]
        attrs = [f"{name}={value}" for name, value in self.attrs.items()]
        return " ".join([self.op, *shapes, *attrs])


def size(r: random.Random, low: int, high: int) -> int:
    """A size between two others, small ones as likely as large ones."""
    return round(math.exp(r.uniform(math.log(low), math.log(high))))


def conv(r: random.Random, groups: int = 1) -> Case:
    kernel, stride = r.choice([1, 1, 3, 3, 3, 5, 7]), r.choice([1, 1, 2, 3])
    channels, out = (size(r, 3, 512) for _ in range(2))
    if groups > 1:
        channels, out = (max(1, n // groups) * groups for n in (channels, out))
    while (
        side := size(r, max(7, kernel), 224)
    ) ** 2 * channels // groups * out * kernel**2 > _LARGEST * stride**2:
        channels, out = (max(groups, n // 2 // groups * groups) for n in (channels, out))
    attrs = {"strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": groups}
    weight = [out, channels // groups, kernel, kernel]
    return Case(
        "Conv", {"x": [r.choice([1, 1, 8 if side < 30 else 1]), channels, side, side]}, {"w": weight}, attrs
    )


def grouped_conv(r: random.Random) -> Case:
    groups = r.choice([2, 4, 8, 32])
    if r.random() < 0.5:
        return conv(r, groups)
    channels, kernel, stride = size(r, 16, 512), r.choice([3, 5]), r.choice([1, 2])
    attrs = {"strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": channels}
    side = size(r, 7, 112)
    return Case("Conv", {"x": [1, channels, side, side]}, {"w": [channels, 1, kernel, kernel]}, attrs)


def transposed_conv(r: random.Random) -> Case:
    kernel, stride = r.choice([(2, 2), (3, 2), (4, 2), (3, 1), (3, 3)])
    channels, out, side = size(r, 8, 128), size(r, 8, 128), size(r, 7, 64)
    weight = {"w": [channels, out, kernel, kernel]}
    return Case("ConvTranspose", {"x": [1, channels, side, side]}, weight, {"strides": [stride] * 2})


def gemm(r: random.Random) -> Case:
    rows, columns, summed = size(r, 1, 512), size(r, 10, 2048), size(r, 16, 2048)
    if r.random() < 0.5:
        return Case("MatMul", {"a": [rows, summed]}, {"b": [summed, columns]})
    weights = {"b": [columns, summed], "c": [columns]}
    return Case("Gemm", {"a": [rows, summed]}, weights, {"transB": 1})


def batched_matmul(r: random.Random) -> Case:
    batch, rows, columns, summed = size(r, 2, 64), size(r, 1, 256), size(r, 16, 256), size(r, 16, 256)
    return Case("MatMul", {"a": [batch, rows, summed], "b": [batch, summed, columns]})


def pool(r: random.Random) -> Case:
    side, channels, kernel, stride = (
        size(r, 7, 112),
        size(r, 8, 256),
        r.choice([2, 3, 3, 5]),
        r.choice([1, 2, 2]),
    )
    op = r.choice(["MaxPool", "AveragePool", "GlobalAveragePool"])
    attrs = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4}
    return Case(op, {"x": [1, channels, side, side]}, {}, {} if op.startswith("Global") else attrs)


def rows(r: random.Random) -> Case:
    shape = [size(r, 1, 2048), size(r, 16, 4096)]
    op = r.choice(
        ["Softmax", "LayerNormalization", "ReduceSum", "ReduceMean", "ReduceMax", "ArgMax", "LogSoftmax"]
    )
    if op == "LayerNormalization":
        return Case(op, {"x": shape}, {"scale": shape[1:], "bias": shape[1:]}, {"axis": -1})
    if op == "ArgMax":
        return Case(op, {"x": shape}, {}, {"axis": 1})
    return Case(op, {"x": shape}, {}, {"axis": -1} if op.endswith("max") and op[:1] != "R" else {"axes": [1]})


def recurrent(r: random.Random) -> Case:
    op = r.choice(["LSTM", "GRU"])
    steps, batch, size_in, hidden = size(r, 2, 64), r.choice([1, 1, 4, 8]), size(r, 16, 256), size(r, 16, 256)
    gates = {"LSTM": 4, "GRU": 3}[op] * hidden
    weights = {"w": [1, gates, size_in], "r": [1, gates, hidden], "b": [1, 2 * gates]}
    return Case(op, {"x": [steps, batch, size_in]}, weights, {"hidden_size": hidden})


def moves(r: random.Random) -> Case:
    shape = [size(r, 2, 64) for _ in range(4)]
    if r.random() < 0.5:
        return Case("Transpose", {"x": shape}, {}, {"perm": r.sample(range(4), 4)})
    return Case("Concat", {"x": shape, "y": shape}, {}, {"axis": r.randrange(4)})


def elementwise(r: random.Random) -> Case:
    shape = [size(r, 8, 4096), size(r, 8, 2048)]
    if r.random() < 0.5:
        return Case(r.choice(["Exp", "Tanh", "Sigmoid", "Erf", "Relu", "Sqrt"]), {"x": shape})
    return Case(r.choice(["Add", "Mul", "Div", "Max"]), {"x": shape, "y": r.choice([shape, shape[1:]])})


FAMILIES: Final[dict[str, Callable[[random.Random], Case]]] = {
    "conv": conv, "grouped conv": grouped_conv, "transposed conv": transposed_conv, "gemm": gemm,
    "batched matmul": batched_matmul, "pools": pool, "row ops": rows, "recurrent": recurrent, "moves": moves,
    "elementwise": elementwise,
}  # fmt: skip


# ------------------------------------------------------------------ a peer's process


def model_of(case: Case) -> Any:
    """The case as an ONNX model."""
    import numpy as np
    import onnx
    from onnx import helper

    generator = np.random.default_rng(0)
    constants = [
        onnx.numpy_helper.from_array((generator.standard_normal(shape) * 0.1).astype(np.float32), name)
        for name, shape in case.weights.items()
    ]
    names = [*case.inputs, *case.weights]
    attrs = dict(case.attrs)
    if "axes" in attrs:
        constants.append(onnx.numpy_helper.from_array(np.array(attrs.pop("axes"), np.int64), "axes"))
        names.append("axes")
    node = helper.make_node(case.op, names, ["out"], **attrs)
    inputs = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in case.inputs.items()]
    kind = onnx.TensorProto.INT64 if case.op == "ArgMax" else onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [node], "g", inputs, [helper.make_tensor_value_info("out", kind, None)], constants
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def runner(peer: str, case: Case, threads: int) -> Callable[[], Any]:
    """A function of no arguments that computes the case once."""
    import numpy as np

    generator = np.random.default_rng(1)
    arrays = {n: generator.standard_normal(shape).astype(np.float32) for n, shape in case.inputs.items()}
    model = model_of(case)
    if peer == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return lambda: session.run(None, arrays)
    from opgen_runtime.frontend import onnx as front

    given = list(arrays.values())
    program = front.prepare(model)
    return lambda: program(given)


def serve(peer: str, threads: int) -> None:
    """Answers each line, a case, with the least time of a call in a block; the first time of a case it is built."""
    built: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        if line not in built:
            built.clear()
            built[line] = runner(peer, Case(**json.loads(line)), threads)
            built[line]()
        call, best, end = built[line], math.inf, time.perf_counter() + _SECONDS
        while True:
            start = time.perf_counter()
            call()
            now = time.perf_counter()
            best = min(best, now - start)
            if now > end:
                break
        print(json.dumps(best), flush=True)


# ------------------------------------------------------------------ all of them


def ask(process: subprocess.Popen[str], case: Case) -> float:
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    stdin.write(json.dumps(asdict(case)) + "\n")
    stdin.flush()
    return float(_answer(stdout))


def _answer(stdout: TextIO) -> str:
    line = stdout.readline()
    if not line:
        raise SystemExit("a peer's process ended; its own message is above")
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=6, help="of each family")
    parser.add_argument("--families", default=",".join(FAMILIES), help="comma-separated")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has onnxruntime")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
        return
    command = [options.python, __file__, "--threads", str(options.threads), "--serve"]
    environment = {**os.environ, "OPGEN_NUM_THREADS": str(options.threads)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    peers: dict[str, subprocess.Popen[str]] = {
        name: subprocess.Popen([*command, name], **pipes) for name in ("onnxruntime", "opgen")
    }
    overall: list[float] = []
    for family in options.families.split(","):
        draw = random.Random(f"{options.seed} {family}")
        ratios: list[float] = []
        for _ in range(options.cases):
            case = FAMILIES[family](draw)
            least = dict.fromkeys(peers, math.inf)
            for _ in range(_ROUNDS):
                for name, process in peers.items():
                    least[name] = min(least[name], ask(process, case))
            ratios.append(least["onnxruntime"] / least["opgen"])
            times = "  ".join(f"{name} {seconds * 1e3:.3f}" for name, seconds in least.items())
            print(f"    {ratios[-1]:6.2f}  {times}  {case}", flush=True)
        overall += ratios
        print(f"{family}: {_mean(ratios):.2f}", flush=True)
    print(f"overall: {_mean(overall):.2f}, least {min(overall):.2f}")
    for process in peers.values():
        process.terminate()


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


if __name__ == "__main__":
    main()
