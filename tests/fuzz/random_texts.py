"""Random texts of loop IR, run by the interpreter and as machine code: `python -m tests.fuzz random_texts`.

Loops of every kind, over parts of a range and in tiles; buffers that are filled and read again; sums, names,
branches, masks, tables, every operator of ints and the exact ones of floats.  Floats are whole and small, so that every
result is exact and the order of sums does not matter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.lower import tir

COUNT: Final = 500
_DTYPES: Final = (
    "float32", "float32", "float64", "int32", "int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip
_EXTENTS: Final = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17)
_INT_OPS: Final = (
    "+",
    "-",
    "*",
    "//",
    "%",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "min",
    "max",
    "trunc_div",
    "trunc_mod",
)
_FLOAT_OPS: Final = ("+", "-", "*", "min", "max")


def case(seed: int) -> None:
    """One text."""
    writer = _Writer(random.Random(seed))
    text = writer.kernel()
    func = tir.parse(text)
    printed = tir.to_text(func)
    assert tir.to_text(tir.parse(printed)) == printed
    arrays = [_values(seed, k, each) for k, each in enumerate(writer.inputs)]
    sizes = {dim: writer.size for dim in func.dims}
    expected = tir.interpret(func, arrays, sizes)
    outputs = [np.ones(_shape(each, writer.size), each.dtype) for each in writer.outputs]
    rt.build(func)(*arrays, *outputs)
    for found, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(found.reshape(-1), wanted, err_msg=text)


@dataclass
class _Buffer:
    name: str
    dtype: str
    shape: tuple[int | str, ...]

    @property
    def text(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


def _shape(buffer: _Buffer, size: int) -> tuple[int, ...]:
    return tuple(size if extent == "n" else int(extent) for extent in buffer.shape)


def _values(seed: int, position: int, buffer: _Buffer) -> np.ndarray:
    shape = _shape(buffer, _Writer(random.Random(seed)).size)
    chance = np.random.default_rng((seed, position))
    dtype = DType(buffer.dtype)
    low, high = (-4, 5) if dtype.is_float else (max(-100, int(dtype.lowest)), 100)
    return chance.integers(low, high, shape).astype(buffer.dtype)


@dataclass
class _Writer:
    """Writes the lines of one kernel; `loops` are the names in scope, each with the extent that it stays below."""

    chance: random.Random
    size: int = 0
    inputs: list[_Buffer] = field(default_factory=list)
    outputs: list[_Buffer] = field(default_factory=list)
    locals: list[_Buffer] = field(default_factory=list)  # that are filled
    loops: list[tuple[str, int | str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    names: int = 0

    def __post_init__(self) -> None:
        self.size = self.chance.choice(_EXTENTS)

    def kernel(self) -> str:
        make = self.chance.randint
        self.inputs = [self._buffer(f"x{k}") for k in range(make(1, 3))]
        self.outputs = [self._buffer(f"y{k}") for k in range(make(1, 2))]
        head = [", ".join(each.text for each in part) for part in (self.inputs, self.outputs)]
        self.lines = [f"kernel({head[0]}) -> ({head[1]}):"]
        for output in self.outputs:
            if self.chance.random() < 0.4:
                self._fill_local(1)
            self._fill(output, 1, is_output=True)
        return "\n".join(self.lines) + "\n"

    def _buffer(self, name: str) -> _Buffer:
        extents: list[int | str] = [
            self.chance.choice((*_EXTENTS, "n", "n")) for _ in range(self.chance.randint(1, 3))
        ]
        return _Buffer(name, self.chance.choice(_DTYPES), tuple(extents))

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # ------------------------------------------------------------------ statements

    def _fill_local(self, depth: int) -> None:
        """A buffer of its own with all elements written, for the rest of the block."""
        buffer = self._buffer(self._fresh("t"))
        buffer.shape = tuple(
            [extent if extent == "n" else min(int(extent), 5) for extent in buffer.shape[:2]]
        )
        if not any("n" in each.shape for each in (*self.inputs, *self.outputs)):
            buffer.shape = tuple([3 if extent == "n" else extent for extent in buffer.shape])
        scope = "local" if all(extent != "n" for extent in buffer.shape) else "global"
        self._line(depth, f"allocate {buffer.text} {scope}")
        self._fill(buffer, depth, is_output=False)
        self.locals.append(buffer)

    def _fill(self, buffer: _Buffer, depth: int, is_output: bool) -> None:
        """Loops that store every element."""
        indices: list[str] = []
        outside = len(self.loops)
        known = len(self.locals)
        rank = len(buffer.shape)
        kind = ""
        for axis, extent in enumerate(buffer.shape):
            kind = self._kind(extent, is_output and axis == 0, axis == rank - 1)
            how = self.chance.random()
            name = self._fresh("i")
            if how < 0.15 and kind == "":  # in two parts, the first before the rest
                return self._parts(buffer, depth, indices, outside, known)
            if how < 0.35 and kind != "vectorized ":
                depth = self._tile(name, extent, depth, kind)
            else:
                self._line(depth, f"{kind}for {name} in range({extent}):")
                depth += 1
            self.loops.append((name, extent))
            indices.append(name)
            if axis < rank - 1 and is_output and self.chance.random() < 0.15:
                self._fill_local(depth)
        self._element(buffer, indices, depth, kind == "vectorized ")
        del self.loops[outside:], self.locals[known:]
        return None

    def _parts(self, buffer: _Buffer, depth: int, indices: list[str], outside: int, known: int) -> None:
        """The axis after `indices` as `range(k)` and `range(k, k + rest)`; the others serial."""
        rest = buffer.shape[len(indices) :]
        cut = self.chance.choice(("min(2, n)", "n // 2")) if rest[0] == "n" else str(int(rest[0]) // 2)
        inner = len(self.loops)
        for span in (cut, f"{cut}, {cut} + ({rest[0]} - {cut})"):
            at, level = list(indices), depth
            for axis, extent in enumerate(rest):
                name = self._fresh("i")
                self._line(level, f"for {name} in range({span if axis == 0 else extent}):")
                self.loops.append((name, extent))
                at.append(name)
                level += 1
            self._element(buffer, at, level, False)
            del self.loops[inner:]
        del self.loops[outside:], self.locals[known:]

    def _kind(self, extent: int | str, may_be_parallel: bool, is_last: bool) -> str:
        choices = ["", ""]
        if may_be_parallel:
            choices.append("parallel ")
        if is_last and extent != "n":
            choices += ["vectorized ", "vectorized ", "unrolled "]
        return self.chance.choice(choices)

    def _tile(self, name: str, extent: int | str, depth: int, kind: str) -> int:
        """Two loops, with a guard where the factor does not divide."""
        factor = self.chance.choice((2, 4, 8))
        count = f"(n + {factor - 1}) // {factor}" if extent == "n" else str(-(-int(extent) // factor))
        kind = kind if kind == "parallel " else ""
        self._line(depth, f"{kind}for {name}_o in range({count}):")
        self._line(depth + 1, f"for {name}_i in range({factor}):")
        self._line(depth + 2, f"if {name}_o * {factor} + {name}_i < {extent}:")
        self._line(depth + 3, f"{name} = {name}_o * {factor} + {name}_i")
        return depth + 3

    def _element(self, buffer: _Buffer, indices: list[str], depth: int, in_vector: bool) -> None:
        """Statements that give one element its value."""
        place = f"{buffer.name}[{', '.join(indices)}]"
        how = self.chance.random()
        if how < 0.2 and not in_vector:  # a sum
            name = self._fresh("k")
            extent = self.chance.choice((1, 2, 3, 5, 8))
            self._line(depth, f"{place} = {self._literal(buffer.dtype)}")
            self._line(depth, f"for {name} in range({extent}):")
            self.loops.append((name, extent))
            op = self.chance.choice(("{} + {}", "min({}, {})", "max({}, {})"))
            self._line(depth + 1, f"{place} = {op.format(place, self._value(buffer.dtype, 1))}")
            self.loops.pop()
        elif how < 0.4:  # a branch
            self._line(depth, f"if {self._condition(2)}:")
            self._line(depth + 1, f"{place} = {self._value(buffer.dtype, 2)}")
            self._line(depth, "else:")
            self._line(depth + 1, f"{place} = {self._value(buffer.dtype, 2)}")
        elif how < 0.55:  # a name
            name = self._fresh("v")
            self._line(depth, f"{name} = {self._value(buffer.dtype, 2)}")
            self._line(depth, f"{place} = min({name}, {self._value(buffer.dtype, 1)})")
        else:
            self._line(depth, f"{place} = {self._value(buffer.dtype, 2)}")

    # ------------------------------------------------------------------ expressions

    def _literal(self, dtype: str) -> str:
        kind = DType(dtype)
        low = 0 if not kind.is_float and not kind.is_signed else -3
        value = self.chance.randint(low, 3)
        return f"{dtype}({float(value) if kind.is_float else value})"

    def _index(self, extent: int | str) -> str:
        """An index below an extent."""
        fitting = [
            name for name, below in self.loops if below == extent or (extent != "n" and _below(below, extent))
        ]
        if fitting and self.chance.random() < 0.8:
            name = self.chance.choice(fitting)
            return name if self.chance.random() < 0.7 else f"{extent} - 1 - {name}"
        anything = [name for name, _ in self.loops] or ["0"]
        name = self.chance.choice(anything)
        return self.chance.choice((f"{name} % {extent}", f"min(max({name} * 2 - 3, 0), {extent} - 1)"))

    def _load(self, dtype: str) -> str | None:
        known = [each for each in (*self.inputs, *self.locals) if each.dtype == dtype]
        if not known:
            return None
        buffer = self.chance.choice(known)
        mask = f"; {self._condition(0)}" if self.chance.random() < 0.15 else ""
        return f"{buffer.name}[{', '.join(map(self._index, buffer.shape))}{mask}]"

    def _value(self, dtype: str, depth: int) -> str:
        kind = DType(dtype)
        how = self.chance.random()
        if depth == 0 or how < 0.15:
            return self._leaf(dtype)
        if how < 0.3:
            then, otherwise = (self._value(dtype, depth - 1) for _ in range(2))
            return f"({then} if {self._condition(1)} else {otherwise})"
        if how < 0.4:
            return self._converted(dtype, depth - 1)
        if how < 0.45:
            values = [self._literal(dtype)[len(dtype) + 1 : -1] for _ in range(3)]
            return f"{dtype}[{', '.join(values)}][{self._index(3)}]"
        if how < 0.5 and kind.is_signed:
            return f"abs({self._value(dtype, depth - 1)})"
        op = self.chance.choice(_FLOAT_OPS if kind.is_float else _INT_OPS)
        a, b = (self._value(dtype, depth - 1) for _ in range(2))
        return f"{op}({a}, {b})" if op[0].isalpha() else f"({a} {op} {b})"

    def _leaf(self, dtype: str) -> str:
        loaded = self._load(dtype) if self.chance.random() < 0.75 else None
        if loaded is not None:
            return loaded
        if self.loops and self.chance.random() < 0.4:
            return f"cast({self.chance.choice(self.loops)[0]}, {dtype})"
        return self._literal(dtype)

    def _converted(self, dtype: str, depth: int) -> str:
        """A value of another dtype; floats become small again."""
        other = self.chance.choice(_DTYPES)
        value = self._value(other, depth)
        if DType(dtype).is_float and not DType(other).is_float:
            value = f"({value} % {other}(5))"
        return f"cast({value}, {dtype})"

    def _condition(self, depth: int) -> str:
        how = self.chance.random()
        if depth and how < 0.25:
            op = self.chance.choice(("&", "|", "and", "or"))
            return f"({self._condition(depth - 1)} {op} {self._condition(depth - 1)})"
        if depth and how < 0.35:
            return f"~({self._condition(depth - 1)})"
        sign = self.chance.choice(("<", "<=", ">", ">=", "==", "!="))
        if how < 0.7 and self.loops:
            name, extent = self.chance.choice(self.loops)
            return f"({name} {sign} {extent} // 2)"
        dtype = self.chance.choice(_DTYPES)
        return f"({self._leaf(dtype)} {sign} {self._literal(dtype)})"


def _below(a: int | str, b: int | str) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a <= b
