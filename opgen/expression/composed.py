"""`composed:` text: whole tensors by calls of ops and operators, without an index.

    composed: where(x > 0, x, alpha * expm1(x))

It becomes statements of `compute:`, as if they stood there, and a rule that gives the types of the results:

    above[*i]: x.shape = x[*i] > 0
    below = ops.expm1(x)
    scaled[*i]: below.shape = alpha * below[*i]
    chosen = ops.where(above, x, scaled)
    out[*i] = chosen[*i]
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Diagnostics, did_you_mean
from ..document import TextNode
from . import syntax as s
from .convert import ExpressionConverter, Rejected
from .expand_composed import expanded
from .text import Text, make_text, parse_python
from .vocabulary import CONSTANTS, DTYPE_NAMES, LIBRARY


@dataclass(frozen=True, slots=True)
class ComposedText:
    """What a text gave.  `types`: the statement of `let:` for the types of `results`, whose names are still missing."""

    block: s.Block
    types: s.Composition
    results: tuple[s.Name, ...]


def parse_composed(
    node: TextNode,
    inputs: Collection[str],
    outputs: Sequence[str],
    known: Collection[str],
    diagnostics: Diagnostics,
) -> ComposedText | None:
    """The composition of a text: one expression, which the only output is, or lines `name = expression`.

    `inputs`: the names that are tensors; `outputs`: those that lines must bind; `known`: all names of the
    declaration.  None where something is wrong with it, which is reported.
    """
    text = make_text(node, one_line="\n" not in node.value.strip())
    tree = parse_python(text, diagnostics)
    if tree is None:
        return None
    converter = _Converter(text, diagnostics, inputs, known)
    try:
        lines = converter.lines(tree, outputs, node)
    except Rejected:
        return None
    bound = {target.name for line in lines for target in line.targets}
    missing = [name for name in outputs if name not in bound]
    if missing:
        diagnostics.error("undefined", f"the output `{missing[0]}` is never defined", node.place)
        return None
    names = {target.name: target for line in lines for target in line.targets}
    results = tuple(names[name] for name in outputs)
    tensors = frozenset(converter.tensors)
    words = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    block = expanded(lines, tensors, frozenset(outputs), {*known, *words, *outputs})
    return ComposedText(block, s.Composition(node.place, (), lines, results, tensors), results)


class _Converter(ExpressionConverter):
    """Converts lines; a call with a tensor among its arguments, or of no function of the library, is one of an op."""

    def __init__(
        self, text: Text, diagnostics: Diagnostics, inputs: Collection[str], known: Collection[str]
    ) -> None:
        super().__init__(text, diagnostics)
        self.tensors = set(inputs)
        self.known = {*inputs, *known, *CONSTANTS, *DTYPE_NAMES}

    def lines(self, tree: ast.Module, outputs: Sequence[str], node: TextNode) -> tuple[s.Assign, ...]:
        if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
            if len(outputs) != 1:
                count = f"one expression gives one output, but {len(outputs)} are declared"
                self.reject(tree.body[0], count, "bad-value", "write lines `name = ...`, one for each output")
            value = self.expression(tree.body[0].value)
            name = s.Name(value.place, outputs[0])
            self._is_tensor(value, name)
            return (s.Assign(value.place, (name,), value),)
        return tuple(self._line(statement, outputs) for statement in tree.body)

    def _line(self, node: ast.stmt, outputs: Sequence[str]) -> s.Assign:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            self.reject(node, "a composition is one expression, or lines `name = expression`")
        targets, _ = self.targets(node.targets[0])
        value = self.expression(node.value)
        if s.is_tensor(value, self.tensors):
            if len(targets) > 1 and not isinstance(value, s.OpCall):
                self.reject(node, "several names are given what one op gives", "op-call")
            self.tensors |= {target.name for target in targets}
        else:
            for target in targets:
                if target.name in outputs:
                    self._is_tensor(value, target)
        return s.Assign(self.text.place(node), targets, value)

    def _is_tensor(self, value: s.Expression, output: s.Name) -> None:
        if not s.is_tensor(value, self.tensors):
            for node in s.walk(value):
                called = isinstance(node, s.Name) and node.name in LIBRARY
                if isinstance(node, s.Name) and not called and node.name not in self.known:
                    text = f"nothing binds the name `{node.name[:60]}`"
                    self.diagnostics.error(
                        "unknown-name", text, node.place, did_you_mean(node.name, self.known)
                    )
                    raise Rejected
            text = f"the output `{output.name}` is made of no tensor"
            self.diagnostics.error("value", text, value.place, "write `full(...)`, or name an input")
            raise Rejected

    def _subscript(self, node: ast.Subscript) -> s.Expression:
        if isinstance(node.value, ast.Name) and node.value.id in self.tensors:
            text = f"`{node.value.id}` is a whole tensor here, without an index"
            self.reject(node, text, "index", "write `compute:` with indices, or call an op such as `take`")
        return super()._subscript(node)

    def _conditional(self, node: ast.IfExp) -> s.Expression:
        condition = self.expression(node.test)
        if s.is_tensor(condition, self.tensors):
            text = "the condition of an `if` must be static, but this depends on elements"
            self.reject(node.test, text, "stage", "write `where(condition, x, y)`")
        return s.Conditional(
            self.text.place(node), condition, self.expression(node.body), self.expression(node.orelse)
        )

    def _call(self, node: ast.Call) -> s.Expression:
        if not isinstance(node.func, ast.Name) or any(
            isinstance(each, ast.GeneratorExp) for each in node.args
        ):
            return super()._call(node)
        operands = [self.item(argument) for argument in node.args]
        is_static = not node.keywords and not any(s.is_tensor(each, self.tensors) for each in operands)
        function = self.name(node.func)
        if is_static and function.name in LIBRARY:
            return s.Call(self.text.place(node), function, tuple(operands))
        attrs: list[tuple[s.Name, s.Expression]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                self.reject(node, "calls of ops do not have `**`")
            attrs.append((s.Name(self.text.place(keyword), keyword.arg), self.expression(keyword.value)))
        given: list[s.Expression] = []
        for operand in operands:
            if isinstance(operand, s.Star):
                self.reject(node, "operands are given one by one; of a variadic one, a tuple")
            given.append(operand)
        return s.OpCall(self.text.place(node), function, tuple(given), tuple(attrs))
