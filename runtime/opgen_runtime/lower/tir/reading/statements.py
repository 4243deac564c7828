"""Statements in kernels that are Python functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ....base.arith import const, sub
from ....base.arith.expr import Const, Dim, Expr, Var
from ....base.contract import handed_in
from ....base.errors import ParseError, did_you_mean
from ....base.vocabulary import DTYPES, INDEX, DType
from ...schedule.stages.kind import ForKind
from ..nodes.stmt import Allocate, Block, Buffer, For, If, LetStmt, Stmt, Store
from ..nodes.visit import block
from .values import BINARY, ValueReader
from .words import LOOPS, allocate

_SCOPES = ("local", "global")
Opening = Callable[[Stmt], Stmt]


class StatementReader(ValueReader):
    """Reads statements; a name holds to the end of its block."""

    def block(self, body: Sequence[ast.stmt]) -> Stmt:
        """The statements of a block; names that it makes end with it."""
        outside = dict(self.scope)
        parts: list[Stmt | Opening] = []
        for position, node in enumerate(body):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.Pass) or (position == 0 and is_text):
                continue
            parts.append(self._statement(node))
        self.scope = outside
        made: Stmt = Block(())
        for part in reversed(parts):
            made = block(part, made) if isinstance(part, Stmt) else part(made)
        return made

    def _statement(self, node: ast.stmt) -> Stmt | Opening:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,) = node.targets
            if isinstance(target, ast.Subscript):
                return self._store(target, node.value)
            if isinstance(target, ast.Name):
                return self._bound(target, node.value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            return self._update(node.target, node)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not node.orelse:
            return self._loop(node, node.target)
        if isinstance(node, ast.If):
            return self._branch(node)
        raise self.error(
            node,
            f"a kernel has `for`, `if`, `x[i] = value` and `name = value`; found `{_first_line(node)}`",
        )

    # ------------------------------------------------------------------ stores

    def _store(self, target: ast.Subscript, value: ast.expr) -> Stmt:
        buffer, indices = self.access(target)
        return self._stored(target, buffer, indices, self.value(value))

    def _update(self, target: ast.Subscript, node: ast.AugAssign) -> Stmt:
        """`x[i] += value`."""
        buffer, indices = self.access(target)
        given = self.value(node.value)
        with handed_in(self.place(node), ParseError):
            value = BINARY[type(node.op)](self.load(node.target, buffer, indices), given)
        return self._stored(target, buffer, indices, value)

    def _stored(self, node: ast.expr, buffer: Buffer, indices: tuple[Expr, ...], value: object) -> Stmt:
        """A store; a number of Python becomes one of the buffer's dtype."""
        with handed_in(self.place(node), ParseError):
            made = value if isinstance(value, Expr) else const(value, buffer.dtype)
        if made.dtype is not buffer.dtype:
            raise self.error(
                node, f'{buffer.name} holds {buffer.dtype}, found {made.dtype}; x.astype("{buffer.dtype}")'
            )
        store = Store(buffer, indices, made)
        self.accesses.append((store, node))
        return store

    # ------------------------------------------------------------------ names

    def _bound(self, target: ast.Name, value: ast.expr) -> Stmt | Opening:
        """A buffer, a value of loop IR, or a constant of Python, by a name."""
        if isinstance(value, ast.Call) and self.value(value.func) is allocate:
            buffer = self._allocated(target.id, value)
            self._bind(target, target.id, buffer)
            return lambda body: Allocate(buffer, body)
        found = self.value(value)
        if not isinstance(found, Expr) or isinstance(found, Const):
            self._bind(target, target.id, found)
            return Block(())
        var = Var(found.dtype, target.id)
        self._bind(target, target.id, var)
        return lambda body: LetStmt(var, found, body)

    def _bind(self, node: ast.AST, name: str, meaning: object) -> None:
        if name in self.scope:
            raise self.error(
                node,
                f"{name} has a meaning here already; what changes is a buffer, tir.allocate((1,), dtype)",
            )
        self.scope[name] = meaning

    def _allocated(self, name: str, node: ast.Call) -> Buffer:
        """`tir.allocate(shape, dtype, scope)`."""
        given = dict(zip(("shape", "dtype", "scope"), node.args, strict=False))
        given |= {str(each.arg): each.value for each in node.keywords}
        if not {"shape", "dtype"} <= set(given) <= {"shape", "dtype", "scope"} or len(node.args) > 3:
            raise self.error(node, 'expected allocate(shape, dtype, scope="local")')
        extents = given["shape"].elts if isinstance(given["shape"], ast.Tuple) else None
        if extents is None:
            found = self.value(given["shape"])
            shape: tuple[Dim, ...] = (
                tuple([self._extent(node, each) for each in found]) if isinstance(found, tuple) else ()
            )
            if not isinstance(found, tuple):
                raise self.error(given["shape"], "a shape is a tuple of extents")
        else:
            shape = tuple([self._extent(each, self.value(each)) for each in extents])
        scope = self.value(given["scope"]) if "scope" in given else "local"
        if scope not in _SCOPES:
            raise self.error(node, f'a scope is "local" or "global", found {scope!r}')
        dtype = self.value(given["dtype"])
        if dtype not in DTYPES and dtype != INDEX:
            raise self.error(given["dtype"], f"unknown dtype {dtype!r}{did_you_mean(str(dtype), DTYPES)}")
        return Buffer(name, shape, DType(str(dtype)), str(scope))

    def _extent(self, node: ast.AST, value: object) -> Dim:
        if isinstance(value, int) and value >= 0:
            return value
        if isinstance(value, Expr) and value.dtype is INDEX:
            return value
        raise self.error(node, f"an extent is an int of at least 0 or made of dims, found {value!r:.80}")

    # ------------------------------------------------------------------ loops and branches

    def _loop(self, node: ast.For, target: ast.Name) -> Stmt:
        over = node.iter
        kind = None
        if isinstance(over, ast.Call) and not over.keywords and 1 <= len(over.args) <= 2:
            kind = self._kind(self.value(over.func))
        if kind is None or not isinstance(over, ast.Call):
            raise self.error(
                over,
                "a loop goes over range(n), range(start, end), or tir.parallel, tir.vectorized or tir.unrolled of "
                f"that; found `{ast.unparse(over)}`",
            )
        first, *more = [self.index(each, "the end of a loop") for each in over.args]
        minimum, extent = (first, sub(more[0], first)) if more else (const(0, INDEX), first)
        if kind in (ForKind.VECTORIZED, ForKind.UNROLLED) and not isinstance(extent, Const):
            raise self.error(over, f"a loop that is {kind.value} has a constant extent, found {extent}")
        var = Var(INDEX, target.id)
        outside = dict(self.scope)
        self._bind(target, target.id, var)
        body = self.block(node.body)
        self.scope = outside
        return For(var, minimum, extent, kind, body)

    def _kind(self, function: object) -> ForKind | None:
        return next((kind for each, kind in LOOPS.items() if each is function), None)

    def _branch(self, node: ast.If) -> Stmt:
        condition = self.condition(node.test)
        if isinstance(condition, bool):  # known now
            return self.block(node.body if condition else node.orelse)
        then = self.block(node.body)
        return If(condition, then, self.block(node.orelse) if node.orelse else None)


def _first_line(node: ast.stmt) -> str:
    return ast.unparse(node).split("\n")[0]
