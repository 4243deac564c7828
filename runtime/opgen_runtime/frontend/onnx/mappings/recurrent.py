"""Recurrent networks: the declared ops where they fit, else cells unrolled over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from ....base.vocabulary import dataclass
from ....ir import Expr
from ..emit import op
from ..errors import NotSupported
from ..rules import Flag, converts
from ._tools import (
    cast,
    check_rank,
    check_shape,
    dtype,
    extent,
    full,
    index,
    scalar,
    shape,
    sizes,
    take_slice,
    transpose,
)

if TYPE_CHECKING:
    from ..convert import NodeView

Activation = Callable[[Expr], Expr]
# ONNX's activations: a function of x, alpha and beta, and the defaults of the two.
_ACTIVATIONS: Final[dict[str, tuple[Callable[..., Expr], float, float]]] = {
    "relu": (lambda x, a, b: op.relu(x), 0, 0),
    "tanh": (lambda x, a, b: op.tanh(x), 0, 0),
    "sigmoid": (lambda x, a, b: op.sigmoid(x), 0, 0),
    "affine": (lambda x, a, b: op.add(op.multiply(x, a), b), 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: op.where(op.less(x, 0.0), op.multiply(x, a), x), 0.01, 0),
    "thresholdedrelu": (lambda x, a, b: op.where(op.greater(x, a), x, scalar(0, dtype(x))), 1.0, 0),
    "scaledtanh": (lambda x, a, b: op.multiply(op.tanh(op.multiply(x, b)), a), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: op.maximum(op.minimum(op.add(op.multiply(x, a), b), 1.0), 0.0), 0.2, 0.5),
    "elu": (
        lambda x, a, b: op.where(op.less(x, 0.0), op.multiply(op.subtract(op.exp(x), 1.0), a), x),
        1.0,
        0,
    ),
    "softsign": (lambda x, a, b: op.divide(x, op.add(op.abs(x), 1.0)), 0, 0),
    "softplus": (lambda x, a, b: op.log(op.add(op.exp(x), 1.0)), 0, 0),
}


@dataclass(frozen=True, slots=True)
class Layer:
    """What the recurrent operators have in common, time first and one slice of the weights a direction."""

    x: Expr
    w: Expr
    r: Expr
    bias: Expr | None
    lengths: Expr | None
    h0: Expr | None
    directions: tuple[bool, ...]
    """Whether each direction runs backwards."""
    activations: tuple[tuple[Activation, ...], ...]
    clip: float | None
    hidden: int

    def part(self, weights: Expr | None, direction: int) -> Expr | None:
        """The slice of one direction."""
        return None if weights is None else index(weights, 0, direction)

    def clipped(self, z: Expr) -> Expr:
        return z if self.clip is None else op.minimum(op.maximum(z, -self.clip), self.clip)


@dataclass(frozen=True, slots=True)
class Activations:
    """What a node says of its activations; `names` may be left out, which means the default ones."""

    default: tuple[str, ...]
    names: Sequence[str] | None
    alphas: Sequence[float] | None
    betas: Sequence[float] | None


def _activations(given: Activations, n: int) -> tuple[tuple[Activation, ...], ...]:
    """The functions of each direction; alpha and beta are listed for those functions that have them."""
    default = given.default
    chosen = [name.lower() for name in (given.names or default * n)]
    if len(chosen) != len(default) * n:
        raise NotSupported(f"{len(chosen)} activations for {n} directions")
    alpha, beta = iter(given.alphas or ()), iter(given.betas or ())
    made: list[Activation] = []
    for name in chosen:
        if name not in _ACTIVATIONS:
            raise NotSupported(f"activation {name!r}")
        function, a, b = _ACTIVATIONS[name]
        a = next(alpha, a) if a else a
        b = next(beta, b) if b or name == "affine" else b
        made.append(partial(_activated, function, a, b))
    return tuple([tuple(made[k * len(default) : (k + 1) * len(default)]) for k in range(n)])


def _activated(function: Callable[..., Expr], a: float, b: float, z: Expr) -> Expr:
    return function(z, a, b)


def _layer(
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None,
    lengths: Expr | None,
    h0: Expr | None,
    activations: Activations,
    direction: str,
    clip: float | None,
    layout: int,
    gates: int,
) -> Layer:
    """Raises ModelError for tensors that are not of the shapes that ONNX gives for so many gates."""
    check_rank(x, 3, 3)
    backwards = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    functions = _activations(activations, len(backwards))
    if layout:
        x = transpose(x, (1, 0, 2))
        h0 = None if h0 is None else transpose(h0, (1, 0, 2))
    n, hidden = len(backwards), extent(r, -1)
    _, batch, size = sizes(x)
    check_shape("w", w, (n, gates * hidden, size))
    check_shape("r", r, (n, gates * hidden, hidden))
    for name, given, wanted in (
        ("bias", bias, (n, 2 * gates * hidden)),
        ("lengths", lengths, (batch,)),
        ("h0", h0, (n, batch, hidden)),
    ):
        if given is not None:
            check_shape(name, given, wanted)
    return Layer(x, w, r, bias, lengths, h0, backwards, functions, clip, hidden)


Step = Callable[[int, Expr, "tuple[Expr, ...]"], "tuple[Expr, ...]"]


def _unrolled(
    layer: Layer, states: Sequence[Expr | None], cell: Callable[[int], Step]
) -> tuple[Expr, list[Expr]]:
    """The hidden state at each time (T, D, N, H) and the last states (D, N, H), from cells."""
    steps, batch = shape(layer.x)[:2]
    kind = dtype(layer.x)
    all_rows, finals = [], []
    for d, backwards in enumerate(layer.directions):
        step = cell(d)
        wide = op.matmul(layer.x, transpose(_must(layer.part(layer.w, d)), (1, 0)))
        current = tuple([
            full((batch, layer.hidden), 0, kind) if s is None else index(s, 0, d) for s in states
        ])  # fmt: skip
        rows: list[Expr] = []
        for t in range(steps - 1, -1, -1) if backwards else range(steps):
            new = step(t, index(wide, 0, t), current)
            row = new[0]
            if layer.lengths is not None:
                alive = op.expand_dims(
                    op.greater(cast(layer.lengths, "int64"), np.array(t, np.int64)), axis=1
                )
                new = tuple([op.where(alive, n, c) for n, c in zip(new, current, strict=True)])
                row = op.where(alive, row, scalar(0, kind))
            current = new
            rows.append(row)
        all_rows.append(op.stack(rows[::-1] if backwards else rows, axis=0))
        finals.append(current)
    y = op.stack(all_rows, axis=1)
    return y, [op.stack([f[k] for f in finals], axis=0) for k in range(len(states))]


def _must(x: Expr | None) -> Expr:
    assert x is not None
    return x


def _finish(y: Expr, finals: Sequence[Expr], layout: int, node: NodeView) -> tuple[Expr, ...]:
    if layout:
        y = transpose(y, (2, 0, 1, 3))
        finals = [transpose(f, (1, 0, 2)) for f in finals]
    return (y, *finals)[: node.num_outputs]


def _biases(layer: Layer, direction: int, gates: int) -> tuple[Expr | None, Expr | None]:
    """The input's and the recurrent bias."""
    both = layer.part(layer.bias, direction)
    if both is None:
        return None, None
    size = gates * layer.hidden
    return take_slice(both, 0, 0, size), take_slice(both, 0, size, 2 * size)


