"""Signatures in torch's schema language, and arguments of calls in both forms."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")

from opgen_runtime.errors import AttrError  # noqa: E402

from opgen_runtime.bridges.torch.schema import Schema, given  # noqa: E402
from opgen_runtime.declaration import statement  # noqa: E402
from opgen_runtime.operator.registry import remove_op  # noqa: E402
from opgen_runtime.operator.types import TensorType  # noqa: E402
from opgen_runtime.run.op_programs.programs import program_of  # noqa: E402

TEXTS = {
    "relu": "relu(Tensor data) -> Tensor",
    "axis_abs": "axis_abs(Tensor data, int axis=0, int indice=0) -> Tensor",
    "concatenate": "concatenate(Tensor[] data, int axis=0) -> Tensor",
    "cast": "cast(Tensor data, ScalarType dtype) -> Tensor",
    "clip": "clip(Tensor data, float? a_min=None, float? a_max=None, *, str? a_min_exact=None, str? a_max_exact=None) "
    "-> Tensor",
    "split": "split(Tensor data, int[] indices_or_sections, int axis=0, bool as_positions=False) -> Tensor[]",
    "reshape": "reshape(Tensor data, SymInt[] newshape, bool allowzero=False) -> Tensor",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_schema_of_an_op(name):
    assert Schema(program_of(name)).text == TEXTS[name]


def test_derivatives_take_all_arguments():
    vjp = Schema(program_of("softmax").vjp)
    assert (
        vjp.text == "softmax_vjp(Tensor data, Tensor? out, Tensor? grad_out, int axis, int[] wrt) -> Tensor[]"
    )
    assert [each.name for each in vjp.parameters][3 + vjp.wrt_position - 3] == "wrt"


def test_a_default_that_the_language_cannot_write_is_none_there():
    schema = Schema(program_of("gru"))
    assert "str[]? activations=None" in schema.text
    by_name = {each.name: each.default for each in schema.parameters}
    attrs = {name: by_name[name] for name in schema.attr_names} | {"hidden_size": 3}
    attrs = {name: value for name, value in attrs.items() if name in schema.attr_names}
    assert schema.values(attrs)["activations"] == ("sigmoid", "tanh")


def test_ints_that_no_float_holds_stay_exact():
    schema = Schema(program_of("clip"))
    attrs = {"a_min": 0.5, "a_max": None, "a_min_exact": None, "a_max_exact": str(2**60 + 1)}
    assert schema.values(attrs) == {"a_min": 0.5, "a_max": 2**60 + 1}
    assert given(schema, {"a_max": 2**60 + 1}) == {"a_max": 0.0, "a_max_exact": str(2**60 + 1)}
    assert schema.values(attrs | {"a_max_exact": None, "a_min": -3.0}) == {"a_min": -3, "a_max": None}
    with pytest.raises(AttrError, match="'a_max_exact' is 'x', expected the digits of an int"):
        schema.values(attrs | {"a_max_exact": "x"})


def test_users_write_attrs_as_declared_ops_take_them():
    assert given(Schema(program_of("cast")), {"dtype": "bfloat16"}) == {"dtype": torch.bfloat16}
    assert given(Schema(program_of("split")), {"indices_or_sections": 2}) == {"indices_or_sections": [2]}


class ChosenAttrs(statement.Attrs):
    type_key = "attrs.bridged.chosen"
    mode = statement.attr("enum", values=("sum", "mean"), default="sum")
    items = statement.attr("array", default=(1, "two"))
    like = statement.attr("object", default="Tensor[(2, 3), float32]")
    other = statement.attr("object", default=None)


def chosen(data, mode="sum", items=(1, "two"), like="Tensor[(2, 3), float32]", other=None):
    """As it was."""
    return statement.call(
        statement.called("bridged.chosen"), (data,), mode=mode, items=items, like=like, other=other
    )


def test_what_torch_has_no_type_for_is_text():
    statement.declare(
        chosen,
        statement.Input("data", dtype="float"),
        statement.Output("out", shape="data.shape", dtype="data.dtype"),
        attrs=ChosenAttrs,
        compute=lambda data, out: out.define(lambda *i: data[i]),
        pattern=statement.OpPattern.ELEMWISE,
        namespace="bridged",
    )
    try:
        schema = Schema(program_of("bridged.chosen"))
        assert schema.text == (
            'chosen(Tensor data, str mode="sum", str items="[1, \\"two\\"]", '
            'str like="Tensor[(2, 3), float32]", str? other=None) -> Tensor'
        )
        attrs = {"mode": "mean", "items": [0.5, (None,)], "like": TensorType((4,), "int8"), "other": None}
        shown = {"mode": "mean", "items": "[0.5, [None]]", "like": "Tensor[(4,), int8]", "other": None}
        assert given(schema, attrs) == shown
        assert schema.values(shown) == attrs | {"items": (0.5, (None,))}
    finally:
        remove_op("bridged.chosen")
