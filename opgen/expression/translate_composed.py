"""The types of what a composition gives, as Python's syntax trees that call `opgen_runtime.compute.lang`.

where(x > 0, x, y)     _l.result_type(_d.called("where"), 1, _l.predicate_type(x, 0), x, y)
"""

from __future__ import annotations

import ast

from . import syntax as s
from .scope import Local
from .translate import Translator, at, call, constant, make_lambda, name


def translate_types(node: s.Composition, translator: Translator) -> ast.expr:
    """The types of the results: one, or a tuple.  A line is a function of its name that is called with its value."""
    results: list[ast.expr] = [name(result.name, node.place) for result in node.results]
    made = results[0] if len(results) == 1 else at(ast.Tuple(results, ast.Load()), node.place)
    if len(node.lines) == 1 and len(results) == 1 and len(node.lines[0].targets) == 1:
        return _Types(node, translator).whole(node.lines[0].value)
    types = _Types(node, translator)
    for line in reversed(node.lines):
        value = types.whole(line.value, len(line.targets))
        given = value if len(line.targets) == 1 else at(ast.Starred(value, ast.Load()), line.place)
        function = make_lambda([target.name for target in line.targets], made, line.place)
        made = at(ast.Call(function, [given], []), line.place)
    return made


class _Types:
    def __init__(self, node: s.Composition, translator: Translator) -> None:
        self.tensors = node.tensors
        self.translator = translator

    def whole(self, node: s.Expression, count: int = 1) -> ast.expr:
        """The type of what a line or a branch gives; that of an input is one of a result, too."""
        if isinstance(node, s.Name) and node.name in self.tensors:
            return call("operator_type", node.place, self.of(node))
        return self.of(node, count)

    def of(self, node: s.Expression, count: int = 1) -> ast.expr:
        """The type of a tensor; what is static is a value."""
        place = node.place
        local: Local = {}
        if isinstance(node, s.Tuple):
            items = [self.of(each) for each in node.items if not isinstance(each, s.Star)]
            return at(ast.Tuple(items, ast.Load()), place)
        if not s.is_tensor(node, self.tensors):
            return self.translator.expression(node, local)
        match node:
            case s.OpCall(_, _, operands, attrs):
                callee = self.translator.callee(node)
                given = {attr.name: self.translator.expression(value, local) for attr, value in attrs}
                return call(
                    "result_type", place, callee, constant(count, place), *map(self.of, operands), **given
                )
            case s.Conditional(_, condition, then, otherwise):
                chosen = self.translator.expression(condition, local)
                branches = [make_lambda((), self.whole(each), each.place) for each in (then, otherwise)]
                return call("select", place, chosen, *branches)
            case s.Unary(_, "not", operand):
                return call("predicate_type", place, self.of(operand))
            case s.Unary(_, _, operand):
                return call("operator_type", place, self.of(operand))
            case s.Binary(_, _, left, right):
                return call("operator_type", place, self.of(left), self.of(right))
            case s.Compare(_, first, rest):
                others = [self.of(each) for _, each in rest if each is not None]
                return call("predicate_type", place, self.of(first), *others)
            case s.Logic(_, _, operands):
                return call("predicate_type", place, *map(self.of, operands))
        return self.translator.expression(node, local)
