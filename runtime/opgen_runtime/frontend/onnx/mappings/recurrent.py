"""Recurrent networks, by the declared ops: one call a direction where the op or its activations ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from ....base.vocabulary import dataclass
from ....ir import Expr
from ..emit import op
from ..errors import NotSupported
from ..rules import Flag, converts
from ._tools import cast, check_rank, check_shape, extent, index, sizes, take_slice, transpose

if TYPE_CHECKING:
    from ..convert import NodeView

# ONNX's activations: the defaults of alpha and beta, None where the function has none.
_ACTIVATIONS: Final[dict[str, tuple[float | None, float | None]]] = {
    "relu": (None, None),
    "tanh": (None, None),
    "sigmoid": (None, None),
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, None),
    "thresholdedrelu": (1.0, None),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
    "elu": (1.0, None),
    "softsign": (None, None),
    "softplus": (None, None),
}


@dataclass(frozen=True, slots=True)
class Activations:
    """What a node says of its activations; `names` may be left out, which means the default ones."""

    default: tuple[str, ...]
    names: Sequence[str] | None
    alphas: Sequence[float] | None
    betas: Sequence[float] | None


@dataclass(frozen=True, slots=True)
class Functions:
    """The activations of one direction, with the two numbers of each."""

    names: tuple[str, ...]
    alpha: tuple[float, ...]
    beta: tuple[float, ...]


def _functions(given: Activations, n: int) -> tuple[Functions, ...]:
    """Those of each direction; alpha and beta are listed for the functions that have them."""
    each = len(given.default)
    chosen = [name.lower() for name in (given.names or given.default * n)]
    if len(chosen) != each * n:
        raise NotSupported(f"{len(chosen)} activations for {n} directions")
    alphas, betas = iter(given.alphas or ()), iter(given.betas or ())
    numbers: list[tuple[float, float]] = []
    for name in chosen:
        if name not in _ACTIVATIONS:
            raise NotSupported(f"activation {name!r}")
        a, b = _ACTIVATIONS[name]
        numbers.append((1.0 if a is None else next(alphas, a), 1.0 if b is None else next(betas, b)))
    parts = [slice(k * each, (k + 1) * each) for k in range(n)]
    return tuple(
        [
            Functions(tuple(chosen[p]), tuple([a for a, _ in numbers[p]]), tuple([b for _, b in numbers[p]]))
            for p in parts
        ]
    )


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
    functions: tuple[Functions, ...]

    def operands(self, direction: int) -> tuple[Expr | None, ...]:
        """The sequence, and the slices of one direction: the weights, the recurrent ones, the biases."""
        return (self.x, *[_slice(each, direction) for each in (self.w, self.r, self.bias)])


def _slice(weights: Expr | None, direction: int) -> Expr | None:
    return None if weights is None else index(weights, 0, direction)


def _layer(
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None,
    lengths: Expr | None,
    h0: Expr | None,
    activations: Activations,
    direction: str,
    layout: int,
    gates: int,
) -> Layer:
    """Raises ModelError for tensors that are not of the shapes that ONNX gives for so many gates."""
    check_rank(x, 3, 3)
    backwards = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]
    functions = _functions(activations, len(backwards))
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
    return Layer(x, w, r, bias, lengths, h0, backwards, functions)


def _stacked(parts: Sequence[Expr], layout: int, node: NodeView) -> tuple[Expr, ...]:
    """The results of a node from those of its directions: all hidden states, and the last one."""
    y = op.stack([part[0] for part in parts], axis=1)
    return _finish(y, [op.stack([part[1] for part in parts], axis=0)], layout, node)


def _finish(y: Expr, finals: Sequence[Expr], layout: int, node: NodeView) -> tuple[Expr, ...]:
    if layout:
        y = transpose(y, (2, 0, 1, 3))
        finals = [transpose(f, (1, 0, 2)) for f in finals]
    return (y, *finals)[: node.num_outputs]


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
    """h = f(W x + R h + b)."""
    given = Activations(("Tanh",), activations, activation_alpha, activation_beta)
    layer = _layer(x, w, r, bias, lengths, h0, given, direction, layout, gates=1)
    parts = [
        op.rnn(
            *layer.operands(d),
            layer.lengths,
            _slice(layer.h0, d),
            activation=layer.functions[d].names[0],
            alpha=layer.functions[d].alpha[0],
            beta=layer.functions[d].beta[0],
            clip=clip,
            reverse=backwards,
        )
        for d, backwards in enumerate(layer.directions)
    ]
    return _stacked(parts, layout, node)


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
    layer = _layer(x, w, r, bias, lengths, h0, given, direction, layout, gates=3)
    parts = [
        op.gru(
            *layer.operands(d),
            _slice(layer.h0, d),
            layer.lengths,
            reverse=backwards,
            linear_before_reset=bool(linear_before_reset),
            **_shapes(layer.functions[d], clip),
        )
        for d, backwards in enumerate(layer.directions)
    ]
    return _stacked(parts, layout, node)


def _shapes(functions: Functions, clip: float | None) -> dict[str, Any]:
    """The attrs that say what the activations are."""
    return {"activations": functions.names, "alpha": functions.alpha, "beta": functions.beta, "clip": clip}


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
    layer = _layer(x, w, r, bias, lengths, h0, given, direction, layout, gates=4)
    first = transpose(c0, (1, 0, 2)) if layout and c0 is not None else c0
    if first is not None:
        check_shape("c0", first, (len(layer.directions), sizes(layer.x)[1], extent(r, -1)))
    if peepholes is not None:
        check_shape("peepholes", peepholes, (len(layer.directions), 3 * extent(r, -1)))
    steps = None if lengths is None else cast(lengths, "int32")
    slices: tuple[Expr | None, ...] = (w, r, bias, layer.h0, first, peepholes)
    calls: list[tuple[str, tuple[Expr | None, ...]]] = [(direction, slices)]
    if len(set(layer.functions)) > 1 or lengths is not None:
        calls = [
            ("reverse" if backwards else "forward", tuple([_kept(each, d) for each in slices]))
            for d, backwards in enumerate(layer.directions)
        ]
    plain = peepholes is None and clip is None and not input_forget
    parts = []
    for (way, (*weights, first_h, first_c, holes)), functions in zip(calls, layer.functions, strict=False):
        given_to = (layer.x, *weights, steps, first_h, first_c)
        if plain and functions.names == ("sigmoid", "tanh", "tanh"):
            parts.append(op.lstm(*given_to, direction=way))
        else:
            options = {"coupled": bool(input_forget), **_shapes(functions, clip)}
            parts.append(op.peephole_lstm(*given_to, holes, direction=way, **options))
    y, *finals = [_joined([part[k] for part in parts], axis=int(k == 0)) for k in range(3)]
    return _finish(y, finals, layout, node)


def _kept(weights: Expr | None, direction: int) -> Expr | None:
    """The slice of one direction, as an axis of 1."""
    return None if weights is None else take_slice(weights, 0, direction, direction + 1)


def _joined(parts: Sequence[Expr], axis: int) -> Expr:
    return parts[0] if len(parts) == 1 else op.concatenate(list(parts), axis=axis)
