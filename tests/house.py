"""What the imports of a package say of its rooms: who imports whom, and which files go round in a circle.

Every import statement counts alike: at the top, inside a function, for type checkers only.

    python -m tests.house            the figures of both packages
    python -m tests.house --arrows   and every arrow between rooms

`--texts` and `--compare` are about kernels: see house_texts.py.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

# Each source file of a package, as a dotted name inside it, and the files that it imports.
Imports = Mapping[str, frozenset[str]]
Arrow = tuple[str, str]
ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Package:
    """A package: its name, its folder, and the folders whose parts are not looked at one by one.

    A room of the first level is a folder or file of the package; one of the second level is a folder or file of such a
    folder, where that holds folders at all, and else the folder itself.
    """

    name: str
    folder: Path
    generated: tuple[str, ...] = ()


RUNTIME: Final = Package("opgen_runtime", ROOT / "runtime" / "opgen_runtime", ("ops", "transform.declared"))
GENERATOR: Final = Package("opgen", ROOT / "opgen")
MANY_FILES: Final = 16  # of one folder, as many as one looks through
# What every room may import without saying more about itself than that it has errors, and names for things.
ASIDE: Final = ("base.errors", "base.vocabulary")


@cache
def imports(package: Package) -> Imports:
    """What each file of a package imports of the same package."""
    files = {
        ".".join(path.relative_to(package.folder).with_suffix("").parts): path
        for path in sorted(package.folder.rglob("*.py"))
    }
    names = frozenset(name.removesuffix("__init__").removesuffix(".") for name in files)
    found: dict[str, frozenset[str]] = {}
    for name, path in files.items():
        if any(f"{name}.".startswith(f"{each}.") for each in package.generated):
            continue
        inside = name.split(".")[:-1]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        asked = {module for node in ast.walk(tree) for module in _asked(node, package.name, inside)}
        module = name.removesuffix("__init__").removesuffix(".")
        found[module] = frozenset(_files(asked, names)) - {module}
    return found


def _asked(node: ast.AST, package: str, inside: list[str]) -> Iterator[tuple[str, ...]]:
    """The names that a statement imports from the package, as paths inside it; a last part may be an attribute."""
    match node:
        case ast.Import(names=names):
            for alias in names:
                head, *rest = alias.name.split(".")
                if head == package:
                    yield tuple(rest)
        case ast.ImportFrom(module=module, names=names, level=level):
            parts = module.split(".") if module else []
            if level:
                parts = [*inside[: len(inside) - level + 1], *parts]
            elif parts[:1] == [package]:
                parts = parts[1:]
            else:
                return
            for alias in names:
                yield (*parts, alias.name)


def _files(asked: Iterable[tuple[str, ...]], names: frozenset[str]) -> Iterator[str]:
    for parts in asked:
        whole, outer = ".".join(parts), ".".join(parts[:-1])
        yield whole if whole in names else outer


def circles(graph: Imports) -> list[frozenset[str]]:
    """The sets of files that import each other in a circle: strongly connected parts of more than one file."""
    order: list[str] = []
    seen: set[str] = set()
    for root in sorted(graph):
        pending: list[tuple[str, Iterator[str]]] = [] if root in seen else [(root, iter(sorted(graph[root])))]
        seen.add(root)
        while pending:
            name, rest = pending[-1]
            for each in rest:
                if each in graph and each not in seen:
                    seen.add(each)
                    pending.append((each, iter(sorted(graph[each]))))
                    break
            else:
                order.append(name)
                pending.pop()
    importers: dict[str, set[str]] = {name: set() for name in graph}
    for name, imported in graph.items():
        for each in imported & graph.keys():
            importers[each].add(name)
    found: list[frozenset[str]] = []
    placed: set[str] = set()
    for root in reversed(order):
        group: set[str] = set()
        stack = [root]
        while stack:
            name = stack.pop()
            if name not in placed:
                placed.add(name)
                group.add(name)
                stack.extend(importers[name])
        if len(group) > 1:
            found.append(frozenset(group))
    return sorted(found, key=sorted)


def without(graph: Imports, left_out: Iterable[Arrow]) -> Imports:
    """The imports but those named."""
    cut = frozenset(left_out)
    return {name: frozenset(each for each in to if (name, each) not in cut) for name, to in graph.items()}


def rooms(graph: Imports, level: int) -> frozenset[str]:
    """The rooms of the first level, or those of the second: folders, and what stands beside them as one."""
    return frozenset(room for name in graph if (room := _room(name, graph, level)))


def arrows(graph: Imports, level: int, aside: Iterable[str] = ()) -> frozenset[Arrow]:
    """Which room imports which; those named aside, and the package's own `__init__`, do not count."""
    left_out = frozenset(aside)
    found: set[Arrow] = set()
    for name, imported in graph.items():
        source = _room(name, graph, level)
        for each in imported:
            to = _room(each, graph, level)
            if source and to and source != to and not {name, each} & left_out:
                found.add((source, to))
    return frozenset(found)


