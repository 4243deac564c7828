"""`next` over terms of loops, conditions and what is unrolled, against Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from opgen_runtime.compute import lang as _l
from opgen_runtime.compute import te
from opgen_runtime.compute.lang.reduce import Unrolled
from opgen_runtime.operator.attrs import Attrs
from opgen_runtime.operator.types import Input, Output, Signature, TensorType, bind


class NoAttrs(Attrs):
    type_key = "attrs.test_lang_next"


def first(term: object, size: int) -> np.ndarray:
    """What `next` gives of the term in each of `size` elements, 99 where it has nothing."""

    def compute(data, out):
        out.define(lambda i: _l.next(built(term, data, i, ()), lambda: _l.cast(99, data.dtype)))

    signature = Signature(inputs=(Input("data"),), outputs=(Output("out", "data.shape", "data.dtype"),))

    declared = SimpleNamespace(signature=signature, compute=compute)
    data = np.arange(size)
    binding = bind(signature, "test", NoAttrs(), [TensorType(data.shape, "int64")])
    tensor = te.placeholder("data", data.shape, "int64")
    return te.evaluate(_l.build(declared, binding, [tensor]), {tensor: data})[0]


# A term: ("value", n) | ("when", divisor, remainder, term) | ("loop", extent, term) | ("parts", terms)


def built(term, data, i, loops):
    match term:
        case ("value", number):
            return data[i] * 0 + number + sum((10 * k for k in loops), start=0)
        case ("when", divisor, remainder, body):
            held = (i + sum(loops, start=0)) % divisor
            return _l.when(_l.equal(held, remainder), lambda: built(body, data, i, loops))
        case ("loop", extent, body):
            return _l.over(_l.range(extent), lambda k: built(body, data, i, (*loops, k)))
        case ("parts", terms):
            return Unrolled(tuple(built(part, data, i, loops) for part in terms))
    raise AssertionError(term)


def values(term, i: int, loops: tuple[int, ...]) -> Iterator[int]:
    match term:
        case ("value", number):
            yield number + 10 * sum(loops)
        case ("when", divisor, remainder, body):
            if (i + sum(loops)) % divisor == remainder:
                yield from values(body, i, loops)
        case ("loop", extent, body):
            for k in range(extent):
                yield from values(body, i, (*loops, k))
        case ("parts", terms):
            for part in terms:
                yield from values(part, i, loops)


def made(rng: random.Random, depth: int) -> object:
    kind = rng.choice(["value", "when", "when", "loop", "parts"] if depth else ["value"])
    if kind == "value":
        return ("value", rng.randrange(9))
    if kind == "when":
        divisor = rng.randint(2, 7)
        return ("when", divisor, rng.randrange(divisor), made(rng, depth - 1))
    if kind == "loop":
        return ("loop", rng.randint(1, 3), made(rng, depth - 1))
    return ("parts", [made(rng, depth - 1) for _ in range(rng.randint(0, 4))])


@pytest.mark.parametrize("seed", range(120))
def test_any_term(seed: int) -> None:
    term = ("parts", [made(random.Random(f"{seed} {k}"), 3) for k in range(1 + seed % 3)])
    want = [next(values(term, i, ()), 99) for i in range(14)]
    np.testing.assert_array_equal(first(term, 14), want, err_msg=str(term))


@pytest.mark.parametrize("count", [300, 3000])
def test_many_alternatives(count: int) -> None:
    """Conditions that are no separate ranges of one number."""
    parts = [("when", k + 2, (3 * k) % (k + 2), ("value", k)) for k in range(count)]
    want = [next(values(("parts", parts), i, ()), 99) for i in range(9)]
    np.testing.assert_array_equal(first(("parts", parts), 9), want)


def test_loops_among_alternatives() -> None:
    parts = [
        part for k, n in product(range(60), (2, 3)) for part in [("loop", n, ("when", 101, k, ("value", k)))]
    ]
    want = [next(values(("parts", parts), i, ()), 99) for i in range(9)]
    np.testing.assert_array_equal(first(("parts", parts), 9), want)
