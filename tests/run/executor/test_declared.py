"""What a program declares of dims holds: of its result, of functions that are inlined, and of what a `let` binds."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import create_executor, ir, ops
from opgen_runtime.base.errors import ExecutorError

SIX = "Tensor[(6,), float32]"
OPEN = "Tensor[(n,), float32]"
TEXTS = {
    "a kernel": f"def @main(%x: {OPEN}) -> {SIX} {{ exp(%x) }}",
    "several kernels": f"def @main(%x: {OPEN}) -> {SIX} {{ cumsum(exp(cumsum(%x))) }}",
    "a parameter": f"def @main(%x: {OPEN}) -> {SIX} {{ %x }}",
    "one of several results": f"def @main(%x: {OPEN}) -> ({OPEN}, {SIX}) {{ (%x, exp(%x)) }}",
    "a callee's result": f"def @f(%y: {OPEN}) -> {SIX} {{ exp(%y) }}  def @main(%x: {OPEN}) {{ @f(tanh(%x)) }}",
    "a callee's operand": f"def @f(%y: {SIX}) {{ exp(%y) }}  def @main(%x: {OPEN}) {{ sum(@f(%x)) }}",
    "two operands of one dim": (
        f"def @f(%y: {OPEN}, %z: {OPEN}) {{ (exp(%y), tanh(%z)) }}"
        f"def @main(%x: {OPEN}, %c: {SIX}) {{ let %s = @f(%x, tanh(%c)); add(sum(%s.0), sum(%s.1)) }}"
    ),
    "a let": f"def @main(%x: {OPEN}) {{ let %y: {SIX} = exp(%x); cumsum(%y) }}",
    "branches": (
        f"def @main(%x: {OPEN}) -> {SIX} {{ if (less(sum(%x), 2f)) {{ exp(%x) }} else {{ tanh(%x) }} }}"
    ),
    "what depends on data": f"def @main(%x: {OPEN}) -> {SIX} {{ exp(masked_select(%x, greater(%x, 0f))) }}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_sizes_that_are_not_as_declared_are_refused(name: str) -> None:
    module = rt.parse_module(TEXTS[name])
    built = rt.build(module, target="llvm -num-threads=1")
    runs: list[Callable[[list[np.ndarray]], object]] = [
        built.run,
        lambda arrays: create_executor("debug", module).evaluate()(*arrays),  # type: ignore[operator]
    ]
    if built.why_interpreted is None:
        runs.append(pickle.loads(pickle.dumps(built)).run)
    assert (built.why_interpreted is None) == (name != "what depends on data")
    six = [np.ones(6, np.float32)] * len(built.inputs)
    for run in runs:
        run(six)
        for n in (0, 1, 5, 7):
            with pytest.raises(ExecutorError):
                run([np.ones(n, np.float32), *six[1:]])


def test_what_is_declared_and_seen_costs_nothing() -> None:
    """Dims of a callee are those of its operands, and dims that no operand tells are whatever they are."""
    n, k, free = rt.dim("n"), rt.dim("k"), rt.dim("free")
    y = ir.Var("y", rt.TensorType((n, 2), "float32"))
    x = ir.Var("x", rt.TensorType((k, 2), "float32"))
    callee = ir.Function((y,), ops.concatenate([ops.exp(y), y], axis=0), rt.TensorType((n + n, 2), "float32"))
    f = ir.GlobalVar("f", callee.checked_type)
    main = ir.Function((x,), ops.tanh(ir.Call(f, (x,))), rt.TensorType((free, 2), "float32"))
    built = rt.build(ir.IRModule({ir.GlobalVar("main", main.checked_type): main, f: callee}))
    assert len(built.kernels) == 1
    assert built.why_interpreted is None
    for size in (1, 4):
        assert built.run([np.ones((size, 2), np.float32)]).shape == (2 * size, 2)
