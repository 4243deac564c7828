"""The memory of compiled programs is freed with the last who can call them, and caches of them are bounded by it."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import pkgutil
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Analyzer
from opgen_runtime.base.arith.visit import Remembered
from opgen_runtime.base.lru_cache import LRUCache
from opgen_runtime.codegen import Loaded
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.kernel import NativeKernel
from opgen_runtime.run.compile.specialisations import Specialisations, statistics

A = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def no_search() -> Iterator[None]:
    """Garbage in cycles stays where it is."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> set[int]:
    """The addresses of the kernels that are loaded, as far as objects of Python hold them."""
    return {each.code_address for each in gc.get_objects() if isinstance(each, NativeKernel)}


def called(factor: float) -> Any:
    f = rt.jit(lambda x: ops.tanh(x * factor) + factor)
    for _ in range(4):
        found = f(A)
    np.testing.assert_allclose(found, np.tanh(A * factor) + factor, rtol=1e-6)
    return f


@pytest.mark.usefixtures("no_search")
def test_a_function_ends_with_its_code_as_soon_as_nobody_has_it() -> None:
    before = alive()
    f = called(1.125)
    end = weakref.ref(f)
    assert len(alive() - before) == 1
    del f
    assert end() is None
    pipeline.forget_kernels()
    assert alive() <= before


@pytest.mark.usefixtures("no_search")
def test_gradients_and_programs_of_several_kernels_end_at_once() -> None:
    g = rt.grad(lambda x: ops.sum(ops.multiply(ops.softmax(x), x)))
    for _ in range(4):
        g(A)
    end = weakref.ref(g)
    del g
    assert end() is None


@pytest.mark.usefixtures("no_search")
def test_hand_written_functions_end_at_once() -> None:
    f = rt.jit(lambda x: ops.unique(x)[0])
    for _ in range(3):
        np.testing.assert_array_equal(f(A), np.unique(A))
    (program,) = [f._compiled.get(key) for key in f._compiled]
    assert program is not None
    kernels = [weakref.ref(kernel) for kernel in program.executable.compiled]
    del program, f
    pipeline.forget_kernels()
    assert [each() for each in kernels] == [None] * len(kernels)


def test_what_does_not_fit_an_entry_reaches_the_function() -> None:
    f = called(1.25)
    other = np.ones(5, np.float32)
    np.testing.assert_allclose(f(other), np.tanh(other * 1.25) + 1.25, rtol=1e-6)
    np.testing.assert_allclose(f(x=A), np.tanh(A * 1.25) + 1.25, rtol=1e-6)
    g = rt.jit(lambda *arrays, **named: sum(arrays) + sum(named.values()))
    few, many = [A] * 3, [A] * 40
    for _ in range(4):
        np.testing.assert_allclose(g(*few), A * 3, rtol=1e-6)
    np.testing.assert_allclose(g(*many), A * 40, rtol=1e-5)
    np.testing.assert_allclose(g(*few, a=A, b=A), A * 5, rtol=1e-6)
    np.testing.assert_allclose(g(*few, **{f"a{k}": A for k in range(30)}), A * 33, rtol=1e-5)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        f(A, A)


def test_a_function_that_drops_itself_while_it_is_called() -> None:
    held: list[Any] = []

    def dropping(x: Any) -> Any:
        held.clear()
        return x + len(held)

    held.append(rt.jit(dropping))
    np.testing.assert_array_equal(held[0](A), A)
    assert held == []


def test_programs_are_dropped_by_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    f = rt.jit(lambda x: x + 0.5)
    monkeypatch.setenv("OPGEN_CACHE_MEMORY", "0")  # what others have and may go is gone then
    f(A[:1])
    one = f._compiled.nbytes
    assert one > len(next(iter(alive_code(f))))
    gc.collect()
    most = statistics().nbytes + 9 * one
    monkeypatch.setenv("OPGEN_CACHE_MEMORY", str(most))
    for columns in range(1, 40):
        f(np.ones(columns, np.float32))
    assert 8 <= len(f._compiled) <= 10
    monkeypatch.setenv("OPGEN_CACHE_MEMORY", str(one))
    f(np.ones(50, np.float32))
    assert len(f._compiled) == 8, "a few stay"


def alive_code(f: Any) -> Iterator[bytes]:
    for key in f._compiled:
        for kernel in f._compiled.get(key).executable.compiled:
            yield kernel.image.code


def test_kernels_of_the_process_are_dropped_by_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.forget_kernels()
    monkeypatch.setattr(pipeline._kernels, "most_bytes", 1 << 20)
    for k in range(40):
        called(2 + k / 64)
        assert pipeline._kernels.nbytes <= 1 << 20
    assert 8 <= len(pipeline._kernels) < 20


def test_constants_of_a_program_count() -> None:
    weights = np.ones((128, 300), np.float32)
    f = rt.jit(lambda x: ops.matmul(x, weights))
    f(np.ones((3, 128), np.float32))
    assert f._compiled.nbytes > weights.nbytes


def test_every_memory_of_what_has_machine_code_is_bounded_by_bytes() -> None:
    n = rt.dim("n")
    x = ir.var("x", shape=(n, 4))
    built = rt.build(ir.Function((x,), ops.softmax(ops.tanh(x))))
    f = called(1.5)
    late = rt.jit(lambda x: ops.add(ops.argwhere(x), 1))
    for _ in range(3):
        built.run([A])
        rt.eager.add(A, A)
        late(A)
    rt.create_executor().evaluate(ir.Function((x,), ops.tanh(x)))(A)  # type: ignore[operator]  # a function
    seen = 0
    tables = [each for each in gc.get_objects() if isinstance(each, LRUCache | Specialisations)]
    for kept in tables:
        values = [kept.get(key) for key in kept]
        if any(hasattr(value, "footprint") for value in values):
            seen += 1
            assert kept.nbytes > 0
            assert isinstance(kept, Specialisations) or kept.most_bytes > 0
    assert seen >= 5
    del f, tables


def test_a_footprint_holds_the_code() -> None:
    for kernel in [each for each in gc.get_objects() if isinstance(each, NativeKernel)]:
        sizes = dict(kernel.footprint())
        assert isinstance(kernel._loaded, Loaded)
        assert sizes[id(kernel._loaded)] > len(kernel.image.code)


def test_no_module_keeps_what_analysers_have_seen() -> None:
    """Of the front end for ONNX and of bridges, too, where the packages are there that their modules import."""
    found = []
    extras = {
        "opgen_runtime.frontend.dask.labels": "xarray",
        "opgen_runtime.frontend.dask": "dask",
        "opgen_runtime.frontend.onnx": "onnx",
        "opgen_runtime.bridges.torch": "torch",
        "opgen_runtime.bridges.jax": "jax",
    }
    absent = tuple([ours for ours, package in extras.items() if importlib.util.find_spec(package) is None])
    for info in pkgutil.walk_packages(rt.__path__, "opgen_runtime.", onerror=lambda name: None):
        if info.name.endswith("onnx.backend") or ".ops." in info.name:
            continue
        if info.name.startswith(absent):
            continue
        module = importlib.import_module(info.name)
        found += [
            f"{info.name}.{name}"
            for name, value in vars(module).items()
            if isinstance(value, Remembered | Analyzer)
        ]
    assert found == []
