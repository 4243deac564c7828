"""Modules of many nodes that another process has built: found again, and only where nothing differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base import altered
from opgen_runtime.ir import Function
from opgen_runtime.run.compile.program.program_steps import module_given
from opgen_runtime.run.executor.module_key import key_of_module

WEIGHTS = np.random.default_rng(2).standard_normal((8, 8)).astype(np.float32)
X = np.random.default_rng(3).standard_normal((5, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of programs of a cache that is empty, in a process that has altered nothing."""
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(altered, "_ops", set())
    return tmp_path / "cache" / "programs"


def layers(count: int = 40, name: str = "x", rows: Any = 5, act: Any = ops.tanh) -> Function:
    x = rt.var(name, rt.TensorType((rows, 8), "float32"))
    w = rt.var("w", rt.TensorType((8, 8), "float32"))
    y = x
    for _ in range(count):
        y = act(ops.dense(y, w))
    return Function((x, w), y)


def key(function: Function, weights: np.ndarray = WEIGHTS, **options: Any) -> str | None:
    found = module_given(function, {"w": weights})
    target = options.get("target")
    return key_of_module(found, None if target is None else rt.Target.parse(target), options.get("opt_level"))


@pytest.mark.parametrize("rows", [5, rt.dim("n", hint=5)])
def test_the_same_bits_and_texts(rows: Any, programs: Path) -> None:
    fresh = rt.build(layers(rows=rows), {"w": WEIGHTS})
    (entry,) = programs.iterdir()
    written = entry.stat().st_mtime_ns
    again = rt.build(layers(rows=rows), {"w": WEIGHTS})
    assert [each.name for each in programs.iterdir()] == [entry.name]
    assert entry.stat().st_mtime_ns >= written
    assert again.compiled[0] is not fresh.compiled[0]
    assert again.run([X]).tobytes() == fresh.run([X]).tobytes()  # type: ignore[union-attr]  # one array
    assert (again.explain(), again.inputs, again.precompute_kernels) == (
        fresh.explain(), fresh.inputs, fresh.precompute_kernels,
    )  # fmt: skip


def test_whatever_differs_is_another_program() -> None:
    other = WEIGHTS.copy()
    other[3, 4] = -other[3, 4]
    n, m = rt.dim("n", hint=5), rt.dim("n", hint=7)
    keys = [
        key(layers()), key(layers(), other), key(layers(41)), key(layers(name="z")), key(layers(act=ops.sigmoid)),
        key(layers(), opt_level=0), key(layers(), target="llvm -num-threads=7"), key(layers(rows=4)),
        key(layers(rows=n)), key(layers(rows=m)), key(layers(rows=rt.dim("m", hint=5))),
    ]  # fmt: skip
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert key(layers()) == keys[0]


def test_values_of_a_machine_make_another_program() -> None:
    """As where a user changes a row and keeps its name."""
    host, module = rt.Target.host(), module_given(layers(), {"w": WEIGHTS})
    changed = replace(host, machine=replace(host.machine, l2=host.machine.l2 * 2))
    assert str(changed) == str(host)
    assert key_of_module(module, changed, None) != key_of_module(module, host, None)


def test_programs_of_few_nodes_and_of_altered_passes_are_compiled(programs: Path) -> None:
    rt.build(layers(3), {"w": WEIGHTS})
    with rt.PassContext(opt_level=1):
        rt.build(layers(), {"w": WEIGHTS})
    rt.build(layers(), {"w": WEIGHTS}, context=rt.PassContext(disabled=["FuseOps"]))
    assert not programs.exists()


def test_programs_with_parts_for_other_compilers_have_no_key() -> None:
    """What those compilers make of them is no part of a key."""
    module = module_given(layers(), {"w": WEIGHTS})
    part = layers(1).with_attrs(Compiler="mylib")
    assert key_of_module(module.with_function("part", layers(1)), None, None) is not None
    assert key_of_module(module.with_function("part", part), None, None) is None


def test_a_damaged_entry_is_remade(programs: Path) -> None:
    fresh = rt.build(layers(), {"w": WEIGHTS}).run([X])
    (entry,) = programs.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-9] + b"x" + whole[-8:])
    assert rt.build(layers(), {"w": WEIGHTS}).run([X]).tobytes() == fresh.tobytes()  # type: ignore[union-attr]
    assert entry.read_bytes() == whole
