"""Versions of statements are chosen outside of the loops that do not decide which is taken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opgen_runtime.base.arith import Var, const, ge
from opgen_runtime.base.vocabulary import FLOAT32, INDEX
from opgen_runtime.lower.tir import (
    Allocate,
    Buffer,
    For,
    ForKind,
    If,
    LetStmt,
    Load,
    PrimFunc,
    Stmt,
    Store,
    block,
)
from opgen_runtime.lower.tir.rewriting.unswitch import Unswitch

SIZE, OUTER, INNER = (Var(INDEX, name) for name in "nij")
Y, KEPT = Buffer("y", (64,), FLOAT32), Buffer("kept", (4,), FLOAT32)


def store(value: float, buffer: Buffer = Y) -> Store:
    return Store(buffer, (const(0, INDEX),), const(value, FLOAT32))


def loop(var: Var, body: Stmt, kind: ForKind = ForKind.SERIAL) -> Stmt:
    return For(var, const(0, INDEX), const(8, INDEX), kind, body)


class TwoVersions(Unswitch):
    """Ones are stored faster where n is at least 16, twos where i is."""

    def store(self, s: Store) -> Stmt:
        known = {1.0: SIZE, 2.0: OUTER}.get(getattr(s.value, "value", None))
        if known is None:
            return s
        return self.version(ge(known, 16), replace(s, value=s.value + const(0.5, FLOAT32)), s)


def unswitched(body: Stmt) -> list[str]:
    return str(PrimFunc("f", (), (Y,), TwoVersions().unswitched(body), dims=(SIZE,))).splitlines()[2:]


def test_a_version_leaves_its_loops_with_what_is_beside_it() -> None:
    inner = loop(INNER, block(store(3.0), store(1.0), store(1.0)))
    assert unswitched(block(store(4.0), loop(OUTER, inner))) == [
        "    y[0] = 4.0",
        "    if n >= 16:",
        "        for i in range(8):",
        "            for j in range(8):",
        "                y[0] = 3.0",
        "                y[0] = 1.5",
        "                y[0] = 1.5",
        "    else:",
        "        for i in range(8):",
        "            for j in range(8):",
        "                y[0] = 3.0",
        "                y[0] = 1.0",
        "                y[0] = 1.0",
    ]


def test_it_stays_in_the_loop_that_decides_it_and_among_what_threads_share() -> None:
    assert unswitched(loop(OUTER, loop(INNER, store(2.0)))) == [
        "    for i in range(8):",
        "        if i >= 16:",
        "            for j in range(8):",
        "                y[0] = 2.5",
        "        else:",
        "            for j in range(8):",
        "                y[0] = 2.0",
    ]
    assert unswitched(loop(OUTER, loop(INNER, store(1.0)), ForKind.PARALLEL))[:2] == [
        "    parallel for i in range(8):",
        "        if n >= 16:",
    ]


def test_of_two_conditions_in_a_loop_the_first_is_decided_outside() -> None:
    assert unswitched(loop(OUTER, block(store(1.0), store(2.0)))) == [
        "    if n >= 16:",
        "        for i in range(8):",
        "            y[0] = 1.5",
        "            if i >= 16:",
        "                y[0] = 2.5",
        "            else:",
        "                y[0] = 2.0",
        "    else:",
        "        for i in range(8):",
        "            y[0] = 1.0",
        "            if i >= 16:",
        "                y[0] = 2.5",
        "            else:",
        "                y[0] = 2.0",
    ]


def test_branches_values_and_allocations_are_left_and_buffers_are_of_their_own() -> None:
    read = Load(FLOAT32, KEPT, (const(0, INDEX),))
    inside = block(store(3.0, KEPT), Store(Y, (INNER,), read), store(1.0))
    body = loop(OUTER, Allocate(KEPT, LetStmt(INNER, OUTER + 1, If(OUTER < 3, inside))))
    made = TwoVersions().unswitched(body)
    assert isinstance(made, If)
    assert [line.strip() for line in str(PrimFunc("f", (), (Y,), made, dims=(SIZE,))).splitlines()[2:10]] == [
        "if n >= 16:",
        "for i in range(8):",
        "allocate kept: float32[4] global",
        "j = i + 1",
        "if i < 3:",
        "kept[0] = 3.0",
        "y[j] = kept[0]",
        "y[0] = 1.5",
    ]
    first, second = (each.body for each in (made.then, made.otherwise))  # type: ignore[union-attr]
    assert first.buffer is not second.buffer


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.UNROLLED])
def test_what_has_no_versions_is_kept(kind: ForKind) -> None:
    body = loop(OUTER, block(store(3.0), loop(INNER, store(4.0))), kind)
    assert TwoVersions().unswitched(body) is body
