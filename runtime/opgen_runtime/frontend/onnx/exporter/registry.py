"""How ops are written: writers by the name of the op, as data where an op is an operator under another name.

    @writes("softmax")
    def softmax(to: Nodes, data: Value, *, axis: int) -> Value:
        return to("Softmax", data, axis=axis)

Positional parameters are the declared operands (None: absent; a list: several), keyword-only ones the attrs.  What is
given back are the results, in order.  A writer raises NoStandard for a call that ONNX's operators do not say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from ....base.errors import RegistryError
from .nodes import Nodes, Value

Results: TypeAlias = "Value | Sequence[Value]"
Writer: TypeAlias = "Callable[..., Results]"
W = TypeVar("W", bound=Writer)

_writers: Final[dict[str, Writer]] = {}


def writes(*ops: str) -> Callable[[W], W]:
    """Registers a function as the writer of ops."""

    def register(writer: W) -> W:
        for op in ops:
            if op in _writers:
                raise RegistryError(f"op {op!r} has a writer of ONNX's operators already")
            _writers[op] = writer
        return writer

    return register


def renames(table: Mapping[str, str]) -> None:
    """Registers ops that are an operator of the same operands, and of the attrs of the same names."""
    for op, operator in table.items():
        writes(op)(_renamed(operator))


def _renamed(operator: str) -> Writer:
    def write(to: Nodes, *operands: Value, **attrs: Any) -> Value:
        return to(operator, *operands, **attrs)

    return write


def writer_of(op: str) -> Writer | None:
    """The writer of an op; None where it is not known in ONNX's operators."""
    return _writers.get(op)


def written_ops() -> list[str]:
    """The ops that have a writer."""
    return sorted(_writers)
