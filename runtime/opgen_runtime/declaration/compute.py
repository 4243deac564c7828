"""The tensors that an op computes: the declared expression, or a call of a hand-written function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ..base.arith import AnyDim
from ..base.contract import handed_in
from ..base.errors import LanguageError, RegistryError
from ..base.forks import import_module
from ..compute.lang import build
from ..compute.te import derive_pattern, verify_tensors, widen
from ..compute.te.proved import Proved
from ..compute.te.tensor import Extern, Tensor
from ..operator import Binding, TensorType
from .declaration import OpDeclaration

OperandTensors: TypeAlias = "Tensor | tuple[Tensor, ...] | None"
Compute: TypeAlias = Callable[[Binding, Sequence[OperandTensors]], tuple[Tensor, ...]]
"""The op attribute "compute": `(binding, operands) -> output tensors`, one operand a declared input."""
_PROVED: Final = Proved()  # of all programs: passes ask for the tensors of a call, and so does its segment


def compute_of(declaration: OpDeclaration) -> Compute:
    """The op attribute "compute" of a declared op.

    The outputs come in the binding's order, then one rank-0 int64 tensor for each data-dependent dim.
    """
    derive = declaration.derive
    if derive is not None:
        return lambda binding, operands: derive(binding, operands)
    if declaration.te is not None:
        return lambda binding, operands: _te_outputs(declaration, binding, operands)
    if declaration.extern is None:
        return lambda binding, operands: build(declaration, binding, operands, proved=_PROVED)
    return lambda binding, operands: _extern_outputs(declaration, binding, operands)


def extern(reference: str, op_name: str) -> Callable[..., Any]:
    """The function that `package.module:function` names. Raises RegistryError if it cannot be found."""
    module, _, name = reference.partition(":")
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise RegistryError(
            f"op {op_name!r} is computed by {reference!r}, which cannot be found: {error}"
        ) from error
    return found


def _te_outputs(
    declaration: OpDeclaration, binding: Binding, operands: Sequence[OperandTensors]
) -> tuple[Tensor, ...]:
    """What a function of te tensors gives: `function(*tensors, **attrs)`, a tensor or several.

    Raises LanguageError naming the function for whatever it raises, for what is no tensor, and for a pattern that is
    wider than the declared one; what the tensors must be is looked at by who asked for them.
    """
    assert declaration.te is not None
    what = f"{declaration.full_name}: {declaration.te}"
    function = extern(declaration.te, declaration.full_name)
    flat = _flat(operands)
    with handed_in(what, LanguageError):
        found: object = function(*flat, **dict(_attrs(declaration, binding)))
    made = tuple(found) if isinstance(found, tuple | list) else (found,)
    for each in made:
        if not isinstance(each, Tensor):
            raise LanguageError(f"{what} gave {each!r:.80}, expected a tensor")
    tensors = [each for each in made if isinstance(each, Tensor)]
    verify_tensors(tensors, what, frozenset(flat))
    pattern, reason = derive_pattern(tensors, flat)
    if pattern > declaration.pattern:
        raise LanguageError(
            f"{what}: the pattern is declared {declaration.pattern.name.lower()}, "
            f"but it is {pattern.name.lower()}: {reason}"
        )
    return widen(tensors, flat)


def _flat(operands: Sequence[OperandTensors]) -> list[Tensor]:
    flat: list[Tensor] = []
    for operand in operands:
        flat.extend(operand if isinstance(operand, tuple) else () if operand is None else (operand,))
    return flat


def _attrs(declaration: OpDeclaration, binding: Binding) -> tuple[tuple[str, object], ...]:
    fields = declaration.attrs.fields() if declaration.attrs is not None else ()
    return tuple([(field.name, binding.names[field.name]) for field in fields])


def _extern_outputs(
    declaration: OpDeclaration, binding: Binding, operands: Sequence[OperandTensors]
) -> tuple[Tensor, ...]:
    assert declaration.extern is not None
    function = extern(declaration.extern, declaration.full_name)
    flat, attrs = _flat(operands), _attrs(declaration, binding)
    shapes = binding.storage or tuple([output.shape for output in binding.outputs])
    names = [
        output.name
        for output, count in zip(declaration.signature.outputs, binding.counts, strict=True)
        for _ in range(count)
    ]
    return tuple(
        [
            Tensor(
                name,
                shape,
                output.dtype,
                Extern(tuple(flat), function, attrs, position, len(shapes), _free_axes(output)),
            )
            for position, (name, shape, output) in enumerate(zip(names, shapes, binding.outputs, strict=True))
        ]
    )


def _free_axes(output: TensorType) -> frozenset[int]:
    """The axes whose length depends on data."""
    return frozenset([axis for axis, dim in enumerate(output.shape) if isinstance(dim, AnyDim)])
