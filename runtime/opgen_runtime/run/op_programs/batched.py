"""A program for each element of a batch, as a program: beside `vjp` and `jvp` of programs.py, `batch`.

program_at(("softmax", "batch", "vjp"))    the adjoints of softmax of a batch
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...base.errors import AttrError, ShapeError
from ...declaration.gradient import fresh
from ...ir import Expr
from ...operator import AttrField, Dim, TensorType
from ...transform.batching import batched, with_axis
from .programs import (
    Argument,
    OperandType,
    Program,
    Values,
    found,
    leaves,
    names_of,
    nested_as,
    variables_of,
)

BATCH: Final = "batch"


class Batched(Program):
    """The results of a program for each element, all of them with one more axis, the first.

    Operands: those of the program; the leaves of `batched` have the axis.
    """

    def __init__(self, base: Program) -> None:
        self.base = base
        self.batched = fresh("batched", names_of(base))
        field = AttrField(self.batched, "ints", doc="The leaves that have the axis, by number.")
        super().__init__(
            (*base.path, BATCH), base.operands, (*base.fields, field), base.outputs, base.is_data_dependent
        )

    def results(self, arguments: Sequence[Argument], values: Values) -> list[Expr]:
        own = list(leaves(arguments))
        types: list[OperandType] = [
            tuple([_type(each) for each in argument])
            if isinstance(argument, tuple)
            else None
            if argument is None
            else _type(argument)
            for argument in arguments
        ]
        rows, extent = self._rows(types, values)
        inner, variables = variables_of(self.base.operands, rows)
        numbers = self._numbers(values)
        given = dict(zip(variables, own, strict=True))
        results = self.base.results(inner, self._own(values))
        wide = {var: each for k, (var, each) in enumerate(given.items()) if k in numbers}
        same = {var: each for k, (var, each) in enumerate(given.items()) if k not in numbers}
        parts = batched(results, wide, extent, same)
        return [with_axis(part, extent) for part in parts]

    def infer(self, types: Sequence[OperandType], values: Values) -> list[TensorType]:
        rows, extent = self._rows(types, values)
        found = self.base.infer(rows, self._own(values))
        return [each.with_shape((extent, *each.shape)) for each in found]

    def _numbers(self, values: Values) -> tuple[int, ...]:
        numbers = values[self.batched]
        assert isinstance(numbers, tuple)
        return numbers

    def _own(self, values: Values) -> dict[str, object]:
        return {name: value for name, value in values.items() if name != self.batched}

    def _rows(self, types: Sequence[OperandType], values: Values) -> tuple[list[OperandType], Dim]:
        """The types for one element, and how many there are.

        Raises AttrError for a number that is none, ShapeError for a leaf without the axis, or with another extent.
        """
        numbers = self._numbers(values)
        flat = list(leaves(types))
        extents: dict[int, Dim] = {}
        for number in numbers:
            if not 0 <= number < len(flat):
                raise AttrError(
                    f"{self.name}: {number} is no number of an operand's tensor; there are {len(flat)}"
                )
            if not flat[number].shape:
                raise ShapeError(f"{self.name}: tensor {number} has no axis of the batch")
            extents[number] = flat[number].shape[0]
        if len(set(extents.values())) != 1:
            raise ShapeError(
                f"{self.name}: the batch has {' and '.join(sorted(set(map(str, extents.values()))))} elements"
            )
        rows = [each.with_shape(each.shape[1:]) if k in extents else each for k, each in enumerate(flat)]
        return nested_as(types, rows), next(iter(extents.values()))


_batched: Final[dict[Program, Batched]] = {}


def batched_program(program: Program) -> Batched:
    """The program of a batch of another one: one object."""
    return _batched.setdefault(program, Batched(program))


def program_at(path: Sequence[str]) -> Program:
    """The program of a path, of which entries may be `batch`, too.  Raises RegistryError for what is none."""
    taken = list(path)
    first = taken.index(BATCH) if BATCH in taken[1:] else len(taken)
    program = found(taken[:first])
    for each in taken[first:]:
        program = batched_program(program) if each == BATCH else program.vjp if each == "vjp" else program.jvp
    return program


def _type(value: Expr) -> TensorType:
    type_ = value.checked_type
    assert isinstance(type_, TensorType)
    return type_
