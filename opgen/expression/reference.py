"""`reference:`: a checked subset of Python statements over numpy, emitted again from its syntax tree.

Only nodes that are rebuilt here reach the generated suite.  There is no import, no attribute or function that is
not listed, no name that begins with `_`, nothing that touches files and no loop but `for`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..diagnostics import Diagnostics, Place, did_you_mean
from ..document import TextNode
from .allowed import ATTRIBUTES, BUILTINS, DOTTED, MATH, METHODS, NUMPY
from .convert import Rejected
from .text import Text, make_text, parse_python
from .translate import at, make_arguments, name

_NODES: Final = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_RESERVED: Final = BUILTINS | {"np", "math"}


def check_reference(
    node: TextNode, parameters: Sequence[str], outputs: Sequence[str], place: Place, diagnostics: Diagnostics
) -> ast.FunctionDef | None:
    """`def reference(<parameters>)` that returns the outputs, or None if any statement was refused (reported)."""
    text = make_text(node, one_line=False)
    tree = parse_python(text, diagnostics)
    if tree is None:
        return None
    checker = _Reference(text, parameters, outputs, diagnostics)
    body = checker.block(tree.body)
    missing = [output for output in outputs if output not in checker.bound]
    for output in missing:
        diagnostics.error("reference", f"the reference never assigns the output `{output}`", node.place)
    if checker.failed or missing:
        return None
    results: list[ast.expr] = [name(output, place) for output in outputs]
    value = results[0] if len(results) == 1 else at(ast.Tuple(results, ast.Load()), place)
    body.append(at(ast.Return(value), place))
    made = ast.FunctionDef(
        "reference", make_arguments(parameters, place), body, [], returns=None, type_comment=None
    )
    return at(made, place)


class _Reference:
    """Rebuilds the allowed nodes; everything else is reported at its place."""

    # Names of methods: the methods themselves would hold this, and this the text.
    _METHODS: Final[Mapping[type[ast.AST], str]] = {
        ast.Name: "_name",
        ast.Attribute: "_attribute",
        ast.Call: "_call",
        ast.Constant: "_constant",
        ast.GeneratorExp: "_comprehension",
        ast.ListComp: "_comprehension",
        **dict.fromkeys(
            (
                ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.Tuple,
                ast.List, ast.Starred, ast.Dict,
            ),
            "_plain",
        ),
    }  # fmt: skip

    def __init__(
        self, text: Text, parameters: Sequence[str], outputs: Sequence[str], diagnostics: Diagnostics
    ) -> None:
        self.text = text
        self.diagnostics = diagnostics
        self.declared = frozenset(parameters) | frozenset(outputs)
        self.bound: set[str] = set(parameters)
        self.failed = False

    def reject(self, node: ast.AST, message: str, hint: str | None = None) -> Rejected:
        self.failed = True
        self.diagnostics.error("reference", message, self.text.place(node), hint)
        return Rejected()

    # ---------------------------------------------------------------- statements

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in body:
            try:
                made.append(at(self._statement(node), self.text.place(node)))
            except Rejected:
                self.bound |= _stored(node)  # so that what reads them is not reported too
        return made

    def _statement(self, node: ast.stmt) -> ast.stmt:
        match node:
            case ast.Assign(targets=[target], value=value):
                made = self.expression(value)
                return ast.Assign([self._target(target)], made)
            case ast.AugAssign(target=target, op=op, value=value):
                made = self.expression(value)
                return ast.AugAssign(cast(ast.Name | ast.Subscript, self._target(target)), op, made)
            case ast.Expr(value=ast.Call() as value):
                return ast.Expr(self.expression(value))
            case ast.If(test=test, body=body, orelse=orelse):
                made = self.expression(test)
                return ast.If(made, self.block(body), self.block(orelse))
            case ast.For(target=target, iter=source, body=body, orelse=[]):
                made = self.expression(source)
                return ast.For(self._target(target), made, self.block(body), [], None)
            case ast.Continue():
                return ast.Continue()
            case ast.Break():
                return ast.Break()
        what = type(node).__name__.lower()
        raise self.reject(
            node, f"a reference holds assignments, `if`, `for` and calls; `{what}` is none of these"
        )

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            self._bind(node)
            return at(ast.Name(node.id, ast.Store()), self.text.place(node))
        if isinstance(node, ast.Tuple):
            return at(
                ast.Tuple([self._target(item) for item in node.elts], ast.Store()), self.text.place(node)
            )
        if isinstance(node, ast.Starred):
            return at(ast.Starred(self._target(node.value), ast.Store()), self.text.place(node))
        if isinstance(node, ast.Subscript):
            value, index = self.expression(node.value), self.expression(node.slice)
            return at(ast.Subscript(value, index, ast.Store()), self.text.place(node))
        raise self.reject(node, "a name or `name[...]` is assigned to")

    def _bind(self, node: ast.Name) -> None:
        if node.id.startswith("_") or not node.id.isascii():
            hint = "write a name, such as `k`; it need not be used" if node.id == "_" else None
            raise self.reject(node, f"a name begins with a letter, not `{node.id[:40]}`", hint)
        if node.id not in self.declared and (node.id in _RESERVED or node.id in dir(builtins)):
            raise self.reject(node, f"`{node.id}` has a meaning in Python already; choose another name")
        self.bound.add(node.id)

    # ---------------------------------------------------------------- expressions

    def expression(self, node: ast.expr) -> ast.expr:
        method = self._METHODS.get(type(node))
        if method is None:
            raise self.reject(node, f"a reference does not have this ({type(node).__name__})")
        made: ast.expr = at(getattr(self, method)(node), self.text.place(node))
        return made

    def _plain(self, node: ast.expr) -> ast.expr:
        """The same node over rebuilt children."""
        fields: dict[str, Any] = {}
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                fields[field] = self.expression(value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                fields[field] = [self.expression(item) for item in value]
            elif value is None or isinstance(value, (*_NODES, list)):
                fields[field] = value
            else:
                raise self.reject(node, f"a reference does not have this ({type(node).__name__})")
        if isinstance(node, ast.Dict) and any(key is None for key in node.keys):
            raise self.reject(node, "a reference does not have `**`")
        return type(node)(**fields)

    def _constant(self, node: ast.Constant) -> ast.expr:
        if (
            node.value is not None
            and node.value is not Ellipsis
            and not isinstance(node.value, bool | int | float | str)
        ):
            raise self.reject(node, f"a reference does not have {type(node.value).__name__} literals")
        return ast.Constant(node.value)

    def _name(self, node: ast.Name) -> ast.expr:
        if node.id in self.bound:
            return ast.Name(node.id, ast.Load())
        if node.id in ("np", "math"):
            raise self.reject(node, f"`{node.id}` is used as `{node.id}.<function>`")
        if node.id in ("float", "int", "bool") and node.id not in self.declared:
            return ast.Name(node.id, ast.Load())
        hint = did_you_mean(node.id, [*self.bound, *BUILTINS])
        self.bound.add(node.id)  # told once
        raise self.reject(node, f"nothing assigns the name `{node.id[:60]}`", hint)

    def _dotted(self, node: ast.expr) -> str | None:
        """`np.exp` of an attribute of a module, else None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in ("np", "math") and node.id not in self.bound:
            return ".".join([node.id, *reversed(parts)])
        return None

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        dotted = self._dotted(node)
        if dotted is not None:
            return self._module(node, dotted)
        if node.attr not in ATTRIBUTES:
            hint = did_you_mean(node.attr, [*ATTRIBUTES, *METHODS])
            raise self.reject(node, f"a reference does not have `.{node.attr[:60]}`", hint)
        return ast.Attribute(self.expression(node.value), node.attr, ast.Load())

    def _module(self, node: ast.expr, dotted: str) -> ast.expr:
        module, _, rest = dotted.partition(".")
        known = NUMPY if module == "np" else MATH
        if rest not in known and dotted not in DOTTED:
            hint = did_you_mean(rest, known)
            raise self.reject(node, f"a reference does not have `{dotted[:80]}`", hint)
        value: ast.expr = at(ast.Name(module, ast.Load()), self.text.place(node))
        for part in rest.split("."):
            value = at(ast.Attribute(value, part, ast.Load()), self.text.place(node))
        return value

    def _call(self, node: ast.Call) -> ast.expr:
        keywords: list[ast.keyword] = []
        function = self._function(node.func)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_"):
                raise self.reject(node, "a reference does not have `**`")
            keywords.append(
                at(ast.keyword(keyword.arg, self.expression(keyword.value)), self.text.place(keyword))
            )
        return ast.Call(function, [self.expression(argument) for argument in node.args], keywords)

    def _function(self, node: ast.expr) -> ast.expr:
        place = self.text.place(node)
        if isinstance(node, ast.Name):
            if node.id in BUILTINS and node.id in self.declared:
                raise self.reject(node, f"`{node.id}` is a name of the declaration here, and hides Python's")
            if node.id not in BUILTINS:
                hint = did_you_mean(node.id, BUILTINS)
                raise self.reject(node, f"a reference does not call `{node.id[:60]}`", hint)
            return at(ast.Name(node.id, ast.Load()), place)
        dotted = self._dotted(node)
        if dotted is not None:
            return self._module(node, dotted)
        if isinstance(node, ast.Attribute):
            if node.attr not in METHODS:
                hint = did_you_mean(node.attr, METHODS)
                raise self.reject(node, f"a reference does not call `.{node.attr[:60]}`", hint)
            return at(ast.Attribute(self.expression(node.value), node.attr, ast.Load()), place)
        if isinstance(node, ast.Call) and self._dotted(node.func) == "np.vectorize":
            return self.expression(node)
        raise self.reject(node, "a reference calls functions of numpy and math, and methods of arrays")

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp) -> ast.expr:
        clauses: list[ast.comprehension] = []
        before = set(self.bound)
        for clause in node.generators:
            source = self.expression(clause.iter)
            target = self._target(clause.target)
            tests = [self.expression(test) for test in clause.ifs]
            clauses.append(ast.comprehension(target, source, tests, 0))
        element = self.expression(node.elt)
        self.bound = before
        return type(node)(element, clauses)


def _stored(node: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
