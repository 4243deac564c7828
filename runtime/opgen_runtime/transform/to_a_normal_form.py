"""ToANormalForm: every value that is computed has a name, and operands are names.

    exp(add(%x, 1))      let %a = add(%x, 1); let %b = exp(%a); %b

Variables, constants and names of functions of the module are operands as they are, and so are segments.  A value is
bound in the innermost block that encloses all its uses, so that what only a branch needs is computed in the branch.
"""

from __future__ import annotations

from ..ir import Function, IRModule, rebuild
from ..ir import structural_equal as same_program
from ..lower.library.fusion.dataflow import is_segment
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .naming import Naming


@function_pass(opt_level=1, required=(InferType,), preserves=("InferType",))
def ToANormalForm(function: Function, module: IRModule, context: PassContext) -> Function:
    """Each value that is computed is bound by a `let` of its own."""
    if is_segment(function):
        return function
    naming = Naming(function.body)
    body = naming.closed(naming.root, naming.visit(function.body))
    made = rebuild(function, (*function.params, body))
    assert isinstance(made, Function)
    return function if same_program(made, function) else made