def _plus(z: Expr, *terms: Expr | None) -> Expr:
    for term in terms:
        z = z if term is None else op.add(z, term)
    return z


def _gate(z: Expr, position: int, hidden: int) -> Expr:
    return take_slice(z, len(shape(z)) - 1, position * hidden, (position + 1) * hidden)


@converts("RNN", since=7)
def rnn(
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    h0: Expr | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: Literal["forward", "reverse", "bidirectional"] = "forward",
    hidden_size: int = 0,
    layout: Flag = 0,
    node: NodeView,
) -> tuple[Expr, ...]:
    """Computed cell by cell: h = f(W x + R h + b)."""
    given = Activations(("Tanh",), activations, activation_alpha, activation_beta)
    layer = _layer(x, w, r, bias, lengths, h0, given, direction, clip, layout, gates=1)

    def cell(d: int) -> Step:
        (f,) = layer.activations[d]
        wb, rb = _biases(layer, d, 1)
        weights = transpose(_must(layer.part(layer.r, d)), (1, 0))

        def step(t: int, wx: Expr, state: tuple[Expr, ...]) -> tuple[Expr, ...]:
            return (f(layer.clipped(_plus(op.add(wx, op.matmul(state[0], weights)), wb, rb))),)

        return step

    y, finals = _unrolled(layer, [layer.h0], cell)
    return _finish(y, finals, layout, node)


