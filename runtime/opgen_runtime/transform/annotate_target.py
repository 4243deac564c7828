"""AnnotateTarget: calls that another compiler takes become regions for it.

    register_op_attr("exp", "target.mylib", lambda call: True)
    exp(%x)      fn (%x, Compiler="mylib") { exp(%x) }(%x)

An op is taken where its attribute `target.<compiler>` is true, or a function that is true of the call; a function of
MergeComposite where its name begins with that of the compiler (`mylib.dense_relu`).  Of several compilers the first
that takes a call has it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from ..base.contract import handed_in
from ..base.errors import PassError
from ..ir import Call, Function, IRModule, post_order
from ..operator import Op
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option
from .regions import COMPILER, COMPOSITE, Region, is_closed, is_composite_call, outlined

OPTIONS: Final = {"targets": Option((), "The names of compilers, those that are asked first in front.")}


@function_pass(opt_level=0, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def AnnotateTarget(
    function: Function, module: IRModule, context: PassContext, *, targets: tuple[str, ...]
) -> Function:
    """Each call that a compiler takes is a region of its own.  Raises PassError where an attribute raises."""
    if not targets:
        return function
    regions: list[Region] = []
    for node in post_order(function, is_closed):
        if isinstance(node, Call):
            compiler = next((name for name in targets if _takes(name, node)), None)
            if compiler is not None:
                regions.append(Region([node], [node], MappingProxyType({COMPILER: compiler})))
    return outlined(function, regions)


def _takes(compiler: str, call: Call) -> bool:
    if is_composite_call(call):
        assert isinstance(call.op, Function)
        return str(call.op.attrs[COMPOSITE]).startswith(f"{compiler}.")
    if not isinstance(call.op, Op):
        return False
    key = f"target.{compiler}"
    stated: Any = call.op.get_attr(key, False)
    if not callable(stated):
        return bool(stated)
    with handed_in(f"{call.op.name}: its attribute {key}", PassError):
        return bool(stated(call))
