"""Code generation translates loop IR and rewrites none of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from opgen_runtime.base.arith import expr
from opgen_runtime.codegen import llvm
from opgen_runtime.lower.tir.nodes import stmt

FOLDER = Path(str(llvm.__file__)).parent
NODES = {
    name
    for module in (expr, stmt)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, expr.Expr | stmt.Stmt | stmt.Kind | stmt.Buffer)
}
READERS = {
    "children",
    "exprs",
    "statements",
    "post_order",
    "is_size",
}  # of walks over loop IR and expressions
REWRITERS = {
    "rebuild",
    "substitute",
    "fold_substitute",
    "rebuild_folding",
    "rewrite",
    "map_exprs",
    "with_body",
}
PHASES = {"MANY"}  # numbers of theirs


def rewriting(source: str) -> Iterator[tuple[int, str]]:
    """(line, what) of each place that makes a node of loop IR, or imports what does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            name = node.func.attr if isinstance(node.func, ast.Attribute) else name
            if name in NODES | REWRITERS:
                yield node.lineno, f"{name}()"
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {each.name for each in node.names}
            room = node.module.rpartition("arith")[2] if "arith" in node.module else node.module
            if room in ("", ".visit", "lower.tir.visit"):
                names -= READERS
                yield from ((node.lineno, name) for name in names if name in REWRITERS or name.islower())
            elif "lower.tir.phases" in room:
                yield from ((node.lineno, name) for name in names - PHASES)
        elif isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            yield from (
                (node.lineno, base) for base in bases if base.endswith(("Mutator", "Mapper", "Relocator"))
            )


def test_code_generation_makes_no_node_of_loop_ir() -> None:
    assert {"For", "Store", "Binary", "Const", "Kind", "Buffer"} <= NODES
    files = list(FOLDER.rglob("*.py"))
    assert len(files) > 25
    found = [f"{path.name}:{line}: {what}" for path in files for line, what in rewriting(path.read_text())]
    assert found == []


def test_what_rewrites_is_found() -> None:
    text = """
from ...base.arith import substitute, post_order
from ...lower.tir.phases.unroll_loop import unroll_loop
from ...lower.tir.visit import StmtMutator, statements, block

class Unroll(StmtMutator):
    def loop(self, s):
        return stmt.For(s.var, s.minimum, s.extent, s.kind, s.body.rebuild())
"""
    assert sorted(rewriting(text)) == [
        (2, "substitute"), (3, "unroll_loop"), (4, "block"), (6, "StmtMutator"), (8, "For()"), (8, "rebuild()"),
    ]  # fmt: skip
