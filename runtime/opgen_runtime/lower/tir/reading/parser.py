"""Kernels of loop IR from the text that `to_text` writes, and from text that people write.

    kernel    = name "(" declared, ... ")" "->" "(" declared, ... ")" ":" [dims] seen* block
    declared, dims, seen                                       as `declarations.py` has them
    block     = statements below each other, indented
    statement = name "[" indices [";" mask] "]" "=" expr
              | name "=" expr | "allocate" declared scope    both for the rest of the block, or a block after ":"
              | [kind] "for" name "in" "range" "(" extents ")" ["while" expr] ["of" expr "operations"] ":" block
              | "if" expr ":" block ["else" ":" block] | "prefetch" name "[" indices "]" ["of" ints] | "pass"
              | "nontemporal" store | names "=" "transpose" "(" load ["," expr] ")" | "outlined" ":" block
              | "kind" n "(" columns ")" ":" block ... "do" n "(" values ")" ...

Comments stand between /* and */.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ....base.arith.expr import Binary, Const, Expr, Var
from ....base.arith.literals import const
from ....base.arith.tokens import Token
from ....base.vocabulary import BOOL, INDEX
from ...schedule.stages.kind import ForKind
from ..nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    If,
    Kind,
    LetStmt,
    Load,
    Outlined,
    Prefetch,
    PrimFunc,
    Ramp,
    Repetition,
    Row,
    Seen,
    Stmt,
    Store,
    TransposedLoad,
)
from ..nodes.text import dims_of
from .declarations import MOST, DeclarationReader
from .text import Named

_SCOPES: Final = ("global", "local", "double")
_KINDS: Final = {kind.value: kind for kind in ForKind if kind is not ForKind.SERIAL}
_MAX_DEPTH: Final = 50  # of blocks inside each other

Opening = Callable[[Stmt], Stmt]


def parse(text: str) -> PrimFunc:
    """The kernel of `text`, which prints as it again.

    Raises ParseError with line and column for what is no loop IR: for syntax, names that are not in scope, dtypes and
    widths that do not fit, stores to inputs.  What the target says (its vectors, its caches) comes with `build`.
    """
    return _Parser(text).kernel()


def parse_signature(text: str, name: str) -> PrimFunc:
    """`(x: float32[n]) -> (y: float32[n])` as a kernel of that name that does nothing yet.  Raises ParseError."""
    return _Parser(text).signature(name)


class _Parser(DeclarationReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0  # of blocks inside each other

    # ------------------------------------------------------------------ the head

    def kernel(self) -> PrimFunc:
        self.reader.begin_line()
        name = self.tokens.expect_kind("name", "the name of a kernel").text
        start = self.tokens.position
        dims: tuple[Var, ...] | None = None
        outputs = self.parameters()
        self.tokens.expect(":")
        if self.tokens.next.text == "dims" and self.tokens.after_next.text not in ("[", "="):
            dims = self.dims()
            behind = self.tokens.position
            self.tokens.back_to(start)
            self.reader.begin_line()
            self.reader.scope = {dim.name: dim for dim in dims}
            outputs = self.parameters()
            unknown = [dim for dim in dims_of(self.inputs, outputs) if dim not in dims]
            if unknown:
                raise self.tokens.error(f"the dim {unknown[0].name} is not among `dims`")
            self.tokens.back_to(behind)
        seen: list[Seen] = []
        while self.tokens.next.text == "seen" and self.tokens.after_next.text not in ("[", "="):
            seen.append(self.seen(outputs))
        body = self.block(0)
        if self.tokens.next.kind != "end":
            raise self.tokens.error("expected the end of the text")
        found = dims_of(self.inputs, outputs) if dims is None else dims
        return PrimFunc(name, self.inputs, outputs, body, found, tuple(seen))

    def signature(self, name: str) -> PrimFunc:
        self.reader.begin_line()
        outputs = self.parameters()
        if self.tokens.next.kind != "end":
            raise self.tokens.error("expected the end of the signature")
        return PrimFunc(name, self.inputs, outputs, Block(()), dims_of(self.inputs, outputs))

    # ------------------------------------------------------------------ statements

    def block(self, column: int) -> Stmt:
        """Statements below each other, further to the right than `column`; names in them end with it."""
        tokens, reader = self.tokens, self.reader
        first = tokens.next
        own = tokens.column(first)
        if first.kind == "end" or own <= column:
            raise tokens.error("expected an indented block")
        if tokens.text[: first.place].rpartition("\n")[2].strip():
            raise tokens.error("expected the end of the line")
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise tokens.error(f"blocks may nest {_MAX_DEPTH} deep", first)
        outside = dict(reader.scope)
        parts: list[Stmt | Opening] = []
        while tokens.next.kind != "end" and tokens.column(tokens.next) >= own:
            if tokens.column(tokens.next) > own:
                raise tokens.error("is indented further than the statement before it")
            reader.begin_line()
            parts.append(self.statement(own))
        reader.scope = outside
        self.depth -= 1
        return _folded(parts)

    def statement(self, column: int) -> Stmt | Opening:
        tokens = self.tokens
        token = tokens.next
        if token.kind != "name":
            raise tokens.error("expected a statement")
        following = tokens.after_next.text
        if token.suffix or following in ("[", "=", ","):
            return self.assignment(column)
        read: Callable[[int], Stmt | Opening] | None = {
            "for": self.loop, "if": self.branch, "allocate": self.allocate, "pass": self.nothing,
            "prefetch": self.prefetch, "nontemporal": self.nontemporal, "outlined": self.outlined,
            "kind": self.repetition, **dict.fromkeys(_KINDS, self.loop),
        }.get(token.text)  # fmt: skip
        if read is None:
            raise tokens.error("expected a statement")
        return read(column)

    def assignment(self, column: int) -> Stmt | Opening:
        following = self.tokens.after_next.text
        if following == "[":
            return self.store(nontemporal=False)
        if following == ",":
            return self.transposed(column)
        if following != "=":
            raise self.tokens.error("expected a statement")
        return self.let(column)

    def store(self, nontemporal: bool) -> Stmt:
        reader, place = self.reader, self.tokens.next
        buffer = reader.buffer()
        if buffer in self.inputs:
            raise self.tokens.error(f"input {buffer.name} is stored to", place)
        indices, mask = reader.access(buffer, place)
        self.tokens.expect("=")
        value = reader.typed(buffer.dtype, f"what is stored to {buffer.name}")
        self.same_lanes(place, *indices, value, *([] if mask is None else [mask]))
        self.end_line()
        return Store(buffer, indices, value, mask, nontemporal)

    def same_lanes(self, place: Token, *parts: Expr) -> None:
        lanes = sorted({self.reader.lanes(part) for part in parts} - {1})
        if len(lanes) > 1:
            raise self.tokens.error(f"a store joins vectors of {' and '.join(map(str, lanes))} lanes", place)

    def nontemporal(self, column: int) -> Stmt:
        self.tokens.expect("nontemporal")
        return self.store(nontemporal=True)

    def nothing(self, column: int) -> Stmt:
        self.tokens.expect("pass")
        self.end_line()
        return Block(())

    def let(self, column: int) -> Stmt | Opening:
        token = self.tokens.take()
        self.tokens.expect("=")
        if self.tokens.next.text == "transpose" and self.tokens.after_next.text == "(":
            return self.transposed_rest(column, [token])
        value = self.reader.expr()
        var = Var(value.dtype, token.text)
        if self.reader.lanes(value) > 1:
            self.reader.vectors[var] = self.reader.lanes(value)
        return self.opened(column, [(token, var)], lambda body: LetStmt(var, value, body))

    def opened(self, column: int, names: list[tuple[Token, Named]], make: Opening) -> Stmt | Opening:
        """What names hold for: a block of its own after ":", else the rest of this one."""
        if self.tokens.accept(":"):
            outside = dict(self.reader.scope)
            for name in names:
                self.bind(*name)
            made = make(self.block(column))
            self.reader.scope = outside
            return made
        self.end_line()
        for name in names:
            self.bind(*name)
        return make

    def allocate(self, column: int) -> Stmt | Opening:
        self.tokens.expect("allocate")
        token, outside = self.tokens.next, dict(self.reader.scope)
        declared = self.declared("global")
        self.reader.scope = outside
        scope = self.tokens.expect_kind("name", "a scope")
        if scope.text not in _SCOPES:
            raise self.tokens.error(f"a scope is one of {', '.join(_SCOPES)}, found {scope.text}", scope)
        buffer = Buffer(declared.name, declared.shape, declared.dtype, scope.text)
        return self.opened(column, [(token, buffer)], lambda body: Allocate(buffer, body))

    def transposed(self, column: int) -> Stmt | Opening:
        names = [self.tokens.take()]
        while self.tokens.accept(","):
            names.append(self.tokens.expect_kind("name", "a name"))
        self.tokens.expect("=")
        return self.transposed_rest(column, names)

    def transposed_rest(self, column: int, names: list[Token]) -> Stmt | Opening:
        reader = self.reader
        self.tokens.expect("transpose")
        reader.open("(")
        place = self.tokens.next
        load = reader.expr()
        count = reader.scalar(INDEX, "a count") if self.tokens.accept(",") else None
        reader.close(")")
        index = load.indices[0] if isinstance(load, Load) and len(load.indices) == 1 else None
        if not isinstance(load, Load) or not isinstance(index, Ramp):
            raise self.tokens.error("expected a read at one ramp", place)
        if index.lanes != len(names) or len(names) & (len(names) - 1):
            raise self.tokens.error(f"{index.lanes} lanes are transposed to {len(names)} columns", place)
        variables = tuple([Var(load.dtype, name.text) for name in names])
        reader.vectors.update(dict.fromkeys(variables, index.lanes))
        bound: list[tuple[Token, Named]] = list(zip(names, variables, strict=True))
        return self.opened(column, bound, lambda body: TransposedLoad(variables, load, count, body))

    def loop(self, column: int) -> Stmt:
        tokens, reader = self.tokens, self.reader
        kind = ForKind.SERIAL if tokens.next.text == "for" else _KINDS[tokens.take().text]
        tokens.expect("for")
        name = tokens.expect_kind("name", "the name of a loop")
        tokens.expect("in")
        tokens.expect("range")
        minimum, extent, step = self.range()
        condition = reader.scalar(BOOL, "a condition") if tokens.accept("while") else None
        work: Expr | None = None
        if tokens.accept("of"):
            work = reader.scalar(INDEX, "the work")
            tokens.expect("operations")
        tokens.expect(":")
        var = Var(INDEX, name.text)
        outside = dict(reader.scope)
        self.bind(name, var)
        body = self.block(column)
        reader.scope = outside
        return For(var, minimum, extent, kind, body, step, condition, work)

    def range(self) -> tuple[Expr, Expr, int]:
        """`(extent)`, `(start, end)` or `(start, end, step)`: where a loop starts, its extent, its step."""
        reader = self.reader
        reader.open("(")
        first = reader.scalar(INDEX, "the extent of a loop")
        if not self.tokens.accept(","):
            reader.close(")")
            return const(0, INDEX), first, 1
        end = reader.scalar(INDEX, "the end of a loop")
        step = reader.integer("a step", 1, MOST) if self.tokens.accept(",") else 1
        reader.close(")")
        if isinstance(first, Const) and first.value == 0:
            return first, end, step
        if isinstance(end, Binary) and end.op == "add" and end.a is first:
            return first, end.b, step
        if isinstance(first, Const) and isinstance(end, Const):
            return first, const(int(end.value) - int(first.value), INDEX), step
        return first, Binary(INDEX, "sub", end, first), step

    def branch(self, column: int) -> Stmt:
        tokens = self.tokens
        tokens.expect("if")
        condition = self.reader.scalar(BOOL, "a condition")
        tokens.expect(":")
        then = self.block(column)
        if not (tokens.next.text == "else" and tokens.column(tokens.next) == column):
            return If(condition, then)
        tokens.expect("else")
        tokens.expect(":")
        return If(condition, then, self.block(column))

    def prefetch(self, column: int) -> Stmt:
        self.tokens.expect("prefetch")
        place = self.tokens.next
        buffer = self.reader.buffer()
        indices, mask = self.reader.access(buffer, place)
        if mask is not None:
            raise self.tokens.error("a prefetch has no mask", place)
        shape = [1] * len(indices)
        if self.tokens.accept("of"):
            shape = [self.reader.integer("an extent", 1, MOST)]
            while self.tokens.accept(","):
                shape.append(self.reader.integer("an extent", 1, MOST))
        self.end_line()
        if len(shape) != len(indices):
            raise self.tokens.error(f"{len(shape)} extents for {len(indices)} dims", place)
        return Prefetch(buffer, indices, tuple(shape))

    def outlined(self, column: int) -> Stmt:
        self.tokens.expect("outlined")
        self.tokens.expect(":")
        return Outlined(self.block(column))

    # ------------------------------------------------------------------ tables of statements

    def repetition(self, column: int) -> Stmt:
        tokens, reader = self.tokens, self.reader
        kinds: list[Kind] = []
        rows: list[Row] = []
        while self.is_word("kind", column) and len(rows) == 0:
            reader.begin_line()
            tokens.expect("kind")
            place = tokens.next
            if reader.integer("the number of a kind", 0) != len(kinds):
                raise tokens.error(f"expected kind {len(kinds)}", place)
            kinds.append(self.kind(column))
        while self.is_word("do", column):
            reader.begin_line()
            tokens.expect("do")
            number = reader.integer("the number of a kind", 0, len(kinds) - 1)
            rows.append((number, self.row(kinds[number])))
            self.end_line()
        return Repetition(tuple(kinds), tuple(rows))

    def is_word(self, word: str, column: int) -> bool:
        """Whether a line of this block begins with `kind` or `do` and a number."""
        token = self.tokens.next
        numbered = token.text == word and self.tokens.after_next.kind == "number"
        return numbered and self.tokens.column(token) == column

    def kind(self, column: int) -> Kind:
        tokens, reader = self.tokens, self.reader
        outside = dict(reader.scope)
        columns: list[Named] = []
        reader.open("(")
        while tokens.next.text != ")":
            if tokens.after_next.text == ":":
                columns.append(self.declared("global"))
            else:
                token = tokens.expect_kind("name", "a column")
                var = Var(INDEX, token.text)
                self.bind(token, var)
                columns.append(var)
            if tokens.next.text != ")":
                tokens.expect(",")
        reader.close(")")
        tokens.expect(":")
        made = Kind(tuple(columns), self.block(column))
        reader.scope = outside
        return made

    def row(self, kind: Kind) -> tuple[int | Buffer, ...]:
        tokens, reader = self.tokens, self.reader
        values: list[int | Buffer] = []
        reader.open("(")
        for position, column in enumerate(kind.columns):
            if position:
                tokens.expect(",")
            place = tokens.next
            if isinstance(column, Var):
                values.append(reader.integer(f"the value of {column.name}", -MOST, MOST))
                continue
            buffer = reader.buffer("a parameter")
            if buffer.dtype is not column.dtype:
                raise tokens.error(
                    f"column {column.name} of {column.dtype} is {buffer.name} of {buffer.dtype}", place
                )
            values.append(buffer)
        reader.close(")")
        return tuple(values)


def _folded(parts: list[Stmt | Opening]) -> Stmt:
    """The statements of a block, those behind what opens inside it."""
    found: list[Stmt] = []
    for part in reversed(parts):
        if isinstance(part, Stmt):
            found.append(part)
        else:
            found = [part(_sequence(found))]
    return _sequence(found)


def _sequence(backwards: list[Stmt]) -> Stmt:
    return backwards[0] if len(backwards) == 1 else Block(tuple(reversed(backwards)))
