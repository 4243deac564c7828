"""What `add-op` writes: an elementwise declaration that generates and passes as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ..document.kinds import KINDS

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.+\-]+(?: [A-Za-z0-9_.+\-]+)*")
_LIST: Final = re.compile(r"\[\s*(?:[A-Za-z0-9_.+\-]+(?:\s*,\s*[A-Za-z0-9_.+\-]+)*)?\s*\]")


class ScaffoldError(ValueError):
    """An `--attr` or `--inputs` that cannot be read."""


@dataclass(frozen=True, slots=True)
class ScaffoldAttr:
    """One `--attr name:kind=default`."""

    name: str
    kind: str
    default: str  # as it stands in a YAML flow mapping
    fields: str  # of the flow mapping


@dataclass(frozen=True, slots=True)
class ScaffoldInput:
    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class ScaffoldView:
    """An elementwise op over tensors of one shape and dtype."""

    name: str
    doc: str
    dtype: str
    inputs: tuple[ScaffoldInput, ...]
    attrs: tuple[ScaffoldAttr, ...]
    compute: str
    reference: str
    cases: tuple[str, ...]


def parse_attr(text: str) -> ScaffoldAttr:
    """`name:kind=default`; the kind is int, and the default is the kind's own, where they are left out.

    Raises ScaffoldError.
    """
    head, has_default, default = text.partition("=")
    name, _, kind = head.partition(":")
    name, kind = name.strip(), kind.strip() or "int"
    if not name.isidentifier():
        raise ScaffoldError(f"--attr {text!r}: write name:kind=default, such as axis:int=0")
    if kind not in KINDS:
        raise ScaffoldError(f"--attr {text!r}: no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    value = yaml_text(default.strip()) if has_default else KINDS[kind].example
    stated = f"{KINDS[kind].stated}, " if KINDS[kind].stated else ""
    return ScaffoldAttr(name, kind, value, f"type: {kind}, {stated}default: {value}, doc: What {name} does.")


def yaml_text(text: str) -> str:
    """`text` fit for a YAML flow mapping: plain where it can be, a list as it is, else quoted."""
    return text if _PLAIN.fullmatch(text) or _LIST.fullmatch(text) else json.dumps(text)


def scaffold_view(name: str, inputs: Sequence[str], attrs: Sequence[ScaffoldAttr]) -> ScaffoldView:
    """The declaration of `name`: the sum of its inputs, plus numeric attrs; flags choose the absolute value."""
    numbers = [attr.name for attr in attrs if KINDS[attr.kind].is_number]
    flags = [attr.name for attr in attrs if attr.kind == "bool"]
    total = " + ".join([*(f"{each}[*i]" for each in inputs), *numbers])
    reference = " + ".join([*inputs, *numbers])
    if flags:
        condition = " and ".join(flags)
        compute = f"abs({total}) if {condition} else {total}"
        reference = f"np.abs({reference}) if {condition} else {reference}"
    elif len(inputs) == 1 and not numbers:
        compute, reference = f"abs({total})", f"np.abs({reference})"
    else:
        compute = total
    dtype = "float" if numbers else "number"
    shapes = ("", "3", "2, 3") if dtype == "float" else ("", "4", "2, 3")
    return ScaffoldView(
        name=name,
        doc=f"What {name} computes, in one sentence.",
        dtype=dtype,
        inputs=tuple(ScaffoldInput(each, "An input tensor.") for each in inputs),
        attrs=tuple(attrs),
        compute=compute,
        reference=reference,
        cases=tuple(", ".join(f'{each}: "float32[{shape}]"' for each in inputs) for shape in shapes),
    )
