"""What a declared `decompose:` makes of a call: other ops, where its condition holds of the sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Expr, Tuple
from ..operator import Attrs, TensorType, TupleType, Type, binding_of, needs_of
from .declaration import OpDeclaration


def decomposed(
    declaration: OpDeclaration, attrs: Attrs | None, operands: Sequence[Expr], site: object | None = None
) -> Expr | None:
    """The ops that stand for a call on `operands`, one a declared input, by the first entry that applies.

    None where none does, or a size is not known: the call stays.  Raises what binding and the ops raise.
    """
    types = tuple([each.checked_type for each in operands])
    if not declaration.decompositions or not all(map(_is_static, types)):
        return None
    known = binding_of(declaration.signature, declaration.full_name, attrs, types, site).names
    names: dict[str, object] = dict(known)
    names |= {each.name: given for each, given in zip(declaration.signature.inputs, operands, strict=True)}
    for entry in declaration.decompositions:
        if entry.when is None or entry.when(**{name: known[name] for name in needs_of(entry.when)}):
            made = entry.into(**{name: names[name] for name in needs_of(entry.into)})
            return Tuple(made) if isinstance(made, tuple) else made
    return None


def _is_static(type_: Type) -> bool:
    """Whether every dim of a tensor, or of a tuple's tensors, is known."""
    fields = type_.fields if isinstance(type_, TupleType) else (type_,)
    return all([isinstance(each, TensorType) and each.is_static for each in fields])
