"""Attrs: construction, errors, equality, texts, JSON, pickling."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import AttrError
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.ir.type_parser import object_from_text
from opgen_runtime.operator import FuncType, TensorType, TupleType
from opgen_runtime.operator.attrs import Attrs, attr, attrs_from_json


class AxisAbsAttrs(Attrs):
    type_key = "attrs.axis_abs"
    axis: int = attr(
        "int", default=0, bounds="0 <= axis", check=lambda axis, attrs: axis >= 0, doc="The axis."
    )
    indice: int = attr("int", default=0, doc="The slice.")


class ManyAttrs(Attrs):
    type_key = "attrs.many"
    count: int = attr("int")
    scale: float = attr("float", default=1.0)
    flag: bool = attr("bool", default=False)
    mode: str = attr(
        "str",
        default="same",
        bounds='mode in ("same", "valid")',
        check=lambda mode, a: mode in ("same", "valid"),
    )
    dtype: str = attr("dtype", default="float32")
    layout: str = attr("layout", default="NCHW")
    newshape: tuple[int, ...] = attr("shape", default=())
    axes: tuple[int, ...] = attr("ints", default=(), bounds="axes < 8", check=lambda axes, a: axes < 8)
    scales: tuple[float, ...] = attr("floats", default=())
    names: tuple[str, ...] = attr("strs", default=())
    units: int | None = attr("int", default=None)


class NestedAttrs(Attrs):
    type_key = "attrs.nested"
    axis: int = attr("int", default=0, bounds="0 <= axis", check=lambda axis, attrs: axis >= 0)


class OpenAttrs(Attrs):
    """Kinds whose values are chosen, nested, or objects."""

    type_key = "attrs.open"
    mode: str = attr("enum", values=("sum", "mean"), default="sum")
    items: tuple[object, ...] = attr("array", default=(1, "a", None, True, math.nan, (0.5,)))
    like: object = attr("object", default=None)


MATRIX = TensorType((2, 3), "float32")


def error_of(make: object) -> str:
    with pytest.raises(AttrError) as caught:
        make()  # type: ignore[operator]
    message, at, place = str(caught.value).rpartition("\n  at ")
    assert at
    assert place.rpartition(":")[0] == __file__
    return message


POSSIBLE = "\n  attrs of axis_abs: axis (int, default=0, 0 <= axis); indice (int, default=0)"


def test_defaults_and_values() -> None:
    assert AxisAbsAttrs().as_dict() == {"axis": 0, "indice": 0}
    made = AxisAbsAttrs(axis=np.int32(2))
    assert made.axis == 2
    assert type(made.axis) is int
    assert made["indice"] == 0
    assert made.replace(indice=3) == AxisAbsAttrs(axis=2, indice=3)


def test_unknown_attr() -> None:
    assert error_of(lambda: AxisAbsAttrs(axes=1)) == (  # type: ignore[call-arg]
        "axis_abs: unknown attr 'axes'; did you mean 'axis'?" + POSSIBLE
    )


def test_out_of_bounds() -> None:
    assert error_of(lambda: AxisAbsAttrs(axis=-1)) == (
        "axis_abs: attr 'axis' is -1, outside its bounds: 0 <= axis" + POSSIBLE
    )


def test_out_of_bounds_element() -> None:
    assert error_of(lambda: ManyAttrs(count=1, axes=(1, 9))).startswith(
        "many: attr 'axes' is [1, 9] (element 9), outside its bounds: axes < 8\n"
    )


@pytest.mark.parametrize(
    ("given_values", "message"),
    [
        ({}, "many: attr 'count' is required"),
        ({"count": 1.5}, "many: attr 'count' must be an int, found 1.5 of type float"),
        ({"count": True}, "many: attr 'count' must be an int, found True of type bool"),
        ({"count": None}, "many: attr 'count' must be an int, found None of type NoneType"),
        ({"count": 1, "scale": "x"}, "many: attr 'scale' must be a float, found 'x' of type str"),
        ({"count": 1, "flag": 1}, "many: attr 'flag' must be a bool (True or False), found 1 of type int"),
        (
            {"count": 1, "layout": "nchw"},
            "many: attr 'layout' must be a layout such as 'NCHW' or 'NCHW16c', found 'nchw'",
        ),
        (
            {"count": 1, "axes": "ab"},
            "many: attr 'axes' must be ints (an int or a sequence of ints), found 'ab'",
        ),
        ({"count": 1, "mode": "full"}, "many: attr 'mode' is \"full\", outside its bounds: mode in"),
    ],
)
def test_wrong_values(given_values: dict[str, object], message: str) -> None:
    assert error_of(lambda: ManyAttrs(**given_values)).startswith(message)  # type: ignore[arg-type]


def test_wrong_dtype_lists_the_dtypes() -> None:
    assert "must be a dtype (one of bool, int8," in error_of(lambda: ManyAttrs(count=1, dtype="float33"))
    assert "must be a dtype" in error_of(lambda: ManyAttrs(count=1, dtype="index"))


def test_normalisation() -> None:
    n = dim("n")
    made = ManyAttrs(
        count=1,
        axes=1,
        names="a",
        scales=[1, np.float32(2)],
        dtype=np.float16,
        newshape=[n, np.int64(4)],  # type: ignore[arg-type]
    )
    assert made.axes == (1,)
    assert made.names == ("a",)
    assert made.scales == (1.0, 2.0)
    assert made.dtype is DType("float16")
    assert made.newshape == (n, 4)
    assert made.units is None


def test_positional() -> None:
    assert AxisAbsAttrs.init_by_packed_args(1, indice=2) == AxisAbsAttrs(axis=1, indice=2)
    assert error_of(lambda: AxisAbsAttrs.init_by_packed_args(1, axis=2)).startswith(
        "axis_abs: attr 'axis' is given both by position and by name"
    )
    assert error_of(lambda: AxisAbsAttrs.init_by_packed_args(1, 2, 3)).startswith(
        "axis_abs: takes 2 attrs, but 3 values were given"
    )


def test_list_field_info() -> None:
    assert AxisAbsAttrs.list_field_info() == (
        ("axis", "int, default=0, 0 <= axis", "The axis."),
        ("indice", "int, default=0", "The slice."),
    )
    kinds = {name: text for name, text, _ in ManyAttrs.list_field_info()}
    assert kinds["count"] == "int, required"
    assert kinds["units"] == "optional int, default=None"
    assert kinds["dtype"] == 'dtype, default="float32"'


def test_texts() -> None:
    assert repr(AxisAbsAttrs(axis=1)) == "AxisAbsAttrs(axis=1, indice=0)"
    assert AxisAbsAttrs(axis=1).to_text() == "axis=1"
    assert AxisAbsAttrs().to_text() == ""
    made = ManyAttrs(count=2, mode="valid", axes=(1, 2), scale=math.inf)
    assert made.to_text() == 'count=2, scale=inf, mode="valid", axes=[1, 2]'


class Collect:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, object]] = []

    def visit(self, name: str, kind: str, value: object) -> None:
        self.seen.append((name, kind, value))


def test_visitors() -> None:
    every, changed = Collect(), Collect()
    made = AxisAbsAttrs(indice=4)
    made.visit_fields(every)
    made.visit_non_default(changed)
    assert every.seen == [("axis", "int", 0), ("indice", "int", 4)]
    assert changed.seen == [("indice", "int", 4)]


def test_immutable() -> None:
    made = AxisAbsAttrs()
    with pytest.raises(AttributeError, match="immutable; use replace"):
        made.axis = 1  # type: ignore[misc]
    with pytest.raises(AttributeError, match="has no attr 'axi'; did you mean 'axis'"):
        _ = made.axi  # type: ignore[attr-defined]


def test_equality() -> None:
    assert AxisAbsAttrs() != AxisAbsAttrs(axis=1)
    assert ManyAttrs(count=1, scale=math.nan) == ManyAttrs(count=1, scale=math.nan)
    assert ManyAttrs(count=1, scale=0.0) != ManyAttrs(count=1, scale=-0.0)

    class Other(Attrs):
        type_key = "attrs.other"
        axis: int = attr("int", default=0)
        indice: int = attr("int", default=0)

    assert AxisAbsAttrs() != Other()


def test_inherited_fields_come_first() -> None:
    class Child(AxisAbsAttrs):
        type_key = "attrs.child"
        extra: int = attr("int", default=7)

    assert Child().keys() == ("axis", "indice", "extra")
    assert AxisAbsAttrs().keys() == ("axis", "indice")


def test_a_wrong_declaration_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown attr kind 'integer'"):
        attr("integer")
    with pytest.raises(ValueError, match="an int"):
        attr("int", default="x")


def test_json_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(
        AttrError, match="many: attr 'newshape' cannot be written as JSON: two dims have the name 'n'"
    ):
        ManyAttrs(count=1, newshape=(dim("n"), dim("n"))).to_json()  # type: ignore[arg-type]
    assert error_of_json({"type_key": "attrs.none"}) == "no loaded Attrs class has the type key 'attrs.none'"
    with pytest.raises(AttrError, match=r"expected attrs of type 'attrs\.many', found 'attrs\.axis_abs'"):
        ManyAttrs.from_json(AxisAbsAttrs().to_json())


def error_of_json(data: dict[str, object]) -> str:
    with pytest.raises(AttrError) as caught:
        attrs_from_json(data)
    return str(caught.value)


def test_texts_of_objects() -> None:
    made = OpenAttrs(mode="mean", items=[NestedAttrs(axis=3), TupleType((MATRIX,))], like=MATRIX)
    text = (
        'mode="mean", items=[attrs.nested(axis=3), TupleType(fields=[Tensor[(2, 3), float32]])], '
        "like=Tensor[(2, 3), float32]"
    )
    assert made.to_text() == text
    assert object_from_text(f"attrs.open({text})") == made
    assert OpenAttrs(like="Tensor[(2, 3), float32]") == OpenAttrs(like=MATRIX)
    assert OpenAttrs.list_field_info()[0] == ("mode", 'enum, default="sum", one of "sum", "mean"', "")


def test_json_of_objects() -> None:
    made = OpenAttrs(items=[NestedAttrs(axis=3), math.inf], like=TupleType((MATRIX,)))
    assert made.to_json() == {
        "type_key": "attrs.open",
        "mode": "sum",
        "items": [{"type_key": "attrs.nested", "axis": 3}, {"float": "inf"}],
        "like": {
            "type_key": "TupleType",
            "fields": [{"type_key": "TensorType", "shape": [2, 3], "dtype": "float32"}],
        },
    }
    with pytest.raises(AttrError, match=r"0 loaded classes have the type key 'attrs\.lost'"):
        OpenAttrs.from_json({**made.to_json(), "like": {"type_key": "attrs.lost"}})


@pytest.mark.parametrize(
    ("given_values", "message"),
    [
        ({"mode": "max"}, 'attr \'mode\' is "max", outside its bounds: one of "sum", "mean"'),
        ({"mode": 3}, "attr 'mode' must be a str, found 3 of type int"),
        ({"like": 3}, "attr 'like' must be a type without open dims, or attrs, found 3 of type int"),
        (
            {"like": TensorType((dim("n"),))},
            "attr 'like' must be a type without open dims, or attrs, found Ten",
        ),
        (
            {"like": "lost(a=1)"},
            "attr 'like' must be a type without open dims, or attrs (line 1, column 1: 0 loaded classes have the "
            "type key 'lost')",
        ),
        (
            {"like": "attrs.nested(axis=-1)"},
            "attr 'like' must be a type without open dims, or attrs (line 1, c",
        ),
        ({"items": [object]}, "attr 'items' must be an array (numbers, bools, strs, None, types, attrs and"),
    ],
)
def test_what_is_no_object(given_values: dict[str, object], message: str) -> None:
    assert error_of(lambda: OpenAttrs(**given_values)).startswith(f"open: {message}")  # type: ignore[arg-type]


def test_an_enum_states_its_values() -> None:
    with pytest.raises(ValueError, match="an attr of kind enum states its values"):
        attr("enum")
    with pytest.raises(ValueError, match=r"another none; found 'str' with \('a',\)"):
        attr("str", values=("a",))


def test_keys_that_are_not_known() -> None:
    made, unknown = AxisAbsAttrs.init_allow_unknown(2, shape=3)
    assert (made, unknown) == (AxisAbsAttrs(axis=2), {"shape": 3})
    with pytest.raises(AttrError, match="unknown attr 'shape'"):
        AxisAbsAttrs.init_by_packed_args(2, shape=3)


def test_types_are_visited() -> None:
    seen = Collect()
    MATRIX.visit_fields(seen)
    TupleType((MATRIX,)).visit_fields(seen)
    FuncType((MATRIX,), MATRIX).visit_fields(seen)
    assert seen.seen == [
        ("shape", "shape", (2, 3)),
        ("dtype", "dtype", "float32"),
        ("fields", "array", (MATRIX,)),
        ("params", "array", (MATRIX,)),
        ("ret", "object", MATRIX),
        ("type_params", "array", ()),
        ("constraints", "array", ()),
    ]


many = st.builds(
    ManyAttrs,
    count=st.integers(),
    scale=st.floats(),
    flag=st.booleans(),
    mode=st.sampled_from(["same", "valid"]),
    newshape=st.lists(st.integers(0, 9)),
    axes=st.lists(st.integers(-9, 7)),
    scales=st.lists(st.floats()),
    names=st.lists(st.text()),
    units=st.none() | st.integers(),
)


types = st.builds(TensorType, st.lists(st.integers(0, 9), max_size=3), st.sampled_from(["int8", "float32"]))
objects = st.recursive(
    types | st.builds(NestedAttrs, axis=st.integers(0, 9)),
    lambda inner: (
        st.builds(lambda t: TupleType(tuple(t)), st.lists(types, max_size=2))
        | st.builds(OpenAttrs, like=inner)
    ),
    max_leaves=4,
)
items = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | objects
opens = st.builds(
    OpenAttrs,
    mode=st.sampled_from(["sum", "mean"]),
    items=st.lists(items | st.lists(items, max_size=2), max_size=3),
    like=st.none() | objects,
)


@given(opens, opens)
def test_laws_of_objects(a: OpenAttrs, b: OpenAttrs) -> None:
    assert OpenAttrs(**a.as_dict()) == a  # type: ignore[arg-type]
    assert (a == b) == (a.to_text() == b.to_text())
    if a == b:
        assert hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a
    assert attrs_from_json(json.loads(json.dumps(a.to_json(), allow_nan=False))) == a
    assert object_from_text(f"attrs.open({a.to_text()})") == a


@given(many, many)
def test_laws(a: ManyAttrs, b: ManyAttrs) -> None:
    same = ManyAttrs(**a.as_dict())  # type: ignore[arg-type]
    assert (same, hash(same)) == (a, hash(a))
    if a == b:
        assert hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a
    assert attrs_from_json(json.loads(json.dumps(a.to_json(), allow_nan=False))) == a
    changed = Collect()
    a.visit_non_default(changed)
    assert ManyAttrs(**{name: value for name, _, value in changed.seen}) == a  # type: ignore[arg-type]


def test_errors_name_the_bound_and_the_value() -> None:
    with pytest.raises(AttrError) as static:
        ManyAttrs(count=1, axes=(2, 9))
    assert vars(static.value) == {"op": "many", "attr": "axes", "value": (2, 9), "bound": "axes < 8"}
    with pytest.raises(AttrError) as kind:
        ManyAttrs(count=object())
    assert kind.value.bound is None
    assert "must be an int, found <object object> of type object" in str(kind.value)
