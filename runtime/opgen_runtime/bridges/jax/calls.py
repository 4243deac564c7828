"""Calls of programs: what an equation of a jaxpr says of one, but for the types of its operands.

A call is a program's path, which operands there are, and the attrs; its text says all of it, so that another process
finds the same program.  `vjp`, `jvp` and `batch` are calls of the programs that are derived.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from ...operator import TensorType
from ...run.op_programs.batched import batched_program, program_at
from ...run.op_programs.programs import OperandType, Program, Values

Form: TypeAlias = tuple[int | None, ...]
"""Of each operand None where it is absent, the number of its tensors where it is several, else `ONE`."""
ONE: Final = -1


class ProgramCall:
    """Equal to another one where both have the same text."""

    __slots__ = ("form", "program", "text", "values")

    def __init__(self, program: Program, form: Form, values: Values) -> None:
        """`values`: all attrs, normalised."""
        self.program, self.form, self.values = program, form, values
        self.text = json.dumps({"path": program.path, "form": form, "attrs": values})

    @staticmethod
    def read(text: str) -> ProgramCall:
        """The call of a text.  Raises RegistryError for an op that is not there, AttrError for other attrs."""
        found = json.loads(text)
        program = program_at(found["path"])
        return ProgramCall(program, tuple(found["form"]), program.normalised(found["attrs"]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProgramCall) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        attrs = ", ".join([f"{name}={value!r}" for name, value in self.values.items()])
        return f"{'.'.join(self.program.path)}({attrs})"

    @property
    def count(self) -> int:
        """How many leaves there are."""
        return sum([1 if part == ONE else part or 0 for part in self.form])

    def nested(self, flat: Sequence[TensorType]) -> list[OperandType]:
        """The types of the leaves, one entry an operand."""
        rest = iter(flat)
        return [
            None if part is None else next(rest) if part == ONE else tuple([next(rest) for _ in range(part)])
            for part in self.form
        ]

    def infer(self, flat: Sequence[TensorType]) -> list[TensorType]:
        """The types of the results.  Raises what the type relation raises."""
        return _inferred(self, tuple(flat))

    def jvp(self, wrt: Sequence[int]) -> ProgramCall:
        """The change of the results along tangents of these leaves, which come after the leaves."""
        program = self.program.jvp
        return ProgramCall(program, (*self.form, len(wrt)), {**self.values, program.wrt: tuple(wrt)})

    def vjp(self, wrt: Sequence[int], given: Sequence[bool]) -> ProgramCall:
        """The adjoints of these leaves, from cotangents of the results that are `given`, which come after them."""
        program = self.program.vjp
        outputs = self.program.outputs
        saved: list[int | None] = [0 if each.kind == "several" else None for each in outputs]
        cotangents: list[int | None] = []
        rest = list(given)
        for output in outputs:
            if output.kind == "several":
                spare = len(given) - len(outputs) + 1
                own, rest = rest[:spare], rest[spare:]
                cotangents.append(spare if all(own) else 0)
            else:
                cotangents.append(ONE if rest.pop(0) else None)
        return ProgramCall(
            program, (*self.form, *saved, *cotangents), {**self.values, program.wrt: tuple(wrt)}
        )

    def batch(self, numbers: Sequence[int]) -> ProgramCall:
        """The call for each element of a batch, whose axis these leaves have."""
        program = batched_program(self.program)
        return ProgramCall(program, self.form, {**self.values, program.batched: tuple(numbers)})


@lru_cache(maxsize=4096)
def _inferred(call: ProgramCall, flat: tuple[TensorType, ...]) -> list[TensorType]:
    return call.program.infer(call.nested(flat), call.values)


def message(call: ProgramCall, dtypes: Sequence[str], units: int) -> tuple[str, int]:
    """What a program of XLA holds of a call: a text, and a digest of it as a signed int.

    `units`: how many axes of one position the leaves have at their ends, of which the call does not know.
    """
    text = json.dumps({"call": call.text, "dtypes": list(dtypes), "units": units})
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return text, int.from_bytes(digest, "little", signed=True)


def read_message(text: str, shapes: Iterator[Sequence[int]]) -> tuple[ProgramCall, list[TensorType]]:
    """The call, and the types of its leaves, whose shapes are given."""
    found: Mapping[str, Any] = json.loads(text)
    dtypes, units = found["dtypes"], found["units"]
    return ProgramCall.read(found["call"]), [
        TensorType(tuple(shape[: len(shape) - units]), dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
