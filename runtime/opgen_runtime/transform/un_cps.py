"""UnCPS: functions that are called from outside take no continuation.

    def @main[A](%x: T, %k: fn(R) -> A) -> A { .. }

    def @main(%x: T) { @main_cps(%x, fn (%r: R) { %r }) }      def @main_cps[A](%x: T, %k: fn(R) -> A) -> A { .. }

The functions keep their continuations under other names, so that those which call them stay as they are.
"""

from __future__ import annotations

from typing import Final

from ..base.errors import PassError
from ..ir import Call, Expr, Function, GlobalVar, IRModule, MixedModeMutator, Var, all_type_vars
from ..operator import FuncType
from .context import PassContext
from .define import module_pass
from .infer_type import InferType
from .info import Option

SUFFIX: Final = "_cps"
OPTIONS: Final = {"entry": Option(("main",), "The names of the functions that are called from outside.")}


@module_pass(opt_level=1, required=(InferType,), changes_type=True, options=OPTIONS)
def UnCPS(module: IRModule, context: PassContext, *, entry: tuple[str, ...]) -> IRModule:
    """Entry functions that take a continuation give results again; others stay.

    Raises PassError for one that gives functions, and for an entry that the module lacks.
    """
    missing = [name for name in entry if name not in module]
    if missing and entry != OPTIONS["entry"].default:
        raise PassError(
            f"the module has no function @{missing[0]}; it has {', '.join(v.name for v in module)}"
        )
    made: dict[GlobalVar, Function] = {}
    names: dict[str, GlobalVar] = {}
    for name in entry:
        kind = module[name].checked_type if name in module else None
        if not isinstance(kind, FuncType) or not _takes_continuation(kind):
            continue
        plain = _without_continuation(name, kind)
        names[name] = GlobalVar(_unused(f"{name}{SUFFIX}", module), kind)
        params = tuple([Var("x", each) for each in plain.params])
        result = Var("r", plain.ret)
        call = Call(names[name], (*params, Function((result,), result)))
        made[GlobalVar(name, plain)] = Function(params, call, attrs=module[name].attrs)
    if not made:
        return module
    renaming = _Renaming(names)
    for var, function in module.functions.items():
        found = renaming.rewrite(function)
        assert isinstance(found, Function)
        made[names.get(var.name, var)] = found
    return IRModule(made)


def _takes_continuation(kind: FuncType) -> bool:
    """Whether a function gives what its last parameter gives, of any type."""
    after = kind.params[-1] if kind.params else None
    return (
        len(kind.type_params) == 1
        and isinstance(after, FuncType)
        and len(after.params) == 1
        and after.ret is kind.ret is kind.type_params[0]
    )


def _without_continuation(name: str, kind: FuncType) -> FuncType:
    """The type of a function that gives what this one gives to its continuation."""
    after = kind.params[-1]
    assert isinstance(after, FuncType)
    (result,) = after.params
    if all_type_vars(result):
        raise PassError(f"UnCPS: @{name} gives {result}, expected a result without functions")
    return FuncType(kind.instantiate([result]).params[:-1], result)


def _unused(name: str, module: IRModule) -> str:
    while name in module:
        name += "_"
    return name


class _Renaming(MixedModeMutator):
    def __init__(self, names: dict[str, GlobalVar]) -> None:
        super().__init__()
        self.names = names

    def rewrite_global_var(self, pre: GlobalVar, post: GlobalVar) -> Expr:
        return self.names.get(pre.name, pre)
