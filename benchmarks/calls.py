"""What a call costs beside its kernel: `python -m benchmarks.calls`, microseconds, one thread.

Ours is eager, jitted and a prepared ONNX model; beside them numpy, and onnxruntime where it is installed (in the
environment of `--python`, if not in this one).  Each peer runs in a process of its own, in turns; the least of all
blocks counts.  A call stands in the loop itself, as `timeit` puts it there, and by a name of its own: a lambda around
it takes 20 ns, and so does looking for `add` in a module that finds names itself, as `eager` and `numpy` do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

_ROUNDS: Final = 5
_PROLOGUE: Final = """
import json, sys, time, timeit, numpy as np
def serve(calls, blocks=40, count=400):
    timers = {name: timeit.Timer(call, timer=time.perf_counter, globals=globals()) for name, call in calls.items()}
    for timer in timers.values(): timer.timeit(100)
    for line in sys.stdin:
        print(json.dumps({name: min(timer.repeat(blocks, count)) / count * 1e6 for name, timer in timers.items()}))
        sys.stdout.flush()
a, b, y = np.ones(8, "float32"), np.ones(8, "float32"), np.ones(8, "float32")
x = np.linspace(-2, 2, 1000, dtype="float32")
def model():
    import onnx
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[1000] x) => (float[1000] y)'
        ' { t = Tanh(x) s = Sigmoid(x) y = Mul(t, s) }')
"""
_PROGRAMS: Final[Mapping[str, str]] = {
    "numpy": """
from numpy import add
serve({"add 8": "a + b", "add 8, out=": "add(a, b, out=y)",
       "tanh(x)*sigmoid(x), 1000": "np.tanh(x) * (1 / (1 + np.exp(-x)))"})
""",
    "ours": """
import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.frontend import onnx as front
jitted, program = rt.jit(lambda a, b: a + b), front.prepare(model())
chain = rt.jit(lambda x: ops.tanh(x) * ops.sigmoid(x))
built = rt.build(chain.trace(x))
from opgen_runtime.eager import add
serve({"add 8": "add(a, b)", "add 8, out=": "add(a, b, out=y)", "add 8, jitted": "jitted(a, b)",
       "tanh(x)*sigmoid(x), 1000": "chain(x)", "tanh(x)*sigmoid(x), 1000, executable": "built.run([x])",
       "tanh(x)*sigmoid(x), 1000, ONNX": "program([x])"})
""",
    "onnxruntime": """
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model().SerializeToString(), options, ["CPUExecutionProvider"])
serve({"tanh(x)*sigmoid(x), 1000, ONNX": "session.run(None, {'x': x})"})
""",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has onnxruntime")
    options = parser.parse_args()
    environment = {**os.environ, "OPGEN_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    least: dict[str, dict[str, float]] = {}
    processes = {
        peer: subprocess.Popen(
            [options.python if peer == "onnxruntime" else sys.executable, "-c", _PROLOGUE + program],
            env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        for peer, program in _PROGRAMS.items()
    }  # fmt: skip
    for _ in range(_ROUNDS):
        for peer, process in list(processes.items()):
            found = _ask(process)
            if found is None:
                print(f"{peer} does not run in {process.args[0]}")  # type: ignore[index]
                del processes[peer]
                continue
            for name, microseconds in found.items():
                row = least.setdefault(name, {})
                row[peer] = min(microseconds, row.get(peer, microseconds))
    for name, row in least.items():
        print(f"{name:38}" + "".join(f"  {peer} {microseconds:.3f} us" for peer, microseconds in row.items()))
    for process in processes.values():
        process.kill()
        process.communicate()


def _ask(process: subprocess.Popen[str]) -> dict[str, float] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write("\n")
        process.stdin.flush()
    except BrokenPipeError:
        return None
    line = process.stdout.readline()
    found: dict[str, float] | None = json.loads(line) if line else None
    return found


if __name__ == "__main__":
    main()
