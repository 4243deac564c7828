"""`python:` references: resolved by reading source below the project's declared packages, never by importing."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ...diagnostics import Diagnostics, did_you_mean
from ...document import TextNode

_MAX_BYTES: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class ExternRoots:
    """Import name of each package that externs may point into, with its folder or module file."""

    packages: Mapping[str, Path]


def check_extern(
    node: TextNode, roots: ExternRoots, arguments: Sequence[str], diagnostics: Diagnostics
) -> str | None:
    """The reference `package.module:function` if such a function takes these arguments; else why not is reported."""
    module, _, function = node.value.partition(":")
    path, reason, hint = _find(module, roots)
    if path is None:
        diagnostics.error("extern", reason, node.place, hint)
        return None
    functions = _functions(path)
    if functions is None:
        diagnostics.error("extern", f"the source of `{module}` cannot be read", node.place)
        return None
    found = functions.get(function)
    if found is None:
        text = f"`{module}` has no function `{function}` at its top level"
        diagnostics.error("extern", text, node.place, did_you_mean(function, functions))
        return None
    problem = _misfit(found, arguments)
    if problem is not None:
        diagnostics.error("extern", f"`{node.value}` {problem}", node.place)
        return None
    return node.value


def _find(module: str, roots: ExternRoots) -> tuple[Path | None, str, str | None]:
    package, *rest = module.split(".")
    root = roots.packages.get(package)
    if root is None:
        known = ", ".join(roots.packages) or "none"
        text = f"`{package}` is not one of the project's packages ({known})"
        return None, text, did_you_mean(package, roots.packages)
    path = root.joinpath(*rest)
    for candidate in (path.with_name(path.name + ".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate, "", None
    return None, f"there is no module `{module}` in the project", None


def _functions(path: Path) -> dict[str, ast.FunctionDef] | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _misfit(function: ast.FunctionDef, arguments: Sequence[str]) -> str | None:
    """Why a function cannot be called with these arguments (the first by position, attrs by name)."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    required = len(names) - len(given.defaults) - sum(default is not None for default in given.kw_defaults)
    if given.vararg is None and given.kwarg is None and len(names) < len(arguments):
        return f"takes {len(names)} arguments, but is called with {len(arguments)}: {', '.join(arguments)}"
    if required > len(arguments):
        return f"needs {required} arguments, but is called with {len(arguments)}: {', '.join(arguments)}"
    return None
