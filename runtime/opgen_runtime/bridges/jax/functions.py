"""Declared ops as functions of JAX's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import jax
import jax.numpy as jnp

from ...base.errors import OpgenError
from ...run.op_programs.programs import Declared, program_of
from .calls import ONE, ProgramCall
from .handler import register
from .primitives import CALL


class JaxFunction:
    """An op: operands, then attrs, by position or name.  A variadic operand is a list; an absent one is None.

    Raises TypeError for what the op does not take, NotImplementedError for results whose sizes depend on data.
    """

    def __init__(self, program: Declared) -> None:
        self.program = program
        self.__name__ = self.__qualname__ = program.declaration.name
        self.__doc__ = program.declaration.doc
        self._names = [each.name for each in program.operands]
        self._attrs = [each.name for each in program.fields]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        operands, attrs = self._split(args, kwargs)
        leaves: list[Any] = []
        form: list[int | None] = []
        for operand, name, value in zip(self.program.operands, self._names, operands, strict=True):
            if operand.kind == "several":
                if not isinstance(value, list | tuple):
                    raise TypeError(
                        f"{self.__name__}: {name} is {type(value).__name__}, expected a list of arrays"
                    )
                form.append(len(value))
                leaves += [self._array(each, name) for each in value]
            elif value is None:
                if operand.kind != "optional":
                    raise TypeError(f"{self.__name__}: the operand {name} is missing")
                form.append(None)
            else:
                form.append(ONE)
                leaves.append(self._array(value, name))
        call = self._call(tuple(form), attrs)
        found = _run(*leaves, call=call)
        return found[0] if len(self.program.outputs) == 1 and not self.program.gives_several else tuple(found)

    def _array(self, value: Any, name: str) -> Any:
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            return value
        raise TypeError(
            f"{self.__name__}: {name} is {type(value).__name__}, expected an array; jnp.asarray makes one"
        )

    def _split(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        names = [*self._names, *self._attrs]
        if len(args) > len(names):
            raise TypeError(f"{self.__name__}: takes {len(names)} arguments, found {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given or name not in names:
                known = "is given twice" if name in given else f"is none of {', '.join(names)}"
                raise TypeError(f"{self.__name__}: argument {name!r} {known}")
            given[name] = value
        return [given.pop(name, None) for name in self._names], given

    def _call(self, form: tuple[int | None, ...], attrs: dict[str, Any]) -> ProgramCall:
        try:
            return ProgramCall(self.program, form, self.program.normalised(attrs))
        except OpgenError as error:
            raise TypeError(f"opgen: {error}") from error

    def __repr__(self) -> str:
        return f"<opgen op {self.program.declaration.full_name} of JAX>"


def _bound(*leaves: Any, call: ProgramCall) -> Any:
    return CALL.bind(*[jnp.asarray(each) for each in leaves], call=call)


_run: Final = jax.jit(_bound, static_argnames="call", inline=True)


@cache
def function(name: str) -> JaxFunction:
    """The op of that full name.  Raises RegistryError, listing near names, if there is none."""
    register()
    return JaxFunction(program_of(name))
