"""Functions and modules are drawn by `artist.py`, which is imported with the first picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .expr import Function
from .module import IRModule
from .picture import Pictured

if TYPE_CHECKING:
    from .drawing import Drawing


def _drawing(program: Pictured) -> Drawing:
    from .artist import drawing_of

    assert isinstance(program, Function | IRModule)
    return drawing_of(program)


for _kind in (Function, IRModule):  # as operators.py gives expressions their operators
    setattr(_kind, "drawing", _drawing)  # noqa: B010  # mypy takes it for a redefinition
