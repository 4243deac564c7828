"""`grad:` in terms of ops: one expression an input, made of calls of ops and operators."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from ...diagnostics import Diagnostics, did_you_mean
from ...expression.convert import Rejected
from ...expression.scope import Namespace
from ...expression.text import Text, make_text, parse_python
from ...expression.translate import at, make_lambda, name
from ...model import CheckedGradient
from ...model.opdef import GradientDef, OpDef

_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)


def check_gradients(
    op: OpDef, namespace: Namespace, known_ops: Sequence[str], diagnostics: Diagnostics
) -> tuple[CheckedGradient, ...]:
    """The declared gradients: `lambda data, out, grad, ...: <ops>`.

    Names are the inputs, the attrs, the outputs, and `grad` (`grad_<output>` where there are several, or an input is
    called `grad`).
    """
    outputs = [output.name for output in op.outputs]
    given = [operand.name for operand in op.inputs] + [attr.name for attr in op.attrs]
    alone = len(outputs) == 1 and "grad" not in given
    grads = ["grad"] if alone else [f"grad_{output}" for output in outputs]
    names = given + outputs + grads
    found: list[CheckedGradient] = []
    for entry in op.gradients:
        if entry.input not in [operand.name for operand in op.inputs]:
            hint = did_you_mean(entry.input, names)
            diagnostics.error("unknown-name", f"`{entry.input[:60]}` is not an input", entry.place, hint)
            continue
        made = _gradient(entry, names, known_ops, diagnostics)
        if made is not None:
            found.append(made)
    return tuple(found)


def _gradient(
    entry: GradientDef, names: Sequence[str], known_ops: Sequence[str], diagnostics: Diagnostics
) -> CheckedGradient | None:
    text = make_text(entry.text, one_line=True)
    tree = parse_python(text, diagnostics)
    if tree is None:
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        diagnostics.error("syntax", "one expression is expected here", entry.text.place)
        return None
    converter = _OpCalls(text, names, known_ops, diagnostics)
    try:
        body = converter.expression(tree.body[0].value)
    except Rejected:
        return None
    used = [known for known in names if known in converter.used]
    return CheckedGradient(entry.input, make_lambda(used, body, entry.text.place), text.value)


class _OpCalls:
    """Rebuilds calls of ops (`_d.ops.<name>`), operators on them, names and literals."""

    def __init__(
        self, text: Text, names: Sequence[str], known_ops: Sequence[str], diagnostics: Diagnostics
    ) -> None:
        self.text = text
        self.names = names
        self.known_ops = known_ops
        self.diagnostics = diagnostics
        self.used: set[str] = set()

    def reject(self, node: ast.AST, code: str, message: str, hint: str | None = None) -> Rejected:
        self.diagnostics.error(code, message, self.text.place(node), hint)
        return Rejected()

    def expression(self, node: ast.expr) -> ast.expr:
        place = self.text.place(node)
        match node:
            case ast.Name(id=text) if text in self.names:
                self.used.add(text)
                return name(text, place)
            case ast.Name(id=text):
                hint = did_you_mean(text, self.names)
                raise self.reject(node, "unknown-name", f"nothing binds the name `{text[:60]}`", hint)
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return at(ast.Constant(value), place)
            case ast.UnaryOp(op=ast.USub() as op, operand=operand):
                return at(ast.UnaryOp(op, self.expression(operand)), place)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
                return at(ast.BinOp(self.expression(left), op, self.expression(right)), place)
            case ast.Tuple(elts=items):
                return at(ast.Tuple([self.expression(item) for item in items], ast.Load()), place)
            case ast.Call(func=ast.Name(id=text)):
                return self._call(node, text)
        raise self.reject(node, "not-in-language", "a gradient is made of calls of ops, operators and names")

    def _call(self, node: ast.Call, text: str) -> ast.expr:
        place = self.text.place(node)
        if text not in self.known_ops:
            hint = did_you_mean(text, self.known_ops)
            raise self.reject(node.func, "unknown-name", f"there is no op `{text[:60]}`", hint)
        makers = at(ast.Attribute(name("_d", place), "ops", ast.Load()), place)
        function = at(ast.Attribute(makers, text, ast.Load()), place)
        arguments = [self.expression(argument) for argument in node.args]
        keywords: list[ast.keyword] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.reject(node, "not-in-language", "a gradient does not have `**`")
            keywords.append(
                at(ast.keyword(keyword.arg, self.expression(keyword.value)), self.text.place(keyword))
            )
        return at(ast.Call(function, arguments, keywords), place)
