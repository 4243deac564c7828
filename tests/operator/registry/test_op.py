"""Operators: the chain, attributes with priorities, lookup and reload."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from itertools import permutations

import pytest

from opgen_runtime.base.errors import RegistryError
from opgen_runtime.operator.registry import (
    Op,
    get_global_func,
    has_op,
    list_ops,
    register_func,
    register_op,
    register_op_attr,
    remove_global_func,
    remove_op,
    set_op_loader,
)
from opgen_runtime.operator.registry import op as op_module
from opgen_runtime.operator.types import Type, TypeReporter


def relation(types: Sequence[Type], num_inputs: int, attrs: object, reporter: TypeReporter) -> bool:
    return False


@pytest.fixture
def op() -> Iterator[Op]:
    yield register_op("test_reg.op", "a.py")
    remove_op("test_reg.op")


def test_the_order_of_the_chain_does_not_matter(op: Op) -> None:
    texts = set()
    setters = (
        lambda o: o.describe("Adds."),
        lambda o: o.set_num_inputs(2),
        lambda o: o.add_argument("lhs").add_argument("rhs", "Tensor", "The right side."),
        lambda o: o.set_support_level(3),
        lambda o: o.add_type_rel("Add", relation),
        lambda o: o.set_attr("k", 1),
    )
    for order in permutations(setters):
        made = register_op("test_reg.op", "a.py")
        assert made is op
        for setter in order:
            assert setter(made) is made
        texts.add(
            (repr(made.op_type), made.description, made.support_level, made.num_inputs, made.get_attr("k"))
        )
    assert texts == {
        ("fn[lhs, rhs, out](lhs, rhs) -> out where Add(lhs, rhs, out)", "Adds.", 3, 2, 1),
    }


def test_contradictions_raise(op: Op) -> None:
    op.set_num_inputs(2).add_argument("x").add_type_rel("R", relation)
    with pytest.raises(RegistryError, match="has 2 inputs; cannot set 3"):
        op.set_num_inputs(3)
    with pytest.raises(RegistryError, match="already has an argument 'x'"):
        op.add_argument("x")
    with pytest.raises(RegistryError, match="already has the type relation 'R'"):
        op.add_type_rel("S", relation)
    with pytest.raises(RegistryError, match="has 2 inputs, but 1 documented arguments"):
        _ = op.op_type


def test_without_a_relation_there_is_no_type(op: Op) -> None:
    with pytest.raises(RegistryError, match="has no type relation"):
        _ = op.op_type


def test_the_higher_plevel_wins_whatever_the_order(op: Op) -> None:
    op.set_attr("low_first", "a", 10).set_attr("low_first", "b", 15)
    op.set_attr("high_first", "b", 15).set_attr("high_first", "a", 10)
    assert op.get_attr("low_first") == op.get_attr("high_first") == "b"
    assert op.attr_keys() == ["high_first", "low_first"]


def test_equal_plevels_raise(op: Op) -> None:
    op.set_attr("k", 1, 10)
    with pytest.raises(
        RegistryError, match=r"attribute 'k' of op 'test_reg\.op' has a value at plevel 10 \(from a\.py\)"
    ):
        op.set_attr("k", 1, 10)


def test_reset_attr(op: Op) -> None:
    op.set_attr("k", 3).set_attr("k", 2, plevel=20).reset_attr("k", plevel=20)
    assert op.get_attr("k") == 3
    op.reset_attr("k").set_attr("k", 1).reset_attr("k")
    assert not op.has_attr("k")
    assert op.get_attr("k", "none") == "none"
    assert op.set_attr("k", 2).get_attr("k") == 2


def test_the_same_file_registers_anew_and_others_cannot(op: Op) -> None:
    op.set_attr("k", "old", 10).describe("old")
    register_op_attr("test_reg.op", "k", "extended", plevel=11)
    again = register_op("test_reg.op", "a.py")
    assert again is op
    assert again.description == ""
    assert again.set_attr("k", "new", 10).get_attr("k") == "extended"  # what others added is kept
    with pytest.raises(
        RegistryError, match=r"op 'test_reg\.op' is registered by a\.py; b\.py cannot register it again"
    ):
        register_op("test_reg.op", "b.py")


def test_register_op_attr(op: Op) -> None:
    @register_op_attr("test_reg.op", "f")
    def function() -> int:
        return 1

    assert op.get_attr("f") is function
    register_op_attr("test_reg.op", "f", "again")  # the same file: a reload
    assert op.get_attr("f") == "again"
    op.set_attr("taken", 1)
    with pytest.raises(RegistryError, match="needs another plevel"):
        register_op_attr("test_reg.op", "taken", 2)
    with pytest.raises(RegistryError, match=r"no op is named 'test_reg\.opp'; did you mean 'test_reg\.op'"):
        register_op_attr("test_reg.opp", "f", 1)


def test_lookup(op: Op) -> None:
    assert Op.get("test_reg.op") is op
    assert "test_reg.op" in list_ops()
    assert has_op("test_reg.op")
    assert pickle.loads(pickle.dumps(op)) is op
    assert str(op) == "Op(test_reg.op)"
    with pytest.raises(RegistryError, match=r"no op is named 'test_reg\.op1'; did you mean 'test_reg\.op'\?"):
        Op.get("test_reg.op1")
    with pytest.raises(RegistryError, match="cannot name an op"):
        register_op("no op")


def test_ops_are_loaded_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_module, "_loaders", [])
    monkeypatch.setattr(op_module, "_names", [])
    asked: list[str] = []

    def load(name: str) -> bool:
        asked.append(name)
        if name != "test_reg.late":
            return False
        register_op(name, "late.py")
        register_func(f"op._make.{name}", lambda: "call")
        return True

    set_op_loader(load, lambda: ["test_reg.late"])
    set_op_loader(load, lambda: ["test_reg.late"])  # once is enough
    assert "test_reg.late" in list_ops()
    assert asked == []
    assert get_global_func("op._make.test_reg.late")() == "call"
    assert Op.get("test_reg.late").origin == "late.py"
    assert asked == ["test_reg.late"]
    with pytest.raises(RegistryError, match=r"did you mean 'test_reg\.late'"):
        Op.get("test_reg.lat")
    remove_op("test_reg.late")
    remove_global_func("op._make.test_reg.late")
