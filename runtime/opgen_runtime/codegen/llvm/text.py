"""The text of an LLVM module and of its functions, written instruction by instruction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ...base.target import Target
from ...base.vocabulary import DType
from .llvm_types import iota, literal, register_type, vector_literal
from .values import Value, register

_ENTITY: Final = re.compile(r"[^@]*?@([-\w.$]+|\"[^\"]*\")")


class ModuleText:
    """Declarations, constants, metadata and functions of one module; nothing is written twice."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._entities: dict[str, str] = {}
        self._tables: dict[tuple[DType, tuple[object, ...]], str] = {}
        self._metadata: list[str] = []
        self._shared: dict[str, str] = {}

    def declare(self, name: str, result: str, parameters: str) -> str:
        """Declare an external function or intrinsic; gives `@name`."""
        if name not in self._entities:
            self._entities[name] = f"declare {result} @{name}({parameters})"
        return f"@{name}"

    def add(self, text: str) -> None:
        """Add functions, globals and declarations written elsewhere; what is already here is left out."""
        for name, entity in _entities(text):
            self._entities.setdefault(name, entity)

    def define(self, name: str, text: str) -> None:
        """Add a function."""
        self._entities[name] = text

    def table(self, dtype: DType, element_type: str, values: Sequence[bool | int | float]) -> str:
        """A constant array in memory; gives its name `@table0`."""
        key = (dtype, tuple((type(v), repr(v)) for v in values))
        name = self._tables.get(key)
        if name is None:
            name = f"table{len(self._tables)}"
            self._tables[key] = name
            entries = ", ".join(
                f"{element_type} {int(bool(v)) if dtype == 'bool' else literal(dtype, v)}" for v in values
            )
            array = f"[{len(values)} x {element_type}] [{entries}]"
            self._entities[name] = f"@{name} = private unnamed_addr constant {array}, align 64"
        return f"@{name}"

    def metadata(self, text: str) -> str:
        """Add a metadata node; `{self}` in it is its own name."""
        name = f"!{len(self._metadata)}"
        self._metadata.append(f"{name} = {text.replace('{self}', name)}")
        return name

    def shared_metadata(self, content: str) -> str:
        """The metadata node `!{content}`, one for all that ask for it."""
        node = self._shared.get(content)
        if node is None:
            node = self._shared[content] = self.metadata(f"!{{{content}}}")
        return node

    def render(self) -> str:
        """The module as LLVM assembly language."""
        return "\n".join((*self._entities.values(), *self._metadata, ""))


def _entities(text: str) -> Iterable[tuple[str, str]]:
    """(name, text) of each top-level entity of module text."""
    lines = iter(text.splitlines())
    for line in lines:
        stripped = line.strip()
        if not stripped or stripped.startswith(";"):
            continue
        found = _ENTITY.match(line)
        name = found.group(1) if found else line
        if not stripped.startswith("define"):
            yield name, line
            continue
        body = [line]
        while body[-1].strip() != "}":
            body.append(next(lines))
        yield name, "\n".join(body)


class FunctionText:
    """The body of one function: the current block grows at the end; `entry` holds what must run first."""

    def __init__(self, module: ModuleText) -> None:
        self.module = module
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block = "start"  # the label of the block that is being written
        self._registers = 0
        self._labels = 0

    # instructions

    def emit(self, instruction: str) -> str:
        """Append `%n = instruction` and give `%n`."""
        name = f"%v{self._registers}"
        self._registers += 1
        self.lines.append(f"  {name} = {instruction}")
        return name

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
        return self.emit(instruction)

    # control

    def label(self, hint: str) -> str:
        """A fresh label."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

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
        if value.text is None:
            assert value.scalar is not None
            # Not remembered: the block in which it is made need not dominate later uses.
            text = self._splat(value.scalar, lanes)
            if value.stride:
                element = register_type(value.dtype)
                kind = register_type(value.dtype, lanes)
                flags = "nsw " if value.clean else ""
                text = self.emit(f"add {flags}{kind} {text}, {iota(element, lanes, 0, value.stride)}")
            return text
        return value.text

    def _splat(self, scalar: Value, lanes: int) -> str:
        if scalar.literal is not None:
            return vector_literal(scalar.dtype, lanes, scalar.literal)
        assert scalar.text is not None
        element, kind = register_type(scalar.dtype), register_type(scalar.dtype, lanes)
        first = self.emit(f"insertelement {kind} poison, {element} {scalar.text}, i64 0")
        return self.emit(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def result(self, dtype: DType, lanes: int, instruction: str) -> Value:
        """Append an instruction and wrap its register."""
        return register(dtype, lanes, self.emit(instruction))


def constant(dtype: DType, value: bool | int | float) -> Value:
    """A scalar literal."""
    nonnegative = dtype == "index" and int(value) >= 0
    return Value(
        dtype, 1, literal(dtype, value), literal=value, clean=dtype == "index", nonnegative=nonnegative
    )
