"""Errors of the ONNX front end, and the one place that gives them the name of a node.

UnsupportedOperatorError    operators (or uses of them) that have no mapping; all that are known at once
ModelError                  a model that breaks a rule of ONNX or asks for too much, or inputs that do not fit it
ExportError                 a program that no model of ONNX holds, or that cannot be written
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from ...base.errors import DTypeError, OpgenError
from ...base.vocabulary import dataclass

_MAX_SHOWN: Final = 80  # characters of a name in a message


def shown(name: str | bytes) -> str:
    """A name of a model as messages show it: on one line, without control characters, shortened.

    protobuf gives texts that are not UTF-8 as bytes.
    """
    name = name if isinstance(name, str) else repr(name)
    text = name if name.isprintable() else repr(name)[1:-1]
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


@dataclass(frozen=True, slots=True)
class Unsupported:
    """One node that cannot be converted: its name (or its outputs), its operator, and why."""

    node: str
    operator: str
    reason: str

    def __str__(self) -> str:
        return f"{self.node}: {self.operator}: {self.reason}"


class UnsupportedOperatorError(OpgenError):
    """Nodes that cannot be converted; `nodes` lists them all."""

    def __init__(self, nodes: Sequence[Unsupported]) -> None:
        self.nodes = tuple(nodes)
        operators = ", ".join(sorted({node.operator for node in nodes}))
        listed = "".join(f"\n  {node}" for node in nodes)
        super().__init__(f"unsupported: {operators}{listed}")


class ModelError(OpgenError):
    """A model that breaks a rule of ONNX or asks for too much, or inputs that do not fit it.

    `node` and `operator`: where in the model, empty where it is no node's fault.
    """

    def __init__(self, reason: str, node: str = "", operator: str = "") -> None:
        self.reason = reason
        self.node = node
        self.operator = operator
        super().__init__(f"{node}: {operator}: {reason}" if node else reason)


class ExportError(OpgenError):
    """A program, or a part of it, that ONNX cannot hold, or a file that cannot be written."""


def said(error: OpgenError) -> str:
    """What an error of the runtime says, on one line, without the line of the program that it names."""
    return "; ".join([line.strip() for line in str(error).splitlines() if not line.startswith("  at ")])


class NotSupported(Exception):  # turned into UnsupportedOperatorError where the node is known
    """Raised by a conversion: this use of the operator is not supported."""


class Place(Protocol):
    """What errors name: a node, or a part of the model that is like one."""

    @property
    def label(self) -> str: ...

    @property
    def full_operator(self) -> str: ...


@contextmanager
def errors_of(place: Place) -> Iterator[None]:
    """Whatever is wrong with the model at a node becomes a ModelError or an UnsupportedOperatorError that names it.

    ArithmeticError, LookupError and ValueError are what arithmetic on a model's numbers and numpy raise for values
    that do not fit together; TypeError, AttributeError and AssertionError would be faults of ours, and pass.
    """
    try:
        yield
    except UnsupportedOperatorError:
        raise
    except NotSupported as reason:
        raise UnsupportedOperatorError(
            [Unsupported(place.label, place.full_operator, str(reason))]
        ) from reason.__cause__
    except ModelError as error:
        if error.node:
            raise
        raise ModelError(error.reason, place.label, place.full_operator) from error.__cause__
    except DTypeError as error:  # ONNX allows the dtype, which was checked before; the op does not
        why = said(error)
        raise UnsupportedOperatorError([Unsupported(place.label, place.full_operator, why)]) from error
    except OpgenError as error:
        raise ModelError(said(error), place.label, place.full_operator) from error
    except MemoryError as error:
        raise ModelError(f"there is not enough memory: {error}", place.label, place.full_operator) from error
    except (ArithmeticError, LookupError, ValueError) as error:
        why = f"its attributes and inputs do not fit together ({type(error).__name__}: {error})"
        raise ModelError(why, place.label, place.full_operator) from error
