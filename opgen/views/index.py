"""What the templates of a package's index and of its typed stub print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from .text import literal

FACES: Final = ("eager", "jax", "torch")
"""The ops of a package on arrays, and in other frameworks: a module and a template each."""


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
    faces: tuple[
        str, ...
    ]  # modules of its ops as others call them; the runtime has those of the built-in ones


def index_view(ops: Sequence[tuple[str, str | None]], namespace: str) -> IndexView:
    """The view of all ops of a project, each with the operator that it stands for, sorted by name."""
    names = sorted(name for name, _ in ops)
    operators = sorted((operator, name) for name, operator in ops if operator is not None)
    return IndexView(
        ops=tuple(IndexEntry(name, module_name(name)) for name in names),
        operators=tuple((literal(symbol), literal(name)) for symbol, name in operators),
        namespace=literal(namespace),
        prefix=literal(f"{namespace}." if namespace else ""),
        faces=tuple(face for face in FACES if namespace and face not in names),
    )


def module_name(op_name: str) -> str:
    """The module of an op inside its package."""
    return f"_{op_name}"
