"""`load`: a program that was saved; `load_function`: a function of arrays; both import what runs them alone."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from ...base.forks import importing
from ...base.garbage import rare_collections
from ..compile.store.artifact import read
from .executable import Executable, executable_of

if TYPE_CHECKING:
    from ..compile.function import TensorFunction


def load(path: str | PathLike[str]) -> Executable:
    """The program that `Executable.save` wrote, without compiling anything.

    Its digests find damage and authenticate nothing: it holds machine code, so load only what you trust.  Raises
    ExecutorError for a file that is no artifact, is damaged, or was saved by another version or for another machine.
    """
    with rare_collections():
        return executable_of(read(path))


def load_function(path: str | PathLike[str]) -> TensorFunction:
    """The function of arrays that `TensorFunction.save` wrote, without compiling anything.

    Like `load`: it holds machine code, so load only what you trust.  Raises ExecutorError as that does.
    """
    with importing:
        from ..compile.function import function_of
        from ..compile.store.function_file import read as read_function
    return function_of(read_function(path))
