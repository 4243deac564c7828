"""Arrays by name in a file of the form `safetensors`.

    the size of the header     8 bytes, the low one first
    header: JSON               name -> dtype, shape, offsets of the first byte and after the last; spaces at its end
    arrays                     one after the other, in C order, little-endian

The form is that of https://github.com/huggingface/safetensors, which other frameworks read and write.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ....base.errors import ExecutorError
from ....base.vocabulary import DTYPES, DType

# The form's name of each dtype.
_NAMES: Final[Mapping[str, str]] = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float8_e4m3fn": "F8_E4M3", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64",
}  # fmt: skip
_DTYPES: Final = {text: DType(name) for name, text in _NAMES.items()}
_METADATA: Final = "__metadata__"  # a key of the header that names no array
_HEAD: Final = 8
_MAX_HEADER: Final = 100_000_000  # bytes, the form's own bound


def save_params(params: Mapping[str, object], path: str | os.PathLike[str]) -> None:
    """Write arrays by name, whole or not at all.  Raises ExecutorError for a dtype that no tensor has."""
    header: dict[str, object] = {}
    arrays: list[np.ndarray] = []
    end = 0
    for name, value in params.items():
        array = np.asarray(value)
        if array.dtype.name not in DTYPES:
            raise ExecutorError(f"param {name!r} has dtype {array.dtype}, which no tensor has")
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        arrays.append(array)
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(len(text).to_bytes(_HEAD, "little") + text)
            file.writelines([array.reshape(-1).view(np.uint8).data for array in arrays])
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def load_params(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a file, by name, read-only.  Raises ExecutorError for a file that is damaged or of another form."""
    with open(path, "rb") as file:
        room = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD)
        size = int.from_bytes(head, "little")
        if len(head) < _HEAD or size > min(room - _HEAD, _MAX_HEADER):
            raise ExecutorError(f"{os.fspath(path)} holds no params: its header would have {size:,} bytes")
        try:
            header = json.loads(file.read(size))
            entries = [(name, *_entry(each)) for name, each in header.items() if name != _METADATA]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ExecutorError(f"{os.fspath(path)} is damaged: its header cannot be read: {error}") from None
        found: dict[str, np.ndarray] = {}
        for name, dtype, shape, (begin, end) in entries:
            count = int(np.prod(shape))
            if not (0 <= begin <= end <= room - _HEAD - size) or end - begin != count * dtype.itemsize:
                raise ExecutorError(
                    f"{os.fspath(path)} is damaged: {name} lies from {begin} to {end}, {dtype}{list(shape)}"
                )
            file.seek(_HEAD + size + begin)
            array = np.fromfile(file, np.uint8, end - begin).view(dtype.numpy).reshape(shape)
            array.flags.writeable = False
            found[name] = array
        return found


def _entry(each: Any) -> tuple[DType, tuple[int, ...], tuple[int, int]]:
    """The dtype, the shape and the place of an array.  Raises ValueError, KeyError or TypeError for what is none."""
    begin, end = each["data_offsets"]
    shape = tuple(each["shape"])
    if any([type(each) is not int or each < 0 for each in (*shape, begin, end)]):
        raise ValueError(f"a shape {shape} at {begin} to {end}")
    return _DTYPES[each["dtype"]], shape, (begin, end)
