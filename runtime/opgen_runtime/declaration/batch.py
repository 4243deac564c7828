"""Batched ops: `batch.<op>`, an op on operands with one more axis, the first; made when it is first asked for.

    batch.softmax(data, axis=0, batched=[0])    softmax(data[k], axis=0) for each k

Attrs are the op's, of which each means what it means for one element of the batch, and `batched`, the numbers of the
operands' tensors that have the axis (`batched2` where the op has such an attr).  Results that depend on one of these
have the axis, too.  Batched ops are ops: they have derived and batched ops themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..base.errors import AttrError, LanguageError, ShapeError
from ..base.lru_cache import LRUCache
from ..base.vocabulary import OpPattern, dataclass
from ..compute.te import derive_pattern, placeholder
from ..compute.te.batching import batched
from ..compute.te.derivative import rebuilt
from ..compute.te.tensor import Tensor
from ..operator import (
    Attrs,
    Binding,
    Dim,
    Input,
    Op,
    Output,
    TensorType,
    TupleType,
    Type,
    TypeReporter,
    attr,
    certainly_different,
)
from .compute import OperandTensors
from .declaration import OpDeclaration
from .evaluate import CallTensors, call_tensors
from .gradient import fresh, load_made, made_of

NAMESPACE: Final = "batch"
_PREFIX: Final = f"{NAMESPACE}."
_TRAITS_OF_ELEMENTS: Final = ("gradient", "mixed_precision", "simplified")
"""What declarations say of single elements; other traits name ops or operands, as which a batch has others."""


@dataclass(frozen=True, slots=True)
class Batched:
    """A call for each element of a batch: `outputs` over `inputs`, the operands' tensors in line.

    `row`: the call for one element.  `has_axis`: which outputs have the axis, of which there are `extent`.
    """

    row: CallTensors
    extent: Dim
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    has_axis: tuple[bool, ...]
    pattern: OpPattern

    @property
    def types(self) -> tuple[TensorType, ...]:
        """Of the results."""
        rows = self.row.binding.outputs
        return tuple(
            [
                row.with_shape((self.extent, *row.shape)) if has else row
                for row, has in zip(rows, self.has_axis, strict=True)
            ]
        )


_batched: Final[LRUCache[Batched]] = LRUCache(1024)


def load_batch(name: str) -> bool:
    """Registers the op `batch.<op>`; False for another name, and where no op with a declaration is meant."""
    return load_made(name, NAMESPACE, _declaration, _pattern, __file__)


def is_batch(declaration: OpDeclaration) -> bool:
    """Whether an op is a batched one."""
    return declaration.namespace == NAMESPACE and declaration.base is not None


def batch_op(op: Op) -> Op:
    """The batched op of a declared op."""
    return Op.get(_PREFIX + op.name)


def batch_attrs(base: OpDeclaration, attrs: Attrs | None, numbers: Sequence[int]) -> Attrs:
    """The attrs of the batched op, of whose operands' tensors those of these numbers have the axis."""
    kind: type[Attrs] = Op.get(_PREFIX + base.full_name).get_attr("declaration").attrs
    return kind(**({} if attrs is None else attrs.as_dict()), **{_name(base): tuple(numbers)})


def row_attrs(base: OpDeclaration, attrs: Attrs) -> tuple[Attrs | None, tuple[int, ...]]:
    """The attrs of the op among those of its batched op, and the numbers of the tensors that have the axis."""
    name = _name(base)
    if base.attrs is None:
        return None, attrs[name]
    return base.attrs(**{each: attrs[each] for each in attrs if each != name}), attrs[name]


def row_types(base: OpDeclaration, types: Sequence[Type], numbers: Sequence[int]) -> tuple[list[Type], Dim]:
    """The types of the operands of one element, and the extent of the axis.

    Raises AttrError for a number of no tensor, or none at all, ShapeError for extents that differ.
    """
    flat = [t for type_ in types for t in (type_.fields if isinstance(type_, TupleType) else (type_,))]
    if not numbers or not all(0 <= number < len(flat) for number in numbers):
        raise AttrError(
            f"{_PREFIX}{base.full_name}: attr {_name(base)!r} is {list(numbers)}, expected numbers of operands' "
            f"tensors, of which there are {len(flat)}"
        )
    extents: list[Dim] = []
    rows: list[Type] = []
    for number, type_ in enumerate(flat):
        if number in numbers:
            if not isinstance(type_, TensorType) or not type_.shape:
                raise ShapeError(
                    f"{_PREFIX}{base.full_name}: tensor {number} is {type_}, expected one with an axis of the batch"
                )
            extents.append(type_.shape[0])
            rows.append(type_.with_shape(type_.shape[1:]))
        else:
            rows.append(type_)
    for extent in extents[1:]:
        if certainly_different(extents[0], extent):
            raise ShapeError(
                f"{_PREFIX}{base.full_name}: the batch has {extents[0]} elements in one operand, {extent} in another"
            )
    rest = iter(rows)
    nested: list[Type] = [
        TupleType(tuple([next(rest) for _ in type_.fields])) if isinstance(type_, TupleType) else next(rest)
        for type_ in types
    ]
    return nested, extents[0]


