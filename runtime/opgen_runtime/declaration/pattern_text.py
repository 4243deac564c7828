"""Parses the text of a rewrite rule: into patterns, and Python expressions over what they capture.

    match:    divide(?x, ?c: constant)       a pattern (`patterns.py`)
    when:     is_exact_reciprocal(c)         Python over values: arrays of constants, types of tensors, attrs, `out`
    replace:  multiply(?x, 1 / c)            calls of ops over what was captured, and constants of values

Of Python there are operators, comparisons, conditions, indices, tuples, fields of types, and the functions of
`rule_functions.py`; nothing else can be written, so that a text can do nothing but compute.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Final

from ..base.errors import PassError, did_you_mean
from ..base.vocabulary import dataclass
from .patterns import (
    CONSTANT,
    KNOWN,
    Apply,
    Capture,
    Fields,
    Literal,
    Pattern,
    Rest,
    apply,
    capture,
    fields,
    form,
    rest,
)
from .rule_functions import FUNCTIONS

_CAPTURE: Final = re.compile(r"\?([A-Za-z_]\w*)(?:\s*:\s*([a-z]\w*))?")
_MARK: Final = "__capture"
_MAX_CHARACTERS: Final = 2000
_FORM: Final = "form"
_SYMBOLS: Final[Mapping[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "add"),
    ast.Sub: ("-", "sub"),
    ast.Mult: ("*", "mul"),
    ast.Div: ("/", "div"),
    ast.FloorDiv: ("//", "floordiv"),
    ast.Mod: ("%", "floormod"),
    ast.BitAnd: ("&", "and"),
    ast.BitOr: ("|", "or"),
    ast.BitXor: ("^", "xor"),
    ast.LShift: ("<<", "shl"),
    ast.RShift: (">>", "shr"),
}
_FIELDS: Final = frozenset(
    {
        "dtype",
        "shape",
        "ndim",
        "is_static",
        "is_float",
        "is_int",
        "is_bool",
        "is_signed",
        "is_storage",
        "bits",
        "size",
    }
)
_VALUES: Final = (
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Invert, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.Div, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Compare, ast.Eq, ast.NotEq, ast.Lt,
    ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.IfExp, ast.Subscript, ast.Slice, ast.Tuple,
    ast.Constant, ast.Load, ast.Name, ast.Call, ast.Attribute,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleSyntax:
    """A rule, read.  `when` and `replace` are expressions over the parameters `takes`, `_p` and `_f`.

    `_p` is `transform.pattern`, `_f` holds FUNCTIONS.
    """

    match: Apply
    when: ast.expr | None
    replace: ast.expr
    takes: tuple[str, ...]
    is_operand: bool  # whether what stands there is something captured, and nothing new

    def names(self, expr: ast.expr) -> list[str]:
        """The parameters that an expression reads, in their order."""
        read = {node.id for node in ast.walk(expr) if isinstance(node, ast.Name)}
        return [name for name in self.takes if name in read]


def parse_rule(match: str, replace: str, when: str = "", options: Collection[str] = ()) -> RuleSyntax:
    """A rule of its texts.  Raises PassError, which names the text and what is wrong with it."""
    pattern = _Patterns(match).pattern(_tree("match", match))
    if not isinstance(pattern, Apply):
        raise PassError(f"match: {match}: expected a call of an op, or an operator")
    captured = _captured(pattern)
    values = _Values(captured, options)
    condition = values.value("when", _tree("when", when)) if when else None
    tree = _tree("replace", replace)
    takes = (*captured, "out", *options)
    return RuleSyntax(pattern, condition, values.operand(tree), takes, _marked(tree) is not None)


def parse_pattern(text: str) -> Apply:
    """The pattern that a text states.  Raises PassError."""
    found = _Patterns(text).pattern(_tree("match", text))
    if not isinstance(found, Apply):
        raise PassError(f"match: {text}: expected a call of an op, or an operator")
    return found


def pattern_text(node: Pattern | Rest | Literal) -> str:
    """What makes a pattern, as Python over `_p`."""
    match node:
        case Capture(name, kind):
            return f"_p.capture({name!r}{f', {kind!r}' if kind else ''})"
        case Rest(name):
            return f"_p.rest({name!r})"
        case Literal(value):
            return f"_p.literal({value!r})"
        case Fields(parts):
            return f"_p.fields({', '.join(map(pattern_text, parts))})"
        case Apply(name, args, attrs, is_form):
            named = [f"{attr}={pattern_text(value)}" for attr, value in attrs]
            listed = ", ".join([repr(name), *map(pattern_text, args), *named])
            return f"_p.{_FORM if is_form else 'apply'}({listed})"


def _tree(what: str, text: str) -> ast.expr:
    if len(text) > _MAX_CHARACTERS or _MARK in text:
        raise PassError(f"{what}: {text[:60]}...: at most {_MAX_CHARACTERS} characters, without {_MARK}")
    marked = _CAPTURE.sub(lambda found: f"{_MARK}({found[1]!r}, {found[2] or ''!r})", text.strip())
    try:
        return ast.parse(marked, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deep"
        raise PassError(f"{what}: {text}: {reason}") from None


def _marked(node: ast.expr) -> tuple[str, str] | None:
    """(name, kind) of what a `?name: kind` became."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _MARK:
        name, kind = (arg.value for arg in node.args if isinstance(arg, ast.Constant))
        return str(name), str(kind)
    return None


