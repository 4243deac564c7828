"""`tests:` of a declaration as values."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import Diagnostics, Place, did_you_mean
from ...document import TextNode
from ...document.kinds import ValueProblem
from ...model import AttrValue, CheckedAttr, CheckedCase
from ...model.opdef import CaseDef, InputDef, OpDef
from .values import is_none, normal_operand, parse_value

Operand = str | tuple[str, ...] | None


def check_cases(op: OpDef, attrs: Sequence[CheckedAttr], diagnostics: Diagnostics) -> tuple[CheckedCase, ...]:
    """All tests whose entries fit; the others are reported."""
    found = (_case(case, op, {attr.name: attr for attr in attrs}, diagnostics) for case in op.tests)
    return tuple(case for case in found if case is not None)


def _case(
    case: CaseDef, op: OpDef, attrs: dict[str, CheckedAttr], diagnostics: Diagnostics
) -> CheckedCase | None:
    inputs: dict[str, Operand] = {}
    values: dict[str, AttrValue] = {}
    operands = {operand.name: operand for operand in op.inputs}
    good = True
    for name, place, texts in case.entries:
        try:
            if name in operands:
                inputs[name] = _operand(operands[name], texts)
            elif name in attrs:
                values[name] = parse_value(attrs[name].kind, texts, attrs[name].optional)
            elif name in op.lost:
                good = False  # of a part that could not be read, which is reported
            else:
                known = [*operands, *attrs]
                text = f"`{name[:60]}` is neither an input nor an attr; possible names: {', '.join(known)}"
                diagnostics.error("unknown-key", text, place, did_you_mean(name, known))
                good = False
        except ValueProblem as problem:
            at = texts[0].place if texts else place
            diagnostics.error("test", f"`{name}`: {problem}", at)
            good = False
    good &= _is_complete(case.place, inputs, values, op, attrs, diagnostics) if good else False
    if not good:
        return None
    ordered = {operand.name: inputs.get(operand.name) for operand in op.inputs}
    return CheckedCase(ordered, values, case.place)


def _operand(operand: InputDef, texts: Sequence[TextNode]) -> Operand:
    if is_none(texts, operand.optional):
        return None
    found = tuple(normal_operand(text.value) for text in texts)
    if operand.variadic:
        return found
    if len(found) != 1:
        raise ValueProblem(f"expected one operand, found {len(found)}; only a variadic input takes a list")
    return found[0]


def _is_complete(
    place: Place,
    inputs: dict[str, Operand],
    values: dict[str, AttrValue],
    op: OpDef,
    attrs: dict[str, CheckedAttr],
    diagnostics: Diagnostics,
) -> bool:
    missing = [operand.name for operand in op.inputs if not operand.optional and operand.name not in inputs]
    missing += [name for name, attr in attrs.items() if attr.required and name not in values]
    missing = [name for name in missing if name not in op.lost]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        diagnostics.error("test", f"the test does not give {listed}", place)
    return not missing
