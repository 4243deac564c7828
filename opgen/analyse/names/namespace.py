"""The namespace of a declaration, built in the order of the language, every expression checked on the way."""

from __future__ import annotations

from typing import Final

from ...diagnostics import Diagnostics
from ...document.kinds import KINDS
from ...expression import syntax as s
from ...expression.blocks import check_compute
from ...expression.definitions import check_let
from ...expression.names import BOUNDS, DTYPE, PATTERN, REQUIRE, SHAPE, NameChecker
from ...expression.print import to_text
from ...expression.scope import Kind, Local, Namespace, Symbol
from ...model.opdef import OpDef

_INVERSE: Final = {"+": "-", "-": "+", "*": "//"}


def resolve_names(op: OpDef, diagnostics: Diagnostics) -> Namespace:
    """All names of the declaration; everything wrong with names and stages is reported."""
    namespace = Namespace(diagnostics, lost=op.lost)
    checker = NameChecker(namespace, diagnostics)
    for operand in op.inputs:
        kind = Kind.VARIADIC if operand.variadic else Kind.INPUT
        namespace.declare(Symbol(operand.name, kind, operand.place))
    for attr in op.attrs:
        has_fields = attr.kind in KINDS and KINDS[attr.kind].has_fields
        namespace.declare(Symbol(attr.name, Kind.ATTR, attr.place, has_fields=has_fields))
    for dtype in op.dtypes:
        namespace.declare(Symbol(dtype.name, Kind.DTYPE, dtype.place))
    _declare_dims(op, namespace)
    _check_patterns(op, checker)
    for attr in op.attrs:
        if attr.bounds is not None:
            _check_bounds(attr.name, attr.bounds, checker)
    for output in op.outputs:
        kind = Kind.OUTPUT if output.variadic is None else Kind.OUTPUTS
        namespace.declare(Symbol(output.name, kind, output.place))
    for dynamic in op.dynamic:
        namespace.declare(Symbol(dynamic.name, Kind.OUTPUT, dynamic.place))
    check_let(op.let, checker)
    for require in op.relation.requires:
        checker.check(require.predicate, REQUIRE, {})
    for entry in op.strategy:
        if entry.when is not None:
            checker.check(entry.when, REQUIRE, {})
    for decomposition in op.decompositions:
        if decomposition.when is not None:
            checker.check(decomposition.when, REQUIRE, {})
    _check_outputs(op, checker)
    if op.compute is not None:
        partial = "compute" in op.partial or "outputs" in op.partial
        check_compute(op.compute, checker, partial)
    return namespace


def binding_of(predicate: s.Expression, namespace: Namespace) -> str | None:
    """The dim that `F == e` can bind, or None."""
    if not isinstance(predicate, s.Compare) or len(predicate.rest) != 1 or predicate.rest[0][0] != "==":
        return None
    first = predicate.first
    if not isinstance(first, s.Name):
        return None
    symbol = namespace.symbols.get(first.name)
    return first.name if symbol is not None and symbol.kind in (Kind.DIM, Kind.DIMS) else None


def _declare_dims(op: OpDef, namespace: Namespace) -> None:
    for operand in op.inputs:
        for entry in operand.shape or ():
            if isinstance(entry, s.Name):
                _dim(entry, Kind.DIM, namespace)
            elif isinstance(entry, s.Star) and isinstance(entry.value, s.Name):
                _dim(entry.value, Kind.DIMS, namespace)
    for require in op.relation.requires:
        predicate = require.predicate
        if (
            isinstance(predicate, s.Compare)
            and len(predicate.rest) == 1
            and isinstance(predicate.first, s.Name)
        ):
            name = predicate.first
            declared = name.name in namespace.symbols or any(name.name in _names(item) for item in op.let)
            if predicate.rest[0][0] == "==" and not declared:
                namespace.declare(Symbol(name.name, Kind.DIM, name.place))


def _names(item: s.Statement) -> set[str]:
    if isinstance(item, s.Assign):
        return {target.name for target in item.targets}
    if isinstance(item, s.If):
        return {name for inner in (*item.then, *item.otherwise) for name in _names(inner)}
    return {item.name} if isinstance(item, s.Def) else set()


