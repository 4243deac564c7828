"""A model as it was given, and the digest of its bytes, by which what was compiled of it is found again."""

from __future__ import annotations

import hashlib
import os
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from ...base.forks import importing
from ...run.executor.program_cache import is_on, read_whole, visit_content

if TYPE_CHECKING:
    from .decode import ModelLike

_ENDING: Final = ".onnx"  # files of other endings may be texts


class Source:
    """`content`: the bytes of a model, of a message those at the time; `digest`: of them.

    Both are None where there is no cache of programs, and of what is no file with such bytes.
    """

    def __init__(self, model: ModelLike) -> None:
        self.given = model
        self.content: memoryview | None = None
        self.digest: str | None = None
        self.is_file = isinstance(model, str | PathLike)
        if not is_on():
            return
        halves = _Halves()
        if isinstance(model, str | PathLike):
            if os.fspath(model).endswith(_ENDING):
                try:
                    self.content = read_whole(model, halves.add)
                except OSError:  # which is told where the model is read
                    return
        else:
            self.content = memoryview(model) if isinstance(model, bytes) else _bytes_of(model)
            if self.content is not None:
                visit_content(self.content, halves.add)
        if self.content is not None:
            self.digest = halves.digest()

    @property
    def is_message(self) -> bool:
        """Whether it is an object, which may change."""
        return not self.is_file and not isinstance(self.given, bytes)

    def is_same(self) -> bool:
        """Whether a message still is what it was."""
        return not self.is_message or Source(self.given).digest == self.digest


class _Halves:
    """The sha256 of those of the halves of some bytes."""

    def __init__(self) -> None:
        self._halves = hashlib.sha256(), hashlib.sha256()

    def add(self, half: int, part: memoryview) -> None:
        """The next bytes of a half."""
        self._halves[half].update(part)

    def digest(self) -> str:
        return hashlib.sha256(b"".join([half.digest() for half in self._halves])).hexdigest()


def _bytes_of(message: Any) -> memoryview | None:
    """The bytes of a protobuf message; None where it has none, as one of more than 2 GiB."""
    write = getattr(message, "SerializeToString", None)
    if write is None:
        return None
    with importing:
        from google.protobuf.message import Error
    try:
        return memoryview(write())
    except (Error, ValueError):
        return None
