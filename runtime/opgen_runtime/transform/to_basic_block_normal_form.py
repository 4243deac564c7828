"""ToBasicBlockNormalForm: what a branch or a function uses of the values around it has a name.

    if (%c) { exp(add(%x, 1)) } else { add(%x, 1) }, one addition
        let %a = add(%x, 1); if (%c) { exp(%a) } else { %a }

Values stay shared nodes inside their block.  A value is bound in the innermost block that encloses all its uses.
"""

from __future__ import annotations

from ..ir import Function, IRModule, rebuild
from ..ir import structural_equal as same_program
from ..lower.library.fusion.dataflow import is_segment
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .naming import Naming, what_inner_blocks_use


@function_pass(opt_level=1, required=(InferType,), preserves=("InferType",))
def ToBasicBlockNormalForm(function: Function, module: IRModule, context: PassContext) -> Function:
    """Values that blocks inside their own use are bound by a `let`."""
    if is_segment(function):
        return function
    naming = Naming(function.body, what_inner_blocks_use)
    body = naming.closed(naming.root, naming.visit(function.body))
    made = rebuild(function, (*function.params, body))
    assert isinstance(made, Function)
    return function if same_program(made, function) else made


def check_basic_block_normal_form(function: Function) -> bool:
    """Whether no block of a function uses what a block around it computes, but by name."""
    return ToBasicBlockNormalForm()(function) is function
