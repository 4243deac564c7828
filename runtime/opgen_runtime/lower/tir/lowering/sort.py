"""Sorts: each line by itself, and lines in parallel.

A long line is sorted by its keys' digits, the last one first, each time without changing the order of equal ones:

    keys [170, 45, 75, 90]  -->  by ones [170, 90, 45, 75]  -->  by tens [45, 170, 75, 90]  -->  by hundreds ...

Where few of many elements are wanted, those alone are sorted whose first digit is one of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ....base.arith import (
    Expr,
    Var,
    add,
    bit_and,
    cast,
    const,
    floordiv,
    floormod,
    ge,
    gt,
    le,
    lt,
    mul,
    ne,
    select,
    shift_right,
    sub,
)
from ....base.arith.expr import Dim
from ....base.vocabulary import INDEX, INT32, INT64, DType
from ....compute.te.tensor import Sort
from ...schedule import ForKind
from ..nodes.builder import load, local, loop, store
from ..nodes.nest import ZERO, as_index
from ..nodes.stmt import Buffer, For, If, LetStmt, Stmt
from ..nodes.visit import block
from .sort_keys import element_of, key_dtype, key_of
from .sort_network import Place, network

_DIGIT_BITS: Final = 8  # of a digit: the counts of all digits lie in the first-level cache
_LONG_DIGIT_BITS: Final = 11  # in lines that are long against the number of digits there are
_MIN_LONG: Final = 1 << 13
_MIN_SELECTED_FROM: Final = 4  # times as many elements as are wanted: then those are found first


def lower_sort(op: Sort, source: Buffer, target: Buffer) -> Stmt:
    """The statement that fills the buffer of a sorted tensor."""
    others = [dim for d, dim in enumerate(source.shape) if d != op.axis]
    rows: Dim = 1
    for dim in others:
        rows = rows * dim

    def line(row: Expr) -> Place:
        found = _unravelled(row, others)
        return lambda j: (*found[: op.axis], j, *found[op.axis :])

    row = Var(INDEX, "row")
    by_digits = For(
        row, ZERO, as_index(rows), ForKind.PARALLEL, _Line(op, source, target, line(row)).statement()
    )
    found = network(op, source)
    if found is None or (isinstance(rows, int) and rows < found.lanes):
        return by_digits
    side_by_side = found.statement(source, target, rows, line)
    return side_by_side if isinstance(rows, int) else If(ge(rows, found.lanes), side_by_side, by_digits)


def _unravelled(row: Expr, shape: Sequence[Dim]) -> tuple[Expr, ...]:
    """The indices of element `row` of a shape, in row-major order."""
    found: list[Expr] = []
    for k, dim in enumerate(reversed(shape)):
        found.append(row if k == len(shape) - 1 else floormod(row, dim))
        row = floordiv(row, dim)
    return tuple(reversed(found))


class _Line:
    """The sort of one line: keys, and where positions are wanted these beside them, move between two halves."""

    def __init__(self, op: Sort, source: Buffer, target: Buffer, place: Place) -> None:
        self.op, self.source, self.target = op, source, target
        self.place = place
        self.dtype = key_dtype(source.dtype)
        length, count = source.shape[op.axis], target.shape[op.axis]
        self.length, self.count = as_index(length), as_index(count)
        self.counted = INT32 if isinstance(length, int) and length <= INT32.highest else INT64
        self.selects = not isinstance(count, Expr) and not (
            isinstance(length, int) and length < _MIN_SELECTED_FROM * count
        )
        longest = isinstance(length, int) and length >= _MIN_LONG
        self.digits = -(-self.dtype.bits // (_LONG_DIGIT_BITS if longest else _DIGIT_BITS))
        self.digit_bits = -(-self.dtype.bits // self.digits)
        self.width = 1 << self.digit_bits  # how many digits there are

    # ------------------------------------------------------------------ the line

    def key(self, j: Expr) -> Expr:
        """The key of element `j`."""
        value = load(self.source, *self.place(j))
        return key_of(value, self.op.descending, equal_zeros=self.op.positions)

    def digit(self, key: Expr, number: Expr) -> Expr:
        """A digit of a key, the last one being number 0."""
        moved = shift_right(key, cast(mul(number, self.digit_bits), self.dtype))
        return cast(bit_and(moved, const(self.width - 1, self.dtype)), INDEX)

    def statement(self) -> Stmt:
        length = self.length
        halves = [("keys", self.dtype)] + [("places", self.target.dtype)] * self.op.positions
        return _allocated(
            [
                *((name, (2, self.source.shape[self.op.axis]), dtype) for name, dtype in halves),
                ("counts", (self.digits, self.width), self.counted),
                ("state", (2,), INDEX),
            ],
            lambda made: _Radix(self, made[:-2], made[-2], made[-1]).statement(length),
        )

    def result(self, i: Expr, moved: Sequence[Buffer], half: Expr) -> Stmt:
        """Element `i` of the result, from those that have been sorted."""
        found = load(moved[-1], half, i)
        if not self.op.positions:
            found = element_of(found, self.source.dtype, self.op.descending)
        return store(self.target, self.place(i), found)


class _Radix:
    """The sort by digits.

    `moved`: the keys, and the positions where they are wanted; `counts`: of each digit, how often it occurs, then where
    the next key with it goes; `state`: in which half the keys are, and a number.
    """

    def __init__(self, line: _Line, moved: Sequence[Buffer], counts: Buffer, state: Buffer) -> None:
        self.line, self.moved, self.counts, self.state = line, moved, counts, state

    def statement(self, length: Expr) -> Stmt:
        line = self.line
        if line.selects:
            begun = block(self._bound(length), self._selected(length))
        else:
            begun = block(
                loop("j", length, lambda j: self._put(ZERO, j, line.key(j), j)), self._set(1, length)
            )
        return block(
            begun,
            _let("most", self._get(1), lambda most: block(self._count(most), self._sorted(most))),
            _let(
                "half",
                self._get(0),
                lambda half: loop("i", line.count, lambda i: line.result(i, self.moved, half)),
            ),
        )

    # ------------------------------------------------------------------ what is sorted

    def _bound(self, length: Expr) -> Stmt:
        """The greatest first digit of what is wanted, as the number of the state."""
        line, counts = self.line, self.counts
        first = const(line.digits - 1, INDEX)

        def counted(j: Expr) -> Stmt:
            return _let("digit", line.digit(line.key(j), first), partial(self._add, first))

        def step(d: Expr) -> Stmt:
            enough = lt(self._get(0), line.count)
            return If(
                enough,
                block(self._set(0, add(self._get(0), cast(load(counts, first, d), INDEX))), self._set(1, d)),
            )

        return block(
            loop("d", line.width, lambda d: store(counts, (first, d), 0)),
            loop("j", length, counted),
            self._set(0, ZERO),
            self._set(1, ZERO),
            loop("d", line.width, step),
        )

    def _selected(self, length: Expr) -> Stmt:
        """The keys whose first digit is at most the bound, in their order; then how many they are."""
        line = self.line
        first = const(line.digits - 1, INDEX)

        def taken(j: Expr, key: Expr, bound: Expr) -> Stmt:
            is_taken = le(line.digit(key, first), bound)
            return _let(
                "next",
                self._get(0),
                lambda n: block(
                    self._put(ZERO, n, key, j), self._set(0, add(n, select(is_taken, const(1, INDEX), ZERO)))
                ),
            )

        return _let(
            "bound",
            self._get(1),
            lambda bound: block(
                self._set(0, ZERO),
                loop("j", length, lambda j: _let("key", line.key(j), lambda key: taken(j, key, bound))),
                self._set(1, self._get(0)),
            ),
        )

    # ------------------------------------------------------------------ by digits

    def _count(self, most: Expr) -> Stmt:
        """How often each digit occurs at each place."""
        line, counts = self.line, self.counts

        def each(key: Expr) -> Stmt:
            numbers = [const(p, INDEX) for p in range(line.digits)]
            return block(*(_let("digit", line.digit(key, p), partial(self._add, p)) for p in numbers))

        return block(
            loop("p", line.digits, lambda p: loop("d", line.width, lambda d: store(counts, (p, d), 0))),
            loop("j", most, lambda j: _let("key", load(self.moved[0], ZERO, j), each)),
            self._set(0, ZERO),
        )

    def _sorted(self, most: Expr) -> Stmt:
        """Digit by digit; a digit that all keys have in common moves none."""
        line = self.line

        def by_digit(p: Expr) -> Stmt:
            return _let("half", self._get(0), lambda half: self._unless_common(p, half, most))

        return loop("p", select(gt(most, 1), const(line.digits, INDEX), ZERO), by_digit)

    def _unless_common(self, p: Expr, half: Expr, most: Expr) -> Stmt:
        digit = self.line.digit(load(self.moved[0], half, ZERO), p)
        common = cast(load(self.counts, p, digit), INDEX)
        return If(ne(common, most), block(self._starts(p), self._moved(p, half, most)))

    def _starts(self, p: Expr) -> Stmt:
        """Where the first key with each digit goes."""
        counts = self.counts

        def step(d: Expr) -> Stmt:
            return _let(
                "count",
                cast(load(counts, p, d), INDEX),
                lambda count: block(
                    store(counts, (p, d), cast(self._get(1), counts.dtype)),
                    self._set(1, add(self._get(1), count)),
                ),
            )

        return block(self._set(1, ZERO), loop("d", self.line.width, step))

    def _moved(self, p: Expr, half: Expr, most: Expr) -> Stmt:
        """Every key to its place in the other half."""
        line, counts = self.line, self.counts
        other = sub(1, half)

        def to_place(j: Expr, key: Expr, digit: Expr, place: Expr) -> Stmt:
            return block(
                store(counts, (p, digit), cast(add(place, 1), counts.dtype)),
                store(self.moved[0], (other, place), key),
                *(store(each, (other, place), load(each, half, j)) for each in self.moved[1:]),
            )

        def each(j: Expr) -> Stmt:
            return _let(
                "key",
                load(self.moved[0], half, j),
                lambda key: _let(
                    "digit",
                    line.digit(key, p),
                    lambda digit: _let(
                        "place",
                        cast(load(counts, p, digit), INDEX),
                        lambda place: to_place(j, key, digit, place),
                    ),
                ),
            )

        return block(loop("j", most, each), self._set(0, other))

    # ------------------------------------------------------------------ single steps

    def _put(self, half: Expr, j: Expr, key: Expr, position: Expr) -> Stmt:
        """Key `j` of a half, and which element's it is."""
        places = [store(each, (half, j), cast(position, each.dtype)) for each in self.moved[1:]]
        return block(store(self.moved[0], (half, j), key), *places)

    def _add(self, p: Expr, digit: Expr) -> Stmt:
        return store(self.counts, (p, digit), add(load(self.counts, p, digit), 1))

    def _get(self, k: int) -> Expr:
        return load(self.state, const(k, INDEX))

    def _set(self, k: int, value: Expr) -> Stmt:
        return store(self.state, (const(k, INDEX),), value)


def _let(name: str, value: Expr, body: Callable[[Expr], Stmt]) -> Stmt:
    var = Var(value.dtype, name)
    return LetStmt(var, value, body(var))


def _allocated(
    wanted: Sequence[tuple[str, Sequence[Dim], DType]], body: Callable[[list[Buffer]], Stmt]
) -> Stmt:
    """Buffers of one line while the body runs."""
    if not wanted:
        return body([])
    (name, shape, dtype), *rest = wanted
    return local(name, shape, dtype, lambda first: _allocated(rest, lambda made: body([first, *made])))
