"""The nodes of an ONNX function, as lines of ONNX's text form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..model import CheckedOp
from .onnx_values import TYPES, Element, Index, Refused, Static, Tensor, Value, attribute_text


class Nodes:
    """The nodes of a function so far, and what it is for."""

    def __init__(self, op: CheckedOp) -> None:
        self.op = op
        self.nodes: list[str] = []
        self.attrs: dict[str, str] = {}
        self.only: dict[str, None] = {}
        self.tensors: dict[str, Tensor] = {}
        self.names: dict[str, Value] = {}
        self.by_name = {attr.name: attr for attr in op.attrs}
        self.mixed = False  # operands may be floats, and something else
        self.has_floats = False
        parts = (op.inputs, op.outputs, op.attrs)
        self._taken = {each.name for part in parts for each in part}

    def emit(
        self,
        operator: str,
        inputs: Sequence[str],
        out: str = "",
        **attrs: int | float | str | tuple[int, ...],
    ) -> str:
        out = out or self.fresh()
        shown = ", ".join(f"{name} = {attribute_text(value)}" for name, value in attrs.items())
        given = f" <{shown}>" if attrs else ""
        self.nodes.append(f"{out} = {operator}{given} ({', '.join(inputs)})")
        return out

    def fresh(self) -> str:
        name = f"v{len(self.nodes)}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def ints(self, values: Sequence[int]) -> str:
        return self.emit("Constant", [], value_ints=tuple(values))

    def constant(self, value: object) -> Element:
        if isinstance(value, bool):
            made = self.emit("Constant", [], value_int=int(value))
            return Element(self.emit("Cast", [made], to=TYPES["bool"]), is_bool=True)
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return Element(self.emit("Constant", [], value_int=value), weak=True)
        if isinstance(value, float) and math.isfinite(value):
            out = self.fresh()
            self.nodes.append(f"{out} = Constant <value = double {{{value!r}}}> ()")
            return Element(out, weak=True)
        if isinstance(value, float):  # which ONNX's text has no number for: what a division by 0 gives
            parts = (0.0 if math.isnan(value) else math.copysign(1.0, value), 0.0)
            return Element(self.emit("Div", [self.constant(part).name for part in parts]), weak=True)
        raise Refused(f"{value!r} is no constant of ONNX's text")

    def element(self, value: Value, what: str) -> Element:
        if isinstance(value, Static):
            return self.constant(value.value)
        if isinstance(value, Element):
            return value
        raise Refused(
            f"`{what}` takes a position for a value" if isinstance(value, Index) else f"`{what}` is no value"
        )

    def joined(self, operator: str, values: Sequence[Value], is_bool: bool = False, **attrs: int) -> Element:
        """A node over elements; weak ones get the dtype of one that is not."""
        elements = [self.element(value, operator) for value in values]
        like = next((each.like or each.name for each in elements if not each.weak), None)
        if like is None:  # numbers of attrs alone: in float64
            elements = [
                replace(each, name=self.emit("Cast", [each.name], to=TYPES["float64"])) for each in elements
            ]
        else:
            elements = [
                replace(each, name=self.emit("CastLike", [each.name, like])) if each.weak else each
                for each in elements
            ]
        spans = frozenset().union(*[each.spans for each in elements])
        made = self.emit(operator, [each.name for each in elements], "", **attrs)
        return Element(made, like is None, None if is_bool else like, is_bool, spans)

    def where(self, condition: Element, then: Element, otherwise: Element) -> Element:
        made = self.emit("Where", [condition.name, then.name, otherwise.name])
        return replace(otherwise, name=made, spans=condition.spans | then.spans | otherwise.spans)

    def for_floats(self, reason: str) -> None:
        """From here on the function is for float operands alone."""
        if not self.has_floats:
            raise Refused(reason)
        if self.mixed:
            self.only["float operands"] = None
