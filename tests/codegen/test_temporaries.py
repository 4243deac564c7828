"""Memory of kernels: a block that was given back is taken again, and no two hold one block at once."""

from __future__ import annotations

import ctypes
import itertools
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base import Target
from opgen_runtime.codegen.llvm.temporaries import block_of, taken_at_entry
from opgen_runtime.codegen.llvm.text import ModuleText
from opgen_runtime.codegen.objects import temporaries
from opgen_runtime.codegen.objects.support import load_module

Take, Give = Callable[[int], int | None], Callable[[int | None], None]
MIB = 1 << 20
_numbers = itertools.count()


@pytest.fixture
def functions() -> tuple[Take, Give]:
    """A module of its own, which no kernel of the process uses."""
    found = load_module(f"temporaries {next(_numbers)}", temporaries.module_text(), temporaries.SYMBOLS, None)
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(found[temporaries.TAKE])
    give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found[temporaries.GIVE])
    return take, give


def test_the_next_one_takes_what_was_given_back(functions: tuple[Take, Give]) -> None:
    take, give = functions
    first = take(MIB)
    assert first is not None
    assert first % 64 == 0
    give(first)
    assert take(MIB - 64) == first
    other = take(MIB)
    assert other != first
    give(other)
    give(first)
    assert take(MIB // 8) not in (first, other)  # much memory for little
    give(None)


def test_what_cannot_be_had_is_null(functions: tuple[Take, Give]) -> None:
    assert functions[0](1 << 60) is None


def test_threads_never_share_a_block(functions: tuple[Take, Give]) -> None:
    take, give = functions

    def work(seed: int) -> bool:
        chance, sound = random.Random(seed), True
        for turn in range(200):
            size = chance.choice((100, 70_000, 80_000, 200_000, MIB))
            block = take(size)
            assert block is not None
            mark = (seed * 1000 + turn).to_bytes(8, "little")
            ctypes.memmove(block, mark, 8)
            ctypes.memmove(block + size - 8, mark, 8)
            sound &= ctypes.string_at(block, 8) == mark == ctypes.string_at(block + size - 8, 8)
            give(block)
        return sound

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


def test_little_of_a_size_that_dims_decide_lies_on_the_stack() -> None:
    wanted = [("%a", "%size"), ("%b", "65536")]
    assert taken_at_entry(ModuleText(Target.host()), wanted, "failed", "start") == [
        "  %a.near = alloca [4096 x i8], align 64",
        "  br label %take0.ask\n"
        "take0.ask:\n"
        "  %a.fits = icmp ule i64 %size, 4096\n"
        "  br i1 %a.fits, label %take0.had, label %take0.take\n"
        "take0.take:\n"
        "  %a.taken = call noalias align 64 ptr @opgen_temporary(i64 %size)\n"
        "  br label %take0.had\n"
        "take0.had:\n"
        "  %a.block = phi ptr [ null, %take0.ask ], [ %a.taken, %take0.take ]\n"
        "  %a = phi ptr [ %a.near, %take0.ask ], [ %a.taken, %take0.take ]",
        "  %none0 = icmp eq ptr %a, null",
        "  %any0 = or i1 false, %none0",
        "  %b = call noalias align 64 ptr @opgen_temporary(i64 65536)",
        "  %none1 = icmp eq ptr %b, null",
        "  %any1 = or i1 %any0, %none1",
        "  br i1 %any1, label %failed, label %start",
    ]
    assert [block_of(*each) for each in wanted] == ["%a.block", "%b"]


def test_what_lies_on_the_stack_is_shared_by_all_that_is_taken() -> None:
    lines = taken_at_entry(ModuleText(Target.host()), [(f"%x{k}", "%n") for k in range(1000)], "f", "s")
    assert lines[:1000] == [f"  %x{k}.near = alloca [64 x i8], align 64" for k in range(1000)]


@pytest.mark.parametrize("columns", [*range(488, 520, 3), 512, 4096])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_the_same_on_both_sides_of_what_the_stack_holds(columns: int, threads: int) -> None:
    n, m = rt.dim("n", hint=64), rt.dim("m", hint=128)
    x = ir.Var("x", rt.TensorType((n, m), "float32"))
    built = rt.build(ir.Function((x,), ops.softmax(x)), target=f"llvm -num-threads={threads}")
    data = np.random.default_rng(columns).standard_normal((9, columns)).astype(np.float32)
    power = np.exp(data - data.max(axis=1, keepdims=True))
    for _ in range(3):
        np.testing.assert_allclose(built.run([data]), power / power.sum(axis=1, keepdims=True), rtol=1e-5)
