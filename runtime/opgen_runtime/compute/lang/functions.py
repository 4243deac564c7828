"""The element functions by name: `exp(x)` is `intrinsic("exp", x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...base.arith import INTRINSICS
from .element import absolute, ceil, floor, intrinsic, round_, trunc
from .weak import Value


def _named(name: str) -> Callable[..., Value]:
    def apply(*args: Value) -> Value:
        return intrinsic(name, *args)

    apply.__name__ = name
    apply.__doc__ = f"The element function `{name}`."
    return apply


# Those with static values of their own, beside one for each row.
FUNCTIONS: Final[dict[str, Callable[..., Value]]] = {name: _named(name) for name in INTRINSICS} | {
    "abs": absolute,
    "ceil": ceil,
    "floor": floor,
    "round": round_,
    "trunc": trunc,
}
