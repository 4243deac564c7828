"""PartitionGraph: regions become functions of the module, which their compilers are given.

    fn (%x, Compiler="mylib") { exp(%x) }(%a)
        def @main(%a) { @mylib_main_0(%a) }
        def @mylib_main_0(%x, Compiler="mylib", global_symbol="mylib_main_0") { exp(%x) }

LowerExternalFunctions, which every build begins with, asks the compiler for what stands for such a function.
"""

from __future__ import annotations

from ..ir import Call, Expr, Function, GlobalVar, IRModule, MixedModeMutator
from .context import PassContext
from .define import module_pass
from .infer_type import InferType
from .regions import COMPILER, SYMBOL, is_region_call


@module_pass(opt_level=0, required=(InferType,), preserves=("InferType",))
def PartitionGraph(module: IRModule, context: PassContext) -> IRModule:
    """Each region is a function of the module, named for its compiler and the function that it stood in."""
    made: dict[str, Function] = {}
    for var, function in module.functions.items():
        if COMPILER in function.attrs:
            continue
        lifting = _Lifting(module, var.name)
        found = lifting.rewrite(function)
        assert isinstance(found, Function)
        if lifting.functions:
            made |= {var.name: found, **lifting.functions}
    return module.with_functions(made) if made else module


class _Lifting(MixedModeMutator):
    def __init__(self, module: IRModule, name: str) -> None:
        super().__init__()
        self.module = module
        self.name = name
        self.functions: dict[str, Function] = {}

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if not is_region_call(post):
            return post
        assert isinstance(post.op, Function)
        function = post.op.with_attrs(**{SYMBOL: self._unused(f"{post.op.attrs[COMPILER]}_{self.name}")})
        symbol = str(function.attrs[SYMBOL])
        self.functions[symbol] = function
        return Call(GlobalVar(symbol, function.checked_type), post.args, span=post.span)

    def _unused(self, stem: str) -> str:
        count = len(self.functions)
        while f"{stem}_{count}" in self.module:
            count += 1
        return f"{stem}_{count}"
