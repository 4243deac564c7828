"""Tensors between: what is known of the integers that they hold, and the dtype of those that hold literals."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from opgen_runtime.base.errors import AccessError, DTypeError, LanguageError
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.compute import lang as _l
from opgen_runtime.compute import te
from opgen_runtime.operator.attrs import Attrs
from opgen_runtime.operator.types import Input, Output, Signature, TensorType, bind


class StoredAttrs(Attrs):
    type_key = "attrs.test_lang_stored"


@dataclass(frozen=True)
class Declared:
    signature: Signature
    compute: Callable[..., None]


def run(compute: Callable[..., None], outputs: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The outputs `name:dtype`, of the first operand's shape, of a compute function of `x` and further operands."""
    names = ("x", "y")[: len(arrays)]
    made = [output.split(":") for output in outputs.split()]
    signature = Signature(
        inputs=tuple(Input(name) for name in names),
        outputs=tuple(Output(name, "x.shape", dtype) for name, dtype in made),
    )
    types = [TensorType(a.shape, a.dtype.name) for a in arrays]
    tensors = [te.placeholder(name, a.shape, a.dtype.name) for name, a in zip(names, arrays, strict=True)]
    built = _l.build(Declared(signature, compute), bind(signature, "test", StoredAttrs(), types), tensors)
    return te.evaluate(built, dict(zip(tensors, arrays, strict=True)))


def stored(value: Callable[..., Any]) -> Callable[..., None]:
    """`at[i] = value(x, n, i)`, kept in a tensor, and `x[at[i]]`."""

    def compute(x: Any, out: Any) -> None:
        (n,) = x.shape
        at = _l.tensor("at", (n,))
        at.define(lambda i: value(x, n, i))
        out.define(lambda i: x[at[i]])

    return compute


INSIDE: dict[str, Callable[..., Any]] = {
    "argmin": lambda x, n, i: _l.argmin(_l.over(_l.range(n), lambda k: x[k])),
    "argmax of an int32": lambda x, n, i: _l.cast(
        _l.argmax(_l.over(_l.range(n), lambda k: x[k])), DType("int32")
    ),
    "clip": lambda x, n, i: _l.clip(_l.cast(x[i], DType("int64")), 0, n - 1),
    "remainder": lambda x, n, i: _l.floormod(_l.cast(x[i], DType("int64")), n),
    "count": lambda x, n, i: _l.max(
        _l.sum(_l.over(_l.range(n), lambda k: _l.when(_l.less(x[k], x[i]), lambda: 1))) - 1, 0
    ),
    "mirrored": lambda x, n, i: n - 1 - i,
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_stored_keeps_its_range(name: str) -> None:
    x = np.array([3.0, -7.5, 1e9, 0.0, 2.0], "float32")
    (out,) = run(stored(INSIDE[name]), "out:float32", x)
    assert set(out.tolist()) <= set(x.tolist())


def test_positions_that_are_made_of_stored_ones() -> None:
    def compute(x: Any, out: Any) -> None:
        (n,) = x.shape
        first, second = _l.tensor("first", (n,)), _l.tensor("second", (n,))
        first.define(lambda i: _l.floormod(_l.cast(x[i], DType("int64")), n))
        second.define(lambda i: i - _l.min(first[i], i))  # at most i, which no interval says
        out.define(lambda i: x[i - second[i]] + x[n - 1 - first[i]])

    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0], "float32")
    (out,) = run(compute, "out:float32", x)
    first = x.astype(int) % 5
    at = np.arange(5)
    np.testing.assert_array_equal(out, x[np.minimum(first, at)] + x[4 - first])


def test_argmin_of_nothing_is_no_position() -> None:
    def compute(x: Any, y: Any, out: Any) -> None:
        at = _l.tensor("at", ())
        at.define(lambda: _l.argmin(_l.over(_l.range(y.shape[0]), lambda k: y[k])))
        out.define(lambda i: x[at[()]])

    with pytest.raises(AccessError, match="ranges over -1"):
        run(compute, "out:float32", np.ones(3, "float32"), np.ones(0, "float32"))


def test_an_update_leaves_nothing_known() -> None:
    """What the definition says is not what is read, be the update above or below."""

    def above(x: Any, out: Any) -> None:
        (n,) = x.shape
        at = _l.tensor("at", (n,))
        at.define(lambda i: 0)
        for i in _l.loop(_l.range(n)):
            at.put(i, "=", 99)
        out.define(lambda i: x[at[i]])

    def below(x: Any, out: Any) -> None:
        (n,) = x.shape
        at = _l.tensor("at", (n,))
        at.define(lambda i: i)
        out.define(lambda i: 0)
        for i in _l.loop(_l.range(n)):
            out.put(at[i], "=", x[i])
        for i in _l.loop(_l.range(n)):
            at.put(i, "=", 99)

    x = np.ones(4, "float32")
    with pytest.raises(AccessError, match="index 0 of x"):
        run(above, "out:float32", x)
    with pytest.raises(LanguageError, match="at is updated below a place"):
        run(below, "out:float32", x)


