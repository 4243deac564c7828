"""What the template of an op's suite prints: tables of cases and probes, and the reference."""

from __future__ import annotations

from dataclasses import dataclass

from opgen_runtime.operator.attrs import value_text

from ..model import CheckedAttr, CheckedCase, CheckedOp, Inference
from .index import module_name
from .op import function_text
from .text import Code, call, literal


@dataclass(frozen=True, slots=True)
class SuiteView:
    """One op's suite.  Every text is Python already; an empty tuple leaves its tests out."""

    name: str
    docstring: str
    module: str  # the import name of the op's module
    inferred: str | None  # the operands that follow from the result and the others
    cases: tuple[str, ...]  # declared
    sampled: tuple[str, ...]  # found by the generator
    reference: str | None
    probes: tuple[str, ...]
    refused: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]  # attr and its type text, as literals


def suite_view(op: CheckedOp, package: str) -> SuiteView:
    """The suite of `op`, whose module is in `package`."""
    common = _common_inference(op)
    cases = (*op.tests, *op.sampled)
    own = op.inferred or (common,) * len(cases)
    texts = [
        _case(case, None if _restricted(common, case) == i else i) for case, i in zip(cases, own, strict=True)
    ]
    return SuiteView(
        name=op.name,
        docstring=f'"""Suite of {op.name}: types, values in both executors, attrs at their bounds."""',
        module=f"{package}.{module_name(op.name)}",
        inferred=_inference(common) if op.inferred else None,
        cases=tuple(texts[: len(op.tests)]),
        sampled=tuple(texts[len(op.tests) :]),
        reference=None if op.reference is None else function_text(op.reference),
        probes=tuple(
            call(
                "Probe",
                Code(f"CASES[{probe.case}]"),
                probe.attr,
                probe.inside,
                probe.outside,
                **({} if probe.accepted else {"accepted": False}),
            )
            for probe in op.probes
        ),
        refused=tuple(f"({_case(refusal.case)}, {literal(refusal.error)})" for refusal in op.refused),
        fields=tuple((literal(attr.name), literal(_type_text(attr))) for attr in op.attrs),
    )


def _type_text(attr: CheckedAttr) -> str:
    """What `list_field_info()` must say of the attr."""
    optional = attr.optional or (not attr.required and attr.default is None)
    parts = [f"optional {attr.kind}" if optional else attr.kind]
    parts.append("required" if attr.required else f"default={value_text(attr.default)}")
    if attr.bound is not None:
        parts.append(attr.bound.text)
    return ", ".join(parts)


def _case(case: CheckedCase, inferred: Inference | None = None) -> str:
    """The case, with what follows of its operands where that is not what follows in all cases."""
    inputs = {name: _specification(text) for name, text in case.inputs.items()}
    attrs = (dict(case.attrs),) if case.attrs else ()
    own = {} if inferred is None else {"inferred": _inference(inferred)}
    return call("Case", inputs, *attrs, **own)


def _common_inference(op: CheckedOp) -> Inference:
    """What follows in any case."""
    names = [operand.name for operand in op.inputs]
    return Inference(
        tuple(name for name in names if any(name in own.alone for own in op.inferred)),
        tuple(name for name in names if any(name in own.together for own in op.inferred)),
    )


def _restricted(inference: Inference, case: CheckedCase) -> Inference:
    """Without the operands that are absent from a case."""
    given = {name for name, text in case.inputs.items() if text is not None}
    return Inference(
        tuple(name for name in inference.alone if name in given),
        tuple(name for name in inference.together if name in given),
    )


def _inference(inference: Inference) -> Code:
    found = {"alone": inference.alone, "together": inference.together}
    return call("Inferred", **{name: operands for name, operands in found.items() if operands})


def _specification(text: str | tuple[str, ...] | None) -> Code:
    return Code(literal(text))
