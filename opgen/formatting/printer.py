"""Expressions and statements of Python's `ast`, as documents and as text.

The printer covers what generated code is made of (see `_EXPRESSIONS` and `_STATEMENTS`); anything else is a
TypeError, which is a bug of ours: the checker admits nothing that cannot be printed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from .document import (
    SOFT,
    SPACE,
    WIDTH,
    Broken,
    Document,
    Group,
    Indent,
    Short,
    bracketed,
    flat,
    head,
    join,
    render,
)
from .literal import constant_text, quote

_SHORT: Final = 60  # columns of an argument that may share its line
_SHORT_CALL: Final = 36  # likewise, of one with a call in it

# Binding strength: the higher binds tighter.
_TUPLE, _LAMBDA, _IF, _OR, _AND, _NOT, _COMPARE, _BITOR = range(8)
_BITXOR, _BITAND, _SHIFT, _SUM, _TERM, _UNARY, _POWER, _ATOM = range(8, 16)
BINARY: Final[dict[type[ast.operator], tuple[str, int]]] = {
    ast.Add: ("+", _SUM), ast.Sub: ("-", _SUM), ast.Mult: ("*", _TERM), ast.Div: ("/", _TERM),
    ast.FloorDiv: ("//", _TERM), ast.Mod: ("%", _TERM), ast.MatMult: ("@", _TERM), ast.Pow: ("**", _POWER),
    ast.LShift: ("<<", _SHIFT), ast.RShift: (">>", _SHIFT),
    ast.BitAnd: ("&", _BITAND), ast.BitXor: ("^", _BITXOR), ast.BitOr: ("|", _BITOR),
}  # fmt: skip
_UNARY_TEXT: Final[dict[type[ast.unaryop], str]] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def expression_text(node: ast.expr, *, column: int = 0, indent: int = 0, width: int | None = WIDTH) -> str:
    """The text of an expression that starts at `column`; later lines are indented from `indent`.

    Without a width it is one line.
    """
    return render(value(node), column=column, indent=indent, width=width)


# Outside brackets they are not broken.
_OPEN: Final = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.UnaryOp, ast.Lambda, ast.Constant)


def value(node: ast.expr) -> Document:
    """An expression that is not inside brackets: it gets parentheses where it must break outside its own."""
    text = _expression(node, _TUPLE)
    if isinstance(node, _OPEN):
        return Group((Broken("("), Indent((SOFT, text)), SOFT, Broken(")")))
    return text


def expression(node: ast.expr) -> Document:
    """The document of an expression inside brackets."""
    return _expression(node, _LAMBDA)


def _expression(node: ast.expr, strength: int) -> Document:
    """The document of `node`, in parentheses where it binds weaker than `strength`."""
    try:
        printer = _EXPRESSIONS[type(node)]
    except KeyError:
        raise TypeError(f"cannot print an expression of kind {type(node).__name__}") from None
    own, document = printer(node)
    return document if own >= strength else ("(", document, ")")


Printed = tuple[int, Document]


def _constant(node: ast.Constant) -> Printed:
    if isinstance(node.value, str):
        return _ATOM, _string(node.value)
    text = constant_text(node.value)
    return (_UNARY if text.startswith("-") else _ATOM), text


def _string(value: str) -> Document:
    """A string; a long one is broken at spaces into literals that Python joins."""
    if len(value) <= 60:
        return quote(value)
    pieces: list[str] = []
    for word in value.split(" "):
        if pieces and len(pieces[-1]) + len(word) < 84:
            pieces[-1] += " " + word
        else:
            if pieces:
                pieces[-1] += " "
            pieces.append(word)
    if len(pieces) == 1:
        return quote(value)
    parts: list[Document] = [quote(piece)[1:-1] for piece in pieces]
    body = join((Broken('"'), SOFT, Broken('"')), parts)
    return Group((Broken("("), Indent((SOFT, '"', body, '"')), SOFT, Broken(")")))


def _unary(node: ast.UnaryOp) -> Printed:
    if isinstance(node.op, ast.Not):
        return _NOT, ("not ", _expression(node.operand, _NOT))
    operand = _expression(node.operand, _UNARY)
    if isinstance(node.operand, ast.UnaryOp | ast.Constant) and _is_negative(node.operand):
        operand = ("(", operand, ")")
    return _UNARY, (_UNARY_TEXT[type(node.op)], operand)


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) or (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and constant_text(node.value)[0] == "-"
    )


def _binary(node: ast.BinOp) -> Printed:
    symbol, strength = BINARY[type(node.op)]
    if strength == _POWER:  # binds to the right, and tighter than a unary minus on its left only
        return strength, (_expression(node.left, _ATOM), " ** ", _expression(node.right, _UNARY))
    # A chain of one strength is one group, so that it breaks before each of its operators.
    parts: list[Document] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and BINARY[type(left.op)][1] == strength:
        symbol = BINARY[type(left.op)][0]
        parts.append((SPACE, symbol, " ", _expression(left.right, strength + 1)))
        left = left.left
    parts.append(_expression(left, strength))
    return strength, Group(tuple(reversed(parts)))


def _boolean(node: ast.BoolOp) -> Printed:
    word, strength = ("or", _OR) if isinstance(node.op, ast.Or) else ("and", _AND)
    parts = [_expression(value, strength + 1) for value in node.values]
    return strength, Group(join((SPACE, word, " "), parts))


def _compare(node: ast.Compare) -> Printed:
    parts: list[Document] = [_expression(node.left, _BITOR)]
    for operator, right in zip(node.ops, node.comparators, strict=True):
        parts.append((" ", _COMPARISONS[type(operator)], " ", _expression(right, _BITOR)))
    return _COMPARE, tuple(parts)


def _conditional(node: ast.IfExp) -> Printed:
    body, test = _expression(node.body, _OR), _expression(node.test, _OR)
    return _IF, Group((body, SPACE, "if ", test, SPACE, "else ", _expression(node.orelse, _IF)))


def _lambda(node: ast.Lambda) -> Printed:
    names = parameters(node.args)
    head: Document = ("lambda ", join(", ", names), ": ") if names else "lambda: "
    return _LAMBDA, (head, _expression(node.body, _LAMBDA))


def _call(node: ast.Call) -> Printed:
    function = _expression(node.func, _ATOM)
    if len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.GeneratorExp):
        return _ATOM, (function, _comprehension("(", node.args[0].elt, node.args[0].generators, ")"))
    if len(node.args) == 1 and not node.keywords and _closes(node.args[0]):
        inner = _expression(node.args[0], _LAMBDA)
        if head(inner) <= _SHORT:
            return _ATOM, (function, "(", inner, ")")
    parts = _parts(node.args)
    for keyword in node.keywords:
        named: Document = (keyword.arg + "=" if keyword.arg else "**", _expression(keyword.value, _LAMBDA))
        parts.append(_part(keyword.value, named))
    return _ATOM, (function, bracketed("(", parts, ")"))


def _closes(node: ast.expr) -> bool:
    """Whether a sole argument can break inside its own last brackets, so that the call's need not break."""
    match node:
        case ast.Call(args=arguments, keywords=keywords):
            return bool(arguments or keywords)
        case ast.Lambda(body=body):
            return _closes(body)
        case ast.Starred(value=inner):
            return _closes(inner)
    return isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1