def _dotted(node: ast.expr) -> str | None:
    """The name that an expression is, with its dots."""
    if isinstance(node, ast.Name):
        return node.id
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if before is None or not isinstance(node, ast.Attribute) else f"{before}.{node.attr}"


class _Patterns:
    """The pattern of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, why: str) -> PassError:
        return PassError(f"match: {self.text}: {why}")

    def pattern(self, node: ast.expr) -> Pattern:
        marked = _marked(node)
        if marked is not None:
            return capture(*marked)
        if isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS:
            return form(_SYMBOLS[type(node.op)][1], self.pattern(node.left), self.pattern(node.right))
        if isinstance(node, ast.Tuple):
            return fields(*[self.part(each) for each in node.elts])
        name = _dotted(node.func) if isinstance(node, ast.Call) else None
        if name is None:
            raise self.fail(
                f"{ast.unparse(node)} is no pattern: expected ?name, a call of an op, an operator, a tuple"
            )
        assert isinstance(node, ast.Call)
        args = [self.pattern(arg) for arg in node.args]
        attrs = {str(each.arg): self.attr(each.value) for each in node.keywords if each.arg is not None}
        space, _, rest_ = name.partition(".")
        return form(rest_, *args, **attrs) if space == _FORM and rest_ else apply(name, *args, **attrs)

    def part(self, node: ast.expr) -> Pattern | Rest:
        marked = _marked(node.value) if isinstance(node, ast.Starred) else None
        return self.pattern(node) if marked is None else rest(marked[0])

    def attr(self, node: ast.expr) -> Capture | Literal:
        marked = _marked(node)
        if marked is not None:
            return capture(marked[0])
        try:
            return Literal(ast.literal_eval(node))
        except ValueError:
            raise self.fail(f"{ast.unparse(node)}: an attr is a literal, or captured by ?name") from None


def _captured(pattern: Pattern) -> dict[str, str]:
    """Name -> how a value is read of it, in the order in which they stand.

    Raises PassError for a name that is both an operand and an attr.
    """
    found: dict[str, str] = {}

    def add(name: str, kind: str) -> None:
        if not name.isidentifier() or name in ("out", _FORM) or name in FUNCTIONS:
            raise PassError(f"?{name}: the name has a meaning of its own; choose another")
        if found.setdefault(name, kind) != kind:
            raise PassError(f"?{name} is of one kind in every place; state that kind once more")

    def visit(node: Pattern | Rest) -> None:
        match node:
            case Capture(name, kind):
                add(name, kind if kind in (CONSTANT, KNOWN) else "tensor")
            case Rest(name):
                add(name, "rest")
            case Fields(parts):
                for part in parts:
                    visit(part)
            case Apply(_, args, attrs, _):
                for arg in args:
                    visit(arg)
                for _, value in attrs:
                    if isinstance(value, Capture):
                        add(value.name, "attr")

    visit(pattern)
    return found


class _Values:
    """Python of conditions and replacements."""

    def __init__(self, captured: Mapping[str, str], options: Collection[str]) -> None:
        self.captured = captured
        self.options = options

    def value(self, what: str, node: ast.expr) -> ast.expr:
        """A value: of arrays, types, attrs, options."""
        for part in ast.walk(node):
            self.check(what, part)
        return _Names(self).visit(node)  # type: ignore[no-any-return]

    def check(self, what: str, part: ast.AST) -> None:
        if not isinstance(part, _VALUES) or _is_marked(part):
            shown = ast.unparse(part) if isinstance(part, ast.expr) else type(part).__name__
            raise PassError(f"{what}: {_shown(shown)} cannot be written in a value")
        if isinstance(part, ast.Attribute) and part.attr not in _FIELDS:
            raise PassError(f"{what}: .{part.attr}: the fields are {', '.join(sorted(_FIELDS))}")
        if isinstance(part, ast.Call):
            name = part.func.id if isinstance(part.func, ast.Name) else ast.unparse(part.func)
            if name not in FUNCTIONS or part.keywords:
                raise PassError(f"{what}: there is no function {name}{did_you_mean(name, FUNCTIONS)}")
        elif isinstance(part, ast.Name):
            known = (*self.captured, "out", *self.options)
            if part.id not in known and part.id not in FUNCTIONS:
                raise PassError(f"{what}: nothing is called {part.id}{did_you_mean(part.id, known)}")

    def operand(self, node: ast.expr) -> ast.expr:
        """An expression of the graph."""
        marked = _marked(node)
        if marked is not None:
            if self.captured.get(marked[0]) in (None, "attr", "rest") or marked[1]:
                raise PassError(f"replace: ?{marked[0]} is no operand that `match` captures")
            return ast.Name(marked[0], ast.Load())
        if isinstance(node, ast.Tuple):
            return _made("tuple_", [self.field(each) for each in node.elts])
        if isinstance(node, ast.BinOp) and _has_operands(node) and type(node.op) in _SYMBOLS:
            symbol = ast.Constant(_SYMBOLS[type(node.op)][0])
            return _made("operator", [symbol, self.operand(node.left), self.operand(node.right)])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _has_operands(node):
            return _made("operator", [ast.Constant("unary -"), self.operand(node.operand)])
        name = _dotted(node.func) if isinstance(node, ast.Call) else None
        if name is None or not (name not in FUNCTIONS or _has_operands(node)):
            return _made("value", [self.value("replace", node), ast.Name("out", ast.Load())])
        assert isinstance(node, ast.Call)
        attrs = [ast.keyword(each.arg, self.value("replace", each.value)) for each in node.keywords]
        made = _made("call", [ast.Constant(name), *[self.operand(arg) for arg in node.args]])
        made.keywords = [*attrs, ast.keyword("out", ast.Name("out", ast.Load()))]
        return made

    def field(self, node: ast.expr) -> ast.expr:
        marked = _marked(node.value) if isinstance(node, ast.Starred) else None
        if marked is None:
            return self.operand(node)
        if self.captured.get(marked[0]) != "rest":
            raise PassError(f"replace: *?{marked[0]} is no part of a tuple that `match` captures")
        return ast.Starred(ast.Name(marked[0], ast.Load()), ast.Load())


class _Names(ast.NodeTransformer):
    """What the names of a value stand for."""

    def __init__(self, values: _Values) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        kind = "tensor" if node.id == "out" else self.values.captured.get(node.id, "")
        if kind == "tensor":
            return ast.Attribute(node, "checked_type", ast.Load())
        if kind == CONSTANT:
            return ast.Attribute(node, "data", ast.Load())
        if kind == KNOWN:
            return _made("elements", [node])
        if not kind and node.id in FUNCTIONS:
            return ast.Attribute(ast.Name("_f", ast.Load()), node.id, ast.Load())
        return node


def _made(function: str, args: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("_p", ast.Load()), function, ast.Load()), args, [])


def _is_marked(part: ast.AST) -> bool:
    return isinstance(part, ast.Call) and _marked(part) is not None


def _has_operands(node: ast.expr) -> bool:
    """Whether an expression is one of the graph, and not a value."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return any([_is_marked(part) or _dotted(part.func) not in FUNCTIONS for part in calls])


def _shown(text: str) -> str:
    return re.sub(rf"{_MARK}\('(\w+)', ''\)", r"?\1", text)
