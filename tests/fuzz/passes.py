"""Random programs before and after every registered pass: valid IR, the type of main, the same values.

A pass that states no error bound keeps every bit of what the debug executor computes; the others stay within their
bound's order of magnitude.  Programs hold shared nodes, tuples, lets, branches, calls of functions, constants (zeros of
both signs, infinities, powers of two, numbers near the ends), casts, convolutions with their epilogues, dense layers
that share their input, and layout changes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from opgen_runtime import create_executor, ir, ops
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import (
    ConvertLayout,
    DivToMul,
    InferType,
    Pass,
    PassContext,
    VerifyIR,
    all_passes,
)

COUNT = 2000
SHAPE = (2, 4, 3, 3)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 1e30, 1e-30, float("inf"), 0.1, -4.0, 2.0**-140, 7.0)
DTYPES = ("float32", "float16", "float64", "int32")


class Maker:
    """One random program over parameters of one shape."""

    def __init__(self, seed: int, tame: bool) -> None:
        self.rng = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.tame = tame  # only numbers that no chain of ops takes out of range
        self.params = [ir.Var(f"x{k}", TensorType(SHAPE, "float32")) for k in range(3)]
        self.nodes: list[ir.Expr] = list(self.params)

    def pick(self) -> ir.Expr:
        return self.rng.choice(self.nodes[-5:] if self.rng.random() < 0.7 else self.nodes)

    def number(self) -> float:
        return self.rng.choice((0.5, 2.0, -4.0, 3.0, 0.1, 1.0) if self.tame else NUMBERS)

    def constant(self) -> ir.Expr:
        shape = self.rng.choice([(), SHAPE, (4, 1, 1), (1, 4, 1, 1), (3,)])
        drawn = [self.number() for _ in range(int(np.prod(shape)))]
        if self.rng.random() < 0.5:
            drawn = [drawn[0]] * len(drawn)
        return ir.const(np.array(drawn, np.float32).reshape(shape))

    def channels(self, positive: bool = False) -> ir.Expr:
        values = self.numpy.uniform(0.5, 2.0, 4) * (1 if positive else self.numpy.choice([-1, 1], 4))
        return ir.const(values.astype(np.float32))

    def step(self) -> ir.Expr:
        a, b = self.pick(), self.pick()
        ways = (
            self.binary, self.unary, self.with_constant, self.casts, self.moves, self.reduces, self.convolution,
            self.normalised, self.parallel, self.field, self.scaled, self.channelwise,
        )  # fmt: skip
        return self.rng.choice(ways)(a, b)

    def binary(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        made = self.rng.choice([ops.add, ops.subtract, ops.multiply, ops.maximum])(a, b)
        return ops.tanh(made) if self.tame else made

    def unary(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return self.rng.choice([ops.relu, ops.abs, ops.tanh, ops.negative, ops.sigmoid])(a)

    def with_constant(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        c = self.constant()
        if self.rng.random() < 0.2:
            c = ops.multiply(c, self.constant()) if not self.tame else ops.abs(c)
        op = self.rng.choice([ops.add, ops.subtract, ops.multiply, ops.divide])
        return op(c, a) if self.rng.random() < 0.2 and not self.tame else op(a, c)

    def casts(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        first, second = self.rng.choice(DTYPES[:3]), self.rng.choice(DTYPES[:3])
        if not self.tame and self.rng.random() < 0.3:
            first = "int32"
        inner = ops.cast(ops.cast(a, dtype=first), dtype=second)
        return ops.cast(ops.add(inner, inner) if self.rng.random() < 0.3 else inner, dtype="float32")

    def moves(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        axes = self.rng.choice([(0, 2, 3, 1), (1, 0, 2, 3), (0, 1, 3, 2)])
        there = ops.transpose(a, axes=axes)
        if self.rng.random() < 0.5:
            there = ops.relu(there)
        back = tuple(int(k) for k in np.argsort(axes))
        if self.rng.random() < 0.3:
            return ops.reshape(ops.reshape(there, newshape=(8, 9)), newshape=SHAPE)
        return ops.transpose(there, axes=back)

    def reduces(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        op = self.rng.choice([ops.mean, ops.max, ops.sum])
        return ops.tanh(ops.subtract(b, op(a, axis=self.rng.randrange(4), keepdims=True)))

    def convolution(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        groups = self.rng.choice([1, 1, 2, 4])
        weight = (self.numpy.uniform(-1, 1, (4, 4 // groups, 3, 3)) / 4).astype(np.float32)
        if self.rng.random() < 0.4:
            a = ops.multiply(
                a, ops.reshape(self.channels(positive=self.rng.random() < 0.5), newshape=(4, 1, 1))
            )
            a = ops.relu(a) if self.rng.random() < 0.5 else a
        made = ops.conv2d(a, ir.const(weight), padding=(1, 1), groups=groups)
        return ops.bias_add(made, self.channels()) if self.rng.random() < 0.5 else made

    def normalised(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        parts = [self.channels(), self.channels(), self.channels(), self.channels(positive=True)]
        return self.rng.choice([ops.relu, ops.tanh])(ops.batch_norm(a, *parts)[0])

    def parallel(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        flat = ops.reshape(a, newshape=(8, 9))
        made = [
            ops.dense(flat, ir.const((self.numpy.uniform(-1, 1, (9, 9)) / 9).astype(np.float32)))
            for _ in range(self.rng.randrange(2, 5))
        ]
        total = made[0]
        for each in made[1:]:
            total = ops.add(total, each)
        return ops.reshape(total, newshape=SHAPE)

    def field(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        if self.rng.random() < 0.5:
            return ir.TupleGetItem(ir.Tuple((a, b)), self.rng.randrange(2))
        return ops.dropout(a)[0]

    def channelwise(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        """A convolution, and what names an axis behind it."""
        made, axis = self.convolution(a, b), self.rng.randrange(1, 4)
        ways = (
            lambda: ops.softmax(made, axis=axis),
            lambda: ops.concatenate([made, b], axis=1),
            lambda: ops.concatenate([made, ops.relu(made)], axis=1),
            lambda: ops.add(*ops.split(ops.concatenate([made, b], axis=1), indices_or_sections=2, axis=1)),
            lambda: ops.pad(made, pad_width=(0, 0, 0, 4, 0, 0, 0, 0)),
            lambda: ops.expand_dims(ops.mean(made, axis=(axis,)), axis=axis),
            lambda: ops.reverse(made, axis=axis),
            lambda: ops.transpose(ops.transpose(made, axes=(0, 2, 3, 1)), axes=(0, 3, 1, 2)),
        )
        found = self.rng.choice(ways)()
        wide = ops.strided_slice(found, begin=(0,), end=(4,), axes=(1,))
        return ops.tanh(ops.add(wide, b))

    def scaled(self, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        """A scale of channels behind something that may take it."""
        scale = ops.reshape(self.channels(positive=self.rng.random() < 0.5), newshape=(4, 1, 1))
        inner = self.convolution(a, b)
        if self.rng.random() < 0.6:
            inner = self.rng.choice([ops.relu, ops.negative, ops.abs])(inner)
        return ops.multiply(inner, scale)

    def around(self, value: ir.Expr) -> ir.Expr:
        """Lets and branches around the whole."""
        if self.rng.random() < 0.3:
            var = ir.Var("v", TensorType(SHAPE, "float32"))
            value = ir.Let(var, value, ops.add(ops.relu(var), self.rng.choice([var, self.params[0]])))
        if self.rng.random() < 0.2:
            test = ops.less(ops.mean(self.params[0]), 0.0)
            value = ir.If(test, ops.abs(value), ops.add(self.params[1], 1.0))
        return value


def program(seed: int, tame: bool) -> ir.IRModule:
    """A random module; `tame`: its values stay of ordinary size."""
    maker = Maker(seed, tame)
    for _ in range(maker.rng.randrange(2, 9)):
        maker.nodes.append(maker.step())
    result = maker.around(maker.nodes[-1])
    if maker.rng.random() < 0.3:
        result = ir.Tuple((result, maker.pick()))
    main = ir.Function(tuple(maker.params), result)
    module = ir.IRModule({ir.GlobalVar("main", main.checked_type): main})
    if maker.rng.random() < 0.2:
        helper = ir.GlobalVar("helper", main.checked_type)
        y = [ir.Var(f"y{k}", TensorType(SHAPE, "float32")) for k in range(3)]
        outer = ir.Function(tuple(y), ir.Call(helper, tuple(y)))
        module = ir.IRModule({ir.GlobalVar("main", outer.checked_type): outer, helper: main})
    return InferType()(module)


def results(module: ir.IRModule, seed: int, executor: str = "debug") -> list[np.ndarray]:
    """What main gives for seeded arrays."""
    rng = np.random.default_rng(seed)
    arrays = [rng.uniform(-2, 2, SHAPE).astype(np.float32) for _ in range(3)]
    with np.errstate(all="ignore"):
        found = create_executor(executor, module).evaluate()(*arrays)  # type: ignore[operator]
    return [part.numpy() for part in (found if isinstance(found, tuple) else (found,))]


def check(made: Pass, module: ir.IRModule, seed: int) -> None:
    """`made` leaves a valid module with the same values."""
    with PassContext(instruments=[VerifyIR()]) as context:
        after = made(module)
    exact = not made.stated(context).changes_values
    compare(results(module, seed), results(after, seed), exact, f"{made} on\n{module}\ngave\n{after}")


def compare(before: Sequence[np.ndarray], after: Sequence[np.ndarray], exact: bool, where: str) -> None:
    """Equal bits, or closeness where a pass states an error bound; NaN is like NaN."""
    assert len(before) == len(after), where
    for one, other in zip(before, after, strict=True):
        assert one.dtype == other.dtype, where
        if exact:
            np.testing.assert_array_equal(one, other, err_msg=where)
            nonzero = one == 0
            np.testing.assert_array_equal(np.signbit(one[nonzero]), np.signbit(other[nonzero]), err_msg=where)
        else:
            np.testing.assert_allclose(one, other, rtol=2e-2, atol=2e-2, err_msg=where)


def made_passes() -> list[Pass]:
    """Each registered pass, and those again whose options make them do more."""
    return [
        *[maker() for maker in all_passes() if not maker.info.changes_type],
        ConvertLayout({"conv2d": "NHWC"}),
        DivToMul(approximate=True),
    ]


def case(seed: int) -> None:
    """Every pass on one program; passes that change values on one whose values are of ordinary size.

    Then the whole pipeline at one level, compiled.
    """
    for made in made_passes():
        exact = not made.stated(PassContext()).changes_values
        check(made, program(seed, tame=not exact), seed)
    ordinary = program(seed, tame=True)
    with PassContext(opt_level=seed % 5):
        found = results(ordinary, seed, "graph")
    compare(results(ordinary, seed), found, exact=False, where=f"level {seed % 5} of\n{ordinary}")