def _parts(nodes: Sequence[ast.expr]) -> list[Document | Short]:
    return [_part(node, _expression(node, _LAMBDA)) for node in nodes]


def _part(node: ast.expr, document: Document) -> Document | Short:
    """An argument or an element, which may share a line if it is plain and short."""
    length = len(flat(document))
    if length > _SHORT or not _is_plain(node, calls=length <= _SHORT_CALL):
        return document
    return Short(document)


def _is_plain(node: ast.AST, calls: bool = False) -> bool:
    """Whether an argument is made of names and literals alone, with `calls` of calls too."""
    kind = type(node)
    if kind in _LEAVES:
        return True
    if kind in _NEVER_PLAIN:
        return False
    if isinstance(node, ast.Call) and (not calls or node.keywords):
        return False
    if isinstance(node, ast.Lambda):
        return not _has_parameters(node.args) and _is_plain(node.body, calls)
    return _are_plain(node, calls)


_LEAVES: Final = frozenset({ast.Name, ast.Constant, ast.Load})
_NEVER_PLAIN: Final = frozenset({ast.BoolOp, ast.IfExp, ast.comprehension, ast.keyword})


def _has_parameters(given: ast.arguments) -> bool:
    return bool(given.posonlyargs or given.args or given.vararg or given.kwonlyargs or given.kwarg)


def _are_plain(node: ast.AST, calls: bool) -> bool:
    return all([_is_plain(each, calls) for each in ast.iter_child_nodes(node)])


