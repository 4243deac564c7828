"""The tables of a library as LLVM IR text: its ops, their entries, and the structs that onnxruntime reads of them.

An op of a table is an op with operands and results of some element types: onnxruntime chooses among those of one name
by the types.  `Own`, `Row` and `Entry` name the words of the records that `handler_text.py` reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from ...base.errors import ExecutorError
from ...base.vocabulary import FLOAT32, dataclass
from ...operator import REQUIRED
from .api import CUSTOM_OP, CUSTOM_OP_WORDS, FLOOR, Characteristic
from .requests import KINDS, Attribute, Request, attribute

DOMAINS: Final = "domains"
"""The global with a row a domain: its name, and the addresses of its ops, null at the end; after the last one null."""


class Own(IntEnum):
    """The words of an op that follow its `OrtCustomOp`."""

    NAME = 0
    INPUT_COUNT = 1
    INPUTS = 2  # rows
    OUTPUT_COUNT = 3
    OUTPUTS = 4  # rows
    ATTR_COUNT = 5
    ATTRS = 6
    ENTRY_COUNT = 7
    ENTRIES = 8  # addresses
    LISTING = 9  # a text of all entries
    DOMAIN = 10


class Row(IntEnum):
    """Of an operand or a result."""

    TYPE = 0
    CHARACTERISTIC = 1


class Attr(IntEnum):
    """Of an attr: `KINDS` has the bit of each kind of attribute that may give it, `WANTED` says so in words."""

    NAME = 0
    KINDS = 1
    WANTED = 2
    IS_REQUIRED = 3
    DEFAULT = 4  # the words of a value


class Value(IntEnum):
    """Of the value of an attr."""

    KIND = 0
    BYTES = 1
    CONTENT = 2


class Entry(IntEnum):
    """Of an entry.  `RANKS`: one a tensor of the node, -1 where it is absent, none absent at the end."""

    VALUES = 0
    RANK_COUNT = 1
    RANKS = 2
    OUTPUT_COUNT = 3
    OUTPUT_RANKS = 4
    RESULT_EXTENTS = 5
    DIM_COUNT = 6
    SIZES = 7
    RULES = 8  # texts
    CODE = 9
    TEXT = 10


@dataclass(frozen=True, slots=True)
class Compiled:
    """An entry with what was compiled of it.  `output_types`: numbers of ONNX; `sizes`, `code`: names of functions."""

    request: Request
    output_types: tuple[int, ...]
    output_ranks: tuple[int, ...]
    dim_count: int
    sizes: str
    code: str
    rules: tuple[str, ...]


def tables_text(entries: Sequence[Compiled]) -> str:
    """The globals of a library."""
    return _Tables().text(entries)


class Signature(NamedTuple):
    """What onnxruntime tells ops of one name apart by: the element types of operands and results, as ONNX's numbers."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def has(self, other: OpenSignature) -> bool:
        """Whether the operands that another one has, and its results, have the same types."""
        name, inputs, outputs = other
        return (name, outputs) == (self.name, self.outputs) and all(
            [own in (None, known) for own, known in zip(inputs, self.inputs, strict=True)]
        )


OpenSignature: TypeAlias = tuple[str, Sequence[int | None], tuple[int, ...]]
"""A signature of which some operands are absent: None."""


def by_signature(entries: Sequence[Compiled]) -> dict[Signature, list[Compiled]]:
    """The entries of each signature.

    An operand that an entry does not have takes the type that it has where another entry has it, else that of the
    first operand.  Raises ExecutorError for results of several types from operands of the same types: onnxruntime
    takes the types of the first op that suits the operands.
    """
    found: dict[Signature, list[Compiled]] = {}
    for each in sorted(entries, key=lambda each: _input_types(each.request).count(None)):
        program, inputs = each.request.program, _input_types(each.request)
        outputs = tuple(dict.fromkeys(each.output_types)) if program.gives_several else each.output_types
        known = next((one for one in found if one.has((program.name, inputs, outputs))), None)
        if known is None:
            first = next((type_ for type_ in inputs if type_ is not None), FLOAT32.onnx)
            known = Signature(program.name, tuple([type_ or first for type_ in inputs]), outputs)
        found.setdefault(known, []).append(each)
    outputs_of: dict[tuple[str, tuple[int, ...]], Signature] = {}
    for one in found:
        first_of = outputs_of.setdefault((one.name, one.inputs), one)
        if first_of.outputs != one.outputs:
            raise ExecutorError(
                f"{found[one][0].request} and {found[first_of][0].request} have results of different element types, "
                "which onnxruntime does not tell apart by the operands; a session knows one of them"
            )
    return found


def _input_types(request: Request) -> list[int | None]:
    """The number of the element type of each operand, None where it is absent."""
    found: list[int | None] = []
    for type_ in request.types:
        leaf = type_[0] if isinstance(type_, tuple) and type_ else type_
        found.append(None if leaf is None or isinstance(leaf, tuple) else leaf.dtype.onnx)
    return found


