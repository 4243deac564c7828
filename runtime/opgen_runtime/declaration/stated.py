"""What is known of one call's computation: from the op's declaration, or of an op that is registered by hand."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.errors import TypeInferenceError
from ..base.vocabulary import OpPattern, dataclass
from ..ir.forward import call_type
from ..operator import Attrs, Binding, Op, TensorType, TupleType, Type, binding_of
from .compute import Compute, OperandTensors
from .declaration import OpDeclaration


@dataclass(frozen=True, slots=True)
class Stated:
    """`inputs`: the name of each operand and whether it is variadic; `lengths`: of tensors of data-dependent dims."""

    binding: Binding
    compute: Compute
    inputs: tuple[tuple[str, bool], ...]
    lengths: int = 0


def stated(op: Op, attrs: Attrs | None, types: Sequence[Type], site: object | None = None) -> Stated | None:
    """What computes a call of `op` on operands of `types`; None for an op without a compute.

    An op that is registered by hand has a type relation (`add_type_rel`) and `FTVMCompute`, a function
    `(attrs, inputs, out_type) -> tensor or list of tensors`; `inputs` are its operands' tensors in line.
    Raises what binding, or the type relation, raises.
    """
    declaration: OpDeclaration | None = op.get_attr("declaration", None)
    if declaration is None:
        return _by_hand(op, attrs, tuple(types), site)
    compute: Compute | None = op.get_attr("compute")
    if compute is None:
        return None
    binding = binding_of(declaration.signature, op.name, attrs, tuple(types), site)
    inputs = tuple([(each.name, each.variadic) for each in declaration.signature.inputs])
    # a hand-written function cuts its results by itself
    return Stated(binding, compute, inputs, 0 if declaration.extern is not None else len(binding.dynamic))


def pattern_of(op: Op, attrs: Attrs | None, types: Sequence[Type]) -> OpPattern:
    """The fusion pattern of a call: that of the op, or where it differs from call to call (`TOpPatternOf`) its own."""
    own = op.get_attr("TOpPatternOf")
    if own is not None and all([t.is_complete for t in types]):
        return OpPattern(own(attrs, types))
    return OpPattern(op.get_attr("TOpPattern", OpPattern.OPAQUE))


def _by_hand(op: Op, attrs: Attrs | None, types: tuple[Type, ...], site: object | None) -> Stated | None:
    function = op.get_attr("FTVMCompute")
    if function is None:
        return None
    result = call_type(op, types, attrs, site)
    outputs = result.fields if isinstance(result, TupleType) else (result,)
    known = tuple([each for each in outputs if isinstance(each, TensorType)])
    if len(known) < len(outputs):
        raise TypeInferenceError(f"{op.name}: its type relation leaves the result open: {result}")

    def compute(binding: Binding, operands: Sequence[OperandTensors]) -> object:
        flat = [t for each in operands for t in (each if isinstance(each, tuple) else (each,))]
        made = function(attrs, flat, result)
        return tuple(made) if isinstance(made, tuple | list) else (made,)

    given = [argument.name for argument in op.arguments] or [f"in{k}" for k in range(len(types))]
    names = {**dict(zip(given, types, strict=False)), **({} if attrs is None else attrs.as_dict())}
    binding = Binding(names, known, counts=(len(known),), is_tuple=isinstance(result, TupleType))
    inputs = tuple([(name, isinstance(t, TupleType)) for name, t in zip(given, types, strict=False)])
    return Stated(binding, compute, inputs)  # type: ignore[arg-type]  # what it gives is held to its binding
