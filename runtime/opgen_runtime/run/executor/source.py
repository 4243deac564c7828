"""`Source`: what an executable was built from, for other values of its params."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ...base import Target
from ...base.errors import ExecutorError, did_you_mean
from ...base.vocabulary import dataclass
from ...ir import IRModule
from ...transform import InferType, PassContext, infer, with_input_layouts
from ..compile.program.program_steps import check_closed, constants_of, with_constants
from .arrays.donating import donations_of
from .arrays.params import Params
from .driver import build_program
from .executable import Executable
from .initialising import initialised, with_initial_values


@dataclass(frozen=True, slots=True)
class Source:
    """A module and how it is compiled.

    `params`: the names of main's parameters that are given values; variables with initialisers have values, too.
    `shape`, `dtype`, `layout`: of inputs, by name.
    """

    module: IRModule
    params: tuple[str, ...]
    shape: Mapping[str, Iterable[object]]
    dtype: Mapping[str, str] | str | None
    layout: Mapping[str, str]
    target: Target
    opt_level: int | None
    context: PassContext
    donate: tuple[str, ...]

    def executable(self, values: Params) -> Executable:
        """The program for values of all its params."""
        module, made = self.closed(values)
        executable = self.compiled(module)
        executable.keep_params(made, self.executable)
        return executable

    def closed(self, values: Params) -> tuple[IRModule, dict[str, np.ndarray]]:
        """The module whose main has constants for its params, and these by name.

        Of initialisers those run whose variables have no value among `values`.
        """
        known = constants_of(self.module["main"], {name: values[name] for name in self.params})
        module = with_constants(self.module, known) if known else self.module
        if self.layout:
            module = with_input_layouts(module, self.layout)
        if self.shape or self.dtype:
            check_closed(module, initialised(module))
            module = infer(module, self.shape, self.dtype)
        module, initial = with_initial_values(module, values)
        return module, {var.name_hint: constant.data for var, constant in (known | initial).items()}

    def compiled(self, module: IRModule) -> Executable:
        """A closed module compiled.  Raises as `build_program` does; ExecutorError for what cannot be donated."""
        if not self.donate:
            return build_program(module, None, self.target, self.opt_level, context=self.context)
        main = InferType()(module)["main"]
        names = [param.name_hint for param in main.params]
        unknown = [name for name in self.donate if name not in names]
        if unknown:
            raise ExecutorError(
                f"donate: main has no parameter {unknown[0]!r}{did_you_mean(unknown[0], names)}"
            )
        donations = donations_of(main, [names.index(name) for name in self.donate])
        return build_program(
            module, None, self.target, self.opt_level, context=self.context, donations=donations
        )
