"""Gradients of random loops against differences; with states computed again they are the same to the bit."""

from __future__ import annotations

import random
from types import MappingProxyType
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.ir.loops import EVERY, MOST
from opgen_runtime.transform.gradient import pull

COUNT: Final = 300
TYPE, NUMBER = rt.TensorType((3,), "float64"), rt.TensorType((), "int64")


def module(seed: int, every: int | None) -> ir.IRModule:
    """A main of three vectors that calls a loop of several ends, with branches, bindings and other loops inside."""
    source = random.Random(seed)
    n, x, y, w = (rt.var(name, TYPE) for name in "nxyw")
    n = rt.var("n", NUMBER)
    pair = rt.TupleType((TYPE, TYPE))
    own = ir.GlobalVar("loop", rt.FuncType((NUMBER, TYPE, TYPE, TYPE), pair))
    inner = ir.GlobalVar("inner", rt.FuncType((NUMBER, TYPE, TYPE), TYPE))
    m, v, k = rt.var("m", NUMBER), rt.var("v", TYPE), rt.var("k", TYPE)

    def value(seen: list[Any], depth: int) -> Any:
        seen = list(seen)
        for _ in range(source.randint(1, 3)):
            a, b = source.choice(seen), source.choice(seen)
            kind = source.randrange(6 if depth else 5)
            if kind == 0:
                seen.append(ops.multiply(ops.sin(a), b))
            elif kind == 1:
                seen.append(ops.add(a, ops.multiply(b, 0.5)))
            elif kind == 2:
                seen.append(ops.softmax(a, axis=0))
            elif kind == 3:
                bound = rt.var("t", TYPE)
                seen.append(ir.Let(bound, ops.tanh(a), ops.multiply(bound, b)))
            elif kind == 4:
                test = ops.less(ops.sum(a), ops.add(ops.sum(b), 0.1))  # sums of softmax are equal
                seen.append(ir.If(test, ops.cos(a), ops.multiply(a, b)))
            else:
                seen.append(ir.Call(inner, (ir.const(np.array(source.randrange(4))), a, b)))
        return seen[-1]

    def again(by: int) -> ir.Expr:
        given = [value([x, y, w], 1), source.choice([y, value([x, y], 1)]), w]
        return ir.Call(own, (ops.add(n, np.array(by)), *given))

    def end() -> ir.Expr:
        return ir.Tuple((value([x, y, w], 0), source.choice([x, y, w])))

    both = ir.If(
        ops.less(ops.sum(x), ops.add(ops.sum(y), 0.1)), again(1), source.choice([again(2), again(1)])
    )
    early = ir.If(ops.less(ops.sum(y), np.array(-2.0)), end(), both)
    body = ir.If(ops.less(n, np.array(5)), source.choice([early, both]), end())
    attrs = {MOST: 5} | ({} if every is None else {EVERY: every})
    loop = ir.Function((n, x, y, w), body, pair, attrs=MappingProxyType(attrs))
    more = ir.Call(inner, (ops.subtract(m, np.array(1)), ops.multiply(ops.sin(v), k), k))
    small = ir.Function((m, v, k), ir.If(ops.greater(m, np.array(0)), more, value([v, k], 0)), TYPE)
    a, b, c = (rt.var(name, TYPE) for name in "abc")
    found = ir.Call(own, (ir.const(np.array(0)), a, b, c))
    main = ir.Function((a, b, c), ops.add(ir.TupleGetItem(found, 0), ir.TupleGetItem(found, 1)))
    return ir.IRModule({ir.GlobalVar("main"): main, own: loop, inner: small})


def case(seed: int) -> None:
    """A loop and its gradient, op by op; with a random part of its states kept, too."""
    every = 2 + seed % 5
    arrays = np.random.default_rng(seed).normal(size=(3, 3))
    direction = np.random.default_rng(seed + 1).normal(size=(3, 3))
    results = []
    for chosen in (None, every):
        program = module(seed, chosen)
        main = program["main"]
        g = rt.var("g", TYPE)
        found = pull([main.body], [g], list(main.params), program)
        zero = ops.zeros(shape=(3,), dtype="float64")
        whole = ir.Function((*main.params, g), ir.Tuple(tuple([zero if f is None else f for f in found])))
        run = rt.create_executor("debug").evaluate(whole)
        results.append(np.array([each.numpy() for each in run(*arrays, np.ones(3))]))
    np.testing.assert_array_equal(results[0], results[1])
    value = rt.create_executor("debug", program).evaluate()
    h = 1e-6
    ends = [value(*(arrays + e * direction)).numpy().sum() for e in (h, -h)]
    expected = (ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose((results[0] * direction).sum(), expected, rtol=1e-5, atol=1e-5)
