"""The params of an executable: their values, in files, and replaced by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from ....base.errors import CallError, ExecutorError, did_you_mean
from ....base.forks import importing

Params: TypeAlias = "Mapping[str, np.ndarray]"
_NONE: Final[Params] = MappingProxyType({})


class HasParams:
    """A program that was built for values of some of its parameters."""

    _params: Params = _NONE
    _rebuild: Callable[[Params], Any] | None = None

    @property
    def params(self) -> Params:
        """What `build` was given as `params`, and what initialisers have computed, by name, read-only.

        The program itself holds what is prepared of them.  Empty for a program that was loaded.
        """
        return self._params

    def keep_params(self, params: Params, rebuild: Callable[[Params], Any]) -> None:
        """Say what the params are; `rebuild` gives the program of others, of the same types."""
        self._params, self._rebuild = MappingProxyType(dict(params)), rebuild

    def set_params(self, values: Mapping[str, object]) -> None:
        """Replace the values of some params by others of the same types; runs that have begun end as before.

        What depends on them alone is computed anew, by the kernels that there are: kernels are compiled for which of
        their operands are constant.  What passes decide by values (a factor that is 1, a scalar in the code of a
        kernel) is decided, and compiled, anew.

        Raises ExecutorError for a name of no param, for arrays that do not fit, and for a program that was loaded.
        """
        if self._rebuild is None:
            raise ExecutorError(
                "the program has no params: it was built without, or was loaded, and holds what was prepared of them"
            )
        given = {name: self._fitting(name, value) for name, value in values.items()}
        made = self._rebuild({**self._params, **given})
        if type(made) is not type(self):
            raise ExecutorError("these values make it a program of another kind; build it anew")
        vars(self).update(vars(made))

    def save_params(self, path: str | PathLike[str]) -> None:
        """Write the params into a file of the form `safetensors`, which `load_params` and others read."""
        with importing:
            from ...compile.store.params_file import save_params
        save_params(self._params, path)

    def load_params(self, path: str | PathLike[str]) -> None:
        """Set the params that a file has.  Raises ExecutorError for a damaged file, and what `set_params` raises."""
        with importing:
            from ...compile.store.params_file import load_params
        self.set_params(load_params(path))

    def _fitting(self, name: str, value: object) -> np.ndarray:
        before = self._params.get(name)
        if before is None:
            known = self._params
            raise ExecutorError(
                f"the program has no param {name!r}{did_you_mean(name, known)} (it has {', '.join(known)})"
            )
        with importing:  # who loads programs needs no expressions
            from ....ir.admit import admit
        try:
            array = admit(value, f"param {name!r}")
        except CallError as error:
            raise ExecutorError(str(error)) from None
        if array.shape != before.shape or array.dtype.newbyteorder("=") != before.dtype:
            raise ExecutorError(f"param {name!r} must be {_text(before)}, found {_text(array)}")
        return array


def _text(array: np.ndarray) -> str:
    return f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
