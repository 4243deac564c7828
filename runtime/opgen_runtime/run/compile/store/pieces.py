"""The form of artifacts in files: a header, and numbered pieces behind it.

    magic, version of the form, size and digest of the header     fixed size
    header: JSON                                                  what is kept, digests of the rest
    object code and arrays                                        each at a multiple of 64 bytes, zeros between them

Digests find damage, and what lies between is held to be zero; before a file is read, its size is held to what its head
says.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from ....base.errors import ExecutorError
from ....base.vocabulary import dataclass
from .digests import digest
from .files import ALIGNMENT

Piece: TypeAlias = "bytes | memoryview"
_MAGIC: Final = b"opgen artifact\n\0"
_FORMAT: Final = 11
_FIXED: Final = struct.Struct("<16sIQ32s")
_MAX_HEADER: Final = 1 << 28


@dataclass(slots=True)
class Blobs:
    """What follows the header; `table`: offset, size and digest of each."""

    parts: list[Piece] = field(default_factory=list)
    table: list[tuple[int, int, str]] = field(default_factory=list)
    size: int = 0
    known: dict[str, int] = field(default_factory=dict)

    def add(self, blob: Piece) -> int:
        """The number of a blob; equal ones are kept once."""
        wanted = digest(blob).hex()
        if wanted not in self.known:
            self.known[wanted] = len(self.table)
            self.table.append((self.size, len(blob), wanted))
            self.parts += [blob, bytes(_padded(len(blob)) - len(blob))]
            self.size += _padded(len(blob))
        return self.known[wanted]

    def array(self, array: np.ndarray) -> dict[str, object]:
        return {
            "dtype": array.dtype.name,
            "shape": list(array.shape),
            "blob": self.add(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data),
        }


def write_pieces(path: str | os.PathLike[str], pieces: Sequence[Piece]) -> None:
    """Write a file, whole or not at all."""
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.writelines(pieces)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def in_pieces(header: Mapping[str, object], blobs: Blobs) -> list[Piece]:
    """A header, and what it numbers.  Raises ExecutorError for a header of too many bytes."""
    text = json.dumps({**header, "blobs": blobs.table}).encode()
    if len(text) > _MAX_HEADER:
        raise ExecutorError(
            f"the program takes a header of {len(text)} bytes; at most {_MAX_HEADER} are saved"
        )
    fixed = _FIXED.pack(_MAGIC, _FORMAT, len(text), digest(text))
    return [(fixed + text).ljust(_padded(_FIXED.size + len(text)), b"\0"), *blobs.parts]


def is_artifact(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as artifacts do."""
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


@dataclass(frozen=True, slots=True)
class Head:
    """The header, and how many bytes it takes with what is before it."""

    header: dict[str, Any]
    size: int


def head_of_file(path: str | os.PathLike[str]) -> Head:
    """The head of a file whose size is what its head says; no more of it is read."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        return _head(size, lambda begin, count: os.pread(file.fileno(), count, begin), str(path))


def head_in(whole: memoryview, what: str) -> Head:
    return _head(len(whole), lambda begin, count: bytes(whole[begin : begin + count]), what)


def _head(whole: int, read: Callable[[int, int], bytes], what: str) -> Head:
    """The head of an artifact of `whole` bytes, of which `read(begin, count)` gives some."""
    fixed = read(0, _FIXED.size)
    if len(fixed) < _FIXED.size or not fixed.startswith(_MAGIC):
        raise ExecutorError(f"{what} is no artifact of opgen")
    _, form, size, wanted = _FIXED.unpack(fixed)
    if form != _FORMAT:
        raise ExecutorError(f"{what} is an artifact of form {form}, expected {_FORMAT}")
    text = read(_FIXED.size, size) if size <= min(whole, _MAX_HEADER) else b""
    if len(text) != size or digest(text) != wanted:
        raise ExecutorError(f"{what} is damaged: its header is not what was saved")
    head = Head(json.loads(text), _FIXED.size + size)
    end = _padded(head.size) + sum(_padded(size) for _, size, _ in head.header["blobs"])
    if whole != end:
        raise ExecutorError(f"{what} is damaged: it has {whole} bytes, expected {end}")
    return head


def blobs_of(whole: memoryview, head: Head, what: str) -> Iterator[memoryview]:
    """What follows the header, each held to its digest, and what lies between to zeros."""
    start, end = _padded(head.size), head.size
    for offset, size, wanted in head.header["blobs"]:
        begin = start + offset
        blob = whole[begin : begin + size]
        if len(blob) != size or digest(blob).hex() != wanted:
            raise ExecutorError(f"{what} is damaged: the bytes from {begin} on are not what was saved")
        _check_zeros(whole, end, begin, what)
        yield blob
        end = begin + size
    _check_zeros(whole, end, len(whole), what)


def _check_zeros(whole: memoryview, begin: int, end: int, what: str) -> None:
    if any(whole[begin:end]):
        raise ExecutorError(f"{what} is damaged: the bytes from {begin} to {end} are not zero")


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
