"""What binding a call to a signature gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ....base.arith.expr import Dim, Shape
from ....base.vocabulary import dataclass
from ..relation import Assumption
from ..type import TensorType, TupleType, Type

OperandTypes = TensorType | tuple[TensorType, ...] | None


@dataclass(frozen=True, slots=True)
class Binding:
    """The names of one call with their values, and the types of its results.

    `names`: inputs (canonical types; None if absent, a tuple if variadic), attrs, dims (an int, an expression
    or a tuple of them), dtype variables, `let` names.  `outputs`: the types of all results in order, variadic
    ones spread; `counts` says how many each declared output has.  `inputs`: the operands as stored, one entry
    a declared input.  `dynamic`: data-dependent dim -> its bound; `storage`: the outputs' shapes with these
    bounds in place of `?`; `dynamic_axes`: for each output its (axis, data-dependent dim) pairs.
    """

    names: dict[str, object]
    outputs: tuple[TensorType, ...]
    undecided: tuple[Assumption, ...] = ()
    inputs: tuple[OperandTypes, ...] = ()
    counts: tuple[int, ...] = ()
    is_tuple: bool = False
    dynamic: Mapping[str, Dim] = field(default_factory=dict)
    storage: tuple[Shape, ...] = ()
    dynamic_axes: tuple[tuple[tuple[int, str], ...], ...] = ()

    @property
    def result_type(self) -> Type:
        """The type of the call: the one output's, or a tuple if several outputs or a variadic one are declared."""
        return TupleType(self.outputs) if self.is_tuple else self.outputs[0]
