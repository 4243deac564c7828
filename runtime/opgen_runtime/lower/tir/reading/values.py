"""Values in kernels that are Python functions: expressions of Python's syntax as those of loop IR."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from ....base.arith import call, const, eq, ge, gt, le, logical_not, lt, maximum, minimum, ne, select
from ....base.arith.expr import Expr
from ....base.contract import handed_in
from ....base.errors import ParseError, did_you_mean
from ....base.vocabulary import BOOL, INDEX
from ..nodes.stmt import Buffer, Load, Store
from .words import LOOPS, allocate

BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert,
}  # fmt: skip
_COMPARISONS: Final[dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]]] = {
    ast.Lt: (operator.lt, lt), ast.LtE: (operator.le, le), ast.Gt: (operator.gt, gt), ast.GtE: (operator.ge, ge),
    ast.Eq: (operator.eq, eq), ast.NotEq: (operator.ne, ne),
}  # fmt: skip
_FUNCTIONS: Final[dict[object, Callable[..., Any]]] = {
    min: lambda *values: _folded(minimum, values),
    max: lambda *values: _folded(maximum, values),
    abs: lambda value: call("abs", value),
}
"""Functions of Python and what they are of expressions."""


def _folded(function: Callable[[Any, Any], Expr], values: tuple[Any, ...]) -> Any:
    found = values[0]
    for value in values[1:]:
        found = function(found, value)
    return found


class ValueReader:
    """Reads values over the names in scope, and over what the function sees from outside, which is constant."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self.file = file
        self.scope: dict[str, object] = {}  # vars and buffers, and constants of Python
        self.accesses: list[tuple[Load | Store, ast.AST]] = []  # with the nodes that they were read from
        self._inside = set(function.__code__.co_varnames)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._closure = {name: cell for name, cell in cells}
        self._globals = function.__globals__
        self._readers: dict[type[ast.expr], Callable[[Any], object]] = {
            ast.Constant: lambda node: node.value,
            ast.Name: self._name,
            ast.Tuple: lambda node: tuple([self.value(each) for each in node.elts]),
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.Call: self._call,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._joined,
            ast.Compare: self._compare,
            ast.IfExp: self._choice,
        }

    # ------------------------------------------------------------------ what statements ask for

    def error(self, node: ast.AST, message: str) -> ParseError:
        """A ParseError at a node."""
        return ParseError(f"{self.place(node)}: {message}")

    def place(self, node: ast.AST) -> str:
        """`file:line:column` of a node, both from 1."""
        return f"{self.file}:{getattr(node, 'lineno', 1)}:{getattr(node, 'col_offset', 0) + 1}"

    def value(self, node: ast.expr) -> object:
        """What an expression is: one of loop IR, a buffer, or something of Python."""
        reader = self._readers.get(type(node))
        if reader is None:
            raise self.error(node, f"a kernel has no {type(node).__name__}; found `{ast.unparse(node)}`")
        return reader(node)

    def expr(self, node: ast.expr, what: str) -> Expr:
        """An expression of loop IR; ints and bools of Python become literals."""
        found = self.value(node)
        if isinstance(found, bool):
            return const(found, BOOL)
        if isinstance(found, int):
            with handed_in(self.place(node), ParseError):
                return const(found, INDEX)
        if not isinstance(found, Expr):
            raise self.error(node, f"{what} is a value, found `{ast.unparse(node)}`, which is {found!r:.80}")
        return found

    def index(self, node: ast.expr, what: str) -> Expr:
        """An expression of dtype index."""
        found = self.expr(node, what)
        if found.dtype is not INDEX:
            raise self.error(node, f'{what} is of dtype index, found {found.dtype}; x.astype("index")')
        return found

    def condition(self, node: ast.expr) -> bool | Expr:
        """A bool, which is known now or not."""
        found = self.value(node)
        if isinstance(found, bool) or (isinstance(found, Expr) and found.dtype is BOOL):
            return found
        kind = found.dtype if isinstance(found, Expr) else type(found).__name__
        raise self.error(node, f"a condition is a bool, found {kind}: `{ast.unparse(node)}`")

    def access(self, node: ast.Subscript) -> tuple[Buffer, tuple[Expr, ...]]:
        """`x[i, j]` of a buffer."""
        buffer = self.value(node.value)
        if not isinstance(buffer, Buffer):
            raise self.error(node, f"`{ast.unparse(node.value)}` is no buffer")
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(given) != len(buffer.shape):
            raise self.error(
                node, f"buffer {buffer.name} has {len(buffer.shape)} dims, found {len(given)} indices"
            )
        return buffer, tuple([self.index(each, "an index") for each in given])

    def load(self, node: ast.AST, buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
        """The element of a buffer that is read at a node."""
        made = Load(buffer.dtype, buffer, indices)
        self.accesses.append((made, node))
        return made

    # ------------------------------------------------------------------ one method a form

    def _name(self, node: ast.Name) -> object:
        if node.id in self.scope:
            return self.scope[node.id]
        if node.id not in self._inside:
            if node.id in self._closure:
                with handed_in(self.place(node), ParseError):
                    return self._closure[node.id].cell_contents
            if node.id in self._globals:
                return self._globals[node.id]
            if hasattr(builtins, node.id):
                return getattr(builtins, node.id)
        raise self.error(node, f"{node.id} is not defined here{did_you_mean(node.id, self.scope)}")

    def _attribute(self, node: ast.Attribute) -> object:
        owner = self.value(node.value)
        with handed_in(self.place(node), ParseError):
            return getattr(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> object:
        owner = self.value(node.value)
        if isinstance(owner, Buffer):
            return self.load(node, *self.access(node))
        position = self.value(node.slice)
        if isinstance(position, Expr):
            raise self.error(node, f"`{ast.unparse(node.value)}` is no buffer, and read at {position}")
        with handed_in(self.place(node), ParseError):
            return owner[position]  # type: ignore[index]  # of Python, which says what it is not

    def _call(self, node: ast.Call) -> object:
        function = self.value(node.func)
        if function is allocate or any(function is each for each in LOOPS):
            raise self.error(node, f"`{ast.unparse(node.func)}` makes no value")
        args = [self.value(each) for each in node.args]
        named = {str(each.arg): self.value(each.value) for each in node.keywords}
        if any(isinstance(each, Expr) for each in args):
            function = next((made for each, made in _FUNCTIONS.items() if each is function), function)
        with handed_in(f"{self.place(node)}: {ast.unparse(node.func)}", ParseError):
            return function(*args, **named)  # type: ignore[operator]  # of Python, which says what it is not

    def _binary(self, node: ast.BinOp) -> object:
        a, b = self.value(node.left), self.value(node.right)
        with handed_in(self.place(node), ParseError):
            return BINARY[type(node.op)](a, b)

    def _unary(self, node: ast.UnaryOp) -> object:
        a = self.value(node.operand)
        with handed_in(self.place(node), ParseError):
            if isinstance(node.op, ast.Not):
                return logical_not(a) if isinstance(a, Expr) else not a
            return _UNARY[type(node.op)](a)

    def _joined(self, node: ast.BoolOp) -> object:
        """`a and b`, `a or b`: what stands behind is not read where what stands before decides."""
        *before, found = [self.condition(each) for each in node.values]
        for each in reversed(before):
            if isinstance(node.op, ast.And):
                found = found if each is True else False if each is False else select(each, found, False)
            else:
                found = True if each is True else found if each is False else select(each, True, found)
        return found

    def _compare(self, node: ast.Compare) -> object:
        values = [self.value(each) for each in (node.left, *node.comparators)]
        found: object = True
        for op, a, b in zip(reversed(node.ops), values[-2::-1], values[:0:-1], strict=True):
            pair = _COMPARISONS.get(type(op))
            if pair is None:
                raise self.error(node, f"a kernel does not compare by {type(op).__name__}")
            with handed_in(self.place(node), ParseError):
                holds = pair[isinstance(a, Expr) or isinstance(b, Expr)](a, b)
            if found is True or holds is False:
                found = holds
            elif holds is not True:
                found = select(holds, found, False)
        return found

    def _choice(self, node: ast.IfExp) -> object:
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            return self.value(node.body if condition else node.orelse)
        then, otherwise = self.value(node.body), self.value(node.orelse)
        with handed_in(self.place(node), ParseError):
            return select(condition, then, otherwise)
