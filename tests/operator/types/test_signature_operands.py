"""Signatures forwards: operands and results that may be absent or many."""

from __future__ import annotations

from opgen_runtime.base.errors import (
    CallError,
    DTypeError,
    ShapeError,
)
from opgen_runtime.operator.attrs import Attrs, attr
from opgen_runtime.operator.types import (
    Input,
    Let,
    Output,
    Require,
    Signature,
    Static,
    TupleType,
    bind,
)

from .binding import failing, t


def test_optional_inputs() -> None:
    signature = Signature(
        inputs=(
            Input("data", shape=("N", "K"), dtype="T"),
            Input("bias", shape=("K",), dtype="T", optional=True),
            Input("zero", shape=("Z",), dtype="int32", optional=True),
        ),
        rules=(Let(("per_channel",), lambda zero, Z: zero is not None and Z > 1),),
        outputs=(Output("out", shape="data.shape", dtype="T"),),
        dtypes={"T": "float"},
    )
    for given in ([t(2, 3)], [t(2, 3), None], [t(2, 3), TupleType(()), None]):
        binding = bind(signature, "op", None, given)
        assert binding.inputs == (t(2, 3), None, None)
        assert (binding.names["bias"], binding.names["Z"], binding.names["per_channel"]) == (
            None,
            None,
            False,
        )
    assert bind(signature, "op", None, [t(2, 3), None, t(3, dtype="int32")]).names["per_channel"] is True
    assert failing(ShapeError, signature, None, t(2, 3), t(4)).startswith(
        "op: argument 'bias' (%1) has 4 as dim 0, expected K = 3 (dim 1 of argument 'data' (%0))"
    )
    assert (
        failing(CallError, signature, None)
        == "op: missing argument 'data': expected 1 to 3 (data, bias, zero), found 0"
    )


class AxisAttrs(Attrs):
    type_key = "attrs.concatenate"
    axis: int = attr("int", default=0)


def test_variadic_inputs() -> None:
    signature = Signature(
        inputs=(Input("data", dtype="T", variadic=True),),
        rules=(
            Require(lambda data: len(data) > 0, "len(data) > 0"),
            Let(("a",), lambda axis, data: axis % data[0].ndim),
        ),
        outputs=(
            Output(
                "out",
                shape=lambda data, a: (
                    *data[0].shape[:a],
                    sum(x.shape[a] for x in data),
                    *data[0].shape[a + 1 :],
                ),
                dtype="T",
            ),
        ),
        dtypes={"T": "any"},
    )
    two = (t(2, 3), t(2, 5))
    for given in ([TupleType(two)], [two], list(two)):
        assert bind(signature, "concatenate", AxisAttrs(axis=1), given).outputs == (t(2, 8),)
    assert bind(signature, "concatenate", AxisAttrs(), [t(2)]).inputs == ((t(2),),)
    assert failing(DTypeError, signature, AxisAttrs(), (t(2), t(2, dtype="int8"))).startswith(
        "op: argument 'data'[1] (%0) has dtype int8, but argument 'data'[0] (%0) has dtype float32"
    )
    assert (
        failing(ShapeError, signature, AxisAttrs(), ()) == "op: requires len(data) > 0, found with data = ()"
    )
    pattern = Signature(
        inputs=(Input("data", shape=("N",), variadic=True),), outputs=(Output("out", ("N",), "bool"),)
    )
    assert bind(pattern, "op", None, [(t(3), t(3))]).outputs == (t(3, dtype="bool"),)
    assert failing(ShapeError, pattern, None, (t(3), t(4))).startswith(
        "op: argument 'data'[1] (%0) has 4 as dim 0, expected N = 3"
    )


class SplitAttrs(Attrs):
    type_key = "attrs.split"
    sections: int = attr("int", default=2)


def test_several_and_variadic_outputs() -> None:
    two = Signature(
        inputs=(Input("data", shape=("N", "M")),),
        outputs=(Output("a", ("N",), "data.dtype"), Output("b", ("M",), "int64")),
    )
    binding = bind(two, "op", None, [t(2, 3)])
    assert binding.result_type == TupleType((t(2), t(3, dtype="int64")))
    assert binding.counts == (1, 1)
    split = Signature(
        inputs=(Input("data", shape=("N",)),),
        outputs=(
            Output(
                "out",
                shape=(Static(lambda N, sections, k: N // sections + (k < N % sections)),),
                dtype="data.dtype",
                variadic=lambda sections: sections,
                index="k",
            ),
        ),
    )
    binding = bind(split, "split", SplitAttrs(sections=3), [t(7)])
    assert binding.outputs == (t(3), t(2), t(2))
    assert binding.is_tuple
    assert binding.counts == (3,)
    assert "k" not in binding.names
    one = bind(split, "split", SplitAttrs(sections=1), [t(7)])
    assert one.result_type == TupleType((t(7),))
