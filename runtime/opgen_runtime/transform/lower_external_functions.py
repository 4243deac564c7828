"""LowerExternalFunctions: functions for other compilers become what these make of them.

    register_func("ext.mylib", lambda function: made)
    def @mylib_main_0(%x, Compiler="mylib") { exp(%x) }
    @mylib_main_0(%a)                                         external.mylib_main_0(%a)

`made` is a function of arrays (its operands, read-only, tuples spread), which gives an array or a tuple of them, or
something with a method `run` of a list of arrays, such as what `rt.build` gives; None leaves the function to this
compiler.  Executors that run op by op run the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ..base.contract import handed_in
from ..base.errors import PassError, did_you_mean
from ..base.functions import get_global_func, has_global_func, list_global_func_names
from ..base.vocabulary import OpPattern
from ..compute import te
from ..ir import (
    Call,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    MixedModeMutator,
    Var,
    structural_digest,
    substitute,
)
from ..operator import Attrs, Op, TensorType, TupleType, Type, TypeReporter, register_op
from .context import PassContext
from .define import module_pass
from .infer_type import InferType, infer_type
from .regions import COMPILER, SYMBOL

CODEGENS: Final = "ext"
"""The namespace of the global functions that compile functions of the graph."""
OPS: Final = "external"
"""The namespace of ops that are functions which others have compiled."""
Compiled = Callable[..., object]


@module_pass(opt_level=0, preserves=("InferType",))
def LowerExternalFunctions(module: IRModule, context: PassContext) -> IRModule:
    """Calls of functions that other compilers take are calls of what these make of them.

    Raises PassError for a compiler that is not registered, and where one raises or gives what cannot be called.
    """
    if not any([COMPILER in function.attrs for function in module.functions.values()]):
        return module
    module = InferType()(module, context)
    ops: dict[str, Op] = {}
    own: dict[str, Function] = {}
    for var, function in module.functions.items():
        own[var.name] = function
        if COMPILER in function.attrs:
            made = _compiled(var.name, function)
            if made is not None:
                ops[var.name] = _op_of(var.name, function, made)
            own[var.name] = _plain(function)
    calling = _Calling(ops)
    found: dict[str, Function] = {}
    for name, function in own.items():
        changed = calling.rewrite(function)
        assert isinstance(changed, Function)
        found[name] = changed
    return module.with_functions(found)


def _plain(function: Function) -> Function:
    """The function as one for this compiler."""
    attrs = {key: value for key, value in function.attrs.items() if key not in (COMPILER, SYMBOL)}
    kept = (function.ret_type, function.type_params, MappingProxyType(attrs))
    return Function(function.params, function.body, *kept, span=function.span)


def _compiled(name: str, function: Function) -> Compiled | None:
    """What the compiler of a function makes of it."""
    compiler = str(function.attrs[COMPILER])
    key = f"{CODEGENS}.{compiler}"
    if not has_global_func(key):
        known = [each.partition(".")[2] for each in list_global_func_names(CODEGENS)]
        raise PassError(
            f"@{name} is for the compiler {compiler!r}, which is not registered{did_you_mean(compiler, known)}: there "
            f"is no global function {key!r} (registered: {', '.join(known) or 'none'})"
        )
    what = f"the compiler {compiler!r} of @{name}"
    with handed_in(what, PassError):
        made: object = get_global_func(key)(function)
    if made is None or callable(made):
        return made
    run = getattr(made, "run", None)
    if not callable(run):
        raise PassError(
            f"{what} gave {made!r:.80}, expected a function of arrays, something with run, or None"
        )
    return lambda *arrays: run(list(arrays))


def _op_of(name: str, function: Function, made: Compiled) -> Op:
    """The op that stands for a compiled function; another function of the same name and structure takes its place."""
    digest = structural_digest(function)[:8]
    op = register_op(f"{OPS}.{name}_{digest}", __file__, override=True)
    op.set_num_inputs(len(function.params))
    op.add_type_rel("External", partial(_relate, function))
    op.set_attr("TOpPattern", OpPattern.OPAQUE)
    return op.set_attr("FTVMCompute", partial(_compute, name, made))


def _relate(
    function: Function, types: Sequence[Type], num_inputs: int, attrs: Attrs | None, reporter: TypeReporter
) -> bool:
    """The type relation: that of the function on operands of these types."""
    given = types[:num_inputs]
    if not all([each.is_complete for each in given]):
        return False
    reporter.assign(types[num_inputs], _result(function, given))
    return True


def _result(function: Function, given: Sequence[Type]) -> Type:
    values: dict[Var, Expr] = {
        param: Var(param.name_hint, kind) for param, kind in zip(function.params, given, strict=True)
    }
    if all([new.checked_type == old.checked_type for old, new in values.items()]):
        return function.body.checked_type
    return infer_type(substitute(function.body, values)).checked_type


def _compute(
    name: str, made: Compiled, attrs: Attrs | None, inputs: Sequence[te.Tensor], out_type: Type
) -> list[te.Tensor]:
    outputs = list(out_type.fields) if isinstance(out_type, TupleType) else [out_type]
    kinds = [each for each in outputs if isinstance(each, TensorType)]

    def run(*arrays: np.ndarray) -> Any:
        found = made(*arrays)
        return tuple(found) if isinstance(found, list) else found

    run.__qualname__ = run.__name__ = name
    run.__module__ = CODEGENS
    return [
        te.Tensor(f"{name}_{k}", kind.shape, kind.dtype, te.Extern(tuple(inputs), run, (), k, len(kinds)))
        for k, kind in enumerate(kinds)
    ]


class _Calling(MixedModeMutator):
    def __init__(self, ops: dict[str, Op]) -> None:
        super().__init__()
        self.ops = ops

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if not isinstance(post.op, GlobalVar) or post.op.name not in self.ops:
            return post
        return Call(self.ops[post.op.name], post.args, span=post.span)
