"""What a declared `grad:` is given: the names that its function asks for, as expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir import Expr
from ..operator import Attrs, binding_of, needs_of
from .declaration import OpDeclaration


def stated_gradient(
    declaration: OpDeclaration,
    attrs: Attrs | None,
    position: int,
    inputs: Sequence[Expr],
    outputs: Sequence[Expr],
    cotangents: Sequence[Expr],
    site: object | None = None,
) -> tuple[Callable[..., Expr], dict[str, object]]:
    """The declared gradient of the operand at `position`, and its arguments.

    `inputs`, `outputs` and `cotangents`: one a declared input or output.  Raises what binding raises.
    """
    signature = declaration.signature
    names: dict[str, object] = {} if attrs is None else attrs.as_dict()
    names |= {each.name: arg for each, arg in zip(signature.inputs, inputs, strict=True)}
    names |= {each.name: value for each, value in zip(signature.outputs, outputs, strict=True)}
    several = len(signature.outputs) > 1
    for output, cotangent in zip(signature.outputs, cotangents, strict=True):
        names[f"grad_{output.name}" if several or "grad" in names else "grad"] = cotangent
    function = declaration.gradients[signature.inputs[position].name]
    needed = needs_of(function)
    if not names.keys() >= set(needed):  # dims, and what is said of them
        types = tuple([each.checked_type for each in inputs])
        names = binding_of(signature, declaration.full_name, attrs, types, site).names | names
    return function, {name: names[name] for name in needed}
