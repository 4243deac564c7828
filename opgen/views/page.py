"""What the template of an op's reference page prints: Markdown, in which text of the declaration is data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from opgen_runtime.base.vocabulary import dataclass
from opgen_runtime.compute.te.latex import signs

from ..model import CheckedOp
from ..project import Project
from .example import example_text
from .text import literal
from .wrapper import signature_text

_CODE: Final = re.compile(r"(`[^`\n]*`)")
_SPECIAL: Final = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", "*": r"\*", "_": r"\_", "[": r"\[", "]": r"\]",
                                 "#": r"\#", "$": r"\$", "|": r"\|"})  # fmt: skip
_MAX_SIGNS: Final = 200  # of a formula; a longer one explains nothing


@dataclass(frozen=True, slots=True)
class Formula:
    """LaTeX, or why there is none."""

    latex: str | None
    why_not: str


@dataclass(frozen=True, slots=True)
class PageView:
    """One page.  Every text is Markdown already."""

    name: str
    doc: str
    notes: tuple[str, ...]
    signature: str
    operands: tuple[tuple[str, ...], ...]  # rows of tables
    attrs: tuple[tuple[str, ...], ...]
    results: tuple[tuple[str, ...], ...]
    formula: Formula
    example: str | None  # Python
    gradients: tuple[
        tuple[str, str, Formula | None], ...
    ]  # of each float operand: its name, how it is computed, as what
    code: str  # as declared
    facts: tuple[tuple[str, str], ...]


def page_view(project: Project, op: CheckedOp) -> Mapping[str, object]:
    """What the page of `op` prints."""
    code = "\n".join(text.strip("\n") for text in (op.let_text, op.formula) if text.strip())
    return {
        "page": PageView(
            name=op.name,
            doc=prose(op.doc or f"{op.name}."),
            notes=tuple(_notes(op)),
            signature=signature_text(op),
            operands=tuple(
                (
                    _code(each.name),
                    _shape(each.shape_text),
                    _dtype(each.dtype, op),
                    _operand_note(each.optional, each.variadic, each.doc),
                )
                for each in op.inputs
            ),
            attrs=tuple(
                (
                    _code(each.name),
                    _code(each.kind) + (" or None" if each.optional else ""),
                    "required" if each.required else _code(literal(each.default, library="")),
                    "" if each.bound is None else _code(each.bound.text),
                    prose(each.doc),
                )
                for each in op.attrs
            ),
            results=tuple(
                (_code(each.name), _shape(each.shape_text), _code(each.dtype_text), prose(each.doc))
                for each in op.outputs
            ),
            formula=_formula(op.formulas.value, op.compute is not None),
            example=example_text(project, op),
            gradients=tuple(_gradients(op)),
            code=code,
            facts=tuple(_facts(project, op)),
        )
    }


def prose(text: str) -> str:
    """Text of a declaration on one line: code in backticks stays, everything else stands for itself."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        part.replace("|", r"\|") if number % 2 else part.translate(_SPECIAL)
        for number, part in enumerate(parts)
    )


def _code(text: str) -> str:
    """A piece of code inside a line or a table."""
    flat = " ".join(text.split()).replace("|", r"\|")
    ticks = "``" if "`" in flat else "`"
    return f"{ticks}{flat}{ticks}" if flat else ""


def _shape(text: str | None) -> str:
    return "any" if text is None else _code(text if text.endswith(".shape") else f"({text})")


def _dtype(dtype: str | tuple[str, ...], op: CheckedOp) -> str:
    if isinstance(dtype, tuple):
        return ", ".join(map(_code, dtype))
    variable = op.signature.dtypes.get(dtype)
    return _code(dtype) if variable is None else f"{_code(dtype)}: {_dtype(variable, op)}"


def _operand_note(optional: bool, variadic: bool, doc: str) -> str:
    said = [word for word, holds in (("Optional.", optional), ("Any number of tensors.", variadic)) if holds]
    return " ".join([*said, prose(doc)]).strip()


def _notes(op: CheckedOp) -> list[str]:
    found = [f"**Deprecated:** {prose(op.deprecated)}"] if op.deprecated else []
    if op.since:
        found.append(f"Since version {prose(op.since)}.")
    if op.version > 1:
        found.append(f"Version {op.version} of the op: a greater number is a change that breaks callers.")
    return found


def _facts(project: Project, op: CheckedOp) -> list[tuple[str, str]]:
    found = [
        ("Fusion pattern", f"{_code(op.pattern.name.lower())}: {prose(op.pattern_reason)}"),
        ("Declared in", _code(op.source)),
        ("Generated", _code(f"{project.relative(project.output)}/_{op.name}.py")),
    ]
    if op.strategy:
        found.insert(1, ("Implementations", ", ".join(_code(each.name) for each in op.strategy)))
    if op.extends:
        found.insert(-2, ("Extends", ", ".join(map(_code, op.extends))))
    found += [("Hand-written function", _code(extern)) for extern in op.externs]
    return found


def _formula(latex: str | None, is_declared: bool = True) -> Formula:
    if latex is None:
        return Formula(None, "it would be too long" if is_declared else "a hand-written function computes it")
    count = signs(latex)
    return Formula(latex, "") if count <= _MAX_SIGNS else Formula(None, f"it has {count} signs")


def _gradients(op: CheckedOp) -> Iterator[tuple[str, str, Formula | None]]:
    declared = {each.input: each.text for each in op.gradients}
    for name, text in op.gradient_texts.items():
        if name in declared:
            yield _code(name), f"{_code(declared[name])}, as declared", None
        else:
            made = op.formulas.gradients
            yield _code(name), prose(text), _formula(made[name]) if name in made else None
