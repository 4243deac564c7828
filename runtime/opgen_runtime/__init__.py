"""The runtime of declared operators: expressions, passes, executors, compilation through LLVM.

    import opgen_runtime as rt
    from opgen_runtime import ops
    from opgen_runtime.run.calls import eager

    x = rt.var("x", rt.TensorType((3, 3, 3), "int32"))
    y = ops.axis_abs(x, axis=1, indice=1)
    rt.create_executor("graph").evaluate(y, {x: data}).numpy()
    eager.axis_abs(data, axis=1, indice=1)
    f = rt.jit(lambda a, b: ops.tanh(a) * b)

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base.forks import import_module
from .base.garbage import rare_collections
from .base.public_names import install as _install
from .public import EXTRAS as _EXTRAS
from .public import FUNCTIONS as _FUNCTIONS
from .public import GONE as _GONE
from .public import MODULES as _MODULES

if TYPE_CHECKING:
    from . import ir as ir
    from . import ops as ops
    from . import testing as testing
    from . import transform as transform
    from .base import arith as arith
    from .base import errors as errors
    from .base import target as target
    from .base.arith import Any as Any
    from .base.arith import dim as dim
    from .base.errors import OpgenError as OpgenError
    from .base.target import Target as Target
    from .base.vocabulary import OpPattern as OpPattern
    from .compute import lang as lang
    from .frontend import dask as dask
    from .ir import Call as Call
    from .ir import Constant as Constant
    from .ir import Expr as Expr
    from .ir import Function as Function
    from .ir import If as If
    from .ir import IRModule as IRModule
    from .ir import Let as Let
    from .ir import Tuple as Tuple
    from .ir import TupleGetItem as TupleGetItem
    from .ir import Var as Var
    from .ir import const as const
    from .ir import detect_feature as detect_feature
    from .ir import free_vars as free_vars
    from .ir import parse_expr as parse_expr
    from .ir import parse_module as parse_module
    from .ir import structural_equal as structural_equal
    from .ir import structural_hash as structural_hash
    from .ir import to_text as to_text
    from .ir import var as var
    from .lower import schedule as schedule
    from .lower import tir as tir
    from .lower.library.strategy import OpStrategy as OpStrategy
    from .lower.library.strategy import generic_func as generic_func
    from .lower.library.strategy import register_compute as register_compute
    from .lower.library.strategy import register_schedule as register_schedule
    from .lower.library.strategy import register_strategy as register_strategy
    from .lower.schedule import te as te
    from .operator import registry as registry
    from .operator import types as types
    from .operator.attrs import Attrs as Attrs
    from .operator.attrs import attr as attr
    from .operator.registry import Op as Op
    from .operator.registry import _init_api as _init_api
    from .operator.registry import get_global_func as get_global_func
    from .operator.registry import list_ops as list_ops
    from .operator.registry import register_func as register_func
    from .operator.registry import register_op as register_op
    from .operator.registry import register_op_attr as register_op_attr
    from .operator.types import FuncType as FuncType
    from .operator.types import IncompleteType as IncompleteType
    from .operator.types import TensorType as TensorType
    from .operator.types import TupleType as TupleType
    from .run import executor as executor
    from .run.calls import eager as eager
    from .run.calls.tracing import checkpoint as checkpoint
    from .run.calls.tracing import custom_vjp as custom_vjp
    from .run.calls.tracing import grad as grad
    from .run.calls.tracing import jit as jit
    from .run.calls.tracing import jvp as jvp
    from .run.calls.tracing import stop_gradient as stop_gradient
    from .run.calls.tracing import value_and_grad as value_and_grad
    from .run.calls.tracing import vjp as vjp
    from .run.calls.tracing import vmap as vmap
    from .run.calls.tracing import while_loop as while_loop
    from .run.chunked import stream as stream
    from .run.compile.scheduled import create_prim_func as create_prim_func
    from .run.compile.scheduled import lower as lower
    from .run.executor import Crossed as Crossed
    from .run.executor import Executable as Executable
    from .run.executor import GraphRuntime as GraphRuntime
    from .run.executor import State as State
    from .run.executor import Value as Value
    from .run.executor import asarray as asarray
    from .run.executor import build as build
    from .run.executor import create_executor as create_executor
    from .run.executor import load as load
    from .run.executor import load_function as load_function
    from .run.executor import load_params as load_params
    from .run.executor import optimize as optimize
    from .run.executor import save_params as save_params
    from .transform import PassContext as PassContext
    from .transform import Sequential as Sequential
    from .transform import infer as infer

_NAMES = {
    "base.arith": ("Any", "dim"),
    "base.errors": ("OpgenError",),
    "run.executor": (
        "Crossed", "Executable", "GraphRuntime", "State", "Value", "asarray", "build", "create_executor", "load",
        "load_function",
        "load_params", "optimize", "save_params",
    ),
    "ir": (
        "Call", "Constant", "Expr", "Function", "IRModule", "If", "Let", "Tuple", "TupleGetItem", "Var",
        "const", "detect_feature", "free_vars", "parse_expr",
        "parse_module", "structural_equal", "structural_hash", "to_text", "var",
    ),
    "run.calls.tracing": (
        "checkpoint", "custom_vjp", "grad", "jit", "jvp", "stop_gradient", "value_and_grad", "vjp", "vmap",
        "while_loop",
    ),
    "run.chunked": ("stream",),
    "run.compile.scheduled": ("create_prim_func",),
    "operator.registry": (
        "Op", "_init_api", "get_global_func", "list_ops", "register_func", "register_op",
        "register_op_attr",
    ),
    "base.target": ("Target",),
    "transform": ("PassContext", "Sequential", "infer"),
    "operator.attrs": ("Attrs", "attr"),
    "base.vocabulary": ("OpPattern",),
    "lower.library.strategy": (
        "OpStrategy", "generic_func", "register_compute", "register_schedule", "register_strategy",
    ),
    "operator.types": ("FuncType", "IncompleteType", "TensorType", "TupleType"),
}  # fmt: skip
_WITHOUT_OPS = frozenset({"load", "load_function", "load_params", "save_params"})
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted([*_MODULES, *_HOME, "lower"])


def __getattr__(name: str) -> object:
    if name not in _MODULES and name not in _EXTRAS and name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    with rare_collections():  # modules are no garbage
        value = _imported(name)
    globals()[name] = value
    return value


def _imported(name: str) -> object:
    """What a public name stands for, which is imported."""
    if name in _MODULES or name in _EXTRAS:
        return _public_names.module(name)
    if name not in _WITHOUT_OPS:
        import_module(f"{__name__}.declaration.index")  # ops are found by name from here on
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__


_public_names = _install(__name__, {**_MODULES, **_EXTRAS}, _FUNCTIONS, _GONE)
