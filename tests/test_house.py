"""The rooms of both packages as their imports show them; `python -m tests.house` prints the figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from .house import (
    ASIDE,
    GENERATOR,
    RUNTIME,
    Arrow,
    Imports,
    Package,
    arrows,
    circles,
    contracts,
    figures,
    imports,
    large_folders,
    ordered_folders,
    rooms,
    upward,
    without,
)

# Expressions and modules print themselves: their methods import what does it, which imports them.
PRINTING: Final[tuple[Arrow, ...]] = (
    ("base.arith.expr", "base.arith.printer"),
    ("ir.expr", "ir.printer"),
    ("ir.module", "ir.printer"),
    ("lower.tir.nodes.stmt", "lower.tir.nodes.text"),
)
GENERATED_FOLDERS: Final = frozenset({"opgen_runtime.ops", "opgen_runtime.transform.declared"})
# Rooms that other storeys know by what stands in their storey's own `__init__`.
FRONTED: Final = ("base.target", "codegen", "operator")


@pytest.mark.parametrize(("package", "most_rooms", "most_arrows"), [(RUNTIME, 14, 135), (GENERATOR, 16, 76)])
def test_few_rooms_and_few_arrows(package: Package, most_rooms: int, most_arrows: int) -> None:
    graph = imports(package)
    print(figures(package, graph, ASIDE))
    assert len(rooms(graph, 1)) <= most_rooms
    if package is RUNTIME:
        assert len(arrows(graph, 1, ASIDE)) <= 45
    between = arrows(graph, 2, ASIDE)
    assert len(between) <= most_arrows, "\n".join(f"{source} -> {to}" for source, to in sorted(between))


@pytest.mark.parametrize("package", [RUNTIME, GENERATOR], ids=lambda package: package.name)
def test_a_folder_of_many_files_has_layers_of_its_own(package: Package) -> None:
    """Who may import whom among more than 16 files is said by a contract; each generated file is an op."""
    many = {f"{package.name}.{folder}" for folder in large_folders(package, imports(package))}
    assert many - ordered_folders().keys() - GENERATED_FOLDERS == set()


def test_errors_and_vocabulary_stand_on_nothing() -> None:
    """What every room may import is no room by another name: it imports what forks, for an import on first
    use, and how classes are made, which imports nothing of ours."""
    graph = imports(RUNTIME)
    assert {each for name in ASIDE for each in graph[name]} <= {*ASIDE, "base.forks", "base.dataclass"}
    assert not graph["base.dataclass"]


def test_no_storey_imports_a_higher_one() -> None:
    for package, title in (
        (RUNTIME, "The storeys of the runtime import only downwards"),
        (GENERATOR, "The stages of the generator import only backwards"),
    ):
        graph = imports(package)
        storeys = _storeys(title)
        assert rooms(graph, 1) - {"__main__"} <= {room for storey in storeys for room in storey}
        assert not upward((each for each in arrows(graph, 1) if "__main__" not in each), storeys)


def test_rooms_behind_a_front_are_imported_by_it_alone() -> None:
    graph = imports(RUNTIME)
    past = sorted(
        (name, each)
        for name, imported in graph.items()
        for each in imported
        if name  # the package itself, whose names are where they stand
        for room in FRONTED
        if f"{each}.".startswith(f"{room}.")
        and each != room.split(".")[0]
        and name.split(".")[0] != room.split(".")[0]
    )
    assert not past


@pytest.mark.parametrize("package", [RUNTIME, GENERATOR], ids=lambda package: package.name)
def test_no_circle_of_files_but_for_printing(package: Package) -> None:
    left = circles(without(imports(package), PRINTING))
    assert not left, "\n".join(" ".join(sorted(circle)) for circle in left)


def test_the_printing_imports_are_there() -> None:
    graph = imports(RUNTIME)
    assert all(to in graph[source] for source, to in PRINTING)


def test_what_is_measured() -> None:
    """A package of two storeys: a circle inside one room, an arrow upward, two arrows between rooms."""
    graph = _graph(
        {
            "low.here.one": ["low.here.two"],
            "low.here.two": ["low.here.three"],
            "low.here.three": ["low.here.one", "high"],
            "low.there.file": ["low.here.one", "low.here.two", "low.errors"],
            "low.errors": [],
            "high": ["low.there.file", "low.errors"],
        }
    )
    assert circles(graph) == [
        frozenset({"low.here.one", "low.here.two", "low.here.three", "high", "low.there.file"})
    ]
    opened = without(graph, [("low.here.three", "high")])
    assert circles(opened) == [frozenset({"low.here.one", "low.here.two", "low.here.three"})]
    assert circles(without(opened, [("low.here.three", "low.here.one")])) == []
    assert rooms(graph, 1) == {"low", "high"}
    assert rooms(graph, 2) == {"low.here", "low.there", "low", "high"}
    assert arrows(opened, 2, ["low.errors"]) == {("low.there", "low.here"), ("high", "low.there")}
    assert upward(arrows(graph, 1), [["high"], ["low"]]) == [("low", "high")]


def test_large_folders_are_found() -> None:
    names = [*[f"low.file{k}" for k in range(17)], *[f"high.file{k}" for k in range(16)], "low.base.arith"]
    assert large_folders(RUNTIME, _graph({name: [] for name in names})) == {"low": 17}


def _graph(imported: dict[str, list[str]]) -> Imports:
    return {name: frozenset(each) for name, each in imported.items()}


def _storeys(title: str) -> list[Iterable[str]]:
    """The layers of an import-linter contract, from the highest down."""
    (layers,) = (contract["layers"] for contract in contracts() if contract["name"] == title)
    return [[room.strip(" ()") for room in layer.split(":")] for layer in layers]
