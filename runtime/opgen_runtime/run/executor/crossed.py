"""`Crossed`: a program that is compiled for another machine than this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...base import Target
from ...base.errors import ExecutorError
from .executable import Native

if TYPE_CHECKING:
    from ..compile import Entry
    from ..compile.interpret import Arrays


class Crossed(Native):
    """A program as object code for another machine, none of which is loaded: `save` it for `load` there, or `export_c`.

    Its constants are computed, and packed as its kernels read them.
    """

    def entry(self) -> Entry | None:
        return None

    def _run(self, arrays: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None) -> Arrays:
        raise ExecutorError(
            f"the program is compiled for {Target.of_code(self._target).elsewhere}, which this machine is not: "
            "save it and load it there, or export it as a C library"
        )
