"""What a generated module states, and all that it is written in besides the functions of `lang`:

from opgen_runtime.declaration import lang as _l, statement as _d

class HalfAttrs(_d.Attrs):
    type_key = "attrs.half"
    times: int = _d.attr("int", default=1, bounds="0 <= times", check=lambda times, attrs: ...)

def half(data: _d.ExprLike, times: int = 1) -> _d.Call:
    \"\"\"Half of each element, some times.

    Parameters
    ----------
    data : tensor of any shape, dtype float
        The elements.
    \"\"\"
    return _d.call(OP, (data,), times=times)

def compute(data: _d.Any, times: _d.Any, out: _d.Any) -> None:
    out.define(lambda *i: data[*i] * 0.5**times)

OP = _d.declare(
    half,
    _d.Input("data", dtype="float"),
    _d.Output("out", shape="data.shape", dtype="data.dtype"),
    attrs=HalfAttrs, compute=compute, pattern=_d.OpPattern.ELEMWISE,
)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..base.arith import Dim
from ..base.functions import get_global_func
from ..base.vocabulary import OpPattern
from ..ir import Call, ExprLike
from ..operator import (
    Attrs,
    Bound,
    Function,
    Input,
    Let,
    Op,
    Output,
    RelationFunction,
    Require,
    Rule,
    Signature,
    Spread,
    Static,
    attr,
    document_attrs,
)
from .declaration import Decomposition, OpDeclaration, StrategyEntry, Upgrade, called
from .declare import MAKE, call, register
from .documentation import Documentation, documentation_of


class _Ops:
    """The call makers of ops: `ops.exp`, `ops["myops.scaled_add"]`."""

    def __getitem__(self, name: str) -> Callable[..., Call]:
        made: Callable[..., Call] = get_global_func(f"{MAKE}.{name}")
        return made

    def __getattr__(self, name: str) -> Callable[..., Call]:
        return self[name]


ops: Final = _Ops()
"""What declared gradients call."""


__all__ = [
    "Any", "Attrs", "Bound", "Call", "Decomposition", "Dim", "ExprLike", "Input", "OpPattern", "Output", "Part",
    "Require", "Sequence", "Spread", "Static", "StrategyEntry", "Upgrade", "attr", "call", "called", "declare", "let",
    "let_names", "ops", "signature",
]  # fmt: skip

Part: TypeAlias = Input | Rule | Output
"""One part of a signature."""


def declare(
    function: Callable[..., Call],
    *parts: Part,
    pattern: OpPattern,
    attrs: type[Attrs] | None = None,
    compute: Callable[..., None] | None = None,
    extern: str | None = None,
    te: str | None = None,
    dtypes: Mapping[str, str | tuple[str, ...]] | None = None,
    dynamic: Mapping[str, Function] | None = None,
    relation: RelationFunction | str | None = None,
    support_level: int = 10,
    traits: Mapping[str, object] | None = None,
    gradients: Mapping[str, Function] | None = None,
    strategy: tuple[StrategyEntry, ...] = (),
    doc: str | None = None,
    source: str = "",
    digest: str = "",
    namespace: str = "",
    version: int = 1,
    upgrades: Mapping[int, Upgrade] | None = None,
    calls: tuple[str, ...] = (),
    decompositions: tuple[Decomposition, ...] = (),
) -> Op:
    """Declares the op that `function` calls: its name is the function's, its parts those of `Signature` in order.

    The docstring of the function documents the op, operands, attrs and results that have no `doc` of their own; a
    bound without a text has that of its attr.  The other arguments are those of `Signature` and `OpDeclaration`.
    Raises RegistryError if another file has declared the op.
    """
    documentation = documentation_of(function.__doc__)
    if attrs is not None:
        document_attrs(attrs, documentation.parameters)
    documented = [_with_doc(part, documentation) for part in parts]
    inputs = [part for part in parts if isinstance(part, Input)]
    declaration = OpDeclaration(
        name=function.__name__,
        doc=documentation.text if doc is None else doc,
        support_level=support_level,
        arity=-1 if any([operand.variadic for operand in inputs]) else len(inputs),
        attrs=attrs,
        signature=signature(*documented, attrs=attrs, dtypes=dtypes, dynamic=dynamic, relation=relation),
        compute=compute,
        extern=extern,
        te=te,
        pattern=pattern,
        traits=traits or {},
        gradients=gradients or {},
        strategy=strategy,
        source=source,
        digest=digest,
        namespace=namespace,
        version=version,
        upgrades=upgrades or {},
        calls=calls,
        decompositions=decompositions,
    )
    return register(declaration, function.__globals__["__file__"])


def let(text: str, function: Function, names: tuple[str, ...] = ()) -> Let:
    """The rule `a, b = value`, or that of a function by its name; `names`: where the text does not begin with them."""
    return Let(names or let_names(text), function, text)


def let_names(text: str) -> tuple[str, ...]:
    """The names that a `let` binds: `("a", "b")` of `a, b = value`."""
    return tuple(text.partition(" = ")[0].split(", "))


def signature(
    *parts: Part,
    attrs: type[Attrs] | None = None,
    dtypes: Mapping[str, str | tuple[str, ...]] | None = None,
    dynamic: Mapping[str, Function] | None = None,
    relation: RelationFunction | str | None = None,
) -> Signature:
    """The signature of these parts; a bound without a text gets that of its attr in `attrs`."""
    bounds = {} if attrs is None else {field.name: field.bounds or "" for field in attrs.fields()}
    inputs: list[Input] = []
    rules: list[Rule] = []
    outputs: list[Output] = []
    for part in parts:
        if isinstance(part, Input):
            inputs.append(part)
        elif isinstance(part, Output):
            outputs.append(part)
        elif isinstance(part, Bound) and not part.text:
            rules.append(Bound(part.attr, part.function, bounds.get(part.attr, "")))
        else:
            rules.append(part)
    return Signature(tuple(inputs), tuple(rules), tuple(outputs), dtypes or {}, dynamic or {}, relation)


def _with_doc(part: Part, said: Documentation) -> Part:
    """The part with what the docstring says of it, where it says nothing itself."""
    if isinstance(part, Input) and not part.doc and part.name in said.parameters:
        doc = said.parameters[part.name]
        return Input(part.name, part.shape, part.dtype, doc, part.optional, part.variadic, part.layout)
    if isinstance(part, Output) and not part.doc and part.name in said.results:
        doc = said.results[part.name]
        return Output(part.name, part.shape, part.dtype, doc, part.variadic, part.layout, part.index)
    return part
