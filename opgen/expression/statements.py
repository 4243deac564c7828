"""Python's statements to those of the language."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from ..diagnostics import Diagnostics
from . import syntax as s
from .convert import WHILE, ExpressionConverter, Rejected, is_op_call
from .text import Text
from .vocabulary import AT_MOST

_PUT: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+=", ast.Mult: "*=", ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^=",
}  # fmt: skip
_INSTEAD_OF: Final[dict[type[ast.stmt], str]] = {ast.If: "write `return a if c else b`", ast.While: WHILE}


class StatementConverter(ExpressionConverter):
    """Converts the statements of `compute:`, or with `static` those of `let:`."""

    def __init__(self, text: Text, diagnostics: Diagnostics, static: bool) -> None:
        super().__init__(text, diagnostics)
        self.static = static
        self.lost: set[str] = set()  # names that refused statements would have bound
        self.failed = False

    def block(self, body: Sequence[ast.stmt], depth: int = 0, in_loop: bool = False) -> s.Block:
        """The statements that can be converted; the others are reported and `failed` is set."""
        found: list[s.Statement] = []
        for node in body:
            try:
                found.append(self._statement(node, depth, in_loop))
            except Rejected:
                self.failed = True
                self.lost |= _bound(node)
        return tuple(found)

    def _statement(self, node: ast.stmt, depth: int, in_loop: bool) -> s.Statement:
        if isinstance(node, ast.Assign):
            return self._assign(node, in_loop)
        if isinstance(node, ast.AnnAssign):
            return self._annotated(node, in_loop)
        if isinstance(node, ast.AugAssign):
            return self._augmented(node, in_loop)
        if isinstance(node, ast.If):
            condition = self.expression(node.test)
            then = self.block(node.body, depth + 1, in_loop)
            return s.If(
                self.text.place(node.test), condition, then, self.block(node.orelse, depth + 1, in_loop)
            )
        if isinstance(node, ast.For):
            return self._for(node, depth)
        if isinstance(node, ast.While) and not self.static and not in_loop:
            return self._while(node)
        if isinstance(node, ast.FunctionDef):
            return self._def(node, depth)
        if isinstance(node, ast.Expr):
            self.reject(node, "this value is not used; a statement defines something")
        self.unknown(node)

    def _assign(self, node: ast.Assign, in_loop: bool) -> s.Statement:
        if len(node.targets) > 1:
            self.reject(node, "one statement defines one thing; write two lines")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            if in_loop:
                return self._put(node, target, "=", node.value)
            return self._define(node, target, None, node.value)
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        targets = tuple(self.name(name, "a fresh name") for name in names)
        if isinstance(node.value, ast.Call) and is_op_call(node.value) and not self.static and not in_loop:
            return s.Assign(self.text.place(node), targets, self.op_call(node.value))
        return s.Assign(self.text.place(node), targets, self.expression(node.value))

    def _annotated(self, node: ast.AnnAssign, in_loop: bool) -> s.Statement:
        if not isinstance(node.target, ast.Subscript):
            self.reject(node, "only the definition of a tensor states a shape: `name[i, j]: (m, n) = ...`")
        if node.value is None:
            self.reject(node, "a definition has a value: `name[i, j]: (m, n) = ...`", "syntax")
        if in_loop:
            self.reject(node, "a tensor is defined outside loops; inside, it is updated")
        return self._define(node, node.target, node.annotation, node.value)

    def _augmented(self, node: ast.AugAssign, in_loop: bool) -> s.Statement:
        op = _PUT.get(type(node.op))
        if op is None or not isinstance(node.target, ast.Subscript):
            known = ", ".join(f"`{symbol}`" for symbol in _PUT.values())
            self.reject(node, f"an update is one of {known} on `tensor[...]`")
        if not in_loop:
            self.reject(node, "an update stands inside `for`", "update")
        return self._put(node, node.target, op, node.value)

    def _define(
        self, node: ast.stmt, target: ast.Subscript, shape: ast.expr | None, value: ast.expr
    ) -> s.Statement:
        if self.static:
            self.reject(node, "`let:` binds static names; tensors are defined in `compute:`")
        member = None
        tensor = target.value
        if isinstance(tensor, ast.Subscript):
            member = self.expression(tensor.slice)
            tensor = tensor.value
        name = self.name(tensor, "the name of a tensor")
        indices = self._left(target)
        annotation = None if shape is None else self.expression(shape)
        return s.Define(self.text.place(target), name, member, indices, annotation, self.expression(value))

    def _left(self, target: ast.Subscript) -> tuple[s.Expression | s.Star, ...]:
        entries = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        for entry in entries:
            if isinstance(entry, ast.Slice):
                text = "an index on the left is a fresh name, `*name` or a static position"
                self.reject(entry, text, "index", "name the dim, as in `out[i, k] = x[i, k]`")
        return tuple(self.item(entry) for entry in entries)

    def _put(self, node: ast.stmt, target: ast.Subscript, op: str, value: ast.expr) -> s.Statement:
        name = self.name(target.value, "the name of a tensor")
        if op == "=" and isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            same = [other for other in value.args if _same(other, target)]
            if value.func.id in ("max", "min") and len(value.args) == 2 and len(same) == 1:
                op = value.func.id
                value = value.args[1 if value.args[0] is same[0] else 0]
        return s.Put(self.text.place(target), name, self._left(target), op, self.expression(value))

    def _for(self, node: ast.For, depth: int) -> s.Statement:
        if self.static:
            self.reject(node.target, "`let:` has no loops; write `tuple(... for ...)`")
        if node.orelse:
            self.reject(node.orelse[0], "the language does not have `for ... else`")
        targets, unpack = self.targets(node.target)
        iterable = self.expression(node.iter)
        body = self.block(node.body, depth + 1, in_loop=True)
        return s.For(self.text.place(node.target), targets, unpack, iterable, body)

    def _while(self, node: ast.While) -> s.Statement:
        if node.orelse:
            self.reject(node.orelse[0], "the language does not have `while ... else`")
        operands = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        limits = [each for each in operands if _is_limit(each)]
        rest = [each for each in operands if each not in limits]
        either = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or)
        if len(limits) != 1 or either:
            always = isinstance(node.test, ast.Constant) and node.test.value is True
            written = ast.unparse(node.test).replace(",]", "]")  # as Python writes `x[*i]`
            written = f"({written})" if isinstance(node.test, ast.BoolOp | ast.IfExp) else written
            condition = "" if always else f"{written} and "
            hint = f"write `while {condition}{AT_MOST}(100):`, with a number that is enough"
            text = (
                f"a `while` has a greatest number of steps, `{AT_MOST}(n)`, joined to its condition by `and`"
            )
            self.reject(node.test, text, "unbounded", None if limits else hint)
        (limit,) = limits
        assert isinstance(limit, ast.Call)
        if len(limit.args) != 1 or limit.keywords:
            self.reject(limit, f"`{AT_MOST}` takes one number of steps", "call")
        place = self.text.place(node.test)
        parts = tuple(self.expression(each) for each in rest)
        joined = s.Logic(place, "and", parts) if len(parts) > 1 else next(iter(parts), None)
        body = tuple(self._step(line) for line in node.body)
        return s.While(place, joined, self.expression(limit.args[0]), body)

    def _step(self, line: ast.stmt) -> s.Assign | s.Define:
        made = None
        if isinstance(line, ast.Assign) and not is_op_call(line.value):
            made = self._assign(line, in_loop=False)
        if isinstance(line, ast.AugAssign) and isinstance(line.target, ast.Subscript):
            hint = "write `x[i] = x[i] + ...`"
            self.reject(line, "a `while` holds definitions, no updates", hint=hint)
        if not isinstance(made, s.Assign | s.Define):
            instead = "write `x[i] = a if c else b`" if isinstance(line, ast.If) else None
            text = "a `while` holds definitions `x[i] = value` and lines `name = value`"
            self.reject(line, text, hint=instead)
        if isinstance(made, s.Assign) and len(made.targets) > 1:
            self.reject(line, "a line of a `while` names one value; write two lines")
        return made

    def _def(self, node: ast.FunctionDef, depth: int) -> s.Statement:
        if depth:
            hint = "write one `def`, whose value is `a if c else b`"
            self.reject(node, "a `def` stands at the top, not inside a statement", hint=hint)
        arguments = node.args
        plain = not (arguments.posonlyargs or arguments.kwonlyargs or arguments.kwarg or arguments.defaults)
        defaults = [value for value in (*arguments.defaults, *arguments.kw_defaults) if value is not None]
        if defaults:
            hint = "give the argument in every call, or write a second `def` that calls this one"
            self.reject(defaults[0], "a parameter of a `def` has no default", hint=hint)
        annotated = any(a.annotation for a in arguments.args) or node.returns is not None
        if not plain or annotated or node.decorator_list:
            self.reject(node, "a `def` has plain parameters and at most one `*name`")
        parameters = [s.Parameter(self.text.place(a), a.arg, False) for a in arguments.args]
        if arguments.vararg is not None:
            parameters.append(s.Parameter(self.text.place(arguments.vararg), arguments.vararg.arg, True))
        *lines, last = node.body
        if not isinstance(last, ast.Return) or last.value is None:
            self.reject(last, "a `def` ends in one `return value`", "syntax")
        local: list[s.Assign] = []
        for line in lines:
            made = self._assign(line, in_loop=True) if isinstance(line, ast.Assign) else None
            if not isinstance(made, s.Assign):
                instead = _INSTEAD_OF.get(type(line))
                self.reject(line, "a `def` holds `name = value` lines and one `return`", hint=instead)
            local.append(made)
        place = self.text.place(node)
        return s.Def(place, node.name, tuple(parameters), tuple(local), self.expression(last.value))


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds or defines."""
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    defined = {
        n.value for n in ast.walk(node) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
    }
    functions = {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef)}
    return stored | functions | {value.id for value in defined if isinstance(value, ast.Name)}


def _is_limit(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == AT_MOST


def _same(a: ast.AST, b: ast.Subscript) -> bool:
    """True if `a` is the subscript `b`, read."""
    return (
        isinstance(a, ast.Subscript)
        and ast.dump(a.value) == ast.dump(b.value)
        and ast.dump(a.slice) == ast.dump(b.slice)
    )