def _room(name: str, graph: Imports, level: int) -> str:
    parts = name.split(".")
    room = ".".join(parts[:level])
    return room if any(other.startswith(f"{room}.") for other in graph) else parts[0]


def upward(found: Iterable[Arrow], storeys: Iterable[Iterable[str]]) -> list[Arrow]:
    """The arrows that do not lead from a storey to one below it; storeys from the highest down."""
    height = {room: -place for place, storey in enumerate(storeys) for room in storey}
    return sorted(arrow for arrow in found if height[arrow[0]] <= height[arrow[1]])


def large_folders(package: Package, graph: Imports) -> dict[str, int]:
    """The folders that have more files of their own than one looks through, and how many."""
    modules = [name for name in graph if not package.folder.joinpath(*name.split(".")).is_dir()]
    files = Counter(name.rpartition(".")[0] for name in modules)
    return {folder: count for folder, count in sorted(files.items()) if folder and count > MANY_FILES}


def ordered_folders() -> dict[str, str]:
    """The folders of which a contract of import-linter says which file may import which, and what it is called."""
    found: dict[str, str] = {}
    for contract in contracts():
        folders: list[str] = []
        if contract["type"] == "layers" and contract.get("exhaustive"):
            folders = contract["containers"]
        elif contract["type"] == "independence":
            folders = contract["modules"]
        found.update(dict.fromkeys([each.removesuffix(".*") for each in folders], contract["name"]))
    return found


def contracts() -> list[dict[str, Any]]:
    """The contracts of import-linter."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return found


def figures(package: Package, graph: Imports, aside: Iterable[str] = ()) -> str:
    """The package in one sentence; `aside`: what every room may import without saying more about itself."""
    files = sum(map(len, circles(graph)))
    named = " and ".join(name.removeprefix("base.") for name in aside)
    return (
        f"{package.name}: {len(rooms(graph, 1))} rooms, {len(rooms(graph, 2))} of the second level with "
        f"{len(arrows(graph, 2))} arrows between them, {len(arrows(graph, 2, aside))} without those to "
        f"{named or 'none'}; {files} files in circles"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__.splitlines()[0])
    parser.add_argument("--arrows", action="store_true", help="print every arrow between rooms")
    parser.add_argument("--texts", type=Path, metavar="DIR", help="write the texts of kernels into a folder")
    parser.add_argument("--ops", help="of these ops and programs alone, separated by commas")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--compare", type=Path, nargs=2, metavar=("A", "B"), help="compare two folders of texts"
    )
    parser.add_argument("--renamed", type=Path, metavar="MAP", help="a file of lines `old new`")
    options = parser.parse_args()
    if options.texts or options.compare:
        from . import house_texts  # the compiler

        try:
            if options.compare:
                renamed = house_texts.read_renamed(options.renamed) if options.renamed else {}
                return house_texts.compare(*options.compare, renamed)
            only = options.ops.split(",") if options.ops else ()
            print(f"{house_texts.write_texts(options.texts, options.jobs, only)} files")
        except ValueError as error:
            parser.error(str(error))
        return 0
    for package in (RUNTIME, GENERATOR):
        graph = imports(package)
        print(figures(package, graph, ASIDE))
        for folder, count in large_folders(package, graph).items():
            held = ordered_folders().get(f"{package.name}.{folder}", "nothing says which may import which")
            print(f"  {count} files in {folder}: {held}")
        for circle in circles(graph):
            print(f"  a circle of {len(circle)}: {' '.join(sorted(circle))}")
        if options.arrows:
            for source, to in sorted(arrows(graph, 2)):
                print(f"  {source} -> {to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