def batched_of(
    base: OpDeclaration, attrs: Attrs | None, types: Sequence[Type], numbers: Sequence[int]
) -> Batched:
    """What a call of the batched op of `base` computes, made once and kept; `types` are the operands' own.

    Raises LanguageError for what has no batched form: results whose size depends on data.
    """
    key = (base, attrs, tuple(types), tuple(numbers))
    found = _batched.get(key)
    return _batched.put(key, _made(base, attrs, types, numbers)) if found is None else found


def _made(base: OpDeclaration, attrs: Attrs | None, types: Sequence[Type], numbers: Sequence[int]) -> Batched:
    nested, extent = row_types(base, types, numbers)
    row = call_tensors(Op.get(base.full_name), attrs, nested)
    if row.lengths or row.binding.dynamic:
        raise LanguageError(
            f"{_PREFIX}{base.full_name}: the sizes of its results depend on data, and each element of the batch "
            "would have its own"
        )
    given = {
        tensor: placeholder(tensor.name, (extent, *tensor.shape), tensor.dtype)
        for number, tensor in enumerate(row.inputs)
        if number in numbers
    }
    try:
        outputs, has_axis = batched(row.results, given, extent)
    except LanguageError as error:
        raise LanguageError(f"{_PREFIX}{base.full_name}: {error}") from error
    inputs = tuple([given.get(each, each) for each in row.inputs])
    return Batched(row, extent, inputs, outputs, has_axis, derive_pattern(outputs, inputs)[0])


def _name(base: OpDeclaration) -> str:
    return fresh("batched", set() if base.attrs is None else {field.name for field in base.attrs.fields()})


def _pattern(base: OpDeclaration, attrs: Attrs, types: Sequence[Type]) -> OpPattern:
    own, numbers = row_attrs(base, attrs)
    try:
        return batched_of(base, own, types, numbers).pattern
    except LanguageError:
        return OpPattern.OPAQUE


def _declaration(base: OpDeclaration) -> OpDeclaration:
    signature = base.signature
    inputs = tuple([Input(i.name, None, "generic", i.doc, i.optional, i.variadic) for i in signature.inputs])
    outputs = tuple([Output(each.name, variadic=each.variadic) for each in signature.outputs])
    more = {_name(base): attr("ints", doc="The numbers of the tensors that have the axis.")}
    doc = f"{base.full_name} for each element of a batch."
    made = made_of(base, NAMESPACE, doc, more, (inputs, outputs), _relate, _compute, rules=())
    traits = {name: base.traits[name] for name in _TRAITS_OF_ELEMENTS if name in base.traits}
    return replace(made, traits=traits)


def _relate(
    base: OpDeclaration, types: Sequence[Type], num_inputs: int, attrs: Attrs, reporter: TypeReporter
) -> bool:
    """The type relation: the results of one element, with the axis."""
    if not all(t.is_complete for t in types[:num_inputs]):
        return False
    own, numbers = row_attrs(base, attrs)
    found = batched_of(base, own, types[:num_inputs], numbers)
    result = found.types
    reporter.assign(types[num_inputs], TupleType(result) if found.row.binding.is_tuple else result[0])
    return True


def _compute(base: OpDeclaration, binding: Binding, operands: Sequence[OperandTensors]) -> tuple[Tensor, ...]:
    """The op attribute "compute" of a batched op."""
    kind: type[Attrs] = Op.get(_PREFIX + base.full_name).get_attr("declaration").attrs
    own, numbers = row_attrs(base, kind(**{field.name: binding.names[field.name] for field in kind.fields()}))
    types: list[Type] = [
        TupleType(t) if isinstance(t, tuple) else TupleType(()) if t is None else t for t in binding.inputs
    ]
    found = batched_of(base, own, types, numbers)
    flat: list[Tensor] = []
    for operand in operands:
        flat.extend(operand if isinstance(operand, tuple) else () if operand is None else (operand,))
    return rebuilt(found.outputs, dict(zip(found.inputs, flat, strict=True)))
