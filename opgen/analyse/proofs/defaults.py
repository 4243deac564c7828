"""Defaults of attrs against the part of their own bounds that needs nothing else."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.operator.attrs import value_text

from ...diagnostics import Diagnostics, Place
from ...model import AttrValue, CheckedAttr
from ...model.opdef import AttrDef, OpDef
from .assemble import Assembler
from .located import PYTHON_ERRORS


def check_defaults(op: OpDef, attrs: Sequence[CheckedAttr], diagnostics: Diagnostics) -> None:
    """Report each default, of a list each element, that the attr's own bound refuses, at its place."""
    for declared, attr in zip(op.attrs, attrs, strict=True):
        check = None if attr.bound is None else attr.bound.check
        if check is None or attr.default is None or _reads_attrs(check):
            continue
        items = attr.default if isinstance(attr.default, tuple) else (attr.default,)
        for position, item in enumerate(items):
            if not _holds(check, item):
                assert attr.bound is not None
                text = f"the default of `{attr.name}` is {value_text(item)}, outside its bounds: {attr.bound.text}"
                diagnostics.error("bounds", text, _place(declared, position))


def _reads_attrs(check: ast.Lambda) -> bool:
    """Whether a check asks for other attrs, so that the default alone says nothing."""
    return any(isinstance(node, ast.Name) and node.id == "attrs" for node in ast.walk(check.body))


def _holds(check: ast.Lambda, value: AttrValue) -> bool:
    """Whether a check takes a value; what it cannot compute is found where the tests are run."""
    try:
        return bool(Assembler().function(check)(value, None))
    except (OpgenError, RecursionError, *PYTHON_ERRORS):
        return True


def _place(declared: AttrDef, position: int) -> Place:
    texts = declared.default or ()
    return texts[position].place if position < len(texts) else declared.place
