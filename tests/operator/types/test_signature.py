"""Signatures forwards: binding, and what its errors say."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence

import pytest

from opgen_runtime.base.arith import Any, dim
from opgen_runtime.base.errors import (
    AttrError,
    CallError,
    DTypeError,
    ShapeError,
    TypeInferenceError,
)
from opgen_runtime.operator.attrs import Attrs, attr
from opgen_runtime.operator.types import (
    Binding,
    Bound,
    IncompleteType,
    Input,
    Let,
    Output,
    Require,
    Signature,
    Spread,
    Static,
    TensorType,
    TupleType,
    Type,
    TypeReporter,
    bind,
    broadcast,
)

from .binding import failing, t


class AxisAbsAttrs(Attrs):
    type_key = "attrs.axis_abs"
    axis: int = attr("int", default=0)
    indice: int = attr("int", default=0)


AXIS_ABS = Signature(
    inputs=(Input("data", dtype="number"),),
    rules=(
        Bound("axis", lambda axis, data: 0 <= axis < data.ndim, "0 <= axis < data.ndim"),
        Bound(
            "indice",
            lambda indice, data, axis: 0 <= indice < data.shape[axis],
            "0 <= indice < data.shape[axis]",
        ),
    ),
    outputs=(Output("out", shape="data.shape", dtype="data.dtype"),),
)


@pytest.mark.parametrize(
    ("shape", "axis", "indice"), [((4, 4, 1), 1, 1), ((4, 4, 1), 0, 1), ((3, 3, 3), 1, 1), ((5,), 0, 4)]
)
def test_axis_abs(shape: tuple[int, ...], axis: int, indice: int) -> None:
    data = TensorType(shape, "int32")
    binding = bind(AXIS_ABS, "axis_abs", AxisAbsAttrs(axis=axis, indice=indice), [data])
    assert binding == Binding(
        {"axis": axis, "indice": indice, "data": data}, (data,), (), (data,), (1,), False, {}, (shape,)
    )
    assert binding.result_type is binding.outputs[0]


def test_axis_abs_errors() -> None:
    data = t(4, 4, 1, dtype="int32")
    assert failing(AttrError, AXIS_ABS, AxisAbsAttrs(axis=3), data) == (
        "op: attr 'axis' is 3, outside its bounds: 0 <= axis < data.ndim with data: Tensor[(4, 4, 1), int32]"
    )
    assert failing(AttrError, AXIS_ABS, AxisAbsAttrs(axis=2, indice=1), data) == (
        "op: attr 'indice' is 1, outside its bounds: 0 <= indice < data.shape[axis] "
        "with data: Tensor[(4, 4, 1), int32], axis = 2"
    )
    assert failing(DTypeError, AXIS_ABS, AxisAbsAttrs(), t(2, dtype="bool")) == (
        "op: argument 'data' (%0) has dtype bool, expected number (int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, float8_e4m3fn, float16, bfloat16, float32, float64); found Tensor[(2,), bool]"
    )
    assert (
        failing(CallError, AXIS_ABS, AxisAbsAttrs())
        == "op: missing argument 'data': expected 1 (data), found 0"
    )
    assert failing(CallError, AXIS_ABS, AxisAbsAttrs(), data, data) == (
        "op: too many arguments: expected 1 (data), found 2"
    )
    assert failing(CallError, AXIS_ABS, AxisAbsAttrs(), TupleType((data,))) == (
        "op: argument 'data' must be a tensor, found (Tensor[(4, 4, 1), int32],)"
    )


def test_a_broken_bound_shows_the_whole_bound() -> None:
    class FlipAttrs(Attrs):
        type_key = "attrs.flip"
        axis: int = attr("int", bounds="0 <= axis < data.ndim", check=lambda axis, attrs: axis >= 0)

    signature = Signature(
        inputs=(Input("data"),),
        rules=(Bound("axis", lambda axis, data: axis < data.ndim, "axis < data.ndim"),),
        outputs=(Output("out", "data.shape", "data.dtype"),),
    )
    assert failing(AttrError, signature, FlipAttrs(axis=1), t(3)) == (
        "op: attr 'axis' is 1, outside its bounds: 0 <= axis < data.ndim with data: Tensor[(3,), float32]"
    )


def test_the_caller_is_named_without_a_site() -> None:
    with pytest.raises(AttrError, match=r"test_signature\.py:\d+$"):
        bind(AXIS_ABS, "axis_abs", AxisAbsAttrs(axis=9), [t(2)])


def test_symbolic_bounds_are_assumed_and_recorded() -> None:
    n = dim("n")
    binding = bind(AXIS_ABS, "axis_abs", AxisAbsAttrs(axis=0, indice=2), [t(n, 3)])
    assert [a.text for a in binding.undecided] == ["0 <= indice < data.shape[axis]"]
    assert str(binding.undecided[0].condition) == "n > 2"
    assert binding.outputs == (t(n, 3),)
    # a rule written for Python's own `and` cannot even be evaluated; it is recorded all the same
    assert bind(AXIS_ABS, "axis_abs", AxisAbsAttrs(indice=2), [t(Any(), 3)]).undecided


MATMUL = Signature(
    inputs=(Input("a", shape=("*A", "M", "K"), dtype="T"), Input("b", shape=("*B", "K", "N"), dtype="T")),
    outputs=(
        Output("out", shape=(Spread(lambda A, B: broadcast(A, B), "*broadcast(A, B)"), "M", "N"), dtype="T"),
    ),
    dtypes={"T": "number"},
)


def test_matmul() -> None:
    binding = bind(MATMUL, "matmul", None, [t(5, 1, 3, 4), t(2, 4, 6)])
    assert binding.outputs == (t(5, 2, 3, 6),)
    names = {name: binding.names[name] for name in ("A", "B", "M", "K", "N", "T")}
    assert names == {"A": (5, 1), "B": (2,), "M": 3, "K": 4, "N": 6, "T": "float32"}


def test_matmul_errors() -> None:
    assert failing(ShapeError, MATMUL, None, t(9, 3, 4), t(5, 6)) == (
        "op: argument 'b' (%1) has 5 as dim 0, expected K = 4 (dim 2 of argument 'a' (%0))\n"
        "  expected shape (*B, K, N), found Tensor[(5, 6), float32]"
    )
    assert failing(ShapeError, MATMUL, None, t(3, 4), t(4)) == (
        "op: argument 'b' (%1) has 1 dim, expected at least 2 dims\n"
        "  expected shape (*B, K, N), found Tensor[(4,), float32]"
    )
    vector = Signature(inputs=(Input("x", shape=("C",)),), outputs=(Output("out", ("C",), "x.dtype"),))
    assert failing(ShapeError, vector, None, t(3, 4)) == (
        "op: argument 'x' (%0) has 2 dims, expected 1 dim\n  expected shape (C), found Tensor[(3, 4), float32]"
    )
    assert failing(ShapeError, vector, None, t()).startswith(
        "op: argument 'x' (%0) has 0 dims, expected 1 dim\n"
    )
    assert failing(DTypeError, MATMUL, None, t(3, 4), t(4, 2, dtype="int32")) == (
        "op: argument 'b' (%1) has dtype int32, but argument 'a' (%0) has dtype float32; element types do not mix: "
        'cast one of them, for example cast(b, "float32")'
    )
    assert failing(ShapeError, MATMUL, None, t(2, 3, 4), t(3, 4, 2)) == (
        "op: shapes (2,) and (3,) do not broadcast: 2 and 3 differ and neither is 1"
    )


def test_symbolic_dims_must_agree() -> None:
    n, m = dim("n"), dim("m")
    binding = bind(MATMUL, "matmul", None, [t(3, n), t(m, 6)])
    assert binding.outputs == (t(3, 6),)
    assert [a.text for a in binding.undecided] == ["K of b: n == m"]
    assert bind(MATMUL, "matmul", None, [t(3, n), t(n, 6)]).undecided == ()
    # an int says more than a symbol, a symbol more than `?`
    assert bind(MATMUL, "matmul", None, [t(3, n), t(4, 6)]).names["K"] == 4
    assert bind(MATMUL, "matmul", None, [t(3, Any()), t(n, 6)]).names["K"] is n
    assert failing(ShapeError, MATMUL, None, t(3, n), t(n + 1, 6)).startswith(
        "op: argument 'b' (%1) has n + 1 as dim 0, expected K = n (dim 1 of argument 'a' (%0))"
    )


class SoftmaxAttrs(Attrs):
    type_key = "attrs.softmax"
    axis: int = attr("int", default=-1)


def test_let_and_require() -> None:
    signature = Signature(
        inputs=(Input("data", dtype="float"), Input("weight", shape=("rest",), dtype="float")),
        rules=(
            Bound(
                "axis", lambda axis, data: -data.ndim <= axis < data.ndim, "-data.ndim <= axis < data.ndim"
            ),
            Let(("a",), lambda axis, data: axis % data.ndim, "a = axis % data.ndim"),
            Let(("rest", "width"), lambda data, a: (data.shape[:a] + data.shape[a + 1 :], data.shape[a])),
            Require(lambda width: width > 1, "width > 1"),
            Require(
                lambda data, weight: data.dtype == weight.dtype,
                "data.dtype == weight.dtype",
                error="dtypes differ",
            ),
        ),
        outputs=(Output("out", shape=("rest",), dtype="data.dtype"),),
    )
    binding = bind(signature, "softmax", SoftmaxAttrs(axis=1), [t(2, 3, 4), t(2, 4)])
    assert binding.outputs == (t(2, 4),)
    assert binding.names["a"] == 1
    assert failing(ShapeError, signature, SoftmaxAttrs(), t(2, 3, 4), t(2, 4)) == (
        "op: argument 'weight' (%1) has (2, 4) as the dims, expected rest = (2, 3)\n"
        "  expected shape (rest), found Tensor[(2, 4), float32]"
    )
    assert (
        failing(ShapeError, signature, SoftmaxAttrs(), t(2, 1), t(2))
        == "op: requires width > 1, found with width = 1"
    )
    assert failing(DTypeError, signature, SoftmaxAttrs(), t(2, 3), t(2, dtype="float64")) == (
        "op: dtypes differ; with data: Tensor[(2, 3), float32], weight: Tensor[(2,), float64]"
    )
    assert failing(AttrError, signature, SoftmaxAttrs(axis=5), t(2, 3), t(2)).startswith(
        "op: attr 'axis' is 5"
    )


def test_a_failed_let_gives_way_to_the_requirement_that_explains_it() -> None:
    signature = Signature(
        inputs=(Input("data"),),
        rules=(
            Let(("last",), lambda data: data.shape[1], "last = data.shape[1]"),
            Require(lambda data: data.ndim == 2, "data.ndim == 2"),
        ),
        outputs=(Output("out", shape=("last",), dtype="data.dtype"),),
    )
    assert failing(ShapeError, signature, None, t(3)) == (
        "op: requires data.ndim == 2, found with data: Tensor[(3,), float32]"
    )
    bare = Signature(inputs=signature.inputs, rules=signature.rules[:1], outputs=signature.outputs)
    assert failing(ShapeError, bare, None, t(3)) == (
        "op: cannot evaluate last = data.shape[1]: tuple index out of range (IndexError) "
        "with data: Tensor[(3,), float32]"
    )


class ConvAttrs(Attrs):
    type_key = "attrs.conv"
    strides: tuple[int, ...] = attr("ints", default=(1, 1))
    groups: int = attr("int", default=1)
    channels: int | None = attr("int", default=None)
    data_layout: str = attr("layout", default="NCHW")
    kernel_layout: str = attr("layout", default="OIHW")


def window(S: Sequence[int], K: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    return tuple((s - k) // d + 1 for s, k, d in zip(S, K, strides, strict=True))


CONV = Signature(
    inputs=(
        Input("data", shape=("N", "C", "*S"), dtype="T", layout=("data_layout", "NCHW")),
        Input(
            "weight",
            shape=("F", Static(lambda C, groups: C // groups, "C // groups"), "*K"),
            dtype="T",
            layout=("kernel_layout", "OIHW"),
        ),
    ),
    rules=(
        Bound(
            "strides", lambda strides, data: 1 <= strides <= data.shape[2], "1 <= strides <= data.shape[2]"
        ),
        Require(lambda channels: channels, "F == channels", binds="F"),
    ),
    outputs=(
        Output(
            "out",
            shape=("N", "F", Spread(lambda S, K, strides: window(S, K, strides))),
            dtype="T",
            layout=("data_layout", "NCHW"),
        ),
    ),
    dtypes={"T": "float"},
)


@pytest.mark.parametrize(
    ("layout", "kernel", "data", "weight", "out"),
    [
        ("NCHW", "OIHW", (1, 32, 8, 9), (64, 32, 3, 3), (1, 64, 6, 7)),
        ("NHWC", "HWIO", (1, 8, 9, 32), (3, 3, 32, 64), (1, 6, 7, 64)),
        ("NCHW16c", "OIHW", (1, 2, 8, 9, 16), (64, 32, 3, 3), (1, 4, 6, 7, 16)),
    ],
)
def test_layouts(
    layout: str, kernel: str, data: tuple[int, ...], weight: tuple[int, ...], out: tuple[int, ...]
) -> None:
    binding = bind(
        CONV, "conv2d", ConvAttrs(data_layout=layout, kernel_layout=kernel), [t(*data), t(*weight)]
    )
    assert binding.outputs == (t(*out),)
    assert binding.inputs == (t(*data), t(*weight))
    assert binding.names["data"] == t(1, 32, 8, 9)
    assert binding.names["weight"] == t(64, 32, 3, 3)


def test_conv_errors() -> None:
    assert failing(ShapeError, CONV, ConvAttrs(groups=2), t(1, 32, 8, 8), t(64, 32, 3, 3)) == (
        "op: argument 'weight' (%1) has 32 as dim 1, expected C // groups = 16 with C = 32, groups = 2\n"
        "  expected shape (F, C // groups, *K), found Tensor[(64, 32, 3, 3), float32]"
    )
    assert failing(ShapeError, CONV, ConvAttrs(channels=5), t(1, 32, 8, 8), t(64, 32, 3, 3)) == (
        "op: requires F == channels, found with F = 64, right-hand side = 5, channels = 5"
    )
    assert failing(AttrError, CONV, ConvAttrs(strides=(1, 9)), t(1, 32, 8, 8), t(64, 32, 3, 3)) == (
        "op: attr 'strides' is (1, 9) (element 9), outside its bounds: 1 <= strides <= data.shape[2] "
        "with data: Tensor[(1, 32, 8, 8), float32]"
    )
    assert failing(AttrError, CONV, ConvAttrs(data_layout="NCDHW"), t(1, 32, 8, 8, 1), t(64, 32, 3, 3)) == (
        "op: attr 'data_layout': layout NCDHW does not have the axes of NCHW"
    )


class CastAttrs(Attrs):
    type_key = "attrs.cast"
    dtype: str = attr("dtype")


def test_output_dtype_from_an_attr() -> None:
    signature = Signature(inputs=(Input("x"),), outputs=(Output("out", "x.shape", "dtype"),))
    assert bind(signature, "cast", CastAttrs(dtype="int8"), [t(3)]).outputs == (t(3, dtype="int8"),)


def test_a_negative_output_dim_is_the_users_error() -> None:
    assert failing(ShapeError, CONV, ConvAttrs(), t(1, 4, 2, 5), t(8, 4, 5, 3)) == (
        "op: output 'out' would have shape (1, 8, -2, 3), float32: a dim must be at least 0, found -2"
    )


def test_a_signature_that_cannot_be_ordered() -> None:
    missing = Signature(inputs=(Input("x"),), outputs=(Output("out", ("N",), "x.dtype"),))
    with pytest.raises(TypeInferenceError, match="outputs need 'N', which nothing gives"):
        bind(missing, "op", None, [t(3)])
    cyclic = Signature(
        inputs=(Input("x"),),
        rules=(Let(("a",), lambda b: b), Let(("b",), lambda a: a)),
        outputs=(Output("out", "x.shape", "x.dtype"),),
    )
    with pytest.raises(TypeInferenceError, match="rules for 'a', 'b' depend on each other"):
        bind(cyclic, "op", None, [t(3)])


def relation_by_hand(types: Sequence[Type], num_inputs: int, attrs: object, reporter: TypeReporter) -> bool:
    data = types[0]
    if not isinstance(data, TensorType):
        return False
    reporter.assign(types[num_inputs], TensorType((data.shape[1], data.shape[0]), data.dtype))
    return True


def test_a_relation_by_hand() -> None:
    signature = Signature(
        inputs=(Input("x", dtype="float"),), outputs=(Output("out"),), relation=relation_by_hand
    )
    assert bind(signature, "op", None, [t(2, 3)]).outputs == (t(3, 2),)
    assert failing(TypeInferenceError, signature, None, t(2)) == (
        "op: its type relation fails for (Tensor[(2,), float32]): tuple index out of range (IndexError)"
    )
    assert failing(DTypeError, signature, None, t(2, 3, dtype="int8")).startswith(
        "op: argument 'x' (%0) has dtype int8"
    )
    for error in (RuntimeError("what"), AssertionError("what"), StopIteration("what"), LookupError("what")):

        def raising(*_: object, error: Exception = error) -> bool:
            raise error

        wrong = Signature(inputs=(Input("x"),), outputs=(Output("out"),), relation=raising)
        with pytest.raises(
            TypeInferenceError, match=f"op: its type relation fails .*: what .{type(error).__name__}"
        ):
            bind(wrong, "op", None, [t(2, 3)])
    by_name = Signature(inputs=(Input("x"),), outputs=(Output("out"),), relation="nowhere:relation")
    with pytest.raises(TypeInferenceError, match="type relation 'nowhere:relation' cannot be loaded"):
        bind(by_name, "op", None, [t(2, 3)])


def test_an_incomplete_operand_is_refused_by_bind() -> None:
    with pytest.raises(TypeInferenceError, match="the type of argument 'data' is not known"):
        bind(AXIS_ABS, "axis_abs", AxisAbsAttrs(), [IncompleteType()])


def test_messages_hold_no_addresses() -> None:
    """What a message shows is the same in every process: a declared function is no value to show."""
    signature = Signature(
        inputs=(Input("data"),),
        rules=(
            Let(("near",), lambda: lambda n: n + 1),
            Let(("each",), lambda near: (near, object(), 3)),
            Require(lambda data, near, each: near(data.ndim) == len(each), "near(data.ndim) == 3"),
        ),
        outputs=(Output("out", shape="data.shape", dtype="data.dtype"),),
    )
    assert failing(ShapeError, signature, None, t(4)) == (
        "op: requires near(data.ndim) == 3, found with data: Tensor[(4,), float32], each = "
        "(<function test_messages_hold_no_addresses.<locals>.<lambda>.<locals>.<lambda>>, <object object>, 3)"
    )


def test_plans_do_not_keep_a_signature() -> None:
    signature = Signature(
        inputs=(Input("x", shape=("*A",), dtype="T"),),
        rules=(Let(("n",), lambda x: x.ndim),),
        outputs=(Output("out", shape="x.shape", dtype="T"),),
        dtypes={"T": "number"},
    )
    assert bind(signature, "op", None, [t(2, 3)]).outputs == (t(2, 3),)
    kept = weakref.ref(signature)
    del signature
    gc.collect()
    assert kept() is None