@pytest.mark.parametrize("counting", [False, True])
def test_of_an_element_that_is_there_under_a_condition_nothing_is_said_elsewhere(counting: bool) -> None:
    """At 0 there is no element before, and what would hold of it must not prove that i is not 0."""

    def compute(x: Any, out: Any) -> None:
        (n,) = x.shape
        c = _l.tensor("c", (n,))
        if counting:
            hit = 2
            c.define(
                lambda i: (
                    _l.select(_l.greater(i, 0), lambda: c[i - 1], lambda: 0)
                    + _l.select(_l.equal(x[i], 0), lambda: 1, lambda: 0)
                )
            )
        else:
            hit = 1
            c.define(lambda i: _l.cast(i, DType("int64")))

        def before(i: Any) -> Any:
            return _l.select(_l.greater_equal(i, hit), lambda: c[i - hit], lambda: 0)

        out.define(lambda i: x[_l.min(before(i) + i - 1, n - 1)])

    with pytest.raises(AccessError, match="cannot prove that index 0 of x"):
        run(compute, "out:float32", np.ones(4, "float32"))


def test_proved_accesses_are_inside() -> None:
    """Positions made at random of stored ones, some read under conditions: where the proof is found, all are inside."""
    proved = 0
    for seed in range(200):
        chance = random.Random(seed)
        n = chance.randint(1, 5)
        x = np.array([chance.randint(-9, 9) for _ in range(n)], "int64")
        try:
            at, _ = run(positions(chance, n), "at:int64 got:int64", x)
        except AccessError:
            continue
        proved += 1
        assert ((at >= 0) & (at < n)).all(), seed
    assert proved > 40


def positions(chance: random.Random, n: int) -> Callable[..., None]:
    def again(value: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
        """The same random value whenever it is asked for."""
        drawn = chance.randint(0, 1 << 30)

        def of(i: Any) -> Any:
            chance.seed(drawn)
            return value(i, 2) + _l.cast(i, DType("int64")) * 0

        return of

    def compute(x: Any, at: Any, got: Any) -> None:
        tensors: list[Any] = []

        def value(i: Any, depth: int) -> Any:
            kind = chance.choice(("i", "x", "number", "read", "before", "clip", "mod", "sum", "choice"))
            if kind == "i" or depth == 0:
                return i
            if kind == "x":
                return x[i]
            if kind == "number":
                return chance.randint(-1, n)
            if kind == "read":
                return chance.choice(tensors)[i] if tensors else i
            if kind == "before":  # an element that is there under a condition only
                back, source = chance.randint(1, 2), chance.choice([*tensors, x])
                return _l.select(_l.greater_equal(i, back), lambda: source[i - back], lambda: 0)
            a, b = value(i, depth - 1), value(i, depth - 1)
            if kind == "clip":
                return _l.clip(a, 0, n - 1)
            if kind == "mod":
                return _l.floormod(a, n)
            if kind == "sum":
                return a + b if chance.random() < 0.6 else a - b
            return _l.select(_l.less(a, b), lambda: a, lambda: b)

        for number in range(chance.randint(1, 3)):
            made = _l.tensor(f"t{number}", (n,))
            made.define(again(value))
            made.tensor()  # before it is read
            tensors.append(made)
        position = again(value)
        at.define(position)
        got.define(lambda i: x[position(i)])

    return compute


def mask(x: Any, y: Any, a: Any, b: Any) -> None:
    keep = _l.tensor("keep", x.shape)
    keep.define(lambda i: _l.select(_l.less(i, 2), lambda: 1, lambda: 0))
    a.define(lambda i: x[i] * keep[i])
    b.define(lambda i: y[keep[i]] + keep[i])


def test_a_tensor_of_literals_takes_the_dtype_of_what_reads_it() -> None:
    x, y = np.array([0.5, 2.0, 3.0], "float32"), np.array([5, 6, 7], "int16")
    a, b = run(mask, "a:float32 b:int16", x, y)
    np.testing.assert_array_equal(a, [0.5, 2, 0])
    np.testing.assert_array_equal(b, [7, 7, 5])


def test_a_tensor_of_literals_takes_the_dtype_of_its_updates() -> None:
    def compute(x: Any, out: Any) -> None:
        total = _l.tensor("total", ())
        total.define(lambda: 0)
        for i in _l.loop(_l.range(x.shape[0])):
            total.put((), "+=", x[i])
        out.define(lambda i: total[()])

    (out,) = run(compute, "out:float64", np.array([0.5, 2.0], "float64"))
    np.testing.assert_array_equal(out, [2.5, 2.5])


def test_float_literals_suit_no_integer() -> None:
    def compute(x: Any, out: Any) -> None:
        half = _l.tensor("half", ())
        half.define(lambda: 0.5)
        out.define(lambda i: x[i] + half[()])

    with pytest.raises(DTypeError, match="a value of float literals does not suit dtype int16"):
        run(compute, "out:int16", np.ones(2, "int16"))
