"""`load`: a program that was saved; of the compiler it imports what runs programs alone."""

from __future__ import annotations

from os import PathLike

from ...base.garbage import rare_collections
from ..compile.store.artifact import read
from .executable import Executable, executable_of


def load(path: str | PathLike[str]) -> Executable:
    """The program that `Executable.save` wrote, without compiling anything.

    Its digests find damage and authenticate nothing: it holds machine code, so load only what you trust.  Raises
    ExecutorError for a file that is no artifact, is damaged, or was saved by another version or for another machine.
    """
    with rare_collections():
        return executable_of(read(path))
