"""Numbers of schedules are declared: entries of a machine, parameters or heuristics; none stands in a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import opgen_runtime
from opgen_runtime.lower.library import heuristics
from opgen_runtime.lower.library.schedules import PARAMETERS
from opgen_runtime.lower.library.schedules.common import parameters

LOWER = Path(opgen_runtime.__file__).parent / "lower"
FOLDERS = (LOWER / "library", LOWER / "schedule")
FILES = [
    *sorted([path for each in FOLDERS for path in each.rglob("*.py")]),
    LOWER / "tir/analysis/nontemporal.py",
]
EXCEPTIONS = {
    "library/fusion/partition.py PRIMITIVE": "the value of an attribute, as texts of functions have it",
}  # fmt: skip
DECLARING = {"library/heuristics.py": "Heuristic", "library/schedules/common/parameters.py": "Parameter"}


def numbers(text: str, declaring: str = "") -> Iterator[str]:
    """The names that a module, or a class of it, gives values in which numbers stand, but for calls of `declaring`.

    Defaults of fields are no such values: they are parameters of whatever makes the objects.
    """
    bodies: list[tuple[str, list[ast.stmt]]] = [("", ast.parse(text).body)]
    for owner, body in bodies:
        for each in body:
            if isinstance(each, ast.ClassDef):
                bodies.append((each.name, each.body))
            elif isinstance(each, ast.If | ast.Try | ast.With):
                inner = [node for node in ast.iter_child_nodes(each) if isinstance(node, ast.stmt)]
                bodies.append((owner, inner))
            elif isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign) and each.value is not None:
                if _is_declared(each.value, declaring) or (owner and _is_field(each)):
                    continue
                if any([_is_number(node) for node in ast.walk(each.value)]):
                    targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                    yield owner or ", ".join(map(ast.unparse, targets))


def _is_declared(value: ast.expr, declaring: str) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == declaring


def _is_field(stmt: ast.stmt) -> bool:
    shared = ("Final", "ClassVar")
    return isinstance(stmt, ast.AnnAssign) and not ast.unparse(stmt.annotation).startswith(shared)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def test_no_module_has_numbers_of_its_own() -> None:
    found = set()
    for path in FILES:
        name = path.relative_to(LOWER).as_posix()
        found |= {
            f"{name} {each}" for each in numbers(path.read_text(encoding="utf-8"), DECLARING.get(name, ""))
        }
    assert found == set(EXCEPTIONS), "an entry of base.target.Machine, a Parameter or a Heuristic?"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("_NEAR: Final = 1 << 18", ["_NEAR"]),
        ("NEAR = 2 * BYTES", ["NEAR"]),
        ("STEPS = (4, 2)", ["STEPS"]),
        ("class Tile:\n    rows = 4", ["Tile"]),
        ("class Tile:\n    rows: Final[int] = 4", ["Tile"]),
        ("class Tile:\n    rows: int = 4", []),
        ("if wide:\n    NEAR = 3", ["NEAR"]),
        ("MOST = Rows(8, 12)", ["MOST"]),
        ("MOST = Heuristic('most', 8, '')", []),
        ("NEAR = OTHER\nNAMES = ('a', True)\n\ndef f(x): return x + 1", []),
    ],
)
def test_what_is_a_number_of_a_module(text: str, found: list[str]) -> None:
    assert [*numbers(text, "Heuristic")] == found


def test_what_is_declared_is_used_and_named_once() -> None:
    for module, declared in ((heuristics, heuristics.HEURISTICS), (parameters, PARAMETERS)):
        kinds = (heuristics.Heuristic, parameters.Parameter)
        names = {each.name: name for name, each in vars(module).items() if isinstance(each, kinds)}
        assert names.keys() == declared.keys()
        assert len(set(names.values())) == len(names)
        others = [path.read_text(encoding="utf-8") for path in FILES if path != Path(str(module.__file__))]
        used = set(re.findall(r"\b[A-Z][A-Z_]+\b", "\n".join(others)))
        assert set(names.values()) <= used
    assert heuristics.HEURISTICS.keys().isdisjoint(PARAMETERS)


def test_defaults_of_parameters_are_legal() -> None:
    for each in PARAMETERS.values():
        assert each.default is None or each.default in each.values, each