def _attribute(node: ast.Attribute) -> Printed:
    value = _expression(node.value, _ATOM)
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, int):
        value = ("(", value, ")")
    return _ATOM, (value, "." + node.attr)


def _subscript(node: ast.Subscript) -> Printed:
    if isinstance(node.slice, ast.Tuple) and node.slice.elts:
        parts = _parts(node.slice.elts)
        if len(parts) == 1 and not isinstance(node.slice.elts[0], ast.Starred):
            parts = [(_expression(node.slice.elts[0], _LAMBDA), ",")]
        return _ATOM, (_expression(node.value, _ATOM), bracketed("[", parts, "]", comma=False))
    return _ATOM, (_expression(node.value, _ATOM), "[", _expression(node.slice, _LAMBDA), "]")


def _slice(node: ast.Slice) -> Printed:
    lower = _expression(node.lower, _IF) if node.lower else ""
    upper = _expression(node.upper, _IF) if node.upper else ""
    step = (":", _expression(node.step, _IF)) if node.step else ""
    return _ATOM, (lower, ":", upper, step)


def _tuple(node: ast.Tuple) -> Printed:
    if len(node.elts) == 1:
        return _ATOM, Group(("(", Indent((SOFT, _expression(node.elts[0], _LAMBDA), ",")), SOFT, ")"))
    return _ATOM, bracketed("(", _parts(node.elts), ")")


def _list(node: ast.List) -> Printed:
    return _ATOM, bracketed("[", _parts(node.elts), "]")


def _set(node: ast.Set) -> Printed:
    return _ATOM, bracketed("{", _parts(node.elts), "}")


def _dict(node: ast.Dict) -> Printed:
    parts: list[Document | Short] = []
    for key, value in zip(node.keys, node.values, strict=True):
        text = _expression(value, _LAMBDA)
        entry: Document = (_expression(key, _LAMBDA), ": ", text) if key is not None else ("**", text)
        parts.append(_part(value, entry))
    return _ATOM, bracketed("{", parts, "}")


def _comprehension(
    opening: str, element: ast.expr, clauses: list[ast.comprehension], closing: str
) -> Document:
    parts: list[Document] = [_expression(element, _LAMBDA)]
    for clause in clauses:
        over = _expression(clause.iter, _OR)
        parts.append((SPACE, "for ", target(clause.target), " in ", over))
        parts.extend((SPACE, "if ", _expression(test, _OR)) for test in clause.ifs)
    return Group((opening, Indent((SOFT, *parts)), SOFT, closing))


def target(node: ast.expr) -> Document:
    """A loop target or the left side of an assignment: a tuple stands without parentheses."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return join(", ", [_expression(each, _LAMBDA) for each in node.elts])
    return _expression(node, _TUPLE)


def parameters(arguments: ast.arguments) -> list[Document]:
    """Parameters with annotations and defaults, in the order of Python's grammar."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    defaults += arguments.defaults
    parts: list[Document] = []
    for index, (parameter, default) in enumerate(zip(plain, defaults, strict=True)):
        parts.append(_parameter(parameter, default))
        if arguments.posonlyargs and index == len(arguments.posonlyargs) - 1:
            parts.append("/")
    if arguments.vararg:
        parts.append(("*", _parameter(arguments.vararg, None)))
    elif arguments.kwonlyargs:
        parts.append("*")
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append(_parameter(parameter, default))
    if arguments.kwarg:
        parts.append(("**", _parameter(arguments.kwarg, None)))
    return parts


def _parameter(parameter: ast.arg, default: ast.expr | None) -> Document:
    text: Document = parameter.arg
    if parameter.annotation is not None:
        text = (text, ": ", _expression(parameter.annotation, _LAMBDA))
    if default is None:
        return text
    equals = " = " if parameter.annotation is not None else "="
    return (text, equals, _expression(default, _LAMBDA))


_EXPRESSIONS: Final[dict[type[ast.expr], Callable[[Any], Printed]]] = {
    ast.Constant: _constant,
    ast.Name: lambda node: (_ATOM, node.id),
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Starred: lambda node: (_LAMBDA, ("*", _expression(node.value, _BITOR))),
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.GeneratorExp: lambda node: (_ATOM, _comprehension("(", node.elt, node.generators, ")")),
    ast.ListComp: lambda node: (_ATOM, _comprehension("[", node.elt, node.generators, "]")),
    ast.SetComp: lambda node: (_ATOM, _comprehension("{", node.elt, node.generators, "}")),
}
