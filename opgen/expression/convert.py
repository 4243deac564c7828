"""Python's syntax tree to the language's own.  What the language does not have is an error at its place."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NoReturn

from ..diagnostics import Diagnostics, Edit, Suggestion, did_you_mean
from . import syntax as s
from .text import Text
from .vocabulary import ATTRIBUTES, COMPREHENDING, LIBRARY, OPS, REDUCTIONS

_BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_UNARY: Final[dict[type[ast.unaryop], str]] = {ast.USub: "-", ast.Invert: "~", ast.Not: "not"}
_COMPARE: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not-in",
}  # fmt: skip
WHILE: Final = (
    "write `while x[i] > 1 and at_most(100):` at the top of `compute:`, around definitions of `x[i]`"
)
_INSTEAD: Final[dict[type[ast.AST], str]] = {
    ast.ListComp: "a list; write `tuple(... for ...)`",
    ast.SetComp: "a set; write `tuple(... for ...)`",
    ast.DictComp: "a dictionary",
    ast.List: "a list; write a tuple `(a, b)`",
    ast.Set: "a set; write a tuple `(a, b)`",
    ast.Dict: "a dictionary",
    ast.Lambda: "`lambda`; write a `def`",
    ast.JoinedStr: "a formatted text; join texts with `+`",
    ast.NamedExpr: "`:=`; write `name = ...` on a line of its own",
    ast.MatMult: "`@`; write `sum(a[i, k] * b[k, j] for k in range(K))`",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.GeneratorExp: "a generator on its own; it stands inside a reduction, `tuple(...)` or `next(...)`",
    ast.Import: "`import`",
    ast.ImportFrom: "`import`",
    ast.While: f"`while` here; {WHILE}",
    ast.Try: "`try`",
    ast.With: "`with`",
    ast.ClassDef: "`class`",
    ast.Delete: "`del`",
    ast.Raise: "`raise`",
    ast.Assert: "`assert`",
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.Pass: "`pass`",
    ast.Break: "`break`",
    ast.Continue: "`continue`",
    ast.Return: "`return` outside a `def`",
    ast.Match: "`match`",
}

_MODULES: Final = frozenset({"np", "numpy", "math", "torch", "jnp", "tf"})  # whose functions have our names


class Rejected(Exception):
    """The construct has been reported; whoever converts goes on with what follows it."""


class ExpressionConverter:
    """Converts expressions; every `reject` is a diagnostic."""

    # Names of methods: the methods themselves would hold the converter, which holds the text.
    _METHODS: Final[Mapping[type[ast.AST], str]] = {
        ast.Constant: "_constant",
        ast.Name: "_name",
        ast.Attribute: "_attribute",
        ast.Subscript: "_subscript",
        ast.Tuple: "_tuple",
        ast.UnaryOp: "_unary",
        ast.BinOp: "_binary",
        ast.Compare: "_compare",
        ast.BoolOp: "_logic",
        ast.IfExp: "_conditional",
        ast.Call: "_call",
    }

    def __init__(self, text: Text, diagnostics: Diagnostics) -> None:
        self.text = text
        self.diagnostics = diagnostics

    def reject(
        self, node: ast.AST, message: str, code: str = "not-in-language", hint: str | None = None
    ) -> NoReturn:
        self.diagnostics.error(code, message, self.text.place(node), hint)
        raise Rejected

    def unknown(self, node: ast.AST) -> NoReturn:
        what = _INSTEAD.get(type(node), f"this ({type(node).__name__})")
        self.reject(node, f"the language does not have {what}", hint=self._as_tuple(node))

    def _as_tuple(self, node: ast.AST) -> Suggestion | None:
        """How a list is written as a tuple."""
        if not isinstance(node, ast.List | ast.ListComp):
            return None
        place = self.text.place(node)
        begin, end = ("tuple(", ")") if isinstance(node, ast.ListComp) else ("(", ")")
        if (
            isinstance(node, ast.List)
            and len(node.elts) == 1
            and "," not in self.text.behind(node.elts[0], node)
        ):
            end = ",)"
        first = replace(place, end_line=place.line, end_column=place.column + 1)
        last = replace(place, line=place.end_line, column=place.end_column - 1)
        return Suggestion("", Edit(begin, place=first), Edit(end, place=last))

    def expression(self, node: ast.AST) -> s.Expression:
        method = self._METHODS.get(type(node))
        if method is None:
            self.unknown(node)
        converted: s.Expression = getattr(self, method)(node)
        return converted

    def item(self, node: ast.AST) -> s.Expression | s.Star:
        """An expression or `*expression`; `*(e for ...)` is `*tuple(e for ...)`."""
        if isinstance(node, ast.Starred):
            place = self.text.place(node)
            if isinstance(node.value, ast.GeneratorExp):
                function = s.Name(self.text.place(node.value), "tuple")
                return s.Star(place, self._tuple_of(node.value, function))
            return s.Star(place, self.expression(node.value))
        return self.expression(node)

    def name(self, node: ast.AST, what: str = "a name") -> s.Name:
        if not isinstance(node, ast.Name):
            self.reject(node, f"{what} is expected here", "syntax")
        if not node.id.isascii():
            self.reject(node, "names are made of ASCII letters, digits and `_`", "bad-name")
        return s.Name(self.text.place(node), node.id)

    def _target(self, node: ast.AST) -> s.Name:
        if isinstance(node, ast.Tuple | ast.List):
            hint = "give it a name, and take its entries with `name[0]`, `name[1]`"
            self.reject(node, "a tuple inside a tuple is not taken apart here", hint=hint)
        if isinstance(node, ast.Starred):
            hint = "give the whole a name, and take the rest with `name[1:]`"
            self.reject(node, "the rest of a tuple is not taken apart with `*` here", hint=hint)
        return self.name(node, "a fresh name")

    def targets(self, node: ast.AST) -> tuple[tuple[s.Name, ...], bool]:
        """The targets of a `for`, and whether each entry is unpacked."""
        if isinstance(node, ast.Tuple):
            return tuple(map(self._target, node.elts)), True
        return (self.name(node, "a fresh name"),), False

    # ---------------------------------------------------------------- one method a construct

    def _constant(self, node: ast.Constant) -> s.Expression:
        if node.value is not None and not isinstance(node.value, bool | int | float | str):
            self.reject(node, f"the language does not have {type(node.value).__name__} literals")
        return s.Literal(self.text.place(node), node.value)

    def _name(self, node: ast.Name) -> s.Expression:
        return self.name(node)

    def _attribute(self, node: ast.Attribute) -> s.Expression:
        if node.attr not in ATTRIBUTES:
            known = ", ".join(f"`.{name}`" for name in ATTRIBUTES)
            hint = did_you_mean(node.attr, ATTRIBUTES)
            self.reject(
                node,
                f"there is no `.{node.attr[:40]}`; the language has {known} and `.index(...)`",
                hint=hint,
            )
        return s.Attribute(self.text.place(node), self.expression(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> s.Expression:
        return s.Subscript(self.text.place(node), self.expression(node.value), self.indices(node.slice))

    def indices(self, node: ast.AST) -> tuple[s.Expression | s.Slice | s.Star, ...]:
        entries = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(self._index(entry) for entry in entries)

    def _index(self, node: ast.AST) -> s.Expression | s.Slice | s.Star:
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            lower, upper, step = (None if end is None else self.expression(end) for end in ends)
            return s.Slice(self.text.place(node), lower, upper, step)
        return self.item(node)

    def _tuple(self, node: ast.Tuple) -> s.Expression:
        return s.Tuple(self.text.place(node), tuple(self.item(item) for item in node.elts))

    def _unary(self, node: ast.UnaryOp) -> s.Expression:
        if isinstance(node.op, ast.UAdd):
            sign = self.text.place(node).start.until(self.text.place(node.operand))
            hint = Suggestion("", Edit("", before="+", place=sign))
            self.reject(node, "the language does not have unary `+`; leave it out", hint=hint)
        return s.Unary(self.text.place(node), _UNARY[type(node.op)], self.expression(node.operand))

    def _binary(self, node: ast.BinOp) -> s.Expression:
        op = _BINARY.get(type(node.op))
        if op is None:
            self.reject(node, f"the language does not have {_INSTEAD[type(node.op)]}")
        return s.Binary(self.text.place(node), op, self.expression(node.left), self.expression(node.right))

    def _compare(self, node: ast.Compare) -> s.Expression:
        rest: list[tuple[str, s.Expression | None]] = []
        for op, operand in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot):
                if not isinstance(operand, ast.Constant) or operand.value is not None or len(node.ops) > 1:
                    self.reject(node, "`is` only asks `is None` or `is not None`", hint=self._equal(node))
                rest.append(("is-none" if isinstance(op, ast.Is) else "is-not-none", None))
            else:
                rest.append((_COMPARE[type(op)], self.expression(operand)))
        return s.Compare(self.text.place(node), self.expression(node.left), tuple(rest))

    def _equal(self, node: ast.Compare) -> Suggestion:
        """How `a is b` and `a is not b` are written."""
        after, before = ("==", "is") if isinstance(node.ops[0], ast.Is) else ("!=", "is not")
        between = self.text.place(node.left).until(self.text.place(node.comparators[0]))
        edits = (Edit(after, before, between),) if len(node.ops) == 1 else ()
        return Suggestion("compare with `==`", *edits)

    def _logic(self, node: ast.BoolOp) -> s.Expression:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return s.Logic(self.text.place(node), op, tuple(self.expression(value) for value in node.values))

    def _conditional(self, node: ast.IfExp) -> s.Expression:
        parts = (self.expression(part) for part in (node.test, node.body, node.orelse))
        return s.Conditional(self.text.place(node), *parts)

    def op_call(self, node: ast.Call) -> s.OpCall:
        """A call for which `is_op_call` holds."""
        assert isinstance(node.func, ast.Attribute)
        whole = self.text.place(node.func)
        place = replace(whole, line=whole.end_line, column=whole.end_column - len(node.func.attr))
        attrs: list[tuple[s.Name, s.Expression]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                self.reject(node, "calls of ops do not have `**`")
            attrs.append((s.Name(self.text.place(keyword), keyword.arg), self.expression(keyword.value)))
        operands = tuple(self._op_operand(argument) for argument in node.args)
        return s.OpCall(self.text.place(node), s.Name(place, node.func.attr), operands, tuple(attrs))

    def _op_operand(self, node: ast.expr) -> s.Expression:
        if isinstance(node, ast.Call) and is_op_call(node):
            return self.op_call(node)
        if isinstance(node, ast.Tuple):
            items = tuple(
                self.item(item) if isinstance(item, ast.Starred) else self._op_operand(item)
                for item in node.elts
            )
            return s.Tuple(self.text.place(node), items)
        return self.expression(node)

    def _call(self, node: ast.Call) -> s.Expression:
        if is_op_call(node):
            hint = f"give its result a name on a line of its own in `compute:`, as in `y = {OPS}.softmax(x, axis=1)`"
            text = "a call of an op gives whole tensors; it is no part of an expression"
            self.reject(node, text, "op-call", hint)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "index":
            return self._index_of(node, node.func)
        if isinstance(node.func, ast.Attribute):
            text = (
                f"there is no method `.{node.func.attr[:40]}`; the language has functions, and `.index(...)`"
            )
            self.reject(node.func, text, hint=self._function_for(node, node.func))
        if type(node.func) in _INSTEAD:
            self.unknown(node.func)
        if not isinstance(node.func, ast.Name):
            self.reject(node.func, "only functions of the library and `def`s are called")
        if node.keywords:
            self.reject(node.keywords[0], "arguments have no names; give them in order")
        function = self.name(node.func)
        if node.args and isinstance(node.args[0], ast.GeneratorExp):
            return self._comprehension(node, function, node.args[0])
        return s.Call(self.text.place(node), function, tuple(self.item(item) for item in node.args))

    def _function_for(self, call: ast.Call, method: ast.Attribute) -> str | None:
        """What to write for a method or a function of a module, such as `x.astype(...)` or `np.exp(...)`."""
        name, place, of = method.attr, self.text.place(call), self.text.place(method.value)
        if name == "astype":
            if len(call.args) != 1 or call.keywords:
                return "write `cast(x, dtype)`"
            comma = Edit(", ", ".astype(", of.until(self.text.place(call.args[0])))
            return Suggestion("write `cast(x, dtype)`", Edit("cast(", place=place.start), comma)
        if name in REDUCTIONS:
            return f"write `{name}(x[*k] for k in ndindex(x.shape))`"
        if name not in LIBRARY:
            near = did_you_mean(name, LIBRARY)
            return None if near is None else str(near)  # a function is no method
        text = f"write `{name}(...)`"
        if not isinstance(method.value, ast.Name) or method.value.id not in _MODULES:
            return text
        return Suggestion(text, Edit(name, place=self.text.place(method)))

    def _index_of(self, node: ast.Call, function: ast.Attribute) -> s.Expression:
        if len(node.args) != 1 or node.keywords:
            self.reject(node, "`.index` takes one value", "call")
        return s.IndexOf(
            self.text.place(node), self.expression(function.value), self.expression(node.args[0])
        )

    def _comprehension(self, node: ast.Call, function: s.Name, generator: ast.GeneratorExp) -> s.Expression:
        if function.name not in COMPREHENDING:
            known = ", ".join(f"`{name}`" for name in sorted(COMPREHENDING))
            self.reject(node, f"a comprehension stands inside one of {known}, not `{function.name[:40]}`")
        wanted = 2 if function.name == "next" else 1
        if len(node.args) != wanted:
            text = (
                "`next` takes a comprehension and a default"
                if wanted == 2
                else f"`{function.name}` takes one comprehension"
            )
            self.reject(node, text, "call")
        clauses = self._clauses(generator)
        default = self.expression(node.args[1]) if wanted == 2 else None
        return s.Comprehension(
            self.text.place(node), function, self.expression(generator.elt), clauses, default
        )

    def _tuple_of(self, node: ast.GeneratorExp, function: s.Name) -> s.Comprehension:
        return s.Comprehension(
            self.text.place(node), function, self.expression(node.elt), self._clauses(node), None
        )

    def _clauses(self, node: ast.GeneratorExp) -> tuple[s.Clause, ...]:
        return tuple(self._clause(clause) for clause in node.generators)

    def _clause(self, node: ast.comprehension) -> s.Clause:
        if node.is_async:
            self.reject(node.target, "the language does not have `async`")
        targets, unpack = self.targets(node.target)
        iterable = self.expression(node.iter)
        conditions = tuple(self.expression(condition) for condition in node.ifs)
        return s.Clause(self.text.place(node.target), targets, unpack, iterable, conditions)


def is_op_call(node: ast.AST) -> bool:
    """True of `ops.name(...)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == OPS
    )