def _dim(entry: s.Name, kind: Kind, namespace: Namespace) -> None:
    before = namespace.symbols.get(entry.name)
    if before is None:
        namespace.declare(Symbol(entry.name, kind, entry.place))
    elif before.kind in (Kind.DIM, Kind.DIMS) and before.kind is not kind:
        text = f"`{entry.name}` is {before.kind.value} elsewhere; a name is an int or a tuple everywhere"
        namespace.diagnostics.error("rank", text, entry.place, None, [("first bound here", before.place)])


def _check_patterns(op: OpDef, checker: NameChecker) -> None:
    for operand in op.inputs:
        for entry in operand.shape or ():
            if not _is_equation_for(entry, checker):
                checker.check(entry, PATTERN, {})
        starred = [entry for entry in operand.shape or () if isinstance(entry, s.Star)]
        if len(starred) > 1 and all(isinstance(entry.value, s.Name) for entry in starred):
            alone = {name for other in op.inputs if other is not operand for name in _starred(other.shape)}
            free = [
                entry
                for entry in starred
                if isinstance(entry.value, s.Name) and entry.value.name not in alone
            ]
            if len(free) > 1:
                text = "a pattern has at most one starred name that nothing else binds"
                checker.error("unbound-dim", text, free[1].place)


def _is_equation_for(entry: s.Expression | s.Star, checker: NameChecker) -> bool:
    """True, and reported, if the entry is `M + 1` or the like of a name that nothing binds."""
    if not isinstance(entry, s.Binary) or entry.op not in _INVERSE:
        return False
    name, other = entry.left, entry.right
    if not isinstance(name, s.Name) or not isinstance(other, s.Literal):
        return False
    if not checker.is_unknown(name.name, {}):
        return False
    fresh = next(c for c in (*"PQRSTUVW", f"{name.name}_extent") if c not in checker.namespace.symbols)
    condition = f"{fresh} % {other.value} == 0" if entry.op == "*" else f"{fresh} >= {other.value}"
    condition = "" if entry.op == "-" else f", `require: {condition}`"
    hint = (
        f"write `{fresh}` here{condition} and `let: {name.name} = {fresh} {_INVERSE[entry.op]} {other.value}`"
    )
    text = f"a bare name binds a dim; `{to_text(entry)}` does not bind `{name.name[:60]}`"
    checker.error("unbound-dim", text, entry.place, hint)
    checker.namespace.declare(Symbol(name.name, Kind.DIM, name.place))
    return True


def _starred(shape: tuple[s.Expression | s.Star, ...] | None) -> set[str]:
    stars = (entry.value for entry in shape or () if isinstance(entry, s.Star))
    return {value.name for value in stars if isinstance(value, s.Name)}


def _check_bounds(attr: str, bounds: s.Expression, checker: NameChecker) -> None:
    before = checker.diagnostics.count
    checker.check(bounds, BOUNDS, {})
    if not isinstance(bounds, s.Compare) or any(right is None for _, right in bounds.rest):
        text = f"bounds are a chained comparison or a membership, such as `0 <= {attr} < data.ndim`"
        checker.error("bad-value", text, bounds.place)
    elif checker.diagnostics.count == before and not any(
        isinstance(node, s.Name) and node.name == attr for node in s.walk(bounds)
    ):
        checker.error("bad-value", f"the bounds of `{attr}` do not mention `{attr}`", bounds.place)


def _check_outputs(op: OpDef, checker: NameChecker) -> None:
    dynamic: Local = {entry.name: Kind.DIM for entry in op.dynamic}
    for entry in op.dynamic:
        checker.check(entry.bound, SHAPE, {})
    for output in op.outputs:
        local = dict(dynamic)
        if output.variadic is not None:
            index, count = output.variadic
            checker.check(count, SHAPE, {})
            local = checker.bind((index,), Kind.LOCAL, local)
        for item in output.shape:
            checker.check(item, SHAPE, local)
        checker.check(output.dtype, DTYPE, local)
