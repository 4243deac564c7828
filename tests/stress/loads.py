"""Object code in memory: thousands of objects at once and one after the other, in whole and in scattered address space.

`python -m tests.stress.loads SEED COUNT WHERE` is one process; WHERE is `whole` or `scattered`.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
from pathlib import Path
from typing import Final

import numpy as np

from opgen_runtime.base import Target
from opgen_runtime.codegen.llvm.passes import Pipeline
from opgen_runtime.codegen.objects.compile import optimise_and_compile
from opgen_runtime.codegen.objects.load import Loaded, load
from opgen_runtime.run.calls import eager
from tests.campaign import Tally
from tests.scattered import scatter
from tests.stress._process import fresh, repeated

_COUNT: Final = 5000
_PAGES: Final = 500  # single ones, far apart; what takes more than one is not to notice them
_LARGE: Final = 1 << 30
_GROWTH: Final = 1000  # bytes for each object that was loaded and dropped

# Code, constants that it reads relative to itself, and a variable: three sections that refer to each other.
_TEXT: Final = """
@table = internal unnamed_addr constant [4 x double] [double 0.5, double 1.5, double 2.5, double {last}]
@calls = internal global double 0.0
declare double @exp(double)
define double @f(double %x, i64 %k) nounwind {{
  %place = getelementptr [4 x double], ptr @table, i64 0, i64 %k
  %constant = load double, ptr %place
  %e = call double @exp(double %x)
  %product = fmul double %constant, %e
  %before = load double, ptr @calls
  %after = fadd double %before, 1.0
  store double %after, ptr @calls
  %sum = fadd double %product, %before
  ret double %sum
}}
"""
_SIGNATURE: Final = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)


def _object(last: float) -> bytes:
    return optimise_and_compile(_TEXT.format(last=last), Target.host(), Pipeline.AUTOMATIC).object_code


def _wrong(loaded: Loaded, last: float, calls: int) -> bool:
    function = _SIGNATURE(loaded.address)
    table = (0.5, 1.5, 2.5, last)
    return [function(0.0, k) for k in range(4)] != [value + calls + k for k, value in enumerate(table)]


def problems(seed: int, count: int, where: str) -> list[str]:
    """What went wrong with `count` objects that each go before the next comes, and with as many at once."""
    choose, found = random.Random(seed), []
    lasts = (3.5, 7.5, 11.5)
    objects = {last: _object(last) for last in lasts}
    x = np.linspace(-2, 2, 1000, dtype=np.float32)
    first = eager.op("tanh")(x)
    if where == "scattered":
        scatter(_PAGES, _LARGE)
    before = _resident()
    for _ in range(count):
        if _wrong(load(objects[lasts[0]], "f"), lasts[0], 0):
            found.append("an object in the place of the one before: another result")
    if _resident() - before > (1 << 22) + _GROWTH * count:
        found.append(f"{_resident() - before} bytes are left of {count} objects that are gone")
    gc.collect()
    code = _code()
    live = [(last := choose.choice(lasts), load(objects[last], "f")) for _ in range(count)]
    choose.shuffle(live)
    for calls in (0, 4):
        found += [
            f"object {k}: another result" for k, (last, one) in enumerate(live) if _wrong(one, last, calls)
        ]
    for op, expected in (("tanh", first), ("sin", np.sin(x)), ("negative", -x)):
        if not np.allclose(eager.op(op)(x), expected, rtol=1e-5, atol=1e-6):
            found.append(f"{op}: another result")
    live.clear()
    gc.collect()
    if _code() > code + 20:  # what the three ops took
        found.append(f"{_code() - code} blocks of code are left of {count} objects that are gone")
    return found


def _code() -> int:
    """How many blocks of this process may be executed."""
    return sum(line.split()[1][2] == "x" for line in Path("/proc/self/maps").read_text().splitlines())


def _resident() -> int:
    (line,) = (
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) << 10


def run(seconds: float, seed: int) -> Tally:
    """Processes until the time is over, in whole and in scattered address space in turn; `tried` counts loads."""

    def step(number: int) -> tuple[int, list[str]]:
        where = ("whole", "scattered")[number % 2]
        return 2 * _COUNT, fresh("tests.stress.loads", number, _COUNT, where)

    return repeated(seconds, seed, step)


if __name__ == "__main__":
    for problem in problems(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]):
        print(problem, flush=True)
