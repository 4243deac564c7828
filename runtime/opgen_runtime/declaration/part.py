"""Part ops: `part.<op>`, some steps of the recurrence that an op is, made when it is first asked for.

    part.lstm(x, w, r, ..., (start_h, start_c), number, every=32)  -->  (end_h, end_c, y, yh, yc)

Inputs are those of the op, the rows of its states before the part, and the number of the part, an int64.  Attrs are the
op's and `every`, the steps of a part.  Results are the rows after the part, and the op's results, of which this part's
rows tell a share: all parts add up to the adjoints of the op (`transform/recurrence_gradient.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..base.errors import DTypeError, LanguageError, ShapeError
from ..base.lru_cache import LRUCache
from ..base.vocabulary import dataclass
from ..compute.te.derivative import Recurrence, rebuilt, recurrence_of
from ..compute.te.tensor import Tensor
from ..operator import (
    Attrs,
    Binding,
    Input,
    Op,
    Output,
    TensorType,
    TupleType,
    Type,
    TypeReporter,
    attr,
    binding_of,
)
from .compute import OperandTensors
from .declaration import OpDeclaration
from .declare import register
from .evaluate import call_tensors
from .gradient import base_of, fresh, made_of, names_of

NAMESPACE: Final = "part"
_PREFIX: Final = f"{NAMESPACE}."


@dataclass(frozen=True, slots=True)
class Parts:
    """The recurrence of one call over the tensors of its operands, and the rows that a part starts from."""

    inputs: tuple[Tensor, ...]
    recurrence: Recurrence
    starts: tuple[Tensor, ...]

    @property
    def extent(self) -> int:
        return self.recurrence.extent

    @property
    def start_types(self) -> tuple[TensorType, ...]:
        return tuple([TensorType(each.shape, each.dtype) for each in self.starts])


_parts: Final[LRUCache[Parts | str]] = LRUCache(1024)


def load_part(name: str) -> bool:
    """Registers the op `part.<op>`; False for another name, and where no op with a declaration is meant."""
    base = base_of(name, NAMESPACE)
    if base is None:
        return False
    register(_declaration(base), __file__)
    return True


def parts_of(base: OpDeclaration, attrs: Attrs | None, types: Sequence[Type]) -> Parts | None:
    """The parts of a call, found once and kept; None for what is no recurrence, or one of unknown extent."""
    key = (base, attrs, tuple(types))
    found = _parts.get(key)
    if found is None:
        found = _parts.put(key, _found(base, attrs, types) or "none")
    return None if isinstance(found, str) else found


def part_op(base: OpDeclaration) -> Op:
    return Op.get(_PREFIX + base.full_name)


def part_attrs(base: OpDeclaration, attrs: Attrs | None, every: int) -> Attrs:
    """The attrs of a part op."""
    kind: type[Attrs] = part_op(base).get_attr("declaration").attrs
    return kind(**({} if attrs is None else attrs.as_dict()), **{_every(base): every})


def _found(base: OpDeclaration, attrs: Attrs | None, types: Sequence[Type]) -> Parts | None:
    fields = [t for type_ in types for t in (type_.fields if isinstance(type_, TupleType) else (type_,))]
    if base.compute is None or not all(isinstance(t, TensorType) and t.is_static for t in fields):
        return None
    made = call_tensors(Op.get(base.full_name), attrs, types)
    if made.lengths or any(output.variadic is not None for output in base.signature.outputs):
        return None
    recurrence = recurrence_of(made.outputs)
    return None if recurrence is None else Parts(made.inputs, recurrence, tuple(recurrence.starts()))


def _every(base: OpDeclaration) -> str:
    return fresh("every", set() if base.attrs is None else {field.name for field in base.attrs.fields()})


def _declaration(base: OpDeclaration) -> OpDeclaration:
    signature = base.signature
    taken = {*names_of(base), *[output.name for output in signature.outputs]}
    more: Mapping[str, Any] = {
        _every(base): attr(
            "int", bounds="every >= 1", check=lambda value, _: value >= 1, doc="The steps of a part."
        )
    }
    inputs = (
        *signature.inputs,
        Input(fresh("start", taken), None, "generic", "The rows before the part.", variadic=True),
        Input(fresh("number", taken), (), "int64", "Which part."),
    )
    outputs = (Output(fresh("end", taken), variadic=lambda: 0), *signature.outputs)
    doc = f"Some steps of the recurrence of {base.full_name}."
    return made_of(base, NAMESPACE, doc, more, (inputs, outputs), _relate, _compute)


def _own(base: OpDeclaration, attrs: Attrs) -> tuple[Attrs | None, int]:
    """The attrs of the op among those of its part, and the steps of a part."""
    name = _every(base)
    if base.attrs is None:
        return None, attrs[name]
    return base.attrs(**{each: attrs[each] for each in attrs if each != name}), attrs[name]


def _relate(
    base: OpDeclaration, types: Sequence[Type], num_inputs: int, attrs: Attrs, reporter: TypeReporter
) -> bool:
    """The type relation: rows after the part are as those before it, results those of the op."""
    if not all(t.is_complete for t in types[:num_inputs]):
        return False
    count = len(base.signature.inputs)
    own, _ = _own(base, attrs)
    binding = binding_of(base.signature, base.full_name, own, tuple(types[:count]), reporter.site)
    found = parts_of(base, own, types[:count])
    if found is None:
        raise LanguageError(f"{_PREFIX}{base.full_name}: {base.full_name} is no recurrence of these operands")
    starts = types[count]
    given = starts.fields if isinstance(starts, TupleType) else ()
    for k, wanted in enumerate(found.start_types):
        if k >= len(given) or given[k] != wanted:
            error = DTypeError if k < len(given) and _shape_of(given[k]) == wanted.shape else ShapeError
            shown = given[k] if k < len(given) else "nothing"
            raise error(
                f"{_PREFIX}{base.full_name}: start {k} is {shown}, expected {wanted}\n  at {reporter.site}"
            )
    reporter.assign(types[num_inputs], TupleType((*found.start_types, *binding.outputs)))
    return True


def _shape_of(type_: Type) -> object:
    return type_.shape if isinstance(type_, TensorType) else None


def _compute(base: OpDeclaration, binding: Binding, operands: Sequence[OperandTensors]) -> tuple[Tensor, ...]:
    """The op attribute "compute" of a part op."""
    kind: type[Attrs] = part_op(base).get_attr("declaration").attrs
    own, every = _own(base, kind(**{field.name: binding.names[field.name] for field in kind.fields()}))
    types = tuple(
        [TupleType(t) if isinstance(t, tuple) else TupleType(()) if t is None else t for t in binding.inputs]
    )
    found = parts_of(base, own, types[: len(base.signature.inputs)])
    assert found is not None  # as its type relation has found
    *theirs, starts, number = operands
    assert isinstance(starts, tuple)
    assert isinstance(number, Tensor)
    ends, outputs = found.recurrence.part(every, starts, number)
    flat: list[Tensor] = []
    for operand in theirs:
        flat.extend(operand if isinstance(operand, tuple) else () if operand is None else (operand,))
    return rebuilt((*ends, *outputs), dict(zip(found.inputs, flat, strict=True)))
