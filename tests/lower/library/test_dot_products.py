"""Contractions of narrow ints sum several steps at once, and give the same int32 to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opgen_runtime.te import Tensor

import opgen_runtime as rt
from opgen_runtime import ir, ops, te
from opgen_runtime.base.arith import call, const, evaluate_scalar
from opgen_runtime.base.errors import ScheduleError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import INT32
from opgen_runtime.codegen import choose_pipeline, emit, optimise_and_compile
from opgen_runtime.compute.te.evaluation import operations
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline
from tests.lower.tir.programs import Program, check_lowered

BYTES = ("uint8", "int8")
SHAPES = ((7, 64, 40), (16, 37, 33), (2, 130, 9), (13, 50, 70))
SHORT = ((3, 0, 20), (3, 1, 20), (20, 2, 1), (1, 5, 20), (0, 40, 20), (20, 40, 0))
CPUS = ("native", "x86-64", "x86-64-v3", "x86-64-v4")
VNNI = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -mattr={},+avx512vnni"


HOST = Target.host()


def target(cpu: str) -> Target:
    return Target.parse(f"llvm -mcpu={cpu} -num-threads=1")


def with_vnni() -> Target:
    features = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4").features
    return Target.parse(VNNI.format(features))


def product(
    rows: int, steps: int, columns: int, x: str, y: str, zeros: str = "", by_lines: bool = False
) -> tuple[list[Tensor], Tensor]:
    """sum((a - za) * (b - zb)) in int32; `zeros` names those that there are, `by_lines`: b is stored so."""
    a = te.placeholder((rows, steps), name="a", dtype=x)
    b = te.placeholder((columns, steps) if by_lines else (steps, columns), name="b", dtype=y)
    za, zb = te.placeholder((rows,), name="za", dtype=x), te.placeholder((columns,), name="zb", dtype=y)
    k = te.reduce_axis((0, steps), name="k")

    def element(i, j):  # type: ignore[no-untyped-def]  # expressions
        left, right = te.cast(a[i, k], "int32"), te.cast(b[j, k] if by_lines else b[k, j], "int32")
        left = left - te.cast(za[i], "int32") if "a" in zeros else left
        return te.sum(left * (right - te.cast(zb[j], "int32") if "b" in zeros else right), axis=k)

    c = te.compute((rows, columns), element, name="c")
    given = [a, b, *([za] if "a" in zeros else []), *([zb] if "b" in zeros else [])]
    return given, c


def values(tensors: list[Tensor], seed: int) -> list[np.ndarray]:
    """Any numbers, the least and the greatest among them often."""
    random, found = np.random.default_rng(seed), []
    for tensor in tensors:
        limits = np.iinfo(str(tensor.dtype))
        drawn = random.integers(limits.min, limits.max, tensor.shape, endpoint=True)
        ends = random.choice([limits.min, limits.max], tensor.shape)
        found.append(np.where(random.random(tensor.shape) < 0.3, ends, drawn).astype(str(tensor.dtype)))
    return found


def expected(arrays: list[np.ndarray], zeros: str, by_lines: bool = False) -> np.ndarray:
    a, b, *rest = [array.astype(np.int64) for array in arrays]
    rest = list(rest)
    a = a - rest.pop(0)[:, None] if "a" in zeros else a
    b = b.T if by_lines else b
    return (a @ (b - rest.pop(0) if "b" in zeros else b)).astype(np.int32)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("y", BYTES)
@pytest.mark.parametrize("x", BYTES)
def test_all_kinds_of_bytes(x: str, y: str, cpu: str) -> None:
    if not target(cpu).is_host:
        pytest.skip("this machine has no such vectors")
    for n, (shape, zeros) in enumerate(zip(SHAPES, ("", "a", "b", "ab"), strict=True)):
        tensors, c = product(*shape, x, y, zeros, by_lines=n % 2 == 1)
        arrays = values(tensors, n)
        schedule = generic([c], target(cpu))
        assert "dot2" in str(schedule) or "dot4" in str(schedule)
        found = rt.build(schedule, [*tensors, c], target=target(cpu))(*arrays)
        np.testing.assert_array_equal(found, expected(arrays, zeros, by_lines=n % 2 == 1))


@pytest.mark.parametrize("shape", SHORT)
@pytest.mark.parametrize("zeros", ["", "ab"])
def test_short_sums(shape: tuple[int, int, int], zeros: str) -> None:
    tensors, c = product(*shape, "uint8", "int8", zeros)
    arrays = values(tensors, 1)
    found = rt.build(generic([c], HOST), [*tensors, c], target=HOST)(*arrays)
    np.testing.assert_array_equal(found, expected(arrays, zeros))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_no_steps_in_several_columns(dtype: str) -> None:
    """Columns of two axes that lie side by side, and nothing to sum."""
    a, b = te.placeholder((6, 0), name="a", dtype=dtype), te.placeholder((0, 3, 20), name="b", dtype=dtype)
    k = te.reduce_axis((0, 0), name="k")
    kind = "int32" if dtype == "int8" else dtype
    c = te.compute(
        (6, 3, 20),
        lambda i, j, n: te.sum(te.cast(a[i, k], kind) * te.cast(b[k, j, n], kind), axis=k),
        name="c",
    )
    found = rt.build(generic([c], HOST), [a, b, c], target=HOST)(
        np.ones((6, 0), dtype), np.ones((0, 3, 20), dtype)
    )
    np.testing.assert_array_equal(found, np.zeros((6, 3, 20), kind))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_extents(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(2, 20)), data.draw(st.integers(4, 40))
    steps, zeros = data.draw(st.integers(16, 80)), data.draw(st.sampled_from(("", "a", "b", "ab")))
    x, y = data.draw(st.sampled_from(BYTES)), data.draw(st.sampled_from(BYTES))
    tensors, c = product(rows, steps, columns, x, y, zeros)
    arrays = values(tensors, data.draw(st.integers(0, 99)))
    chosen = target(data.draw(st.sampled_from([cpu for cpu in CPUS if target(cpu).is_host])))
    found = rt.build(generic([c], chosen), [*tensors, c], target=chosen)(*arrays)
    np.testing.assert_array_equal(found, expected(arrays, zeros))


@pytest.mark.parametrize("zeros", ["", "ab"])
@pytest.mark.parametrize("kinds", [("uint8", "int8"), ("int8", "int8")])
def test_loop_ir_and_traces(kinds: tuple[str, str], zeros: str) -> None:
    tensors, c = product(2, 35, 17, *kinds, zeros)
    for each in (with_vnni(), target("x86-64-v3")):
        check_lowered(Program(tuple(tensors), (c,)), generic([c], each))


def convolution(
    kinds: tuple[str, str], channels: int, size: int, stride: int, filters: int = 24
) -> tuple[list[Tensor], Tensor]:
    """Windows of 3x3 around the elements of an image whose zero point is `z`, also beyond its edges."""
    x, w = (
        te.placeholder(shape, name=name, dtype=kind)
        for name, kind, shape in zip(
            "xw", kinds, ((channels, size, size), (filters, channels, 3, 3)), strict=True
        )
    )
    z = te.placeholder((), name="z", dtype=kinds[0])
    c, r, s = (
        te.reduce_axis((0, extent), name=name) for name, extent in zip("crs", (channels, 3, 3), strict=True)
    )

    def element(f, i, j):  # type: ignore[no-untyped-def]  # expressions
        y, u = i * stride + r - 1, j * stride + s - 1
        inside = te.all(y >= 0, y < size, u >= 0, u < size)
        number = te.cast(x[c, y, u], "int32") - te.cast(z[()], "int32")
        return te.sum(te.if_then_else(inside, number, 0) * te.cast(w[f, c, r, s], "int32"), axis=[c, r, s])

    places = (size - 1) // stride + 1
    return [x, z, w], te.compute((filters, places, places), element, name="out")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("channels", "stride"), [(8, 1), (16, 2), (5, 1)])
def test_windows(channels: int, stride: int, cpu: str) -> None:
    """Words of what windows read are made once, and before the edges are."""
    if not target(cpu).is_host:
        pytest.skip("this machine has no such vectors")
    for n, (kind, other) in enumerate((a, b) for a in BYTES for b in BYTES):
        tensors, c = convolution((kind, other), channels, 12, stride)
        image, zero, filters = arrays = values(tensors, n)
        schedule = generic([c], target(cpu))
        assert ("words" in str(schedule)) == (channels % 4 == 0)
        padded = np.pad(image.astype(np.int64) - int(zero), ((0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::stride, ::stride]
        wanted = np.einsum("cijrs,fcrs->fij", windows, filters.astype(np.int64)).astype(np.int32)
        found = rt.build(schedule, [*tensors, c], target=target(cpu))(*arrays)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [
        (("uint8", "int8"), with_vnni()),
        (("int8", "int8"), with_vnni()),
        (("int8", "int8"), target("x86-64-v3")),
    ],
    ids=["as the instruction has them", "sign_flipped", "widened"],
)
def test_loop_ir_of_windows(kinds: tuple[str, str], chosen: Target) -> None:
    """25 places, which fill no vector, in few channels: the interpreter is slow."""
    tensors, c = convolution(kinds, 4, 5, 1, filters=8)
    schedule = generic([c], chosen)
    assert "words" in str(schedule)
    check_lowered(Program(tuple(tensors), (c,)), schedule)


def test_what_a_machine_has_decides() -> None:
    _, c = product(16, 64, 64, "uint8", "int8", "a")
    assert "dot4(" in str(generic([c], with_vnni()))
    assert "dot2(" in str(generic([c], target("x86-64-v3")))
    arm = Target.parse("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=generic")
    assert "dot" not in str(generic([c], arm))


def test_wide_ints_stay() -> None:
    a, b = (
        te.placeholder((16, 64), name="a", dtype="int32"),
        te.placeholder((64, 64), name="b", dtype="int32"),
    )
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((16, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    assert "dot" not in str(generic([c], with_vnni()))
    schedule = te.create_schedule(c)
    with pytest.raises(ScheduleError, match="its factors are no ints of 8 bits"):
        schedule.dot(c, k, 4)
    with pytest.raises(ScheduleError, match="none of its reduce axes"):
        schedule.dot(c, schedule[c].axes[0], 4)


def test_words() -> None:
    """The element functions of words, on numbers, arrays and in machine code of any number of lanes."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-(1 << 31), 1 << 31, 37).astype(np.int32) for _ in range(2))
    a[:2], b[:2] = [-1, -0x7FFF8000], [-0x7F7F7F80, -0x7FFF8000]
    for name, left, right in (("dot4", "uint8", "int8"), ("dot2", "int16", "int16")):
        pairs = [x.view(kind).reshape(len(x), -1).astype(np.int64) for x, kind in ((a, left), (b, right))]
        wanted = (pairs[0] * pairs[1]).sum(axis=1).astype(np.int32)
        np.testing.assert_array_equal(operations.call(name, INT32, [a, b]), wanted)
        for x, y, total in zip(a, b, wanted, strict=True):
            assert evaluate_scalar(call(name, const(int(x), INT32), const(int(y), INT32)), {}) == total
        p, q = (te.placeholder((37,), name=each, dtype="int32") for each in "pq")
        out = te.compute((37,), lambda i, name=name, p=p, q=q: 5 + call(name, p[i], q[i]), name="out")
        for lanes in (1, 4, 6, 8, 16):
            schedule = te.create_schedule(out)
            if lanes > 1:
                schedule[out].vectorize(schedule[out].split(schedule[out].axes[0], lanes)[1])
            np.testing.assert_array_equal(rt.build(schedule, [p, q, out])(a, b), wanted + 5)


