"""What compiling costs: `python -m benchmarks.compile`, milliseconds of the processor beside their goals.

    chain      the first call of a fused chain of five elementwise ops under `rt.jit`, tracing included; before it the
               import of `rt.jit` and of these ops, numpy's apart
    signature  each declared op on the first case of its suite (`--every 4`: each fourth op), the median of all
    operands   a chain and a concatenation of n operands, milliseconds for each operand
    resnet50   with `--models`: ONNX's light ResNet-50, its weights random; seconds by the clock, two threads

Each is compiled from nothing and from a filled cache, in processes of its own; time of the processor is that of all
threads.  `--profile` prints where the time of the signatures goes, by function.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

_CHAINS: Final = """
import itertools, json, time
import numpy as np
start = time.process_time()
import opgen_runtime as rt
from opgen_runtime import ops
rt.jit, ops.tanh, ops.sigmoid, ops.exp, ops.multiply, ops.add
imported = (time.process_time() - start) * 1e3
small = [np.linspace(-2, 2, 1000, dtype="float32") + k for k in range(3)]
def first(*functions):
    f, g, h = functions
    chain = rt.jit(lambda a, b, c: f(g(a * b) + h(c)))
    start = time.process_time()
    chain(*small)
    return (time.process_time() - start) * 1e3
kinds = itertools.combinations([ops.tanh, ops.sigmoid, ops.exp, ops.sin, ops.cos, ops.erf], 3)
times = [first(*functions) for functions in itertools.islice(kinds, 12)]
warm = sorted(times[3:])[len(times[3:]) // 2]
print(json.dumps({"import": imported, "new process": times[0], "warm process": warm}))
"""
_SIGNATURES: Final = """
import cProfile, importlib, json, pathlib, pstats, sys, time
import opgen_runtime as rt
from opgen_runtime.ir import Function
from opgen_runtime.testing.cases import case_call
from opgen_runtime.testing.suite import suite_of
every, profiled = int(sys.argv[1]), sys.argv[2] == "True"
names = sorted(each.stem for each in pathlib.Path("tests/generated").glob("test_*.py"))[::every]
suites = [suite_of(importlib.import_module(f"tests.generated.{name}")) for name in names]
def function(suite, position):
    call, operands = case_call(suite.op, suite.declared_cases[position])
    return Function(tuple(operands), call)
for suite in suites:
    if len(suite.declared_cases) > 1:
        rt.build(function(suite, -1))  # modules and declarations are read with the first call of an op
times, profile = {}, cProfile.Profile()
for suite in suites:
    if len(suite.declared_cases) > 1:
        made = function(suite, 0)
        if profiled: profile.enable()
        start = time.process_time()
        rt.build(made)
        times[suite.op.name] = (time.process_time() - start) * 1e3
        profile.disable()
if profiled: pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(40)
print(json.dumps(times))
"""
_OPERANDS: Final = """
import json, time
import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.ir import Function, var
from opgen_runtime.operator import TensorType
def each(count, body):
    params = tuple(var(f"x{k}", TensorType((8 + k % 3, 64), "float32")) for k in range(count))
    start = time.process_time()
    rt.build(Function(params, body(params)))
    return (time.process_time() - start) * 1e3 / count
def chain(params):
    found = params[0]
    for param in params[3::3]:
        found = ops.add(ops.multiply(found, param), param)
    return found
def joined(params):
    return ops.concatenate(list(params), axis=0)
for body in (chain, joined): each(10, body)
print(json.dumps({f"{body.__name__} of {n}": each(n, body) for body in (chain, joined) for n in (50, 200, 800)}))
"""
_RESNET: Final = """
import json, time
import numpy as np
from opgen_runtime.frontend.onnx import prepare
import onnx, os, pathlib
from tests.conformance.models import MODELS, fetch
path = pathlib.Path(os.environ["OPGEN_CACHE_DIR"], "resnet50.onnx")
if not path.exists():
    onnx.save(*[fetch(each) for each in MODELS if each.name == "resnet50"], path)
x = np.random.default_rng(0).random((1, 3, 224, 224), dtype=np.float32)
start, used = time.perf_counter(), time.process_time()
prepare(path)([x])
clock, used = time.perf_counter() - start, time.process_time() - used
print(json.dumps({"by the clock": clock * 1e3, "processor": used * 1e3}))
"""
# Milliseconds from nothing and from a filled cache.
_GOALS: Final[Mapping[str, tuple[float, float]]] = {
    "chain, new process": (25, 8),
    "chain, warm process": (12, 0.5),
    "signature, median": (5, float("nan")),
    "resnet50, by the clock": (3000, 150),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth op alone")
    parser.add_argument("--models", action="store_true", help="ResNet-50, too")
    parser.add_argument("--profile", action="store_true", help="of the signatures")
    options = parser.parse_args()
    print(f"{'milliseconds':30}{'nothing':>10}{'goal':>8}{'cache':>10}{'goal':>8}")
    _print("chain", *_both(_CHAINS))
    nothing, cached = _both(_SIGNATURES, str(options.every), str(options.profile))
    _print("signature", _spread(nothing), _spread(cached))
    _print("operands", *_both(_OPERANDS))
    if options.models:
        _print("resnet50", *_both(_RESNET))


def _both(program: str, *arguments: str) -> tuple[dict[str, float], dict[str, float]]:
    """What a program finds with an empty cache, and then with what it has left there."""
    with tempfile.TemporaryDirectory() as cache:
        return _run(program, cache, arguments), _run(program, cache, arguments)


def _run(program: str, cache: str, arguments: Sequence[str]) -> dict[str, float]:
    environment = {**os.environ, "OPGEN_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _spread(times: Mapping[str, float]) -> dict[str, float]:
    """The median, the ninth tenth, and the three that take longest."""
    order = sorted(times, key=times.__getitem__)
    ninth = times[order[len(order) * 9 // 10]]
    worst = {name: times[name] for name in order[:-4:-1]}
    return {"median": median(times.values()), "nine in ten": ninth, **worst}


def _print(part: str, nothing: Mapping[str, float], cached: Mapping[str, float]) -> None:
    for name in dict.fromkeys([*nothing, *cached]):
        what = f"{part}, {name}"
        line = f"{what:30}"
        for found, goal in zip((nothing, cached), _GOALS.get(what, (float("nan"),) * 2), strict=True):
            line += f"{found[name]:10.2f}" if name in found else " " * 10
            line += f"{goal:8g}" if goal == goal else " " * 8
        print(line, flush=True)


if __name__ == "__main__":
    main()
