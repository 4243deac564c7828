"""Calls of declared ops by name, as mappings write them: `op.clip(x, a_min=0.0, a_max=1.0)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import RegistryError
from ...ir import Expr, Operand, declared, make_call
from ...operator import Op, list_ops
from .errors import NotSupported
from .limits import spending


class Emitter:
    """`emitter.name(*operands, **attrs)` is a call of the declared op `name`.

    Operands are expressions, arrays, weak Python numbers, None for an absent one, a list for a variadic one.
    An op that is not declared raises NotSupported; a result that is too large, or too many calls, ModelError.
    """

    _announced: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = Op.get(name)
        except RegistryError:
            raise NotSupported(f"no op {name!r} is declared") from None
        declaration = declared(found)
        if declaration is None:
            raise NotSupported(f"op {name!r} has no declaration")
        kind = declaration.attrs

        def build(*operands: Operand, **attrs: Any) -> Expr:
            call = make_call(found, operands, None if kind is None else kind(**attrs))
            spending().call(call.checked_type)
            return call

        build.__name__ = build.__qualname__ = name
        self.__dict__[name] = build
        return build

    def has(self, name: str) -> bool:
        """Whether an op of that name is declared."""
        if name in self.__dict__ or name in self._announced:
            return True
        self._announced = frozenset(list_ops())
        return name in self._announced


op = Emitter()
