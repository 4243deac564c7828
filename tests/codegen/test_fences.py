"""Kernels between fences: some of the campaign's, and a process that steps outside."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from opgen_runtime import ops
from tests.fuzz import fences
from tests.library import ROOT

# One of each kind of loops: linear, transposed, along and across rows, packed, windows, positions that are computed.
_OPS = ("relu", "transpose", "softmax", "sum", "matmul", "max_pool2d", "take")


@pytest.mark.parametrize("name", _OPS)
def test_kernels_stay_inside(name: str) -> None:
    fences.case(ops.__all__.index(name))


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("what", ["read", "write"])
def test_a_step_outside_ends_the_process(at_end: bool, what: str) -> None:
    program = f"""
import ctypes, numpy as np
from tests.fenced import Fenced
fenced = Fenced(np.ones(5, "float32"), {at_end})
byte = ctypes.c_char.from_address(fenced.array.ctypes.data + (20 if {at_end} else -1))
print(bytes(fenced.array[:1])[0], flush=True)
{"byte.value" if what == "read" else "byte.value = b'x'"}
print("not here")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, b"0\n")


def test_an_operand_may_only_be_read() -> None:
    program = """
import numpy as np
from tests.fenced import Fenced
Fenced(np.ones(5, "float32"), True, writable=False).array[0] = 2
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGSEGV
