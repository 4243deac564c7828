"""Contractions: recognised from what their operands move with, and right for every shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import ir, ops, te
from opgen_runtime.base.arith import free_vars
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import construct as constructing
from opgen_runtime.lower import tir
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.schedules.common.products import Contraction, contraction_of
from opgen_runtime.lower.library.segment import segment_of
from opgen_runtime.lower.schedule import ForKind, create_schedule
from opgen_runtime.lower.tir.nodes.visit import statements
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.interpret import run_op_by_op
from opgen_runtime.transform import PassContext
from tests.lower.library.test_library_preserves_results import WIDTHS, eager
from tests.lower.tir.programs import check_lowered, product

HOST = str(Target.host())


A, B = te.placeholder((32, 16), name="A"), te.placeholder((16, 64), name="B")
STEP = te.reduce_axis((0, 16), name="k")
_WIDE = "llvm -mcpu=x86-64-v4 -num-threads=1"


def target(threads: int) -> Target:
    options = [word for word in HOST.split() if not word.startswith("-num-threads")]
    return Target.parse(" ".join([*options, f"-num-threads={threads}"]))


def var(name: str, *shape: int, dtype: str = "float32") -> ir.Var:
    return ir.Var(name, TensorType(shape, dtype))


def agrees(variables: list[ir.Var], body: ir.Expr, threads: int, tolerance: float = 2e-5) -> None:
    """The kernel of the whole function gives what its ops give one by one."""
    arrays = _arrays(variables)
    function = ir.Function(tuple(variables), body, attrs={"Primitive": 1})
    (found,) = pipeline.compile_segment(function, target(threads)).run(arrays)
    _equals(found, variables, body, arrays, tolerance)


def _arrays(variables: list[ir.Var]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [
        random.standard_normal(v.checked_type.concrete_shape).astype(str(v.checked_type.dtype))  # type: ignore[attr-defined]  # a tensor type
        for v in variables
    ]


def _equals(
    found: Any, variables: list[ir.Var], body: ir.Expr, arrays: list[np.ndarray], tolerance: float
) -> None:
    expected: Any = run_op_by_op(body, dict(zip(variables, arrays, strict=True)), ir.IRModule.from_expr(body))
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * largest)


@st.composite
def products(draw: st.DrawFn) -> tuple[list[ir.Var], ir.Expr]:
    """A matrix product of some kind, with tails of rows and columns, and perhaps an epilogue."""
    rows, columns, summed = draw(st.integers(1, 40)), draw(st.integers(1, 80)), draw(st.integers(1, 50))
    dtype = draw(st.sampled_from(["float32", "float32", "float64", "float16"]))
    match draw(st.sampled_from(["matmul", "batched", "shared", "dense", "dense of rank 3"])):
        case "matmul":
            a, b = var("a", rows, summed, dtype=dtype), var("b", summed, columns, dtype=dtype)
            body: ir.Expr = ops.matmul(a, b)
        case "batched":
            a, b = var("a", 3, rows, summed, dtype=dtype), var("b", 3, summed, columns, dtype=dtype)
            body = ops.matmul(a, b)
        case "shared":
            a, b = var("a", 3, rows, summed, dtype=dtype), var("b", summed, columns, dtype=dtype)
            body = ops.matmul(a, b)
        case "dense":
            a, b = var("a", rows, summed, dtype=dtype), var("b", columns, summed, dtype=dtype)
            body = ops.dense(a, b)
        case _:
            a, b = var("a", 2, rows, summed, dtype=dtype), var("b", columns, summed, dtype=dtype)
            body = ops.dense(a, b)
    variables = [a, b]
    if draw(st.booleans()):
        bias = var("bias", columns, dtype=dtype)
        body = ops.relu(ops.add(body, bias))
        variables.append(bias)
    return variables, body


@given(products(), st.sampled_from([1, 2, 3]))
@settings(max_examples=25)
def test_products(program: tuple[list[ir.Var], ir.Expr], threads: int) -> None:
    variables, body = program
    half = variables[0].checked_type.dtype == "float16"  # type: ignore[attr-defined]  # a tensor type
    agrees(variables, body, threads, 2e-3 if half else 2e-5)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[list[ir.Var], ir.Expr]:
    rank = draw(st.integers(1, 3))
    kernel = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    groups = draw(st.sampled_from([1, 1, 1, 2]))
    channels, out = draw(st.integers(1, 6)) * groups, draw(st.integers(1, 20)) * groups
    sizes = tuple(draw(st.integers(5, 12)) for _ in range(rank))
    data = var("data", draw(st.integers(1, 2)), channels, *sizes)
    weight = var("weight", out, channels // groups, *kernel)
    attrs = {
        "strides": tuple(draw(st.integers(1, 3)) for _ in range(rank)),
        "padding": tuple(draw(st.integers(0, 2)) for _ in range(2 * rank)),
        "dilation": tuple(draw(st.integers(1, 2)) for _ in range(rank)),
        "groups": groups,
    }
    conv = {1: ops.conv1d, 2: ops.conv2d, 3: ops.conv3d}[rank]
    body: ir.Expr = conv(data, weight, **attrs)
    variables = [data, weight]
    if draw(st.booleans()):
        bias = var("bias", out)
        residual = ir.Var("residual", body.checked_type)
        body = ops.relu(ops.add(ops.bias_add(body, bias, axis=1), residual))
        variables += [bias, residual]
    return variables, body


@given(convolutions(), st.sampled_from([1, 2, 3]))
@settings(max_examples=25)
def test_convolutions(program: tuple[list[ir.Var], ir.Expr], threads: int) -> None:
    agrees(*program, threads)


@given(convolutions(), st.sampled_from([1, 2]))
@settings(max_examples=25)
def test_convolutions_of_constant_weights(program: tuple[list[ir.Var], ir.Expr], threads: int) -> None:
    """Of few positions too, for which channels are the columns."""
    variables, body = program
    function = ir.Function(tuple(variables), body, attrs={"Primitive": 1})
    parts = pipeline.compile_parts(function, {1}, target(threads))
    arrays = _arrays(variables)
    prepared = [] if parts.precompute is None else parts.precompute.run([arrays[k] for k in parts.constants])
    (found,) = parts.main.run([*[arrays[k] for k in parts.operands], *prepared])
    _equals(found, variables, body, arrays, 2e-5)


@pytest.mark.parametrize(
    ("rows", "columns", "summed", "is_constant", "turned"),
    [
        (64, 49, 128, True, True),
        (64, 49, 128, False, False),
        (64, 62, 128, True, False),
        (50, 49, 128, True, False),
        (64, 49, 8, True, False),  # elements of so few steps take less than moving them
    ],
)
def test_constant_rows_change_places_with_columns_that_waste_lanes(
    rows: int, columns: int, summed: int, is_constant: bool, turned: bool
) -> None:
    a = constructing.placeholder("A", (rows, summed), "float32", is_constant)
    b = te.placeholder((summed, columns), name="B")
    step = te.reduce_axis((0, summed), name="k")
    c = te.compute((rows, columns), lambda y, x: te.sum(a[y, step] * b[step, x], axis=step), name="C")
    schedule = generic([c], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert any(stage.origin.startswith("permute") for stage in schedule.stages) == turned


@pytest.mark.parametrize(
    ("channels", "side", "filters", "window", "turned"),
    [
        (64, 56, 64, 3, True),
        (64, 56, 64, 1, False),  # each element is packed once
        (3, 56, 64, 3, False),  # more is turned than would be packed
        (64, 56, 40, 3, False),  # filters would waste lanes
        (22, 28, 512, 3, False),  # packing is little beside the products
        (128, 28, 128, 3, True),
        (64, 12, 64, 3, True),  # lines are shorter than vectors
        (12, 51, 14, 3, False),  # little is saved for what is wasted
    ],
)
def test_windows_that_overlap_change_places_with_filters(
    channels: int, side: int, filters: int, window: int, turned: bool
) -> None:
    x = te.placeholder((channels, side + window - 1, side + window - 1), name="X")
    w = constructing.placeholder("W", (filters, channels, window, window), "float32", True)
    c, r, s = (
        te.reduce_axis((0, n), name=name) for n, name in ((channels, "c"), (window, "r"), (window, "s"))
    )
    out = te.compute(
        (filters, side, side),
        lambda o, i, j: te.sum(x[c, i + r, j + s] * w[o, c, r, s], axis=[c, r, s]),
        name="C",
    )
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert any(stage.origin.startswith("permute") for stage in schedule.stages) == turned


@pytest.mark.parametrize(
    ("rows", "columns", "turned"),
    [
        (30, 1000, True),  # they fill a panel, and few are packed
        (20, 1000, False),
        (30, 1024, False),  # lines push one another out of the cache
        (90, 1000, False),  # all would be read for each panel
    ],
)
def test_few_rows_that_fill_a_panel_change_places_with_columns(rows: int, columns: int, turned: bool) -> None:
    a, b = te.placeholder((rows, 1500), name="A"), te.placeholder((1500, columns), name="B")
    step = te.reduce_axis((0, 1500), name="k")
    c = te.compute((rows, columns), lambda y, x: te.sum(a[y, step] * b[step, x], axis=step), name="C")
    schedule = generic([c], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert any(stage.origin.startswith("permute") for stage in schedule.stages) == turned


@pytest.mark.parametrize(("filters", "turned"), [(64, True), (200, False)])
def test_elements_apart_are_not_read_for_many_panels_of_filters(filters: int, turned: bool) -> None:
    """Each of them would be packed alone, but only once."""
    x = te.placeholder((8, 512, 8, 8), name="X")
    w = constructing.placeholder("W", (filters, 512), "float32", True)
    c = te.reduce_axis((0, 512), name="c")
    out = te.compute(
        (8, filters, 4, 4), lambda n, o, i, j: te.sum(x[n, c, 2 * i, 2 * j] * w[o, c], axis=c), name="C"
    )
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert any(stage.origin.startswith("permute") for stage in schedule.stages) == turned


@pytest.mark.parametrize(("side", "row"), [(4, "x"), (3, "n")])
def test_rows_of_a_tile_share_lines_of_the_cache(side: int, row: str) -> None:
    """A few of one line are better than more that lie planes apart."""
    a, b = te.placeholder((8, 16, side * 2), name="A"), te.placeholder((16, 64), name="B")
    c = te.compute((8, side, 64), lambda n, x, o: te.sum(a[n, STEP, 2 * x] * b[STEP, o], axis=STEP), name="C")
    found = contraction_of(c.op.axes, c.op.body)  # type: ignore[union-attr]  # it is computed
    assert found is not None
    assert found.row.var.name == row


def test_few_rows_are_no_columns() -> None:
    """However little would be packed then: most lanes would be wasted."""
    a, b = te.placeholder((26, 5, 236), name="A"), te.placeholder((26, 236, 185), name="B")
    step = te.reduce_axis((0, 236), name="k")
    c = te.compute((26, 5, 185), lambda n, y, x: te.sum(a[n, y, step] * b[n, step, x], axis=step), name="C")
    schedule = generic([c], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert not any(stage.origin.startswith("permute") for stage in schedule.stages)


@pytest.mark.parametrize(
    ("shape", "filters", "strides"), [((50, 128, 4), 64, 2), ((1, 128, 4), 64, 2), ((8, 64, 5), 64, 1)]
)
def test_filters_are_the_columns_of_few_positions(shape: tuple[int, ...], filters: int, strides: int) -> None:
    x, w = var("x", *shape), var("w", filters, shape[1], 3)
    body = ops.conv1d(x, w, strides=(strides,), padding=(1, 1) if strides == 2 else (0, 0))
    function = ir.Function((x, w), body, attrs={"Primitive": 1})
    cpu = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
    schedule = generic(segment_of(function, cpu).outputs, cpu)
    assert {"permute", "pack"} <= {stage.origin.split(" ")[0] for stage in schedule.stages}
    agrees([x, w], body, 1)


def _contraction(tensor: te.Tensor) -> Contraction | None:
    stage = create_schedule([tensor])[tensor]
    return contraction_of(stage.axes, stage.body)


@st.composite
def transposed(draw: st.DrawFn) -> tuple[list[ir.Var], ir.Expr]:
    rank = draw(st.integers(1, 2))
    groups = draw(st.sampled_from([1, 1, 2]))
    channels, out = draw(st.integers(1, 12)) * groups, draw(st.integers(1, 12))
    sizes = tuple(draw(st.integers(3, 12)) for _ in range(rank))
    strides = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    data = var("data", draw(st.integers(1, 2)), channels, *sizes)
    weight = var("weight", channels, out, *(draw(st.integers(1, 4)) for _ in range(rank)))
    attrs = {
        "strides": strides,
        "padding": tuple(draw(st.integers(0, 1)) for _ in range(2 * rank)),
        "output_padding": tuple(draw(st.integers(0, stride - 1)) for stride in strides),
        "dilation": tuple(draw(st.integers(1, 3)) for _ in range(rank)),
        "groups": groups,
    }
    body: ir.Expr = {1: ops.conv1d_transpose, 2: ops.conv2d_transpose}[rank](data, weight, **attrs)
    if draw(st.booleans()):
        body = ops.relu(body)
    return [data, weight], body


@given(transposed(), st.sampled_from([1, 2]))
@settings(max_examples=25)
def test_transposed_convolutions(program: tuple[list[ir.Var], ir.Expr], threads: int) -> None:
    agrees(*program, threads)


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
def test_steps_that_decide_about_columns_alone_stay_in_order(cpu: str) -> None:
    """Rows of the window are decided where the image is packed; what is left decides about its columns."""
    data, weight = var("data", 1, 1, 3, 3), var("weight", 1, 7, 2, 3)
    body = ops.conv2d_transpose(data, weight, strides=(1, 2))
    function = ir.Function((data, weight), body, attrs={"Primitive": 1})
    there = Target.parse(f"llvm -mcpu={cpu} -num-threads=1")
    arrays = _arrays([data, weight])
    request = pipeline.requested(function, there, PassContext(), ())
    *_, (stage, record) = pipeline.through_kernel(request, pipeline.upto("remove_no_op"))
    assert stage.oracle is not None
    (found,) = stage.oracle(record, arrays)
    _equals(found, [data, weight], body, arrays, 2e-5)


@st.composite
def filters(draw: st.DrawFn) -> tuple[list[ir.Var], ir.Expr]:
    """The gradient of a convolution for its filters: columns are windows that overlap."""
    groups, out = draw(st.sampled_from([1, 1, 2])), draw(st.integers(1, 20))
    height, width = draw(st.integers(6, 16)), draw(st.integers(6, 20))
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    strides, dilation = (draw(st.tuples(st.integers(1, 2), st.integers(1, 2))) for _ in range(2))
    data = var("data", draw(st.integers(1, 2)), draw(st.integers(1, 10)) * groups, height, width)
    attrs = {
        "strides": strides,
        "dilation": dilation,
        "padding": (draw(st.integers(0, 2)), 1),
        "groups": groups,
    }
    weight = var("weight", out * groups, data.checked_type.shape[1] // groups, *kernel)  # type: ignore[attr-defined]  # a tensor type
    grad = ir.Var("grad", ops.conv2d(data, weight, **attrs).checked_type)
    return [grad, data], ops.conv2d_backward_weight(grad, data, kernel_size=kernel, **attrs)


@given(filters(), st.sampled_from([1, 2]))
@settings(max_examples=15)
def test_gradients_for_filters(program: tuple[list[ir.Var], ir.Expr], threads: int) -> None:
    agrees(*program, threads)


def test_windows_are_packed_once_for_each_position() -> None:
    """Not once for each step of the sum: channels of the result are columns, the padded image is read as it lies."""
    grad, data = var("grad", 2, 32, 14, 14), var("data", 2, 16, 14, 14)
    body = ops.conv2d_backward_weight(grad, data, kernel_size=(3, 3), padding=(1, 1))
    function = ir.Function((grad, data), body, attrs={"Primitive": 1})
    outputs = segment_of(function, target(1)).outputs
    shapes = {
        stage.origin.split(" for")[0]: stage.tensor.shape for stage in generic(outputs, target(1)).stages
    }
    assert shapes["stage_operand"] == (2, 16, 16, 16)
    assert math.prod(shapes["pack"]) == 2 * 14 * 14 * 32


@pytest.mark.parametrize(
    ("channels", "side", "filters", "stride", "covered"),
    [
        (6, 96, 9, 3, True),  # one tile of rows, windows side by side
        (16, 64, 12, 2, True),
        (8, 56, 6, 2, True),  # a guard for each few steps
        (32, 56, 6, 2, False),  # each guard is for many steps
        (32, 128, 6, 2, False),
        (32, 64, 6, 2, True),  # each line is a panel
        (32, 32, 6, 2, True),  # or a vector
        (32, 56, 13, 2, True),  # packed
        (344, 60, 104, 3, True),  # windows are rows
        (6, 96, 9, 4, False),  # some are left out between windows
        (6, 64, 9, 1, False),  # lines lie side by side
    ],
)
def test_windows_with_strides_are_covered_before_they_are_read(
    channels: int, side: int, filters: int, stride: int, covered: bool
) -> None:
    """The padded image is made once, so that no window asks where the image ends."""
    x, w = var("x", 1, channels, side, side), var("w", filters, channels, 3, 3)
    function = ir.Function((x, w), ops.conv2d(x, w, strides=stride, padding=1), attrs={"Primitive": 1})
    cpu = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
    schedule = generic(segment_of(function, cpu).outputs, cpu)
    assert any(stage.origin.startswith("stage_operand") for stage in schedule.stages) == covered


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize(("channels", "filters", "groups"), [(6, 9, 1), (8, 16, 8), (24, 13, 1), (40, 48, 1)])
@pytest.mark.parametrize("threads", [1, 2])
def test_convolutions_with_strides(
    stride: int, channels: int, filters: int, groups: int, threads: int
) -> None:
    x, w = var("x", 2, channels, 31, 34), var("w", filters, channels // groups, 3, 3)
    agrees([x, w], ops.conv2d(x, w, strides=stride, padding=1, groups=groups), threads)


@pytest.mark.parametrize(
    ("shape", "summed", "along"),
    [
        ((7,), 512, True),
        ((25,), 512, False),
        ((7,), 100, False),
        ((6,), 100, True),
        ((2,), 40, False),
        ((5, 6), 512, False),
    ],
)
def test_few_rows_are_summed_along_lines_of_both_operands(
    shape: tuple[int, ...], summed: int, along: bool
) -> None:
    """Columns that are packed anew would serve them alone."""
    x, y = (constructing.placeholder(n, (*s, summed), "float32") for n, s in (("x", shape), ("y", (40,))))
    k = constructing.reduce_axis(summed, "k")
    out = constructing.compute(
        "out",
        (*shape, 40),
        "float32",
        lambda *i: constructing.reduce(
            "sum", k, constructing.read(x, *i[:-1], k.var) * constructing.read(y, i[-1], k.var)
        ),
    )
    schedule = generic((out,), Target.parse(_WIDE))
    assert along != any("pack" in stage.origin for stage in schedule.stages)
    last = schedule[out].leaves[-1]
    assert along == (last.kind == "reduce" and schedule[out].kinds[last] is ForKind.VECTORIZED)


def test_columns_that_are_lines_of_a_long_sum_are_turned_panel_by_panel() -> None:
    variables, cpu = [var("x", 128, 1024), var("y", 1024, 1024)], Target.parse(_WIDE)
    outputs = segment_of(ir.Function(variables, ops.dense(*variables)), cpu).outputs
    packing = next(stage for stage in generic(outputs, cpu).stages if stage.origin == "pack for out_flat")
    assert packing.leaves[-2] is packing.axes[1]  # k, around each vector


def test_two_products_in_one_program() -> None:
    a, b, c = var("a", 24, 30), var("b", 30, 40), var("c", 30, 40)
    agrees([a, b, c], ops.add(ops.matmul(a, b), ops.matmul(a, c)), 2)


@given(st.integers(8, 11), st.integers(16, 35), st.integers(8, 9), st.sampled_from(WIDTHS))
@settings(max_examples=3)
def test_loop_ir_of_shared_products(i: int, j: int, k: int, cpu: str) -> None:
    """Every loop that may be shared is, and the interpreter of loop IR checks every access."""
    program = product(i, j, k)
    schedule = generic(program.outputs, eager(cpu))
    assert any(stage.origin.startswith("flatten") for stage in schedule.stages)
    check_lowered(program, schedule)


def test_a_last_axis_of_one_is_a_column() -> None:
    data, weight = var("data", 1, 16, 40, 1), var("weight", 24, 16, 5, 1)
    agrees([data, weight], ops.relu(ops.conv2d(data, weight, padding=(2, 0, 2, 0))), 2)
    column = te.compute((32, 64, 1), lambda o, y, _: te.sum(B[STEP, y] * A[o, STEP], axis=STEP), name="C")
    found = _contraction(column)
    assert found is not None
    assert [axis.extent for axis in found.columns] == [64, 1]


def test_few_panels_are_shared_by_rows() -> None:
    agrees([a := var("a", 700, 300), b := var("b", 300, 20)], ops.tanh(ops.matmul(a, b)), 2)


def _product(i: int, j: int, k: int) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((i, k), name="A"), te.placeholder((k, j), name="B")
    step = te.reduce_axis((0, k), name="k")
    return a, b, te.compute((i, j), lambda y, x: te.sum(a[y, step] * b[step, x], axis=step), name="C")


def test_the_schedule_of_a_product_reads_in_one_screen() -> None:
    _, _, c = _product(64, 64, 128)
    text = str(generic([c], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")))
    assert text == SCHEDULE


@pytest.mark.parametrize(("rows", "columns", "summed"), [(1, 64, 64), (64, 3, 64), (64, 64, 4)])
def test_what_is_small_is_left_alone(rows: int, columns: int, summed: int) -> None:
    _, _, c = _product(rows, columns, summed)
    assert "pack" not in str(generic([c], target(1)))


@pytest.mark.parametrize(
    ("rows", "columns", "summed"), [(11, 40, 16), (19, 64, 16), (58, 74, 16), (58, 74, 2048)]
)
def test_accumulators_of_tails_stay_in_registers(rows: int, columns: int, summed: int) -> None:
    """Rows and columns that do not fill a tile, and the corner: what no guard depends on is unrolled as elsewhere."""
    program = product(rows, columns, summed)
    schedule = generic(program.outputs, Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    func = tir.run_phases(tir.lower(schedule, program.inputs, program.outputs, "kernel"))
    sums = [s for s in statements(func.body) if isinstance(s, tir.Store) and s.buffer.name.startswith("sum")]
    assert sums
    assert not [store for store in sums if free_vars(store.indices[0])]


@pytest.mark.parametrize(
    ("rows", "columns", "summed", "is_constant", "cut"),
    [
        (200, 300, 2048, False, True),
        (200, 300, 1024, False, False),  # a tile of rows stays in the first-level cache
        (64, 300, 1024, False, True),  # packing is a large part
        (64, 300, 256, False, False),
        (64, 200, 4096, False, False),  # rows are not read often
        (64, 300, 4096, True, False),  # nothing is packed
        (6, 300, 4096, False, False),  # one tile of rows
    ],
)
@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
def test_long_sums_are_cut_into_blocks(
    rows: int, columns: int, summed: int, is_constant: bool, cut: bool, cpu: str
) -> None:
    """A group of panels is packed for each block of k, and a tile is in registers while it takes one in."""
    a, b = (
        te.placeholder((rows, summed), name="A"),
        constructing.placeholder("B", (summed, columns), "float32", is_constant),
    )
    step = te.reduce_axis((0, summed), name="k")
    c = te.compute((rows, columns), lambda y, x: te.sum(a[y, step] * b[step, x], axis=step), name="C")
    schedule = generic([c], Target.parse(f"llvm -mcpu={cpu} -num-threads=1"))
    assert ("pack for C_flat, at k_o" in str(schedule)) == cut
    if cut:
        func = tir.run_phases(tir.lower(schedule, [a, b], [c], "kernel"))
        steps = [s for s in statements(func.body) if isinstance(s, tir.For) and s.var.name == "k_i"]
        assert steps
        for loop in steps:
            stores = [s for s in statements(loop.body) if isinstance(s, tir.Store)]
            assert stores
            assert not [s for s in stores if loop.var in free_vars(s.indices[0])]


@pytest.mark.parametrize(("summed", "columns"), [(2048, 256), (2113, 301)])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "kind", ["matmul", "batched", "dense of rank 3", "transposed", "float64", "epilogue"]
)
def test_long_sums(kind: str, columns: int, summed: int, threads: int) -> None:
    """Blocks, groups and tiles that leave a rest, and shares of threads."""
    dtype = "float64" if kind == "float64" else "float32"
    a, b = var("a", 29, summed, dtype=dtype), var("b", summed, columns, dtype=dtype)
    match kind:
        case "batched":
            a, b = var("a", 2, 15, summed), var("b", 2, summed, columns)
            body: ir.Expr = ops.matmul(a, b)
        case "dense of rank 3":
            a = var("a", 2, 15, summed)
            body = ops.matmul(a, b)
        case "transposed":
            a = var("a", summed, 29)
            body = ops.matmul(ops.transpose(a, axes=(1, 0)), b)
        case "epilogue":
            bias = var("bias", columns)
            agrees([a, b, bias], ops.relu(ops.add(ops.matmul(a, b), bias)), threads)
            return
        case _:
            body = ops.matmul(a, b)
    agrees([a, b], body, threads)


@pytest.mark.parametrize(("stride", "is_vector"), [(1, True), (2, True), (3, True), (5, False)])
def test_a_sum_of_one_step_of_near_elements_runs_in_vectors(stride: int, is_vector: bool) -> None:
    """A grouped convolution of one channel and one tap is no contraction, and no reason for scalar loops."""
    data, weights = te.placeholder((2, 64 * stride + 2), name="X"), te.placeholder((2, 1), name="W")
    tap = te.reduce_axis((0, 1), name="k")
    out = te.compute(
        (2, 64), lambda o, x: te.sum(data[o, x * stride + tap] * weights[o, tap], axis=tap), name="C"
    )
    padded = te.compute(
        (2, 64),
        lambda o, x: te.sum(
            te.if_then_else(x * stride + tap < 64 * stride, data[o, x * stride + tap], 0.0) * weights[o, tap],
            axis=tap,
        ),
        name="P",
    )
    for each in (out, padded):
        assert (
            "vectorized" in str(generic([each], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")))
        ) == is_vector


@pytest.mark.parametrize(
    ("rows", "stride", "form"),
    [(20, 2, "packed"), (20, 1, "read"), (7, 2, "read"), (3, 2, "no contraction")],
)
def test_elements_apart_are_brought_together_for_several_tiles_of_rows(
    rows: int, stride: int, form: str
) -> None:
    """One step, over two axes of columns: each row would read every second element again."""
    x, w = te.placeholder((2, 8, 20 * stride), name="X"), te.placeholder((rows, 2), name="W")
    c = te.reduce_axis((0, 2), name="c")
    out = te.compute((rows, 8, 20), lambda o, i, j: te.sum(x[c, i, j * stride] * w[o, c], axis=c), name="C")
    schedule = generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    origins = [stage.origin for stage in schedule.stages]
    found = (
        "packed"
        if "pack for C_flat" in origins
        else "read"
        if "flatten of C" in origins
        else "no contraction"
    )
    assert found == form


def test_conditions_of_what_is_packed_are_decided_once() -> None:
    """Outside of the loops that they do not depend on: B moves by one column, what comes in is 0."""
    a, b = te.placeholder((16, 128), name="A"), te.placeholder((128, 63), name="B")
    step = te.reduce_axis((0, 128), name="k")
    c = te.compute(
        (16, 64),
        lambda y, x: te.sum(a[y, step] * te.if_then_else(x > 0, b[step, x - 1], 0.0), axis=step),
        name="C",
    )
    schedule = generic([c], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    (packing,) = [stage for stage in schedule.stages if stage.origin == "pack for C_flat"]
    assert [leaf.var.name for leaf in packing.leaves] == ["x_o", "x_i_o", "k", "x_i_i"]


@pytest.mark.parametrize(
    ("filters", "channels", "scattered"), [(8, 64, True), (256, 64, False), (8, 2, False)]
)
def test_windows_that_few_filters_share_are_summed_after_the_products(
    filters: int, channels: int, scattered: bool
) -> None:
    """Many filters pay for packing the windows; few channels do not pay for storing the products."""
    x, w = var("x", 1, channels, 16, 16), var("w", channels, filters, 3, 3)
    function = ir.Function((x, w), ops.conv2d_transpose(x, w, strides=2), attrs={"Primitive": 1})
    cpu = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
    schedule = generic(segment_of(function, cpu).outputs, cpu)
    assert any(stage.origin.startswith("gemm_col2im") for stage in schedule.stages) == scattered


@pytest.mark.parametrize(
    ("filters", "window", "padding", "scattered"), [(1, 4, 1, True), (16, 4, 1, False), (1, 2, 0, True)]
)
def test_filters_of_one_group_share_windows(filters: int, window: int, padding: int, scattered: bool) -> None:
    """Few of them have few rows of a tile: their steps are rows, too, also where no windows overlap."""
    x, w = var("x", 1, 160, 16, 16), var("w", 160, filters, window, window)
    body = ops.conv2d_transpose(x, w, strides=2, padding=padding, groups=4)
    cpu = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
    schedule = generic(segment_of(ir.Function((x, w), body, attrs={"Primitive": 1}), cpu).outputs, cpu)
    made = [stage for stage in schedule.stages if stage.origin.startswith("gemm_col2im")]
    assert bool(made) == scattered
    if scattered:
        assert made[1].tensor.shape == (4, filters * window**2, 16, 16)
    agrees([x, w], body, 1)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_what_is_beyond_an_edge_is_0_times_the_weight(stride: int) -> None:
    """Also of products that are summed over windows afterwards: 0 times an infinite weight is no number."""
    x, w = var("x", 1, 64, 5, 7), var("w", 64, 3, 4, 4)
    body = ops.conv2d_transpose(x, w, strides=stride)
    arrays = _arrays([x, w])
    arrays[1][3, 2, 0, 1], arrays[1][5, 1, 2, 2], arrays[0][0, 1, 0, 0] = np.inf, np.nan, -np.inf
    function = ir.Function((x, w), body, attrs={"Primitive": 1})
    (found,) = pipeline.compile_segment(function, target(1)).run(arrays)
    _equals(found, [x, w], body, arrays, 2e-5)


@pytest.mark.parametrize(("rows", "columns", "tile"), [(465, 10, 14), (280, 16, 14), (465, 32, 5)])
def test_tiles_of_one_vector_have_more_rows(rows: int, columns: int, tile: int) -> None:
    """As many products are under way at once as in tiles of two vectors."""
    schedule = generic([_product(rows, columns, 256)[2]], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    assert f"C_flat.split(y, {tile})" in (trace := str(schedule.trace)), trace


@pytest.mark.parametrize(("rows", "vectors"), [(8, 3), (9, 3), (10, 2), (12, 2)])
def test_accumulators_of_a_tile_fit_the_registers(rows: int, vectors: int) -> None:
    _, _, c = _product(rows, 48, 64)
    schedule = generic([c], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    (flat,) = [stage for stage in schedule.stages if stage.origin == "flatten of C"]
    unrolled = [leaf.extent for leaf in flat.leaves if flat.kind(leaf) is ForKind.UNROLLED]
    assert unrolled == [rows, vectors]


@pytest.mark.parametrize(("taps", "unrolled"), [(2, True), (3, False)])
def test_the_last_loop_over_two_steps_is_unrolled(taps: int, unrolled: bool) -> None:
    x, w = te.placeholder((20, 14), name="X"), te.placeholder((20, taps, 16), name="W")
    c, s = te.reduce_axis((0, 20), name="c"), te.reduce_axis((0, taps), name="s")
    out = te.compute((12, 16), lambda i, o: te.sum(x[c, i + s] * w[c, s, o], axis=(c, s)), name="C")
    trace = str(generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")).trace)
    assert ("unroll(s)" in trace) == unrolled, trace


@pytest.mark.parametrize(("columns", "much"), [(300, True), (30, False)])
def test_much_that_is_added_comes_near_a_tile_ahead(columns: int, much: bool) -> None:
    *_, c = _product(300, columns, 64)
    r, row = te.placeholder((300, columns), name="R"), te.placeholder((columns,), name="V")
    out = te.compute((300, columns), lambda y, x: te.max(c[y, x] + r[y, x], row[x]), name="D")
    text = str(generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")))
    assert ("prefetch R, 1 ahead" in text) == much
    assert "prefetch C" not in text
    assert "prefetch V" not in text
    variables = [var("a", 300, 64), var("b", 64, columns), var("r", 300, columns)]
    agrees(variables, ops.relu(ops.add(ops.matmul(*variables[:2]), variables[2])), 2)


@pytest.mark.parametrize(
    ("rows", "columns", "target", "hint"),
    [
        (24, 1120, "x86-64-v4", "prefetch 2 lines of C_flat_packed, 48 ahead"),
        (5, 1120, "x86-64-v4", "prefetch 2 lines of B, 48 ahead"),
        (24, 1120, "x86-64-v3", ""),  # there, a vector is half a line
        (24, 300, "x86-64-v4", ""),
    ],
)
def test_lines_of_many_planes_come_near_a_panel_ahead(
    rows: int, columns: int, target: str, hint: str
) -> None:
    *_, c = _product(rows, columns, 64)
    text = str(generic([c], Target.parse(f"llvm -mcpu={target} -num-threads=1")))
    assert (hint in text) if hint else ("prefetch" not in text), text
    variables = [var("a", rows, 64), var("b", 64, columns)]
    agrees(variables, ops.matmul(*variables), 2)


@pytest.mark.parametrize(
    ("rows", "columns", "tile"),
    [
        (51, 400, (6, 2)),
        (64, 400, (6, 2)),  # tiles of four rows leave none over, but their products wait for one another
        (35, 400, (5, 2)),
        (6, 400, (6, 2)),
        (64, 24, (4, 3)),
        (40, 8, (8, 1)),
        (7, 16, (4, 2)),
    ],
)
def test_a_tile_fills_the_registers_where_they_are_few(
    rows: int, columns: int, tile: tuple[int, int]
) -> None:
    *_, c = _product(rows, columns, 400)
    schedule = generic([c], Target.parse("llvm -mcpu=x86-64-v3 -num-threads=1"))
    loops = [axis.extent for axis in schedule[c].leaves if schedule[c].kind(axis).value == "unrolled"]
    assert loops == [each for each in tile if each > 1]


def test_columns_in_the_first_cache_are_read_as_they_lie() -> None:
    for summed, packed in ((100, False), (400, True)):
        *_, c = _product(79, 51, summed)
        text = str(generic([c], Target.parse("llvm -mcpu=x86-64-v3 -num-threads=1")))
        assert ("packed" in text) == packed, text
        variables = [var("a", 79, summed), var("b", summed, 51)]
        agrees(variables, ops.matmul(*variables), 2)


def test_windows_that_overlap_are_near_when_they_are_read_again() -> None:
    x, w = te.placeholder((40, 100, 100), name="x"), te.placeholder((16, 40, 3, 3), name="w")
    c, r, s = (te.reduce_axis((0, n), name=name) for n, name in ((40, "c"), (3, "r"), (3, "s")))
    out = te.compute(
        (16, 98, 98),
        lambda o, i, j: te.sum(x[c, i + r, j + s] * w[o, c, r, s], axis=(c, r, s)),
        name="C",
    )
    assert "prefetch" not in str(generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")))


def test_what_is_no_contraction() -> None:
    a, b, c = _product(16, 16, 16)
    assert _contraction(c) is not None
    k = te.reduce_axis((0, 16), name="k")
    for value in (
        lambda y, x: te.sum(a[y, k] + b[k, x], axis=k),
        lambda y, x: te.max(a[y, k] * b[k, x], axis=k),
        lambda y, x: te.sum(a[y, k] * b[y, x], axis=k),
        lambda y, x: te.sum(a[y, x] * b[k, x], axis=k),
    ):
        made = te.compute((16, 16), value, name="D")
        assert _contraction(made) is None


SCHEDULE = """\
A: float32[64, 128], input
B: float32[128, 64], input
C_flat_packed: float32[2, 128, 32], pack for C_flat, root, global
    x_o        2
    k        128
    x_i_o_o    1              x_i // 16 // 2
    x_i_o_i    2  unrolled    x_i // 16 % 2
    x_i_i     16  vectorized  x_i % 16
    C_flat_packed[x_o, k, x_i] = B[k, x_o * 32 + x_i]
C: float32[64, 64], output
    y_o     8              y // 8
    x_o     2              x // 32
        C_flat: float32[64, 64], flatten of C, at x_o, local
            y_o     <=8              y // 8
            x_o     <=2              x // 32
            k       128  reduce
            y_i     <=8  unrolled    y % 8
            x_i_o   <=2  unrolled    x % 32 // 16
            x_i_i  <=16  vectorized  x % 32 % 16
            C_flat[y, x] = sum(A[y, k] * C_flat_packed[x // 32, k, x % 32] for k in range(128))
            reordered from y_o, y_i, x_o, x_i_o, x_i_i, k
    y_i     8  unrolled    y % 8
    x_i_o   2  unrolled    x % 32 // 16
    x_i_i  16  vectorized  x % 32 % 16
    C[y, x] = C_flat[y, x]
    reordered from y_o, y_i, x_o, x_i_o, x_i_i\
"""
