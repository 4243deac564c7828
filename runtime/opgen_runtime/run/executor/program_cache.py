"""Whole programs, kept for other processes (`run/compile/store/store.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base.errors import ExecutorError
from ...base.garbage import rare_collections
from ..compile.store import store
from ..compile.store.files import read_whole as read_whole
from ..compile.store.files import visit_content as visit_content
from ..compile.store.store import fact as fact
from ..compile.store.store import is_on as is_on
from ..compile.store.store import keep_fact as keep_fact
from ..compile.store.store import program_key as program_key
from .executable import Executable, executable_of


def found(key: str) -> tuple[Executable, Mapping[str, Any]] | None:
    """The program of a key, with the facts that were kept with it; None where there is none, or a damaged one."""
    with rare_collections():
        known = store.read(key)
        if known is None:
            return None
        contents, facts = known
        made = executable_of(contents)
    made.precompute_kernels = tuple(facts["precomputed"])
    return made, facts


def keep(key: str, program: Executable, facts: Mapping[str, object]) -> None:
    """Keep a program with some facts, values of JSON; one that no file can hold is not kept."""
    try:
        store.write(key, program._contents(), {**facts, "precomputed": list(program.precompute_kernels)})
    except ExecutorError:
        return
