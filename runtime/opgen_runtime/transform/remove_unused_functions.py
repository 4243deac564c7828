"""RemoveUnusedFunctions: functions that nothing calls leave the module.

def @main(%x) { @f(%x) }  def @f(%x) { .. }  def @g(%x) { @f(%x) }      @main and @f
"""

from __future__ import annotations

from ..base.errors import PassError
from ..ir import GlobalVar, IRModule, post_order
from .context import PassContext
from .define import module_pass
from .info import Option

OPTIONS = {"entry": Option(("main",), "The names of the functions that are called from outside.")}


@module_pass(opt_level=1, preserves=("InferType",), options=OPTIONS)
def RemoveUnusedFunctions(module: IRModule, context: PassContext, *, entry: tuple[str, ...]) -> IRModule:
    """Keeps the functions that the entry functions reach. Raises PassError for an entry that the module lacks."""
    missing = [name for name in entry if name not in module]
    if missing and entry != OPTIONS["entry"].default:
        raise PassError(
            f"the module has no function @{missing[0]}; it has {', '.join(v.name for v in module)}"
        )
    if missing:
        return module  # a library without a main: any of its functions may be called
    reached: dict[str, None] = {}
    stack = list(entry)
    while stack:
        name = stack.pop()
        if name not in reached:
            reached[name] = None
            stack.extend([n.name for n in post_order(module[name]) if isinstance(n, GlobalVar)])
    if len(reached) == len(module):
        return module
    kept = {var: function for var, function in module.functions.items() if var.name in reached}
    return IRModule(kept, typed=module.typed)
