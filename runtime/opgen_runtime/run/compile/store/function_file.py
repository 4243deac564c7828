"""Functions of arrays in files of the form of artifacts: arguments, object code, and what it needs of the runtime."""

from __future__ import annotations

import os
from typing import Final

from ....base.errors import ExecutorError
from ....base.version import VERSION
from ....base.vocabulary import DType
from ....codegen import provide
from ..function_code import Argument, FunctionCode
from ..kernel.sizes import SizesIn, SizesOut
from .artifact import check_usable, runtime_objects
from .files import aligned_memory, read_whole
from .pieces import Blobs, Head, Piece, blobs_of, head_in, head_of_file, in_pieces, write_pieces

_KEY: Final = "function"


def write(path: str | os.PathLike[str], function: FunctionCode) -> None:
    """Write a function, whole or not at all."""
    write_pieces(path, _pieces(function))


def encode(function: FunctionCode) -> bytes:
    """The bytes of a function's file."""
    return b"".join(_pieces(function))


def read(path: str | os.PathLike[str]) -> FunctionCode:
    """The function of a file.

    Raises ExecutorError for a file that holds none, is damaged, or was saved by another version or for another machine.
    """
    head = head_of_file(path)
    return _decoded(read_whole(path), str(path), head)


def decode(whole: bytes, what: str) -> FunctionCode:
    """Like `read`, of the bytes; `what` names them in errors."""
    memory = aligned_memory(len(whole))
    memory[:] = whole
    return _decoded(memory, what, head_in(memory, what))


def _pieces(function: FunctionCode) -> list[Piece]:
    blobs, sizes = Blobs(), SizesOut()
    header: dict[str, object] = {
        "opgen": VERSION,
        "target": function.target,
        _KEY: {
            "name": function.name,
            "arguments": [
                [each.name, sizes.shape(each.shape), each.dtype, each.is_output]
                for each in function.arguments
            ],
            "symbol": function.symbol,
            "code": blobs.add(function.code),
            "imports": function.imports,
        },
        "runtime": [
            [key, blobs.add(code)] for key, code in runtime_objects(function.imports, function.target)
        ],
    }
    header["dims"] = sizes.table
    return in_pieces(header, blobs)


def _decoded(memory: memoryview, what: str, head: Head) -> FunctionCode:
    header = head.header
    check_usable(header, what)
    if _KEY not in header:
        raise ExecutorError(f"{what} holds a program; rt.load loads it")
    blobs = list(blobs_of(memory.toreadonly(), head, what))
    for key, code in header["runtime"]:
        provide(key, bytes(blobs[code]))
    made, sizes = header[_KEY], SizesIn(header["dims"])
    return FunctionCode(
        made["name"],
        header["target"],
        tuple(
            [
                Argument(name, sizes.shape(shape), DType(dtype), is_output)
                for name, shape, dtype, is_output in made["arguments"]
            ]
        ),
        made["symbol"],
        bytes(blobs[made["code"]]),
        tuple(made["imports"]),
    )
