"""A name belongs to who announces it, loaded or not: nothing takes it over silently."""

from __future__ import annotations

import subprocess
import sys

import pytest

PRELUDE = """
import numpy as np
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.operator.registry import Op, get_global_func, register_func, register_op, remove_op

def refused(run):
    try:
        run()
    except OpgenError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("nothing was refused")
"""


def in_new_process(code: str) -> str:
    """What `code` prints in a process in which nothing is loaded yet."""
    done = subprocess.run([sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_op_that_is_not_loaded_yet_keeps_its_name() -> None:
    out = in_new_process("""
print(refused(lambda: register_op("tanh")))
print(refused(lambda: register_func("op._make.cosh", print)))
print(refused(lambda: register_func("transform.InferType", print)))
from opgen_runtime.run.calls import eager
print(eager.tanh(np.zeros(2, "float32")), eager.cosh(np.zeros(2, "float32")))
""").splitlines()
    assert out[0].startswith("RegistryError: op 'tanh' is registered by ")
    assert "_tanh.py; __main__ cannot register it again: choose another name; or give an attribute" in out[0]
    assert "register_op_attr('tanh', key, value, plevel=11)" in out[0]
    assert out[0].endswith("or pass override=True to replace the op as a whole")
    assert out[1].startswith("RegistryError: a function 'op._make.cosh' is already registered")
    assert out[2].startswith("RegistryError: a function 'transform.InferType' is already registered")
    assert out[3] == "[0. 0.] [1. 1.]"


def test_what_is_replaced_deliberately_stays_replaced() -> None:
    out = in_new_process("""
mine = lambda *args: "mine"
register_func("op._make.cosh", mine, override=True)
op = register_op("tanh", override=True)
print(op.attr_keys(), op.num_inputs, op is Op.get("tanh"))
from opgen_runtime import ops
import importlib, opgen_runtime.ops._cosh as cosh
importlib.reload(cosh)
print(get_global_func("op._make.cosh")())
""").splitlines()
    assert out == ["[] 0 True", "mine"]


@pytest.mark.parametrize("name", ["InferType", "FuseOps"])
def test_a_pass_keeps_its_name(name: str) -> None:
    out = in_new_process(f"""
from opgen_runtime import ir, ops, transform, Function, IRModule, TensorType
def take(**settings):
    @transform.function_pass(name={name!r}, **settings)
    def evil(function, module, context):
        raise AssertionError("ran")
print(refused(take))
take(override=True)  # deliberate: for those that ask by the name
x = ir.var("x", TensorType((2,), "float32"))
module = IRModule.from_expr(Function((x,), ops.exp(x)))
transform.FuseOps()(module)  # requires InferType itself, not whatever has its name
print(refused(lambda: transform.find_pass({name!r})(module)))
""").splitlines()
    assert out[0].startswith(f"RegistryError: 'transform.{name}' belongs to opgen_runtime.transform.")
    assert out[0].endswith(
        "__main__.take.<locals>.evil cannot take it: choose another name, or pass override=True to replace it"
    )
    assert out[1] == f"PassError: pass {name} raised AssertionError: ran"


def test_a_pass_of_that_name_alone_does_not_meet_a_requirement() -> None:
    out = in_new_process("""
from opgen_runtime import ir, ops, transform, Function, IRModule, TensorType
x = ir.var("x")
module = IRModule.from_expr(Function((x,), x))
nothing = transform.FunctionPass(lambda f, m, c: f, transform.PassInfo("InferType"))
print(sorted(nothing(module).valid))
""")
    assert out == "[]\n"


def test_two_attrs_classes_of_one_type_key_are_told_apart() -> None:
    out = in_new_process("""
from opgen_runtime.operator.attrs import Attrs, attr, attrs_from_json
class Mine(Attrs):
    type_key = "attrs.softmax"
from opgen_runtime.ops._softmax import SoftmaxAttrs
print(refused(lambda: attrs_from_json({"type_key": "attrs.softmax", "axis": 1})))
print(SoftmaxAttrs.from_json({"type_key": "attrs.softmax", "axis": 1}))
""").splitlines()
    assert (
        "'attrs.softmax' is that of __main__.Mine and opgen_runtime.ops._softmax.SoftmaxAttrs; use" in out[0]
    )
    assert out[1] == "SoftmaxAttrs(axis=1)"


def test_a_type_key_belongs_to_one_class() -> None:
    out = in_new_process("""
from opgen_runtime import ir
from opgen_runtime.operator.registry import register_class
class Mine(ir.Expr):
    type_key = "ir.Call"
print(refused(lambda: register_class(Mine, final=True)))
""")
    assert out.startswith(
        "RegistryError: type key 'ir.Call' belongs to opgen_runtime.ir.expr.Call; __main__.Mine"
    )


def test_the_built_in_names_and_operators_are_taken_before_they_are_loaded() -> None:
    out = in_new_process("""
from opgen_runtime.declaration.index import lazy_index
print(refused(lambda: lazy_index("mine", {"tanh": "_tanh"})))
print(refused(lambda: lazy_index("mine", {"plus": "_plus"}, {"+": "plus"}, namespace="mine")))
from opgen_runtime import ir, TensorType
from opgen_runtime.run.calls import eager
x = ir.var("x", TensorType((2,), "float32"))
print((x + x).op, eager.tanh(np.zeros(1, "float32")))
""").splitlines()
    assert "op 'tanh' of package 'mine' is already announced by package 'opgen_runtime.ops'" in out[0]
    assert "op 'mine.plus' declares operator '+', which is bound to op 'add' already" in out[1]
    assert out[2] == "Op(add) [0.]"
