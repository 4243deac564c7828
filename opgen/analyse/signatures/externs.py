"""`python:` references: resolved by reading source below the project's declared packages, never by importing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
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
    body = _body(module, node, roots, diagnostics)
    if body is None:
        return None
    functions = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
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


def check_kernel(node: TextNode, roots: ExternRoots, diagnostics: Diagnostics) -> None:
    """Reports why `package.module:kernel` is no kernel: a function under `@tir.kernel(...)`, or `tir.parse(...)`."""
    module, colon, name = node.value.partition(":")
    if not colon:
        text = f"`{node.value[:60]}` is no kernel; expected `package.module:kernel`"
        diagnostics.error("strategy", text, node.place)
        return
    body = _body(module, node, roots, diagnostics)
    if body is None:
        return
    kernels = dict(_kernels(body))
    if name not in kernels:
        text = f"`{module}` has no kernel `{name}` at its top level"
        diagnostics.error("extern", text, node.place, did_you_mean(name, kernels))


def _kernels(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """The names of kernels, and the calls that make them."""
    for each in body:
        if isinstance(each, ast.FunctionDef):
            yield from [(each.name, made) for made in each.decorator_list if _calls(made, "kernel")]
        elif isinstance(each, ast.Assign) and _calls(each.value, "parse"):
            yield from [(target.id, each.value) for target in each.targets if isinstance(target, ast.Name)]


def _calls(node: ast.expr, function: str) -> bool:
    """Whether an expression is a call of `function`, or of `<anything>.function`."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == function


def _body(
    module: str, node: TextNode, roots: ExternRoots, diagnostics: Diagnostics
) -> Sequence[ast.stmt] | None:
    """The statements of a module of the project; None where it cannot be read, which is reported."""
    path, reason, hint = _find(module, roots)
    if path is None:
        diagnostics.error("extern", reason, node.place, hint)
        return None
    try:
        if path.stat().st_size <= _MAX_BYTES:
            return ast.parse(path.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    diagnostics.error("extern", f"the source of `{module}` cannot be read", node.place)
    return None


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
