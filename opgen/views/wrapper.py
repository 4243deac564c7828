"""The Python function of an op: parameters, annotations and a numpy-style docstring."""

from __future__ import annotations

from typing import Final

from opgen_runtime.base.vocabulary import dataclass
from opgen_runtime.declaration.documentation import DEPRECATED, SINCE

from ..document.kinds import KINDS
from ..formatting import docstring_lines, fill, fold
from ..model import CheckedAttr, CheckedInput, CheckedOp, CheckedOutput
from .text import literal

_TEXT_WIDTH: Final = 106  # of a docstring inside a function


@dataclass(frozen=True, slots=True)
class WrapperView:
    """`def name(parameters): docstring; return _d.call(OP, operands, attrs)`."""

    parameters: str
    operands: str
    attrs: str
    docstring: str


def field_type(attr: CheckedAttr) -> str:
    """The annotation of an attr's field: the kept form of its values."""
    base = KINDS[attr.kind].field
    return f"{base} | None" if attr.optional or (not attr.required and attr.default is None) else base


def wrapper_view(op: CheckedOp) -> WrapperView:
    """Everything that the wrapper of `op` prints."""
    operands = [each.name for each in op.inputs]
    inner = ", ".join(operands)
    return WrapperView(
        parameters=", ".join(_parameters(op)),
        operands=f"({inner},)" if len(operands) == 1 else f"({inner})",
        attrs="".join(f", {attr.name}={attr.name}" for attr in op.attrs),
        docstring="\n".join(docstring_lines(_documentation(op), 4)),
    )


def signature_text(op: CheckedOp) -> str:
    """The wrapper's call as documentation shows it: `axis_abs(data, axis=0, indice=0)`."""
    parts = []
    for parameter in _parameters(op):
        name, _, rest = parameter.partition(":")
        default = rest.rpartition(" = ")[2] if " = " in rest else None
        parts.append(name if default is None else f"{name}={default.replace('_l.', '')}")
    return f"{op.name}({', '.join(parts)})"


def _parameters(op: CheckedOp) -> list[str]:
    """Operands, then attrs; attrs that must follow a default but have none are keyword-only."""
    found: list[str] = []
    defaults = False
    star = False
    for operand in op.inputs:
        annotation = "_d.Sequence[_d.ExprLike]" if operand.variadic else "_d.ExprLike"
        if operand.optional:
            defaults = True
            found.append(f"{operand.name}: {annotation} | None = None")
            continue
        if defaults and not star:
            star = True
            found.append("*")
        found.append(f"{operand.name}: {annotation}")
    for attr in op.attrs:
        annotation = KINDS[attr.kind].parameter
        if attr.optional or (not attr.required and attr.default is None):
            annotation += " | None"
        if attr.required:
            if defaults and not star:
                star = True
                found.append("*")
            found.append(f"{attr.name}: {annotation}")
        else:
            defaults = True
            found.append(f"{attr.name}: {annotation} = {literal(attr.default)}")
    return found


def _documentation(op: CheckedOp) -> list[str]:
    lines = fill(op.doc, _TEXT_WIDTH) or [f"{op.name}."]
    if op.deprecated:
        lines += ["", *fill(f"{DEPRECATED}{op.deprecated}", _TEXT_WIDTH)]
    if op.since:
        lines += ["", *fill(f"{SINCE}{op.since}.", _TEXT_WIDTH)]
    if op.let_text.strip() or op.formula.strip():
        lines.append("")
        code = (*fold(op.let_text, _TEXT_WIDTH - 4), *fold(op.formula, _TEXT_WIDTH - 4))
        lines += [f"    {line}" for line in code if line.strip()]
    if op.inputs or op.attrs:
        lines += ["", "Parameters", "----------"]
    for operand in op.inputs:
        lines += _entry(_operand_title(operand, op), operand.doc)
    for attr in op.attrs:
        lines += _entry(_attr_title(attr), attr.doc)
    lines += ["", "Returns", "-------"]
    for result in op.outputs:
        lines += _entry(_result_title(result), result.doc)
    if op.extern is not None:
        lines += ["", *fill(f"Computed by the hand-written function {op.extern}.", _TEXT_WIDTH)]
    if op.expression is not None:
        lines += ["", *fill(f"Computed by the tensor expressions of {op.expression}.", _TEXT_WIDTH)]
    return lines


def _entry(title: str, doc: str) -> list[str]:
    return [title, *(f"    {line}" if line else "" for line in fill(doc, _TEXT_WIDTH - 4))]


def _operand_title(operand: CheckedInput, op: CheckedOp) -> str:
    shape = "any shape" if operand.shape_text is None else f"shape {_shape(operand.shape_text)}"
    if operand.layout is not None:
        shape += f" as {operand.layout.canonical}, stored in the order of {operand.layout.attr}"
    what = "tensors" if operand.variadic else "tensor"
    optional = ", optional" if operand.optional else ""
    return f"{operand.name} : {what} of {shape}, dtype {_dtype(operand.dtype, op)}{optional}"


def _dtype(dtype: str | tuple[str, ...], op: CheckedOp) -> str:
    if isinstance(dtype, tuple):
        return " or ".join(dtype)
    variable = op.signature.dtypes.get(dtype)
    return dtype if variable is None else f"{dtype} ({_dtype(variable, op)})"


def _attr_title(attr: CheckedAttr) -> str:
    parts = [f"optional {attr.kind}" if attr.optional else attr.kind]
    parts.append("required" if attr.required else f"default={literal(attr.default, library='')}")
    if attr.bound is not None:
        parts.append(attr.bound.text)
    return f"{attr.name} : {', '.join(parts)}"


def _result_title(result: CheckedOutput) -> str:
    what = "tensors" if result.variadic is not None else "tensor"
    return f"{result.name} : {what} of shape {_shape(result.shape_text)}, dtype {result.dtype_text}"


def _shape(text: str) -> str:
    """A shape as a tuple; one entry that is a whole shape already stands alone."""
    return text if text.endswith(".shape") and text.count(".") == 1 else f"({text})"
