"""Random programs before and after every declared rewrite of the library, alone and one after the other.

The programs are those of `passes.py`, with calls among them that the rules are about.  What states no bound keeps every
bit.
"""

from __future__ import annotations

from opgen_runtime import ir, ops
from opgen_runtime.transform import (
    DivToMul,
    InferType,
    PassContext,
    RecogniseOps,
    Sequential,
    SimplifyAlgebra,
    SimplifyExpr,
)
from tests.fuzz.passes import SHAPE, Maker, check, compare, results

COUNT = 2000
EXACT = (SimplifyExpr, DivToMul, SimplifyAlgebra)


class Matched(Maker):
    """Programs half of whose steps are of what rules match."""

    def step(self) -> ir.Expr:
        if self.rng.random() < 0.5:
            return super().step()
        a, b = self.pick(), self.pick()
        one, zero = ir.const(1.0, "float32"), ir.const(self.rng.choice((0.0, -0.0)), "float32")
        pairs = (
            lambda: ops.negative(ops.negative(a)),
            lambda: ops.abs(ops.negative(a)),
            lambda: ops.relu(ops.relu(a)),
            lambda: ops.subtract(a, ops.negative(b)),
            lambda: ops.add(ops.negative(a), b),
            lambda: ops.multiply(ops.negative(a), ops.negative(b)),
            lambda: ops.cast(ops.logical_not(ops.equal(a, b)), dtype="float32"),
            lambda: ops.maximum(ops.maximum(a, b), b),
            lambda: ops.where(ops.less(a, b), b, b),
            lambda: ops.ceil(ops.floor(a)),
            lambda: ops.add(a, zero),
            lambda: ops.subtract(a, zero),
            lambda: ops.multiply(one, a),
            lambda: ops.divide(a, ir.const(self.rng.choice((4.0, 3.0, 0.5)), "float32")),
            lambda: ops.cast(ops.cast(a, dtype="float64"), dtype="float32"),
            lambda: ops.reshape(ops.reshape(a, newshape=(8, 9)), newshape=SHAPE),
            lambda: ops.transpose(ops.transpose(a, axes=(1, 0, 3, 2)), axes=(1, 0, 3, 2)),
            lambda: ops.strided_slice(
                ops.concatenate([ops.concatenate([a, b], axis=1), a], axis=1), begin=(0,), end=(4,), axes=(1,)
            ),
            lambda: ops.multiply(a, ops.sigmoid(a)),
            lambda: ops.divide(one, ops.sqrt(ops.add(ops.abs(a), one))),
            lambda: ops.maximum(a, zero),
        )
        return self.rng.choice(pairs)()


def program(seed: int, tame: bool) -> ir.IRModule:
    """A random module of one function."""
    maker = Matched(seed, tame)
    for _ in range(maker.rng.randrange(2, 9)):
        maker.nodes.append(maker.step())
    main = ir.Function(tuple(maker.params), maker.around(maker.nodes[-1]))
    return InferType()(ir.IRModule({ir.GlobalVar("main", main.checked_type): main}))


def case(seed: int) -> None:
    """Each pass by itself, then all in order, over and over until nothing changes."""
    wild = program(seed, tame=False)
    for make in EXACT:
        check(make(), wild, seed)
    tame = program(seed, tame=True)
    check(RecogniseOps(), tame, seed)
    every = Sequential([make() for make in (*EXACT, RecogniseOps)])
    before = after = tame
    with PassContext(opt_level=4):
        for _ in range(20):
            before, after = after, every(after)
            if after is before:
                break
        else:
            raise AssertionError(f"rules never end on\n{tame}")
    compare(results(tame, seed), results(after, seed), exact=False, where=f"all rules on\n{tame}")
