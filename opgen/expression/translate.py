"""Expressions of the language to Python's syntax trees that call `opgen_runtime.compute.lang` (as `_l`).

Every node keeps the line and column of the YAML source, so that a traceback through the compiled tree names the
place in the declaration.  The emitter prints the very same tree.

    a / b   _l.div(a, b)            a < b <= c   _l.both(_l.less(a, b), lambda: _l.less_equal(b, c))
    a and b _l.both(a, lambda: b)   x if c else y  _l.select(c, lambda: x, lambda: y)
    t[k]    _l.item(t, k)           sum(e for k in r if c)  _l.sum(_l.over(r, lambda k: _l.when(c, lambda: e)))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from ..diagnostics import Place
from . import syntax as s
from .names import is_loop
from .scope import TENSORS, Kind, Local, Namespace
from .vocabulary import CONSTANTS, DTYPE_NAMES

_DIRECT: Final[dict[str, type[ast.operator]]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult}
_FUNCTIONS: Final = {
    "/": "div", "//": "floordiv", "%": "floormod", "**": "power", "<<": "shift_left", ">>": "shift_right",
    "&": "bit_and", "|": "bit_or", "^": "bit_xor", "<": "less", "<=": "less_equal", ">": "greater",
    ">=": "greater_equal", "==": "equal", "!=": "not_equal", "and": "both", "or": "either",
}  # fmt: skip
_RENAMED: Final = {"bitcast": "reinterpret"}

N = TypeVar("N", bound=ast.AST)


def at(node: N, place: Place) -> N:
    """The node with its place in the YAML source."""
    node.lineno, node.col_offset = place.line, place.column - 1  # type: ignore[attr-defined]  # every node has them
    node.end_lineno, node.end_col_offset = place.end_line, place.end_column - 1  # type: ignore[attr-defined]
    if isinstance(node, ast.Lambda | ast.FunctionDef):
        node.opgen_place = place  # type: ignore[union-attr]  # the file, which Python's own attributes lack
    return node


def place_of(tree: ast.Lambda | ast.FunctionDef) -> Place:
    """Where a translated function stands, file included."""
    place: Place = tree.opgen_place  # type: ignore[union-attr]  # set by `at`
    return place


def name(text: str, place: Place) -> ast.Name:
    return at(ast.Name(text, ast.Load()), place)


def attribute(module: str, function: str, place: Place) -> ast.Attribute:
    """`_l.select` or `_b.tuple`."""
    return at(ast.Attribute(name(module, place), function, ast.Load()), place)


def call(function: str, place: Place, /, *arguments: ast.expr, **keywords: ast.expr) -> ast.Call:
    """`_l.<function>(arguments)`."""
    named = [at(ast.keyword(key, value), place) for key, value in keywords.items()]
    return at(ast.Call(attribute("_l", function, place), list(arguments), named), place)


def constant(value: bool | int | float | str | None, place: Place) -> ast.Constant:
    return at(ast.Constant(value), place)


def make_lambda(
    parameters: Sequence[str], body: ast.expr, place: Place, star: str | None = None
) -> ast.Lambda:
    return at(ast.Lambda(make_arguments(parameters, place, star), body), place)


def make_arguments(
    parameters: Sequence[str], place: Place, star: str | None = None, after: Sequence[str] = ()
) -> ast.arguments:
    """Parameters, a starred one, and parameters after it (which Python makes keyword-only)."""
    return ast.arguments(
        posonlyargs=[],
        args=[at(ast.arg(parameter), place) for parameter in parameters],
        vararg=None if star is None else at(ast.arg(star), place),
        kwonlyargs=[at(ast.arg(parameter), place) for parameter in after],
        kw_defaults=[None for _ in after],
        kwarg=None,
        defaults=[],
    )


class Translator:
    """Translates expressions.

    With `static`, reductions run now over plain generators; else they become terms of loops.  `renamed` maps names
    to other expressions (an attr's check reads the other attrs as `attrs.<name>`).  `known_ops`: the ops that may be
    called, with their names in the registry.
    """

    def __init__(
        self,
        namespace: Namespace,
        static: bool,
        renamed: Mapping[str, Callable[[Place], ast.expr]] | None = None,
        known_ops: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.namespace = namespace
        self.static = static
        self.renamed = renamed or {}
        self.known_ops = known_ops

    def kind(self, text: str, local: Local) -> Kind | None:
        if text in local:
            return local[text]
        symbol = self.namespace.symbols.get(text)
        return None if symbol is None else symbol.kind

    def expression(self, node: s.Expression, local: Local) -> ast.expr:
        """The translated tree of one expression."""
        place = node.place
        match node:
            case s.Literal(_, value):
                return constant(value, place)
            case s.Name(_, text):
                return self._name(text, place, local)
            case s.Attribute(_, value, text):
                return at(ast.Attribute(self.expression(value, local), text, ast.Load()), place)
            case s.Subscript():
                return self._subscript(node, local)
            case s.Tuple(_, items):
                return at(ast.Tuple(self.items(items, local), ast.Load()), place)
            case s.Unary(_, op, operand):
                return self._unary(op, self.expression(operand, local), place)
            case s.Binary(_, op, left, right):
                return self._binary(op, self.expression(left, local), self.expression(right, local), place)
            case s.Compare():
                return self._compare(node, local)
            case s.Logic(_, op, operands):
                return self._logic(op, operands, local, place)
            case s.Conditional(_, condition, then, otherwise):
                branches = (self._later(then, local), self._later(otherwise, local))
                return call("select", place, self.expression(condition, local), *branches)
            case s.Call() | s.OpCall():
                return self._call(node, local)
            case s.IndexOf(_, value, argument):
                return call(
                    "index_of", place, self.expression(value, local), self.expression(argument, local)
                )
            case s.Comprehension():
                return self._comprehension(node, local)

    def items(self, items: Sequence[s.Expression | s.Star], local: Local) -> list[ast.expr]:
        return [self.item(item, local) for item in items]

    def item(self, item: s.Expression | s.Star, local: Local) -> ast.expr:
        if isinstance(item, s.Star):
            return at(ast.Starred(self.expression(item.value, local), ast.Load()), item.place)
        return self.expression(item, local)

    def _later(self, node: s.Expression, local: Local) -> ast.Lambda:
        """`lambda: node`."""
        return make_lambda((), self.expression(node, local), node.place)

    # ---------------------------------------------------------------- one method a construct

    def _name(self, text: str, place: Place, local: Local) -> ast.expr:
        if text in self.renamed and text not in local:
            return self.renamed[text](place)
        if text in CONSTANTS:
            return attribute("_l", text, place)
        if text in DTYPE_NAMES:
            return call("dtype", place, constant(text, place))
        return name(text, place)

    def _subscript(self, node: s.Subscript, local: Local) -> ast.expr:
        value = self.expression(node.value, local)
        place = node.place
        if len(node.indices) == 1 and not isinstance(node.indices[0], s.Slice | s.Star):
            index = self.expression(node.indices[0], local)
            if not self._is_plain(node.value, local):
                return call("item", place, value, index)
            if isinstance(node.value, s.Name) and self.kind(node.value.name, local) is Kind.INDICES:
                index = self._static_part(node.indices[0], local)
            return at(ast.Subscript(value, index, ast.Load()), place)
        entries = [self._index(index, local) for index in node.indices]
        if len(entries) == 1 and isinstance(entries[0], ast.Slice):
            return at(ast.Subscript(value, entries[0], ast.Load()), place)
        return at(ast.Subscript(value, at(ast.Tuple(entries, ast.Load()), place), ast.Load()), place)

    def _is_plain(self, node: s.Expression, local: Local) -> bool:
        """True for tensors and index tuples, whose subscripts stay subscripts."""
        if isinstance(node, s.Name):
            kind = self.kind(node.name, local)
            return kind in TENSORS or kind is Kind.INDICES
        if isinstance(node, s.Subscript) and isinstance(node.value, s.Name):
            return self.kind(node.value.name, local) in (Kind.VARIADIC, Kind.OUTPUTS)
        return False

    def _index(self, node: s.Expression | s.Slice | s.Star, local: Local) -> ast.expr:
        if isinstance(node, s.Slice):
            ends = (node.lower, node.upper, node.step)
            lower, upper, step = (None if end is None else self._static_part(end, local) for end in ends)
            return at(ast.Slice(lower, upper, step), node.place)
        return self.item(node, local)

    def _static_part(self, node: s.Expression, local: Local) -> ast.expr:
        """A static place among elements: calls of `def`s and reductions are computed when the kernel is built."""
        made = self.expression(node, local)
        if self.static or not any(self._may_loop(inner) for inner in s.walk(node)):
            return made
        return call("at_build", node.place, make_lambda((), made, node.place))

    def _may_loop(self, node: s.Node) -> bool:
        return isinstance(node, s.Comprehension) or (
            isinstance(node, s.Call) and self.namespace.is_def(node.function.name)
        )

    def _unary(self, op: str, operand: ast.expr, place: Place) -> ast.expr:
        if op == "-":
            return at(ast.UnaryOp(ast.USub(), operand), place)
        return call("bit_not" if op == "~" else "negate", place, operand)

    def _binary(self, op: str, left: ast.expr, right: ast.expr, place: Place) -> ast.expr:
        if op in _DIRECT:
            return at(ast.BinOp(left, _DIRECT[op](), right), place)
        return call(_FUNCTIONS[op], place, left, right)

    def _compare(self, node: s.Compare, local: Local) -> ast.expr:
        links: list[ast.expr] = []
        left = node.first
        for op, right in node.rest:
            links.append(self._link(left, op, right, local, node.place))
            left = right if right is not None else left
        result = links[-1]
        for link in reversed(links[:-1]):
            result = call("both", node.place, link, make_lambda((), result, node.place))
        return result

    def _link(
        self, left: s.Expression, op: str, right: s.Expression | None, local: Local, place: Place
    ) -> ast.expr:
        first = self.expression(left, local)
        if right is None:
            test = ast.Is() if op == "is-none" else ast.IsNot()
            return at(ast.Compare(first, [test], [constant(None, place)]), place)
        span = Place(
            place.path, left.place.line, left.place.column, right.place.end_line, right.place.end_column
        )
        second = self.expression(right, local)
        if op in ("in", "not-in"):
            found = call("contains", span, second, first)
            return found if op == "in" else call("negate", span, found)
        return call(_FUNCTIONS[op], span, first, second)

    def _logic(self, op: str, operands: Sequence[s.Expression], local: Local, place: Place) -> ast.expr:
        result = self.expression(operands[-1], local)
        for operand in reversed(operands[:-1]):
            later = make_lambda((), result, place)
            result = call(_FUNCTIONS[op], place, self.expression(operand, local), later)
        return result

    def _call(self, node: s.Call | s.OpCall, local: Local) -> ast.expr:
        if isinstance(node, s.OpCall):
            return self.op_call(node, 1, local)
        function, place = node.function, node.place
        given = self.items(node.arguments, local)
        symbol = self.namespace.symbols.get(function.name)
        if symbol is not None and symbol.kind is Kind.DEF:
            return at(ast.Call(self._name(function.name, function.place, {}), given, []), place)
        return call(_RENAMED.get(function.name, function.name), place, *given)

    def op_call(self, node: s.OpCall, count: int, local: Local) -> ast.expr:
        """`_l.call_op(lambda: _l.expand(_d.called("softmax"), 1, x, axis=1))`; `count` results have names."""
        place = node.place
        callee = self.callee(node)
        operands = [self.expression(operand, local) for operand in node.operands]
        attrs = {attr.name: self.expression(value, local) for attr, value in node.attrs}
        later = make_lambda(
            (), call("expand", place, callee, constant(count, place), *operands, **attrs), place
        )
        counted = [] if count == 1 else [constant(count, place)]
        return call("call_op", place, later, *counted)

    def callee(self, node: s.OpCall) -> ast.expr:
        """`_d.called("softmax")`: the declaration of the op that a call names."""
        name = constant(self.known_ops.get(node.op.name, node.op.name), node.op.place)
        return at(ast.Call(attribute("_d", "called", node.place), [name], []), node.op.place)

    def _comprehension(self, node: s.Comprehension, local: Local) -> ast.expr:
        function, place = node.function.name, node.place
        if function == "tuple":
            made = self._generator(node, local)
            return at(ast.Call(attribute("_b", "tuple", place), [made], []), place)
        # A position counts the steps that a condition leaves out, which a generator would not.
        now = function == "sorted" or (self.static and function not in ("argmax", "argmin"))
        over = self._generator(node, local) if now else self._over(node, 0, local)
        if node.default is not None:
            return call(function, place, over, self._later(node.default, local))
        return call(function, place, over)

    def _generator(self, node: s.Comprehension, local: Local) -> ast.GeneratorExp:
        """`f(d) for d in _l.each(r) if _l.truth(c)`: runs when the kernel is built."""
        clauses: list[ast.comprehension] = []
        for clause in node.clauses:
            source = call("each", clause.iterable.place, self.expression(clause.iterable, local))
            local = {**local, **{target.name: Kind.LOCAL for target in clause.targets}}
            tests: list[ast.expr] = [
                call("truth", c.place, self.expression(c, local)) for c in clause.conditions
            ]
            clauses.append(ast.comprehension(_target(clause), source, tests, 0))
        return at(ast.GeneratorExp(self.expression(node.element, local), clauses), node.place)

    def _over(self, node: s.Comprehension, number: int, local: Local) -> ast.expr:
        """`_l.over(r, lambda k: _l.when(c, lambda: ...))` from clause `number` on."""
        if number == len(node.clauses):
            return self.expression(node.element, local)
        clause = node.clauses[number]
        source = self.expression(clause.iterable, local)
        kind = Kind.LOOP if is_loop(clause.iterable) else Kind.LOCAL
        local = {**local, **{target.name: kind for target in clause.targets}}
        body = self._over(node, number + 1, local)
        for condition in reversed(clause.conditions):
            later = make_lambda((), body, condition.place)
            body = call("when", condition.place, self.expression(condition, local), later)
        function = make_lambda([target.name for target in clause.targets], body, clause.place)
        if clause.unpack:
            return call("over", clause.place, source, function, unpack=constant(True, clause.place))
        return call("over", clause.place, source, function)


def _target(clause: s.Clause) -> ast.expr:
    names: list[ast.expr] = [
        at(ast.Name(target.name, ast.Store()), target.place) for target in clause.targets
    ]
    return at(ast.Tuple(names, ast.Store()), clause.place) if clause.unpack else names[0]
