"""The text of a function, written instruction by instruction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ....base.vocabulary import DType
from .module import ModuleText
from .types import iota, literal, register_type, vector_literal
from .values import Jumps, Value, register

_EXTREMA: Final = frozenset({"llvm.smin.i64", "llvm.smax.i64"})
_REGISTERS: Final = re.compile(r"%[\w.]+")
Computed = dict[str, str]  # registers by the instruction that gives them


class FunctionText:
    """The body of one function: the current block grows at the end; `entry` holds what must run first.

    Where there are sizes that only a run tells, what follows from them alone is computed at the entry, and what was
    computed in a block is known in those that come after it in any case.  Indices of open shapes are long sums of
    products of sizes, whose text would take LLVM most of its time otherwise.
    """

    def __init__(self, module: ModuleText) -> None:
        self.module = module
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block = "start"  # the label of the block that is being written
        self._computed: Computed = {}  # in this block
        self._known: tuple[Computed, ...] = ()  # in blocks that all ways to this one lead through
        self._sizes: set[str] = set()  # scalars of the entry that are sizes, or follow from them alone
        self._of_sizes: Computed = {}
        self._registers = 0
        self._labels = 0

    # instructions

    def emit(self, instruction: str) -> str:
        """Append `%n = instruction` and give `%n`."""
        name = f"%v{self._registers}"
        self._registers += 1
        self.lines.append(f"  {name} = {instruction}")
        return name

    def compute(self, instruction: str) -> str:
        """As `emit`, of an instruction whose result its operands decide, and which never traps: once a block."""
        if self._sizes and "<" not in instruction:
            made = self._of_sizes.get(instruction)
            if made is None and self._is_of_sizes(instruction):
                made = self._of_sizes[instruction] = self.emit_entry(instruction)
                self._sizes.add(made)
            if made is not None:
                return made
        found = self._computed.get(instruction)
        if found is None:
            for computed in self._known:
                found = computed.get(instruction)
                if found is not None:
                    return found
            found = self._computed[instruction] = self.emit(instruction)
        return found

    def _is_of_sizes(self, instruction: str) -> bool:
        registers = _REGISTERS.findall(instruction)
        return bool(registers) and self._sizes.issuperset(registers)

    def emit_size(self, instruction: str) -> str:
        """As `emit_entry`, of an int64 scalar that many indices are made of."""
        size = self.emit_entry(instruction)
        self._sizes.add(size)
        return size

    def is_size(self, register: str) -> bool:
        """Whether a scalar is a size, or follows from sizes alone."""
        return register in self._sizes

    def emit_entry(self, instruction: str) -> str:
        """As `emit`, at the start of the function, so that the value is there in every block."""
        name = f"%v{self._registers}"
        self._registers += 1
        self.entry.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def call(
        self,
        name: str,
        result: str,
        arguments: Sequence[tuple[str, str]],
        flags: str = "",
        attributes: str = "",
    ) -> str:
        """Append a call of an external function or intrinsic, declaring it; arguments are (type, operand)."""
        parameters = ", ".join(kind.partition(" align")[0] for kind, _ in arguments)
        callee = self.module.declare(name, result, parameters)
        operands = ", ".join(f"{kind} {operand}" for kind, operand in arguments)
        instruction = f"call {flags}{result} {callee}({operands}){attributes}"
        if result == "void":
            self.do(instruction)
            return ""
        return self.compute(instruction) if self._sizes and name in _EXTREMA else self.emit(instruction)

    def recurrence(self, kind: str, first: str, block: str) -> Recurrence:
        """A value of the block that begins here: `first` where control comes from `block`, else what is said later."""
        line = len(self.lines)
        return Recurrence(self, self.emit(f"phi {kind} [ {first}, %{block} ], "), line)

    # control

    def label(self, hint: str) -> str:
        """A fresh label."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def start(self, label: str, known: tuple[Computed, ...] = ()) -> None:
        """Begin a block; `known`: what was computed in blocks that all ways to it lead through."""
        self.lines.append(f"{label}:")
        self.block = label
        self._computed, self._known = {}, known

    def known(self) -> tuple[Computed, ...]:
        """What is computed here, for blocks to which all ways lead through this one."""
        return (self._computed, *self._known) if self._sizes else ()

    def branch(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch_if(self, condition: str, then: str, otherwise: str, weights: str = "") -> None:
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}{weights}")

    # values

    def vector(self, value: Value, lanes: int) -> str:
        """The operand of `value` as a vector of `lanes` (or a scalar, if `lanes` is 1)."""
        if lanes == 1:
            assert value.text is not None
            return value.text
        if value.lanes == 1:
            return self._splat(value, lanes)
        assert value.lanes == lanes, f"a vector of {value.lanes} where {lanes} lanes are expected"
        if value.shuffled is not None:
            (whole,) = self.parts(value, lanes)
            return whole
        if value.text is None:
            assert value.scalar is not None
            # Not remembered: the block in which it is made need not dominate later uses.
            text = self._splat(value.scalar, lanes)
            if value.stride:
                element = register_type(value.dtype)
                kind = register_type(value.dtype, lanes)
                flags = "nsw " if value.clean else ""
                text = self.emit(f"add {flags}{kind} {text}, {iota(element, lanes, 0, value.stride)}")
            return text if value.jumps is None else self._jumping(value, text, value.jumps)
        return value.text

    def parts(self, value: Value, lanes: int) -> list[str]:
        """The lanes of a vector in their order, in vectors of `lanes`, which divide them."""
        starts = range(0, value.lanes, lanes)
        if value.shuffled is None:
            kind, whole = register_type(value.dtype, value.lanes), self.vector(value, value.lanes)
            return [self.shuffle(kind, whole, "poison", range(at, at + lanes)) for at in starts]
        vectors, order = value.shuffled.vectors, value.shuffled.order
        width = vectors[0].lanes
        kind = register_type(value.dtype, width)
        operands = [self.vector(each, width) for each in vectors]
        if len(operands) > 2 and lanes != width:  # two at a time, of one width
            whole = self._widened(kind, operands, width)
            kind = register_type(value.dtype, len(operands) * width)
            return [self.shuffle(kind, whole, "poison", order[at : at + lanes]) for at in starts]
        return [self._blended(kind, operands, width, order[at : at + lanes]) for at in starts]

    def _blended(self, kind: str, operands: Sequence[str], width: int, order: Sequence[int]) -> str:
        """Lanes of operands by number: of the first two, then with those of each further one."""
        places = [divmod(index, width) for index in order]
        found = operands[0]
        if len(operands) == 1:
            return self.shuffle(kind, found, "poison", order)
        for number, vector in enumerate(operands[1:], 1):
            taken = [
                width + place if of == number else (place if number == 1 else lane) if of < number else None
                for lane, (of, place) in enumerate(places)
            ]
            found = self.shuffle(kind, found, vector, taken)
        return found

    def _widened(self, kind: str, operands: Sequence[str], width: int) -> str:
        """All lanes of all operands in one vector."""
        element, count = kind.rpartition(" x ")[2].rstrip(">"), len(operands) * width
        wide = f"<{count} x {element}>"
        whole = ""
        for number, operand in enumerate(operands):
            first = number * width
            spread = [lane - first if first <= lane < first + width else None for lane in range(count)]
            own = self.shuffle(kind, operand, "poison", spread)
            both = [lane if lane < first else count + lane for lane in range(count)]
            whole = self.shuffle(wide, whole, own, both) if number else own
        return whole

    def shuffle(self, kind: str, a: str, b: str, order: Sequence[int | None]) -> str:
        """Lanes of two vectors of one type by number, those of `b` after those of `a`; None: any."""
        listed = ", ".join(f"i32 {'poison' if lane is None else lane}" for lane in order)
        return self.emit(f"shufflevector {kind} {a}, {kind} {b}, <{len(order)} x i32> <{listed}>")

    def _jumping(self, value: Value, text: str, jumps: Jumps) -> str:
        """A sequence with its jumps: each is added in the lanes that it has reached."""
        kind = register_type(value.dtype, value.lanes)
        jump = vector_literal(value.dtype, value.lanes, jumps.jump)
        for number in range(1, jumps.pieces(value.lanes)):
            before = self.lanes_before(jumps, number, value.lanes)
            added = self.emit(f"select <{value.lanes} x i1> {before}, {kind} zeroinitializer, {kind} {jump}")
            text = self.emit(f"add {kind} {text}, {added}")
        return text

    def lanes_before(self, jumps: Jumps, number: int, lanes: int) -> str:
        """The mask of the lanes before the jump of that number, from 1 on."""
        left = self.compute(f"sub i64 {number * jumps.every}, {jumps.first.text}")
        name = self.module.declare("llvm.smin.i64", "i64", "i64, i64")
        few = self.compute(f"call i64 {name}(i64 {left}, i64 {lanes})")
        narrow = self.compute(f"trunc i64 {few} to i32")
        first = self.compute(f"insertelement <{lanes} x i32> poison, i32 {narrow}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        limit = self.compute(f"shufflevector <{lanes} x i32> {first}, <{lanes} x i32> poison, {zeros}")
        return self.compute(f"icmp slt <{lanes} x i32> {iota('i32', lanes)}, {limit}")

    def _splat(self, scalar: Value, lanes: int) -> str:
        if scalar.literal is not None:
            return vector_literal(scalar.dtype, lanes, scalar.literal)
        assert scalar.text is not None
        element, kind = register_type(scalar.dtype), register_type(scalar.dtype, lanes)
        add = self.compute if self._sizes else self.emit
        first = add(f"insertelement {kind} poison, {element} {scalar.text}, i64 0")
        return add(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def result(self, dtype: DType, lanes: int, instruction: str) -> Value:
        """Append an instruction and wrap its register."""
        return register(dtype, lanes, self.emit(instruction))

    def define(
        self,
        name: str,
        result: str,
        parameters: str,
        attributes: str = "",
        *,
        exported: bool = False,
        prologue: Sequence[str] = (),
    ) -> None:
        """Close the function and add it to the module.

        `prologue` are lines after those of `entry` that end in a branch to `start`; by default that branch alone.
        """
        linkage = "" if exported else "internal "
        head = f"define {linkage}{result} @{name}({parameters}) {attributes}".rstrip()
        lines = (*self.entry, *(prologue or ("  br label %start",)), "start:", *self.lines)
        self.module.define(name, "\n".join((f"{head} {{", *lines, "}")))


class Recurrence:
    """A phi whose second operand is known at the end of the loop."""

    __slots__ = ("_f", "_line", "name")

    def __init__(self, f: FunctionText, name: str, line: int) -> None:
        self._f, self.name, self._line = f, name, line

    def again(self, value: str, block: str) -> None:
        """`value` where control comes from `block`."""
        self._f.lines[self._line] += f"[ {value}, %{block} ]"


def constant(dtype: DType, value: bool | int | float) -> Value:
    """A scalar literal."""
    nonnegative = dtype == "index" and int(value) >= 0
    return Value(
        dtype, 1, literal(dtype, value), literal=value, clean=dtype == "index", nonnegative=nonnegative
    )
