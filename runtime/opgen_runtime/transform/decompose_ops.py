"""DecomposeOps: calls of ops that declare of which others they are made, for their sizes, become these.

    cholesky(%a)       %0 = strided_slice(%a, ...); ... cholesky(%0) ... matmul(...) ... cholesky(...) ...

An op whose declaration says `decompose:` is what the first entry gives whose condition holds of the static types;
where none does it stays.  What stands for a call is decomposed in turn, so that a condition on sizes makes a recursion.
Equal calls are decomposed once.
"""

from __future__ import annotations

from typing import Final

from ..base.errors import PassError
from ..declaration import OpDeclaration
from ..declaration.decomposition import decomposed
from ..ir import Call, Expr, Function, IRModule, MixedModeMutator, Var, join_types, substitute
from ..operator import Attrs, Op, Type
from .context import PassContext
from .define import function_pass
from .infer_type import InferType

MAX_DEPTH: Final = 64
"""How many decompositions may stand inside one another, before they are taken for ones that never end."""
_Key = tuple[str, "Attrs | None", tuple[Type, ...]]
_Template = tuple[tuple[Var, ...], Expr]


@function_pass(
    opt_level=1, required=(InferType,), error_bound="the rounding of the ops that declarations name"
)
def DecomposeOps(function: Function, module: IRModule, context: PassContext) -> Function:
    """Calls of ops become what the `decompose:` of their declarations gives, until none applies.

    Raises PassError for one that never ends, TypeInferenceError for one that gives another type than its call has.
    """
    made = _Decomposition({}, ()).rewrite(function)
    assert isinstance(made, Function)
    return made


class _Decomposition(MixedModeMutator):
    """`known`: what stands for calls, over variables for their operands; `inside`: the calls around this one."""

    def __init__(self, known: dict[_Key, _Template | None], inside: tuple[_Key, ...]) -> None:
        super().__init__()
        self.known = known
        self.inside = inside

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        declaration = pre.op.get_attr("declaration", None) if isinstance(pre.op, Op) else None
        if declaration is None or not declaration.decompositions:
            return post
        types = tuple([arg.checked_type for arg in pre.args])
        key = (declaration.full_name, pre.attrs, types)
        if key not in self.known:
            self.known[key] = self.template(declaration, key, pre)
        template = self.known[key]
        if template is None:
            return post
        params, body = template
        return substitute(body, dict(zip(params, post.args, strict=True)))

    def template(self, declaration: OpDeclaration, key: _Key, pre: Call) -> _Template | None:
        """What stands for a call, decomposed itself; None where it stays."""
        name, attrs, types = key
        params = tuple(
            [Var(each.name, kind) for each, kind in zip(declaration.signature.inputs, types, strict=True)]
        )
        made = decomposed(declaration, attrs, params, pre.span)
        if made is None:
            return None
        if key in self.inside or len(self.inside) == MAX_DEPTH:
            what = ", ".join(map(str, types))
            raise PassError(
                f"{name}: its `decompose:` never ends: for {what} it calls itself of the same, or ever more"
            )
        join_types(pre.checked_type, made.checked_type, f"a call of {name} and what its `decompose:` gives")
        return params, _Decomposition(self.known, (*self.inside, key)).rewrite(made)
