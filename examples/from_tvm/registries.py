"""Registries and types."""

from __future__ import annotations

from opgen_runtime.types import TypeSolver

import opgen_runtime as rt
from opgen_runtime import ops

from .programs import program


@program("tvm.register_func, tvm.get_global_func")
def global_functions() -> None:
    rt.register_func("from_tvm.twice", lambda x: x * 2, override=True)
    assert rt.get_global_func("from_tvm.twice")(21) == 42


@program("tvm.ir.Op.get(name); relay.op.op.register(...) and its chain")
def registered_ops() -> None:
    op = rt.Op.get("dense")
    assert op.num_inputs == 2
    assert op.get_attr("TOpPattern").name == "OUT_ELEMWISE_FUSABLE"


@program('tvm.get_global_func("relay.op.nn._make.dense")')
def call_makers() -> None:
    make = rt.get_global_func("op._make.dense")
    x, w = rt.var("x", shape=(2, 4)), rt.var("w", shape=(3, 4))
    assert rt.structural_equal(make(x, w), ops.dense(x, w))


@program("call.attrs.get_int('axis'), attrs.keys()")
def attrs_of_calls() -> None:
    call = ops.softmax(rt.var("x", shape=(2, 3)), axis=1)
    assert call.attrs.axis == 1
    assert [name for name, _, _ in type(call.attrs).list_field_info()] == ["axis"]


@program("tvm.relay.analysis._ffi_api._test_type_solver()")
def type_solver() -> None:
    solver = TypeSolver()
    a = solver.fresh("a")
    solver.unify(rt.TupleType((a,)), rt.TupleType((rt.TensorType((3,), "int8"),)))
    assert solver.resolve(a) == rt.TensorType((3,), "int8")


@program("a relation that fails is an error at InferType; here where the call is made")
def wrong_types() -> None:
    x, w = rt.var("x", shape=(2, 4)), rt.var("w", shape=(3, 5))
    try:
        ops.dense(x, w)
    except rt.OpgenError as error:
        found = str(error)
    assert found.startswith("dense: ")
