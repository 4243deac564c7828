"""Calls for each element of a batch: of the op itself where that says the same, else of `batch.<op>`.

    relu(%x)  over (n,) elements    relu(%x)                                      the op has any rank
    conv2d(%x, %w), %x batched      conv2d of (n * N) images                      folded into an axis that it has
    sum(%x, axis=[0])               sum(%x, axis=[1]), or batch.sum(%x, axis=[0])

Which form says the same is proved by the tensor expressions of both, so that it holds for any op that is declared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..base.arith import Expr as Scalar
from ..base.arith import add, floordiv, floormod, mul
from ..base.errors import OpgenError
from ..base.lru_cache import LRUCache
from ..base.vocabulary import OpPattern, dataclass
from ..compute.te import Compute, Read, Tensor, data_axes
from ..compute.te.derivative import rebuilt
from ..compute.te.permuted import is_permuted
from ..declaration import CallTensors, OpDeclaration, call_tensors
from ..declaration.batch import Batched, batch_attrs, batch_op, batched_of
from ..ir import Call, Expr, Tuple, TupleGetItem
from ..operator import AttrField, Attrs, Op, TensorType, TupleType, Type
from .build import reshape

_MAX_FORMS: Final = 16  # forms of the attrs that are tried


@dataclass(frozen=True, slots=True)
class Form:
    """An op on tensors of other shapes: of each operand's tensor that has the axis, and of its results.

    `attrs`: its own.  `shapes`: by number; `results`: as they are with the axis of the batch.
    """

    attrs: Attrs | None
    shapes: Mapping[int, tuple[int, ...]]
    results: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    form: Form | None


_kept: Final[LRUCache[_Outcome]] = LRUCache(4096)


def batched_call(call: Call, args: Sequence[Expr], numbers: Sequence[int]) -> tuple[Expr, tuple[bool, ...]]:
    """The call on `args`, whose tensors of these numbers have the axis first; and which of its results have it.

    Raises LanguageError where the sizes of results depend on data.
    """
    op = call.op
    assert isinstance(op, Op)
    declaration: OpDeclaration = op.get_attr("declaration")
    types = [arg.checked_type for arg in args]
    made = batched_of(declaration, call.attrs, types, numbers)
    form = _form_of(op, call.attrs, made, types, numbers)
    if form is None:
        attrs = batch_attrs(declaration, call.attrs, numbers)
        return Call(batch_op(op), tuple(args), attrs, span=call.span), made.has_axis
    flat = iter(
        [
            reshape(leaf, form.shapes[k]) if k in form.shapes and _shape(leaf) != form.shapes[k] else leaf
            for k, leaf in enumerate(_leaves(args))
        ]
    )
    given = [
        Tuple(tuple([next(flat) for _ in arg.checked_type.fields]))
        if isinstance(arg.checked_type, TupleType)
        else next(flat)
        for arg in args
    ]
    found = Call(op, tuple(given), form.attrs, span=call.span)
    if not isinstance(found.checked_type, TupleType):
        return _in_shape(found, form.results[0]), made.has_axis
    fields = [_in_shape(TupleGetItem(found, k), shape) for k, shape in enumerate(form.results)]
    return Tuple(tuple(fields)), made.has_axis


def _in_shape(result: Expr, shape: tuple[int, ...]) -> Expr:
    return result if _shape(result) == shape else reshape(result, shape)


def _shape(value: Expr) -> tuple[int, ...]:
    type_ = value.checked_type
    assert isinstance(type_, TensorType)
    return type_.concrete_shape


def _leaves(args: Sequence[Expr]) -> Iterator[Expr]:
    for arg in args:
        if isinstance(arg.checked_type, TupleType):
            count = len(arg.checked_type.fields)
            yield from arg.fields if isinstance(arg, Tuple) else [TupleGetItem(arg, k) for k in range(count)]
        else:
            yield arg


def _form_of(
    op: Op, attrs: Attrs | None, made: Batched, types: Sequence[Type], numbers: Sequence[int]
) -> Form | None:
    """The form of a call that says what `made` does; None where none is proved."""
    static = [t for t in made.inputs if all(isinstance(dim, int) for dim in t.shape)]
    if not all(made.has_axis) or len(static) < len(made.inputs):
        return None
    key = (op, op.get_attr("compute"), attrs, tuple(types), tuple(numbers))
    found = _kept.get(key)
    if found is None:
        found = _kept.put(key, _Outcome(next(_proved(op, attrs, made, types, numbers), None)))
    return found.form


def _proved(
    op: Op, attrs: Attrs | None, made: Batched, types: Sequence[Type], numbers: Sequence[int]
) -> Iterator[Form]:
    """Forms that are proved, the better first.

    Where an operand is one for all elements, as weights are, rows of another are better folded: one call reads it once.
    """
    ways = [_wider, _folded]
    if len(numbers) < len(made.inputs) and made.pattern > OpPattern.INJECTIVE:
        ways.reverse()
    for way in ways:
        shapes = way(made, numbers)
        if shapes is None:
            continue
        after = _with_shapes(types, shapes)
        for other in _forms(attrs, made) if way is _wider else [attrs]:
            try:
                tensors = call_tensors(op, other, after)
            except OpgenError:  # operands or attrs that do not suit the op
                continue
            if _says_the_same(made, tensors, shapes, numbers):
                yield Form(other, shapes, tuple([each.concrete_shape for each in made.types]))


def _wider(made: Batched, numbers: Sequence[int]) -> dict[int, tuple[int, ...]] | None:
    """The axis first, before axes of one position where other operands have more."""
    most = max(tensor.ndim for tensor in made.row.inputs)
    found: dict[int, tuple[int, ...]] = {}
    for number in numbers:
        n, *rest = _extents(made.inputs[number])
        pointwise = made.row.outputs[0].ndim >= most and made.pattern <= OpPattern.BROADCAST
        ones = most - len(rest) if pointwise else 0
        found[number] = (n, *[1] * ones, *rest)
    return found


def _folded(made: Batched, numbers: Sequence[int]) -> dict[int, tuple[int, ...]] | None:
    """The axis as a part of the first axis of each operand that has it; None where there is one without axes."""
    found: dict[int, tuple[int, ...]] = {}
    for number in numbers:
        n, *rest = _extents(made.inputs[number])
        if not rest:
            return None
        found[number] = (n * rest[0], *rest[1:])
    return found


def _extents(tensor: Tensor) -> tuple[int, ...]:
    return tuple([dim for dim in tensor.shape if isinstance(dim, int)])


def _with_shapes(types: Sequence[Type], shapes: Mapping[int, tuple[int, ...]]) -> list[Type]:
    counter = itertools.count()

    def changed(type_: Type) -> Type:
        if isinstance(type_, TupleType):
            return TupleType(tuple([changed(field) for field in type_.fields]))
        number = next(counter)
        assert isinstance(type_, TensorType)
        return type_.with_shape(shapes[number]) if number in shapes else type_

    return [changed(type_) for type_ in types]


def _says_the_same(
    made: Batched, after: CallTensors, shapes: Mapping[int, tuple[int, ...]], numbers: Sequence[int]
) -> bool:
    """Whether each element of the results is computed in the same steps."""
    if after.lengths or len(after.results) != len(made.outputs):
        return False
    over = {
        mine: _reshaped(theirs, _extents(mine)) if number in numbers else theirs
        for number, (mine, theirs) in enumerate(zip(after.inputs, made.inputs, strict=True))
    }
    for one, other in zip(made.outputs, rebuilt(after.results, over), strict=True):
        shape = _extents(one)
        if one.dtype != other.dtype or not _fits(_extents(other), shape):
            return False
        same = _reshaped(other, shape)
        operands = {each: (each, tuple(range(each.ndim))) for each in made.inputs}
        if not is_permuted(one, same, operands, tuple(range(one.ndim))):
            return False
    return True


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether one shape is the other, or has its first two axes as one."""
    return given == shape or (len(shape) > 1 and given == (shape[0] * shape[1], *shape[2:]))


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor with axes of one position after the first, or with its first two axes as one, or its first as two."""
    own = _extents(tensor)
    if own == shape:
        return tensor
    axes = data_axes(shape)
    at: list[Scalar] = [axis.var for axis in axes]
    if len(shape) >= len(own) and shape[0] == own[0]:
        places = [at[0], *at[len(shape) - len(own) + 1 :]]
    elif len(shape) > len(own):
        places = [add(mul(at[0], shape[1]), at[1]), *at[2:]]
    else:
        places = [floordiv(at[0], own[1]), floormod(at[0], own[1]), *at[1:]]
    return Tensor(tensor.name, shape, tensor.dtype, Compute(axes, Read(tensor.dtype, tensor, tuple(places))))


def _forms(attrs: Attrs | None, made: Batched) -> Iterator[Attrs | None]:
    """The attrs with each that may name axes, or be a shape, in the forms that it may have on one more axis."""
    if attrs is None:
        yield None
        return
    extent = made.extent
    assert isinstance(extent, int)
    values = attrs.as_dict()
    choices = {field.name: list(_readings(field, values[field.name], extent)) for field in attrs.fields()}
    for chosen in itertools.islice(itertools.product(*choices.values()), _MAX_FORMS):
        try:
            yield attrs.replace(**dict(zip(choices, chosen, strict=True)))
        except OpgenError:  # outside its bounds
            continue


def _readings(field: AttrField, value: object, extent: int) -> Iterator[object]:
    """A value as names of axes, as an order of axes, as a shape; and as none of these."""
    parts = value if isinstance(value, tuple) else (value,)
    items = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    if items and len(items) == len(parts):
        named = tuple([item + 1 if item >= 0 else item for item in items])
        if not isinstance(value, tuple):
            if "ndim" in (field.bounds or ""):
                yield named[0]
        elif "ndim" in (field.bounds or ""):
            yield named
            yield (0, *named)
        else:
            yield (extent, *items)
    yield value
