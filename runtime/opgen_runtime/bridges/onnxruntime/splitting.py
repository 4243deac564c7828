"""A request that no one program serves, in several: one for each way in which open dims meet in broadcasts.

    add(x: [m, n], y: [p, q])    ->    x: [m, n], y: [m, q]     x: [1, n], y: [p, q]     x: [m, n], y: [1, q]

A kernel tells by itself how few dims meet (`run/compile/kernel/multiversioning.py`); a library tries the entries of a
rank in order until the sizes suit one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ...base.arith import Var
from ...base.errors import ExecutorError
from ...operator import Dim, TensorType
from ...run.compile.kernel.multiversioning import broadcast_guards, why_not_versions
from ...run.op_programs.programs import OperandType
from .requests import Request

MOST_PARTS: Final = 27
"""Three ways for each of three axes that meet, beside those that a kernel tells by itself."""


def parts_of(request: Request) -> list[Request]:
    """The request itself, or several that are tried in order.

    Raises ExecutorError where there would be too many, and what the type relation raises.
    """
    found: list[Request] = []
    for each in _parts(request):
        found.append(each)
        if len(found) > MOST_PARTS:
            raise ExecutorError(
                f"{request}: more than {MOST_PARTS} entries, for so many open dims meet in broadcasts; "
                "spell the types with names of dims that are equal, or with sizes"
            )
    return found


def _parts(request: Request) -> Iterator[Request]:
    function = request.program.function(request.types, request.values)
    ways = [] if why_not_versions(function) is None else list(_ways(broadcast_guards(function)))
    if not ways:
        yield request
    for way in ways:
        types = tuple([_replaced(type_, way) for type_ in request.types])
        yield from _parts(Request(request.program, types, request.values))


def _ways(pairs: tuple[tuple[object, object], ...]) -> Iterator[Mapping[Var, Dim]]:
    """What the first two dims that meet may be: equal, or one of them 1."""
    for a, b in pairs:
        if isinstance(a, Var) and isinstance(b, Var):
            yield {b: a}
            yield {a: 1}
            yield {b: 1}
            return


def _replaced(type_: OperandType, way: Mapping[Var, Dim]) -> OperandType:
    if isinstance(type_, tuple):
        return tuple([_tensor(each, way) for each in type_])
    return None if type_ is None else _tensor(type_, way)


def _tensor(type_: TensorType, way: Mapping[Var, Dim]) -> TensorType:
    dims = [way.get(extent, extent) if isinstance(extent, Var) else extent for extent in type_.shape]
    return TensorType(dims, type_.dtype)
