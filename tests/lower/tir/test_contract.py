"""The rules that loop IR is held to where users have a part in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from opgen_runtime.base.arith import Binary, Const, Var, const
from opgen_runtime.base.errors import LoweringError
from opgen_runtime.base.vocabulary import FLOAT32, INDEX, INT32
from opgen_runtime.compute import te
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import create_schedule
from opgen_runtime.lower.tir import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    Load,
    PrimFunc,
    Ramp,
    Splat,
    Stmt,
    Store,
)

X = te.placeholder("x", (6,), "float32")
Y = te.compute("y", (6,), "float32", lambda i: te.read(X, i) * 2.0)
FUNC = tir.run_phases(tir.lower(create_schedule([Y]), [X], [Y], "twice"))
(A,), (B,) = FUNC.inputs, FUNC.outputs
ZERO = const(0, INDEX)
LOCAL = Buffer("local", (4,), FLOAT32, "local")


def stored(buffer: Buffer, *indices: object, value: object = None) -> Stmt:
    return Store(buffer, indices, const(1.0, FLOAT32) if value is None else value)  # type: ignore[arg-type]


WRONG: dict[str, tuple[Callable[[], Stmt], str]] = {
    "not allocated": (lambda: stored(LOCAL, ZERO), "buffer local is used where it is not allocated"),
    "used after its allocation": (
        lambda: Block((Allocate(LOCAL, stored(LOCAL, ZERO)), stored(LOCAL, ZERO))),
        "buffer local is used where it is not allocated .rule: buffers are declared",
    ),
    "allocated twice": (
        lambda: Allocate(LOCAL, Allocate(LOCAL, stored(LOCAL, ZERO))),
        "buffer local is allocated twice",
    ),
    "an input": (lambda: stored(A, ZERO), "input x is stored to .rule: inputs are only read"),
    "a rank": (lambda: stored(B, ZERO, ZERO), "buffer y of 1 dims is stored to with 2 indices"),
    "a dtype": (
        lambda: stored(B, ZERO, value=const(1, INT32)),
        "int32 is stored to y, which holds float32",
    ),
    "reinterpreted": (
        lambda: stored(Buffer("y", (6,), INT32), ZERO, value=Load(INT32, A, (ZERO,))),
        "is used where it is not allocated",
    ),
    "read as another": (
        lambda: stored(B, Binary(INDEX, "add", ZERO, Load(INDEX, A, (ZERO,)))),
        "x, which holds float32, is read as index",
    ),
    "operands": (
        lambda: stored(B, Binary(INDEX, "add", ZERO, Const(INT32, 1))),
        "add of index and int32 gives index",
    ),
    "a free variable": (lambda: stored(B, Var(INDEX, "q")), "variable q is used where it is not bound"),
    "after its loop": (
        lambda: Block((For(q := Var(INDEX, "q"), ZERO, ZERO, ForKind.SERIAL, stored(B, q)), stored(B, q))),
        "variable q is used where it is not bound .rule: no free variable",
    ),
    "a kind": (
        lambda: For(Var(INDEX, "q"), ZERO, ZERO, ForKind.VECTORIZED, stored(B, ZERO)),
        "the loop over q is still vectorized",
    ),
    "lanes": (
        lambda: stored(B, Binary(INDEX, "add", Ramp(INDEX, ZERO, ZERO, 4), Splat(INDEX, ZERO, 8))),
        "joins vectors of 4 and 8 lanes",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_a_rule_is_refused(name: str) -> None:
    make, message = WRONG[name]
    with pytest.raises(LoweringError, match=f"twice, after all phases: .*{message}"):
        tir.check(tir.FINAL, replace(FUNC, body=make()), "all phases", own=False)


def test_what_is_right_passes() -> None:
    tir.check(tir.FINAL, FUNC, "all phases", own=False)


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (lambda func: None, "the hook after simplify gave None, expected a PrimFunc"),
        (lambda func: func.nothing, "the hook after simplify raised AttributeError"),
        (lambda func: replace(func, outputs=()), "the hook after simplify gave other parameters"),
        (
            lambda func: replace(func, body=stored(A, ZERO)),
            "after the hook after simplify: buffer x is used where it is not allocated",
        ),
    ],
)
def test_hooks_are_held_to_the_rules(hook: Callable[[PrimFunc], PrimFunc], message: str) -> None:
    func = tir.lower(create_schedule([Y]), [X], [Y], "twice")
    with pytest.raises(LoweringError, match=message):
        tir.hooked("simplify", hook, func, tir.LOWERED)
