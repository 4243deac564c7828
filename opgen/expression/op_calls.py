"""Expressions of calls of ops: what declared gradients, decompositions and upgrades are made of."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from ..diagnostics import Diagnostics, did_you_mean
from ..document import TextNode
from .convert import Rejected
from .text import Text, make_text, parse_python
from .translate import at, make_arguments, make_lambda, name

_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)


def op_expression(
    node: TextNode, names: Sequence[str], known_ops: Mapping[str, str], diagnostics: Diagnostics
) -> ast.Lambda | None:
    """`lambda <the names that it uses>: <calls of ops>` of one expression, or None (reported).

    `known_ops`: the ops by their names here, with those in the registry.
    """
    text = make_text(node, one_line=True)
    tree = parse_python(text, diagnostics)
    if tree is None:
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        diagnostics.error("syntax", "one expression is expected here", node.place)
        return None
    converter = _OpCalls(text, names, known_ops, diagnostics)
    try:
        body = converter.expression(tree.body[0].value)
    except Rejected:
        return None
    return make_lambda([known for known in names if known in converter.used], body, node.place)


def op_lines(
    node: TextNode,
    title: str,
    names: Sequence[str],
    outputs: Sequence[str],
    known_ops: Mapping[str, str],
    diagnostics: Diagnostics,
) -> ast.FunctionDef | None:
    """`def <title>(<the names that it uses>): ...` of lines `name = <calls of ops>`, which bind the outputs, or None.

    What is wrong is reported.  The function gives the output, a tuple of several.
    """
    text = make_text(node, one_line="\n" not in node.value.strip())
    tree = parse_python(text, diagnostics)
    if tree is None:
        return None
    converter = _OpCalls(text, names, known_ops, diagnostics)
    try:
        body = [converter.line(statement) for statement in tree.body]
    except Rejected:
        return None
    missing = [output for output in outputs if output not in converter.bound]
    if missing:
        diagnostics.error("undefined", f"the output `{missing[0]}` is never defined", node.place)
        return None
    results = [name(output, node.place) for output in outputs]
    result = results[0] if len(results) == 1 else at(ast.Tuple(list(results), ast.Load()), node.place)
    body.append(at(ast.Return(result), node.place))
    arguments = make_arguments([known for known in names if known in converter.used], node.place)
    return at(ast.FunctionDef(title, arguments, body, [], returns=None, type_comment=None), node.place)


def called_ops(function: ast.FunctionDef) -> set[str]:
    """The ops that a function of `op_lines` calls, by their names in the registry."""
    makers = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    named = {each.attr for each in makers if isinstance(each, ast.Attribute)}
    keys = [each.slice for each in makers if isinstance(each, ast.Subscript)]
    return named | {str(key.value) for key in keys if isinstance(key, ast.Constant)}


class _OpCalls:
    """Rebuilds calls of ops (`_d.ops.<name>`, of a namespace `_d.ops["<full name>"]`), operators, names, literals."""

    def __init__(
        self, text: Text, names: Sequence[str], known_ops: Mapping[str, str], diagnostics: Diagnostics
    ) -> None:
        self.text = text
        self.names = names
        self.known_ops = known_ops
        self.diagnostics = diagnostics
        self.used: set[str] = set()
        self.bound: set[str] = set()

    def reject(self, node: ast.AST, code: str, message: str, hint: str | None = None) -> Rejected:
        self.diagnostics.error(code, message, self.text.place(node), hint)
        return Rejected()

    def line(self, node: ast.stmt) -> ast.stmt:
        """`name = expression`, or `a, b = expression`."""
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            raise self.reject(node, "not-in-language", "a line is `name = expression`")
        value = self.expression(node.value)
        target = node.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        for each in targets:
            if not isinstance(each, ast.Name):
                raise self.reject(each, "not-in-language", "what is bound is a name")
            if each.id in self.names or each.id in self.bound:
                raise self.reject(each, "duplicate-name", f"the name `{each.id[:60]}` is bound already")
            self.bound.add(each.id)
        place = self.text.place(node)
        stored = [at(ast.Name(each.id, ast.Store()), place) for each in targets if isinstance(each, ast.Name)]
        bound = (
            at(ast.Tuple(list(stored), ast.Store()), place) if isinstance(target, ast.Tuple) else stored[0]
        )
        return at(ast.Assign([bound], value, None), place)

    def expression(self, node: ast.expr) -> ast.expr:
        place = self.text.place(node)
        match node:
            case ast.Name(id=text) if text in self.names:
                self.used.add(text)
                return name(text, place)
            case ast.Name(id=text) if text in self.bound:
                return name(text, place)
            case ast.Name(id=text):
                hint = did_you_mean(text, [*self.names, *self.bound])
                raise self.reject(node, "unknown-name", f"nothing binds the name `{text[:60]}`", hint)
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return at(ast.Constant(value), place)
            case ast.UnaryOp(op=ast.USub() as op, operand=operand):
                return at(ast.UnaryOp(op, self.expression(operand)), place)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
                return at(ast.BinOp(self.expression(left), op, self.expression(right)), place)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                chosen = [self.expression(each) for each in (test, then, otherwise)]
                return at(ast.IfExp(*chosen), place)
            case ast.Tuple(elts=items):
                return at(ast.Tuple([self.expression(item) for item in items], ast.Load()), place)
            case ast.Call(func=ast.Name(id=text)):
                return self._call(node, text)
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int() as position)):
                return at(
                    ast.Subscript(self.expression(call), at(ast.Constant(position), place), ast.Load()), place
                )
        raise self.reject(node, "not-in-language", "this is made of calls of ops, operators and names")

    def _call(self, node: ast.Call, text: str) -> ast.expr:
        place = self.text.place(node)
        if text not in self.known_ops:
            hint = did_you_mean(text, self.known_ops)
            raise self.reject(node.func, "unknown-name", f"there is no op `{text[:60]}`", hint)
        makers = at(ast.Attribute(name("_d", place), "ops", ast.Load()), place)
        function: ast.expr = at(ast.Attribute(makers, text, ast.Load()), place)
        if self.known_ops[text] != text:  # an op of a project with a namespace
            key = at(ast.Constant(self.known_ops[text]), place)
            function = at(ast.Subscript(makers, key, ast.Load()), place)
        arguments = [self.expression(argument) for argument in node.args]
        keywords: list[ast.keyword] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.reject(node, "not-in-language", "calls of ops do not have `**`")
            keywords.append(
                at(ast.keyword(keyword.arg, self.expression(keyword.value)), self.text.place(keyword))
            )
        return at(ast.Call(function, arguments, keywords), place)
