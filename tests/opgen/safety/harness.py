"""What every test of hostile declarations asserts: findings or ops, soon, and nothing of theirs runs.

`examine` checks declarations as `opgen generate` does and prints what is accepted.  While it runs, an audit hook
notes everything that opens files for writing, starts processes, imports or reaches the network: none of it may
happen.  `shape_of` is the structure of generated code with its texts masked, by which two modules are compared.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, settings

from opgen.analyse import check_project
from opgen.diagnostics import CODES, Diagnostic, to_json, to_text
from opgen.model import CheckedOp
from opgen.render import Renderer
from opgen.views import index_view, op_view, suite_view
from opgen_runtime.base.garbage import rare_collections

Test = TypeVar("Test", bound=Callable[..., None])


FULL: Final = os.environ.get("OPGEN_TESTS") == "full"  # set by `scripts/test --full`


def many(count: int) -> Callable[[Test], Test]:
    """Settings of a property of hostile declarations: `count` cases (a tenth, unless the full suite runs), the same
    in each run."""
    return settings(
        max_examples=count if FULL else max(count // 10, 10),
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )


LIMIT_SECONDS: Final = 2.0  # of the process's own time
ALIASES: Final = frozenset({"_l", "_b", "_t"})
_RENDERER: Final = Renderer()

# Audit events of code that reaches outside; those of the interpreter's own work on trees are not among them.
_FORBIDDEN: Final = (
    "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "tempfile.", "glob.", "urllib.", "ftplib.", "mmap.",
    "pty.", "webbrowser.", "pickle.", "marshal.", "code.__new__", "sys.addaudithook", "cpython.run_",
)  # fmt: skip
# What the generator itself does: compiled trees, templates looked up in folders.
_OWN: Final = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fspath", "marshal.loads", "code.__new__"})
_watching = False
_seen: list[str] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event == "open":
        mode = arguments[1]
        if isinstance(mode, str) and any(letter in mode for letter in "wax+"):
            _seen.append(f"{event} {arguments[0]!r} {mode}")
    elif event.startswith(_FORBIDDEN) and event not in _OWN:
        _seen.append(f"{event} {arguments!r}"[:200])


sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[None]:
    """Fails if anything inside reaches outside, or takes longer than the limit.

    It is measured as the generator runs: what other tests left in memory is not searched for garbage meanwhile.
    """
    global _watching
    _seen.clear()
    gc.freeze()
    try:
        with rare_collections():
            start = time.process_time()
            _watching = True
            try:
                yield
            finally:
                _watching = False
            spent = time.process_time() - start
    finally:
        gc.unfreeze()
    assert not _seen, _seen
    assert spent < LIMIT_SECONDS, f"{spent:.1f} s"


@dataclass(frozen=True, slots=True)
class Examined:
    """What became of declarations: the ops without errors with their modules and suites, and all findings."""

    ops: tuple[CheckedOp, ...]
    modules: tuple[ast.Module, ...]
    suites: tuple[ast.Module, ...]
    found: tuple[Diagnostic, ...]

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in self.found}


def examine(files: Mapping[str, str] | str) -> Examined:
    """Check and print; every finding can be shown, every accepted op is printed and is Python."""
    sources = {"h.yaml": files} if isinstance(files, str) else files
    with watched():
        ops, found = check_project(sources)
        shown = to_text(found) + to_json(found)
        modules = tuple(_module(op) for op in ops)
        suites = tuple(_suite(op) for op in ops)
        index_view([(op.name, None) for op in ops], "h")
    for finding in found:
        assert finding.code in CODES
        assert finding.message
        assert finding.place.line >= 1
        assert finding.place.column >= 1
    assert "\x1b" not in shown
    for op, module in zip(ops, modules, strict=True):
        assert_known_names(op, module)
    return Examined(tuple(ops), modules, suites, tuple(found))


def _module(op: CheckedOp) -> ast.Module:
    return ast.parse(_RENDERER.python("op.py.j2", {"op": op_view(op, "")}, op.name))


def _suite(op: CheckedOp) -> ast.Module:
    return ast.parse(_RENDERER.python("suite.py.j2", {"suite": suite_view(op, "myops")}, op.name))


def assert_known_names(op: CheckedOp, module: ast.Module) -> None:
    """Top-level statements are those of the template; attributes are public; names are bound or the runtime's."""
    kinds = [type(node) for node in module.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    expected: list[type[ast.stmt]] = [ast.FunctionDef]
    expected += [ast.ClassDef] if op.attrs else []
    expected += [ast.FunctionDef] if op.compute is not None else []
    assert kinds == [*expected, ast.Assign]
    imported: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.Import):
            assert {name.name for name in node.names} == {"builtins"}
            imported |= {str(name.asname) for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module == "__future__" or str(node.module).startswith("opgen_runtime")
            imported |= {name.asname or name.name for name in node.names}
    bound = {n.id for n in ast.walk(module) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.arg for n in ast.walk(module) if isinstance(n, ast.arg)}
    bound |= {n.name for n in ast.walk(module) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    builtin = {"int", "float", "bool", "str", "tuple"}  # annotations
    for node in ast.walk(module):
        assert not isinstance(node, ast.While | ast.Try | ast.Global | ast.Yield | ast.Await | ast.JoinedStr)
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_"), node.attr
            if isinstance(node.value, ast.Name) and node.value.id == "_b":
                assert node.attr == "tuple"
        if isinstance(node, ast.Name):
            assert node.id in bound | imported | builtin, node.id


def shape_of(examined: Examined, constants: bool = False) -> object:
    """The structure of all that was printed: nested tuples of node kinds and names, with all texts masked.

    A `doc=` is left out: it says again what a docstring cannot give back to the letter.
    `constants`: numbers and flags are masked too.
    """
    return [_shape(tree, constants) for tree in (*examined.modules, *examined.suites)]


def _shape(node: object, constants: bool) -> object:
    if isinstance(node, ast.Constant):
        return "T" if constants or isinstance(node.value, str) else repr(node.value)
    if isinstance(node, ast.AST):
        return (type(node), *[_shape(getattr(node, field, None), constants) for field in node._fields])
    if isinstance(node, list):
        return [_shape(item, constants) for item in node if getattr(item, "arg", None) != "doc"]
    return node