class _Tables:
    """Globals by what they hold: what is the same stands there once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def text(self, entries: Sequence[Compiled]) -> str:
        declared = [f"declare i32 @{each.code}(ptr, ptr, ptr, ptr)" for each in entries]
        declared += [f"declare i64 @{each.sizes}(ptr, ptr, ptr)" for each in entries]
        records = {each.sizes: self._entry(each) for each in entries}
        by_domain: dict[str, list[Compiled]] = {}
        for each in entries:
            by_domain.setdefault(each.request.domain, []).append(each)
        rows: list[str] = []
        for domain, own in by_domain.items():
            ops = [
                self._op(signature, group, [records[each.sizes] for each in group])
                for signature, group in by_signature(own).items()
            ]
            rows += [self._string(domain), self._array([*ops, "ptr null"])]
        found = f"@{DOMAINS} = internal constant {_listed([*rows, 'ptr null'])}, align 8"
        held = [
            f"@{name} = private unnamed_addr constant {content}, align 8"
            for content, name in self._names.items()
        ]
        return "\n".join([*declared, *held, found])

    def _entry(self, each: Compiled) -> str:
        ranks: list[int] = []
        for type_ in each.request.types:
            if isinstance(type_, tuple):
                ranks += [leaf.ndim for leaf in type_]
            else:
                ranks.append(-1 if type_ is None else type_.ndim)
        while ranks and ranks[-1] < 0:
            ranks.pop()
        words = {
            Entry.VALUES: self._array(
                [word for value in each.request.attributes for word in self._value(value)]
            ),
            Entry.RANK_COUNT: _int(len(ranks)),
            Entry.RANKS: self._array(map(_int, ranks)),
            Entry.OUTPUT_COUNT: _int(len(each.output_ranks)),
            Entry.OUTPUT_RANKS: self._array(map(_int, each.output_ranks)),
            Entry.RESULT_EXTENTS: _int(sum(each.output_ranks)),
            Entry.DIM_COUNT: _int(each.dim_count),
            Entry.SIZES: f"ptr @{each.sizes}",
            Entry.RULES: self._array([self._string(rule) for rule in each.rules]),
            Entry.CODE: f"ptr @{each.code}",
            Entry.TEXT: self._string(str(each.request)),
        }
        return self._array([words[word] for word in Entry])

    def _op(self, signature: Signature, entries: Sequence[Compiled], records: Sequence[str]) -> str:
        program = entries[0].request.program
        characteristics = {
            "one": Characteristic.REQUIRED, "optional": Characteristic.OPTIONAL, "several": Characteristic.VARIADIC
        }  # fmt: skip
        kinds = [characteristics[operand.kind] for operand in program.operands]
        gives = [characteristics[output.kind] for output in program.outputs]
        attrs: list[str] = []
        for field in program.fields:
            default = attribute(field, None if field.default is REQUIRED else field.default)
            attrs += [
                self._string(field.name),
                _int(sum(1 << kind for kind in KINDS[field.kind])),
                self._string(field.kind),
                _int(field.default is REQUIRED),
                *self._value(default),
            ]
        listing = "; ".join([str(each.request) for each in entries])
        own = {
            Own.NAME: self._string(signature.name),
            Own.INPUT_COUNT: _int(len(signature.inputs)),
            Own.INPUTS: self._array(map(_int, _rows(signature.inputs, kinds))),
            Own.OUTPUT_COUNT: _int(len(signature.outputs)),
            Own.OUTPUTS: self._array(map(_int, _rows(signature.outputs, gives))),
            Own.ATTR_COUNT: _int(len(program.fields)),
            Own.ATTRS: self._array(attrs),
            Own.ENTRY_COUNT: _int(len(records)),
            Own.ENTRIES: self._array(records),
            Own.LISTING: self._string(listing),
            Own.DOMAIN: self._string(entries[0].request.domain),
        }
        words = ["i64 0"] * CUSTOM_OP_WORDS
        words[0] = _int(FLOOR)
        for slot in CUSTOM_OP:
            words[slot.position] = f"ptr @{slot.name}"
        words += [own[word] for word in Own]
        return self._array(words)

    def _value(self, value: Attribute) -> list[str]:
        content = self._held(_bytes(value.content)) if value.content else "ptr null"
        words = {Value.KIND: _int(value.kind), Value.BYTES: _int(len(value.content)), Value.CONTENT: content}
        return [words[word] for word in Value]

    def _string(self, text: str) -> str:
        return self._held(_text(text))

    def _array(self, words: Iterable[str]) -> str:
        """The address of words in memory."""
        listed = list(words)
        return self._held(_listed(listed)) if listed else "ptr null"

    def _held(self, content: str) -> str:
        return f"ptr @{self._names.setdefault(content, f'held{len(self._names)}')}"


def _rows(types: Sequence[int], kinds: Sequence[Characteristic]) -> list[int]:
    return [word for row in zip(types, kinds, strict=True) for word in row]


def _int(value: int) -> str:
    return f"i64 {int(value)}"


def _listed(words: Sequence[str]) -> str:
    types = ", ".join([word.partition(" ")[0] for word in words])
    return f"{{ {types} }} {{ {', '.join(words)} }}"


def text_global(name: str, text: str) -> str:
    """A global with a text that ends in a zero."""
    return f"@{name} = private unnamed_addr constant {_text(text)}"


def _text(text: str) -> str:
    return _bytes(text.encode() + b"\0")


def _bytes(content: bytes) -> str:
    escaped = "".join([f"\\{byte:02x}" for byte in content])
    return f'[{len(content)} x i8] c"{escaped}"'
