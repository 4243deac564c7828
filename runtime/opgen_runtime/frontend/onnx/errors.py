"""Errors of the ONNX front end.

UnsupportedOperatorError    operators (or uses of them) that have no mapping; all that are known at once
ModelError                  a model that breaks a rule of ONNX, or inputs that do not fit it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import OpgenError


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
    """A model that breaks a rule of ONNX, or inputs that do not fit it."""


class NotSupported(Exception):  # turned into UnsupportedOperatorError where the node is known
    """Raised by a conversion: this use of the operator is not supported."""