@converts("GRU", since=7)
def gru(
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    h0: Expr | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: Literal["forward", "reverse", "bidirectional"] = "forward",
    hidden_size: int = 0,
    layout: Flag = 0,
    linear_before_reset: Flag = 0,
    node: NodeView,
) -> tuple[Expr, ...]:
    """Gates are ordered update, reset, hidden."""
    given = Activations(("Sigmoid", "Tanh"), activations, activation_alpha, activation_beta)
    layer = _layer(x, w, r, bias, lengths, h0, given, direction, clip, layout, gates=3)
    if lengths is None and clip is None and _is_default(activations, ["sigmoid", "tanh"]):
        parts = [
            op.gru(
                layer.x,
                layer.part(w, d),
                layer.part(r, d),
                layer.part(bias, d),
                layer.part(layer.h0, d),
                reverse=backwards,
                linear_before_reset=bool(linear_before_reset),
            )
            for d, backwards in enumerate(layer.directions)
        ]
        y = op.stack([p[0] for p in parts], axis=1)
        return _finish(y, [op.stack([p[1] for p in parts], axis=0)], layout, node)

    def cell(d: int) -> Step:
        f, g = layer.activations[d]
        wb, rb = _biases(layer, d, 3)
        hidden = layer.hidden
        recurrent = _must(layer.part(layer.r, d))
        gates = transpose(take_slice(recurrent, 0, 0, 2 * hidden), (1, 0))
        candidate = transpose(take_slice(recurrent, 0, 2 * hidden, 3 * hidden), (1, 0))

        def of(bias: Expr | None, begin: int, end: int) -> Expr | None:
            return None if bias is None else take_slice(bias, 0, begin * hidden, end * hidden)

        def step(t: int, wx: Expr, state: tuple[Expr, ...]) -> tuple[Expr, ...]:
            h = state[0]
            z = _plus(
                op.add(take_slice(wx, 1, 0, 2 * hidden), op.matmul(h, gates)), of(wb, 0, 2), of(rb, 0, 2)
            )
            z = f(layer.clipped(z))
            update, reset = _gate(z, 0, hidden), _gate(z, 1, hidden)
            if linear_before_reset:
                inner = op.multiply(reset, _plus(op.matmul(h, candidate), of(rb, 2, 3)))
            else:
                inner = _plus(op.matmul(op.multiply(reset, h), candidate), of(rb, 2, 3))
            new = g(layer.clipped(_plus(op.add(_gate(wx, 2, hidden), inner), of(wb, 2, 3))))
            return (op.add(op.multiply(op.subtract(1.0, update), new), op.multiply(update, h)),)

        return step

    y, finals = _unrolled(layer, [layer.h0], cell)
    return _finish(y, finals, layout, node)


@converts("LSTM", since=7)
def lstm(
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    h0: Expr | None = None,
    c0: Expr | None = None,
    peepholes: Expr | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: Literal["forward", "reverse", "bidirectional"] = "forward",
    hidden_size: int = 0,
    input_forget: Flag = 0,
    layout: Flag = 0,
    node: NodeView,
) -> tuple[Expr, ...]:
    """Gates are ordered input, output, forget, cell; peepholes input, output, forget."""
    given = Activations(("Sigmoid", "Tanh", "Tanh"), activations, activation_alpha, activation_beta)
    layer = _layer(x, w, r, bias, lengths, h0, given, direction, clip, layout, gates=4)
    first = transpose(c0, (1, 0, 2)) if layout and c0 is not None else c0
    if first is not None:
        check_shape("c0", first, (len(layer.directions), sizes(layer.x)[1], layer.hidden))
    if peepholes is not None:
        check_shape("peepholes", peepholes, (len(layer.directions), 3 * layer.hidden))
    plain = peepholes is None and clip is None and not input_forget
    if plain and _is_default(activations, ["sigmoid", "tanh", "tanh"]):
        steps = None if lengths is None else cast(lengths, "int32")
        made = op.lstm(layer.x, w, r, bias, steps, layer.h0, first, direction=direction)
        return _finish(made[0], [made[1], made[2]], layout, node)

    def cell(d: int) -> Step:
        f, g, h_of = layer.activations[d]
        wb, rb = _biases(layer, d, 4)
        hidden = layer.hidden
        weights = transpose(_must(layer.part(layer.r, d)), (1, 0))
        holes = layer.part(peepholes, d)

        def seen(gate: Expr, position: int, c: Expr) -> Expr:
            return gate if holes is None else op.add(gate, op.multiply(_gate(holes, position, hidden), c))

        def step(t: int, wx: Expr, state: tuple[Expr, ...]) -> tuple[Expr, ...]:
            h, c = state
            z = _plus(op.add(wx, op.matmul(h, weights)), wb, rb)
            into = f(layer.clipped(seen(_gate(z, 0, hidden), 0, c)))
            forget = seen(_gate(z, 2, hidden), 2, c)
            kept = op.subtract(1.0, into) if input_forget else f(layer.clipped(forget))
            new = op.add(op.multiply(kept, c), op.multiply(into, g(layer.clipped(_gate(z, 3, hidden)))))
            out = f(layer.clipped(seen(_gate(z, 1, hidden), 1, new)))
            return op.multiply(out, h_of(new)), new

        return step

    y, finals = _unrolled(layer, [layer.h0, first], cell)
    return _finish(y, finals, layout, node)


def _is_default(names: Sequence[str] | None, default: list[str]) -> bool:
    return names is None or [name.lower() for name in names] == default * (len(names) // len(default))
