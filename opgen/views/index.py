"""What the templates of a package's index and of its typed stub print."""

from __future__ import annotations

from collections.abc import Sequence

from opgen_runtime.base.vocabulary import dataclass

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


def index_view(ops: Sequence[tuple[str, str | None]], namespace: str) -> IndexView:
    """The view of all ops of a project, each with the operator that it stands for, sorted by name."""
    names = sorted(name for name, _ in ops)
    operators = sorted((operator, name) for name, operator in ops if operator is not None)
    return IndexView(
        ops=tuple(IndexEntry(name, module_name(name)) for name in names),
        operators=tuple((literal(symbol), literal(name)) for symbol, name in operators),
        namespace=literal(namespace),
        prefix=literal(f"{namespace}." if namespace else ""),
        has_eager=bool(namespace) and "eager" not in names,
    )


def module_name(op_name: str) -> str:
    """The module of an op inside its package."""
    return f"_{op_name}"
