"""What the templates of a package's index and of its typed stub print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import CheckedOp
from .text import literal


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One op: its function's name and the module that holds it."""

    name: str
    module: str


@dataclass(frozen=True, slots=True)
class IndexView:
    """Names only, so that a change inside one op leaves the index as it is."""

    ops: tuple[IndexEntry, ...]
    operators: tuple[tuple[str, str], ...]  # symbol and op name, as Python literals
    namespace: str  # as a Python literal
    prefix: str  # of the ops' full names, as a Python literal
    has_eager: bool  # whether the package has a module of its ops on arrays; the runtime has that of the built-in ones


def index_view(ops: Sequence[CheckedOp], namespace: str) -> IndexView:
    """The view of all ops of a project, sorted by name."""
    ordered = sorted(ops, key=lambda op: op.name)
    operators = sorted((str(op.traits["operator"]), op.name) for op in ordered if "operator" in op.traits)
    return IndexView(
        ops=tuple(IndexEntry(op.name, module_name(op.name)) for op in ordered),
        operators=tuple((literal(symbol), literal(name)) for symbol, name in operators),
        namespace=literal(namespace),
        prefix=literal(f"{namespace}." if namespace else ""),
        has_eager=bool(namespace) and all(op.name != "eager" for op in ops),
    )


def module_name(op_name: str) -> str:
    """The module of an op inside its package."""
    return f"_{op_name}"
