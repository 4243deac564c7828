"""What the template of an op's suite prints: tables of calls, one line of text each, and the reference.

The lines are read by `opgen_runtime.testing.lines`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from opgen_runtime.base.vocabulary import dataclass
from opgen_runtime.operator.attrs import value_text

from ..formatting import WIDTH, text_lines
from ..model import AttrValue, BoundProbe, CheckedAttr, CheckedCase, CheckedOp, Inference
from ..model.statement import call
from .index import module_name
from .op import function_text
from .text import camel_case, line_of, literal

_INDENT: Final = 8  # of a table's lines
_COMMENTS: Final = {
    "sampled": "Changes of the declared cases: other extents, ranks, dtypes and attrs.",
    "bounds": "Attrs at the ends of their bounds: the value inside, and the one outside, which is refused.",
    "refused": "Calls that the type relation refuses, and how.",
}


@dataclass(frozen=True, slots=True)
class TableView:
    """One table: the attribute of the class, a comment ("" for none), and the text as a Python literal."""

    name: str
    comment: str
    text: str


@dataclass(frozen=True, slots=True)
class SuiteView:
    """One op's suite.  Every text is Python already; what is empty is left out."""

    title: str  # of the class
    package: str  # the import name of the package of ops
    module: str  # the op's module in it
    inferred: str | None  # the operands that follow from the result and the others
    tables: tuple[TableView, ...]
    reference: str | None


def suite_view(op: CheckedOp, package: str) -> SuiteView:
    """The suite of `op`, whose module is in `package`."""
    common = _common_inference(op)
    cases = (*op.tests, *op.sampled)
    own = op.inferred or (common,) * len(cases)
    lines = [
        case_line(case.inputs, case.attrs)
        + ("" if _restricted(common, _given(case)) == i else _inference_line(i))
        for case, i in zip(cases, own, strict=True)
    ]
    tables = {
        "fields": [f"{attr.name}: {_type_text(attr)}" for attr in op.attrs],
        "cases": lines[: len(op.tests)],
        "sampled": lines[len(op.tests) :],
        "bounds": [_probe_line(op.tests[probe.case], probe) for probe in op.probes],
        "refused": [f"{case_line(r.case.inputs, r.case.attrs)} -> {r.error}" for r in op.refused],
    }
    return SuiteView(
        title=f"Test{camel_case(op.name)}",
        package=package,
        module=module_name(op.name),
        inferred=_inference(common) if op.inferred else None,
        tables=tuple(TableView(name, _COMMENTS.get(name, ""), _table(t)) for name, t in tables.items() if t),
        reference=None if op.reference is None else function_text(op.reference, "Any", indent=4),
    )


def case_line(inputs: Mapping[str, str | tuple[str, ...] | None], attrs: Mapping[str, AttrValue]) -> str:
    """The line of a call: `data=float32[2,3], axis=1`.  An operand that is absent is left out."""
    operands = [f"{name}={_tensor(text)}" for name, text in inputs.items() if text is not None]
    return ", ".join([*operands, *(f"{name}={_value(value)}" for name, value in attrs.items())]) or "()"


def _probe_line(case: CheckedCase, probe: BoundProbe) -> str:
    """The line of the case with `attr=inside|outside`."""
    ends = f"{probe.attr}={_value(probe.inside)}|{_value(probe.outside)}"
    others = {name: value for name, value in case.attrs.items() if name != probe.attr}
    is_alone = not others and all(text is None for text in case.inputs.values())
    given = "" if is_alone else f"{case_line(case.inputs, others)}, "
    return f"{given}{ends}" + ("" if probe.accepted else " -> refused")


def _table(lines: Iterable[str]) -> str:
    """The lines as one literal, each of what is too long on further ones, a step deeper."""
    return "\n".join(text_lines([part for line in lines for part in _folded(line)], _INDENT))


def _folded(line: str) -> list[str]:
    """A line broken at single spaces, which is where its parts are joined again."""
    found: list[str] = []
    for word in line.split(" "):
        if found and (
            not word or found[-1].endswith(" ") or _INDENT + len(found[-1]) + 1 + len(word) <= WIDTH
        ):
            found[-1] += f" {word}"
        else:
            found.append(f"    {word}" if found else word)
    return found


def _tensor(text: str | tuple[str, ...]) -> str:
    if isinstance(text, tuple):
        return _tuple([_tensor(each) for each in text])
    spec, bracket, values = text.partition("]")
    return spec.replace(" ", "") + bracket + values


def _value(value: AttrValue) -> str:
    if isinstance(value, tuple):
        return _tuple([_value(each) for each in value])
    return literal(value, library="")


def _tuple(parts: list[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _type_text(attr: CheckedAttr) -> str:
    """What `list_field_info()` must say of the attr."""
    optional = attr.optional or (not attr.required and attr.default is None)
    parts = [f"optional {attr.kind}" if optional else attr.kind]
    parts.append("required" if attr.required else f"default={value_text(attr.default)}")
    if attr.bound is not None:
        parts.append(attr.bound.text)
    return ", ".join(parts)


def _common_inference(op: CheckedOp) -> Inference:
    """What follows in most cases: of any, all together, or one case's."""
    names = [operand.name for operand in op.inputs]
    all_of_them = Inference(
        tuple(name for name in names if any(name in own.alone for own in op.inferred)),
        tuple(name for name in names if any(name in own.together for own in op.inferred)),
    )
    # How many cases have these operands, of which that follows; of a written relation nothing is stated.
    cases = Counter(
        (_given(case), own) for case, own in zip((*op.tests, *op.sampled), op.inferred, strict=False)
    )
    fits = {
        inference: sum([n for (given, own), n in cases.items() if _restricted(inference, given) == own])
        for inference in dict.fromkeys((all_of_them, *op.inferred))
    }
    return max(fits, key=lambda inference: fits[inference])


def _given(case: CheckedCase) -> frozenset[str]:
    """The operands that are not absent from a case."""
    return frozenset([name for name, text in case.inputs.items() if text is not None])


def _restricted(inference: Inference, given: frozenset[str]) -> Inference:
    """Without the operands that are absent."""
    return Inference(
        tuple(name for name in inference.alone if name in given),
        tuple(name for name in inference.together if name in given),
    )


def _inference(inference: Inference) -> str:
    found = {"alone": inference.alone, "together": inference.together}
    return line_of(call("Inferred", **{name: operands for name, operands in found.items() if operands}))


def _inference_line(inference: Inference) -> str:
    """What follows in one case, where that differs."""
    alone, together = (
        " ".join(["", ", ".join(names)]).rstrip() for names in (inference.alone, inference.together)
    )
    return f" -> alone{alone}; together{together}"
