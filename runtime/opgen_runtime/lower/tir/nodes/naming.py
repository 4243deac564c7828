"""Names under which loop IR can be read: in one place each name means one thing.

    for i in range(4):                       for i in range(4):
        for i in range(8): x[i] = ...  -->       for i_1 in range(8): x[i_1] = ...

Where names are apart already, which is nearly always, nothing is copied.  Names that are no words, and words that
expressions have, stand in backquotes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Final

from ....base.arith import identical, post_order
from ....base.arith.expr import Dim, Expr, Var
from ....base.vocabulary import DTYPES
from .stmt import (
    Aligned,
    Allocate,
    Buffer,
    For,
    Kind,
    LetStmt,
    Load,
    Prefetch,
    PrimFunc,
    Repetition,
    Seen,
    Stmt,
    Store,
    TransposedLoad,
)
from .visit import StmtMutator, bound, children, statements

RESERVED: Final = frozenset(["if", "else", "and", "or", "where", "True", "False", "index", *DTYPES])
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_NUMBER: Final = re.compile(r"(?:inf|nan)(?:f(?:16|64)?|bf16)?")
_UNQUOTABLE: Final = re.compile(r"[`\n\r]")

_Named = Var | Buffer


@lru_cache(maxsize=1024)
def name_text(name: str) -> str:
    """A name as it stands in text: in backquotes where it would be read as something else."""
    if _WORD.fullmatch(name) and name not in RESERVED and not _NUMBER.fullmatch(name):
        return name
    return f"`{_UNQUOTABLE.sub('_', name) or '_'}`"


def named(func: PrimFunc) -> tuple[PrimFunc, str]:
    """The kernel with names that can be read, itself where its own can, and the text of its own name."""
    params: tuple[_Named, ...] = (*func.dims, *func.inputs, *func.outputs)
    names = _names(func.body, params)
    return _renamed(func, names) if names else func, name_text(func.name)


def anonymous(func: PrimFunc) -> PrimFunc:
    """The kernel with numbers for names, its own apart: one text for all that differ in no more than these."""
    every = dict.fromkeys([id(each) for each in (*func.dims, *func.inputs, *func.outputs)])
    every.update(dict.fromkeys([id(each) for part in statements(func.body) for each in bound(part)]))
    return _renamed(func, {each: f"v{number}" for number, each in enumerate(every)})


def _renamed(func: PrimFunc, names: dict[int, str]) -> PrimFunc:
    renaming = _Renaming(names)
    inputs, outputs = (tuple([renaming.buffer(b) for b in part]) for part in (func.inputs, func.outputs))
    seen = tuple([Seen(s.output, s.count, renaming.dim(s.width)) for s in func.seen])
    dims = tuple([renaming.var(dim) for dim in func.dims])
    return replace(func, inputs=inputs, outputs=outputs, body=renaming.stmt(func.body), dims=dims, seen=seen)


def named_stmt(s: Stmt) -> Stmt:
    """The statement with names that can be read."""
    names = _names(s, ())
    return _Renaming(names).stmt(s) if names else s


def _names(body: Stmt, params: tuple[_Named, ...]) -> dict[int, str]:
    """The names of those whose own cannot be read where they are bound."""
    found: dict[int, str] = {}
    taken: set[str] = set()  # in the whole text: a new name is apart from all of them
    stack = [body]
    while stack:
        s = stack.pop()
        taken.update(each.name for each in bound(s))
        stack.extend(children(s))
    taken.update(each.name for each in params)

    def bind(each: _Named, scope: dict[str, int]) -> None:
        name = name_text(each.name)
        if scope.get(name, id(each)) != id(each):
            name = next(n for n in (name_text(f"{each.name}_{k}") for k in count(1)) if n not in taken)
            taken.add(name)
        if name != each.name:
            found[id(each)] = name
        scope[name] = id(each)

    scope: dict[str, int] = {}
    for each in params:
        bind(each, scope)
    todo = [(body, scope)]
    while todo:
        s, around = todo.pop()
        made = bound(s)
        inner = dict(around) if made else around
        for each in made:
            if id(each) not in found:
                bind(each, inner)
        todo.extend((part, inner) for part in children(s))
    return found


class _Renaming(StmtMutator):
    """A copy under other names; expressions stay as they are, nothing is folded."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self._made: dict[int, _Named] = {}
        self._kept: list[_Named] = []

    def buffer(self, buffer: Buffer) -> Buffer:
        made = self._made.get(id(buffer))
        if made is None:
            shape = tuple([self.dim(extent) for extent in buffer.shape])
            name = self._names.get(id(buffer), buffer.name)
            same = name == buffer.name and identical_dims(shape, buffer.shape)
            made = self._made[id(buffer)] = buffer if same else replace(buffer, name=name, shape=shape)
            self._kept.append(buffer)
        assert isinstance(made, Buffer)
        return made

    def var(self, var: Var) -> Var:
        if id(var) not in self._names:
            return var
        made = self._made.get(id(var))
        if made is None:
            made = self._made[id(var)] = replace(var, name=self._names[id(var)])
            self._kept.append(var)
        assert isinstance(made, Var)
        return made

    def dim(self, dim: Dim) -> Dim:
        return self.expr(dim) if isinstance(dim, Expr) else dim

    def expr(self, e: Expr) -> Expr:
        done: dict[int, Expr] = {}
        for node in post_order(e):
            old = node.children()
            fresh = [done[id(child)] for child in old]
            if isinstance(node, Var):
                done[id(node)] = self.var(node)
            elif isinstance(node, Load):
                n = len(node.indices)
                mask = None if node.mask is None else fresh[n]
                done[id(node)] = Load(node.dtype, self.buffer(node.buffer), tuple(fresh[:n]), mask)
            elif isinstance(node, Aligned):
                done[id(node)] = Aligned(
                    node.dtype, tuple([self.buffer(b) for b in node.buffers]), node.bytes
                )
            else:
                done[id(node)] = node if identical(fresh, old) else node.rebuild(fresh)
        return done[id(e)]

    def store(self, s: Store) -> Stmt:
        made = super().store(s)
        assert isinstance(made, Store)
        return replace(made, buffer=self.buffer(s.buffer))

    def prefetch(self, s: Prefetch) -> Stmt:
        made = super().prefetch(s)
        assert isinstance(made, Prefetch)
        return replace(made, buffer=self.buffer(s.buffer))

    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        assert isinstance(made, For)
        return replace(made, var=self.var(s.var))

    def let(self, s: LetStmt) -> Stmt:
        made = super().let(s)
        assert isinstance(made, LetStmt)
        return replace(made, var=self.var(s.var))

    def allocate(self, s: Allocate) -> Stmt:
        return Allocate(self.buffer(s.buffer), self.stmt(s.body))

    def transposed(self, s: TransposedLoad) -> Stmt:
        made = super().transposed(s)
        assert isinstance(made, TransposedLoad)
        return replace(made, variables=tuple([self.var(var) for var in s.variables]))

    def repetition(self, s: Repetition) -> Stmt:
        kinds = [
            Kind(tuple([self._column(c) for c in kind.columns]), self.stmt(kind.statement))
            for kind in s.kinds
        ]
        rows = [
            (number, tuple([self.buffer(v) if isinstance(v, Buffer) else v for v in values]))
            for number, values in s.rows
        ]
        return Repetition(tuple(kinds), tuple(rows))

    def _column(self, column: _Named) -> _Named:
        return self.buffer(column) if isinstance(column, Buffer) else self.var(column)


def identical_dims(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """Whether shapes have the same extents, expressions by identity."""
    return all([x is y or (isinstance(x, int) and x == y) for x, y in zip(a, b, strict=True)])
