"""What the template of an op's reference page prints: Markdown, in which text of the declaration is data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ..model import CheckedCase, CheckedOp
from ..project import Project
from .text import literal
from .typeset import typeset
from .wrapper import signature_text

_CODE: Final = re.compile(r"(`[^`\n]*`)")
_SPECIAL: Final = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", "*": r"\*", "_": r"\_", "[": r"\[", "]": r"\]",
                                 "#": r"\#", "$": r"\$", "|": r"\|"})  # fmt: skip
_OPERAND: Final = re.compile(r"(\w+)\[([0-9, ]*)\]")


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
    formula: str | None  # LaTeX
    code: str  # as declared
    facts: tuple[tuple[str, str], ...]
    example: str | None  # Python


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
            formula=typeset(op.formula) if op.compute is not None else None,
            code=code,
            facts=tuple(_facts(project, op)),
            example=_example(project, op, op.tests[0]) if op.tests else None,
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
        (
            "Gradient",
            "; ".join([f"{_code(n)}: {prose(text)}" for n, text in op.gradient_texts.items()]) or "no floats",
        ),
        ("Declared in", _code(op.source)),
        ("Generated", _code(f"{project.relative(project.output)}/_{op.name}.py")),
    ]
    if op.strategy:
        found.insert(1, ("Implementations", ", ".join(_code(each.name) for each in op.strategy)))
    if op.extends:
        found.insert(-2, ("Extends", ", ".join(map(_code, op.extends))))
    found += [("Hand-written function", _code(extern)) for extern in op.externs]
    return found


def _example(project: Project, op: CheckedOp, case: CheckedCase) -> str:
    """The first test as a program that prints the type of its call."""
    lines = ["import opgen_runtime as rt", f"import {project.package} as ops", ""]
    arguments: list[str] = []
    for name, given in case.inputs.items():
        if given is None:
            continue
        made = _variable(name, given) if isinstance(given, str) else _variables(name, given)
        lines.append(f"{name} = {made}")
        arguments.append(f"{name}={name}")
    arguments += [f"{name}={literal(value, library='')}" for name, value in case.attrs.items()]
    return "\n".join([*lines, f"print(ops.{op.name}({', '.join(arguments)}).checked_type)"])


def _variable(name: str, text: str) -> str:
    match = _OPERAND.match(text)
    assert match is not None, text
    dims = [part.strip() for part in match[2].split(",") if part.strip()]
    shape = f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"
    return f'rt.var("{name}", rt.TensorType({shape}, "{match[1]}"))'


def _variables(name: str, texts: tuple[str, ...]) -> str:
    inner = ", ".join(_variable(f"{name}{number}", text) for number, text in enumerate(texts))
    return f"({inner},)"
