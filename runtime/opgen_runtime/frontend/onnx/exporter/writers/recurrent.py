"""Recurrent layers, of the activations that ONNX takes where none are named."""

from __future__ import annotations

from typing import Final

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ..sizes import size
from ._tools import cast

_GATES: Final = ("sigmoid", "tanh", "tanh")


def _direction(reverse: bool) -> str:
    return "reverse" if reverse else "forward"


def _one_way(to: Nodes, x: Value | None) -> Value | None:
    """An operand with an axis of the one direction before its own."""
    if x is None:
        return None
    return to.names.weight(x.array[None], x.name) if x.array is not None else to("Unsqueeze", x, to.ints(0))


def _lengths(to: Nodes, lens: Value | None, x: Value) -> Value | None:
    """Lengths within the sequence, which ONNX asks for."""
    if lens is None:
        return None
    inside = to("Clip", cast(to, lens, "int64"), to.number(0, "int64"), size(to, x.dims[0]))
    return cast(to, inside, "int32")


def _ended(to: Nodes, last: Value, first: Value | None, lengths: Value | None) -> Value:
    """The last state, which of a sequence without steps is the first one."""
    if first is None or lengths is None:
        return last
    none = to("Equal", to("Unsqueeze", lengths, to.ints(0, 2)), to.number(0, "int32"), gives="bool")
    return to("Where", none, first, last, gives=last.dtype)


def _check_activations(activations: tuple[str, ...], count: int) -> None:
    if activations != _GATES[:count]:
        raise NoStandard("its activations are others than those that ONNX takes where none are named")


@writes("lstm")
def lstm(
    to: Nodes,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None,
    lens: Value | None,
    h0: Value | None,
    c0: Value | None,
    *,
    direction: str,
) -> tuple[Value, ...]:
    lengths = _lengths(to, lens, x)
    y, hidden, cell = to.several(
        "LSTM",
        *(x, w, r, bias, lengths, h0, c0),
        hidden_size=r.extent(-1),
        direction=direction,
        gives=(x.dtype,) * 3,
    )
    return y, _ended(to, hidden, h0, lengths), _ended(to, cell, c0, lengths)


@writes("peephole_lstm")
def peephole_lstm(
    to: Nodes,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None,
    lens: Value | None,
    h0: Value | None,
    c0: Value | None,
    peepholes: Value | None,
    *,
    direction: str,
    activations: tuple[str, ...],
    clip: float | None,
    coupled: bool,
    **attrs: object,
) -> tuple[Value, ...]:
    _check_activations(activations, 3)
    lengths = _lengths(to, lens, x)
    y, hidden, cell = to.several(
        "LSTM",
        *(x, w, r, bias, lengths, h0, c0, peepholes),
        hidden_size=r.extent(-1),
        direction=direction,
        clip=clip,
        input_forget=coupled,
        gives=(x.dtype,) * 3,
    )
    return y, _ended(to, hidden, h0, lengths), _ended(to, cell, c0, lengths)


@writes("gru")
def gru(
    to: Nodes,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None,
    h0: Value | None,
    lens: Value | None,
    *,
    reverse: bool,
    linear_before_reset: bool,
    activations: tuple[str, ...],
    clip: float | None,
    **attrs: object,
) -> tuple[Value, Value]:
    _check_activations(activations, 2)
    lengths, first = _lengths(to, lens, x), _one_way(to, h0)
    y, last = to.several(
        "GRU",
        *(x, *[_one_way(to, each) for each in (w, r, bias)], lengths, first),
        hidden_size=r.extent(-1),
        direction=_direction(reverse),
        linear_before_reset=linear_before_reset,
        clip=clip,
        gives=(x.dtype,) * 2,
    )
    return to("Squeeze", y, to.ints(1)), to("Squeeze", _ended(to, last, first, lengths), to.ints(0))


@writes("rnn")
def rnn(
    to: Nodes,
    x: Value,
    w: Value,
    r: Value,
    bias: Value | None,
    lens: Value | None,
    h0: Value | None,
    *,
    activation: str,
    reverse: bool,
    clip: float | None,
    **attrs: object,
) -> tuple[Value, Value]:
    if activation != "tanh":
        raise NoStandard("its activation is another than the one that ONNX takes where none is named")
    lengths, first = _lengths(to, lens, x), _one_way(to, h0)
    y, last = to.several(
        "RNN",
        *(x, *[_one_way(to, each) for each in (w, r, bias)], lengths, first),
        hidden_size=r.extent(-1),
        direction=_direction(reverse),
        clip=clip,
        gives=(x.dtype,) * 2,
    )
    return to("Squeeze", y, to.ints(1)), to("Squeeze", _ended(to, last, first, lengths), to.ints(0))
