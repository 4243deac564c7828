"""The object type index."""

from __future__ import annotations

import subprocess
import sys
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen_runtime.base.errors import RegistryError
from opgen_runtime.operator.attrs import Attrs
from opgen_runtime.operator.registry import (
    class_info,
    is_instance,
    register_class,
    register_type,
    registered_types,
    type_info,
)
from opgen_runtime.operator.types import TensorType, TupleType

_runs = count()


def test_registration_is_idempotent() -> None:
    a = register_type("test_obj.A")
    assert register_type("test_obj.A") is a
    assert type_info("test_obj.A").index == a.index
    b = register_type("test_obj.B", "test_obj.A")
    assert a.index < b.index < b.end <= a.end
    with pytest.raises(
        RegistryError, match=r"type 'test_obj\.B' is registered with parent 'test_obj\.A', final=False"
    ):
        register_type("test_obj.B", "Object")


def test_final_types_refuse_children() -> None:
    register_type("test_obj.Final", final=True)
    with pytest.raises(
        RegistryError, match=r"type 'test_obj\.Final' is final; 'test_obj\.Child' cannot be its child"
    ):
        register_type("test_obj.Child", "test_obj.Final")
    with pytest.raises(RegistryError, match=r"no type has the key 'test_obj\.None'"):
        register_type("test_obj.Child", "test_obj.None")


def test_is_instance_is_a_range_test() -> None:
    t = TensorType((3,))
    assert is_instance(t, "TensorType")
    assert is_instance(t, "Type")
    assert is_instance(t, "Object")
    assert not is_instance(t, "TupleType")
    assert not is_instance(TupleType(()), "TensorType")


def test_classes_register_on_first_use() -> None:
    class SomeAttrs(Attrs):
        type_key = "attrs.test_obj"

    class Derived(SomeAttrs):
        pass

    assert is_instance(SomeAttrs(), "attrs")
    assert class_info(Derived) is class_info(SomeAttrs)
    assert class_info(SomeAttrs).parent is type_info("attrs")
    with pytest.raises(RegistryError, match="class int has no type_key"):
        class_info(int)
    with pytest.raises(RegistryError, match="Derived has no type_key of its own"):
        register_class(Derived)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40))
def test_ranges_nest_and_are_disjoint(parents: list[int]) -> None:
    run = next(_runs)  # keys are never forgotten
    names = ["Object"]
    depth = [0]
    for k, parent in enumerate(parents):
        at = parent % len(names)
        if depth[at] >= 12:
            continue
        names.append(register_type(f"test_obj.{run}.{k}", names[at]).type_key)
        depth.append(depth[at] + 1)
    infos = [type_info(name) for name in names]
    for a in infos:
        for b in infos:
            up, inside = b, False
            while up is not None:
                inside |= up is a
                up = up.parent  # type: ignore[assignment]
            assert (a.index <= b.index < a.end) == inside


def test_depth_has_an_end() -> None:
    name = "Object"
    for k in range(15):
        name = register_type(f"test_obj.deep{k}", name).type_key
    with pytest.raises(
        RegistryError, match=r"type 'test_obj\.deep14' has no index left for the child 'deeper'"
    ):
        register_type("deeper", name)


def test_parents_are_listed_before_children() -> None:
    seen: set[str] = set()
    for info in registered_types():
        assert info.parent is None or info.parent.type_key in seen
        seen.add(info.type_key)


def test_types_that_nobody_has_asked_for() -> None:
    """In a new process: nodes, types, and the attrs of an op that has not been loaded, which are final."""
    code = (
        "from opgen_runtime.registry import class_info, type_info; from opgen_runtime.errors import RegistryError\n"
        "print(type_info('attrs.dense'), type_info('attrs.dense').final, type_info('TensorType').parent)\n"
        "print(type_info('ir.Call').parent, type_info('Op'))\n"
        "from opgen_runtime.ops._dense import DenseAttrs\n"
        "class Mine(DenseAttrs): type_key = 'attrs.mine'\n"
        "for ask in (lambda: class_info(Mine), lambda: type_info('attrs.nothing')):\n"
        "    try: ask()\n"
        "    except RegistryError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "TypeInfo(attrs.dense) True TypeInfo(Type)",
        "TypeInfo(ir.Expr) TypeInfo(Op)",
        "type 'attrs.dense' is final; 'attrs.mine' cannot be its child",
        "no type has the key 'attrs.nothing'",
    ]