@pytest.mark.parametrize("dtype", BYTES)
def test_vectors_of_floats_become_bytes_at_once(dtype: str) -> None:
    chosen = target("x86-64-v4")
    x = te.placeholder((64,), name="x")
    out = te.compute((64,), lambda i: te.cast(x[i], dtype), name="out")
    func = tir.run_phases(tir.lower(generic([out], chosen), [x], [out], "kernel"))
    text = optimise_and_compile(emit(func, chosen), chosen, choose_pipeline(func)).assembly
    assert "vcvttps2dq" in text
    assert "vcvttss2si" not in text


def test_instructions() -> None:
    tensors, c = product(8, 64, 64, "uint8", "int8")
    for chosen, wanted in (
        (with_vnni(), "vpdpbusd"),
        (target("x86-64-v4"), "vpmaddwd"),
        (target("x86-64-v3"), "vpmaddwd"),
    ):
        func = tir.run_phases(tir.lower(generic([c], chosen), tensors, [c], "kernel"))
        assert wanted in optimise_and_compile(emit(func, chosen), chosen, choose_pipeline(func)).assembly


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("rows", [1, 3, 20])
def test_constant_columns(rows: int, cpu: str) -> None:
    """Words of what is constant are prepared, also for one row."""
    chosen = target(cpu)
    if not chosen.is_host:
        pytest.skip("this machine has no such vectors")
    for n, (x, y) in enumerate((a, b) for a in BYTES for b in BYTES):
        kinds = {"a": ((rows, 64), x), "b": ((64, 60), y), "za": ((rows,), x), "zb": ((60,), y)}
        variables = [ir.Var(name, TensorType(shape, kind)) for name, (shape, kind) in kinds.items()]
        function = ir.Function(tuple(variables), ops.quantised_matmul(*variables), attrs={"Primitive": 1})
        arrays = [
            values([te.placeholder(shape, name=name, dtype=kind)], n)[0]
            for name, (shape, kind) in kinds.items()
        ]
        parts = pipeline.compile_parts(function, {1, 3}, chosen)
        prepared = (
            [] if parts.precompute is None else parts.precompute.run([arrays[k] for k in parts.constants])
        )
        if rows > 1 or chosen.dot(4, chosen.vector_bits) is not None:
            assert any(each.dtype == np.int32 and each.size >= 64 * 60 // 4 for each in prepared)
        (found,) = parts.main.run([*[arrays[k] for k in parts.operands], *prepared])
        np.testing.assert_array_equal(found, expected(arrays, "ab"))
