"""`opgen where FILE:LINE`: from a line of a generated file to the key of the declaration that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click

from ..analyse import read_sources
from ..diagnostics import Diagnostics, Place
from ..document import Document, ListNode, MapNode, Node, TextNode, read_documents
from ..emit import read_header
from ..emit.origin import Origin, origin_of
from ..emit.outputs import op_paths
from ..project import Project, find_project, resources
from ..sources import Source
from .console import out
from .failure import Failure


@click.command()
@click.argument("where", metavar="FILE:LINE")
def command(where: str) -> None:
    """Print the place of the declaration that a line of a generated module or suite comes from.

    \b
      opgen where myops/_axis_abs.py:31        opdefs/axis_abs.yaml:8:3: attrs.axis
    """
    name, _, number = where.rpartition(":")
    if not number.isdecimal() or int(number) < 1:
        raise Failure(f"{where!r}: write FILE:LINE, such as myops/_axis_abs.py:31")
    path, project = Path(name).resolve(), find_project()
    header = read_header(path) if path.is_file() else None
    if header is None:
        raise Failure(f"{name} is no file that opgen has generated")
    text = path.read_text(encoding="utf-8")
    if int(number) > text.count("\n"):
        raise Failure(f"{name} has {text.count(chr(10))} lines")
    origin = origin_of(text, int(number)) if path.suffix == ".py" else Origin(())
    place, key = _place(project, path, header.source, origin)
    out.print(f"{place}: {key}")


def _place(project: Project, path: Path, source: str, origin: Origin) -> tuple[Place, str]:
    """Where the first key of an origin is declared, by the op itself or by what it extends."""
    own = {each.path: each for each in read_sources(project.opdefs, project.root).sources}
    if source not in own:
        raise Failure(f"{source}, from which {path.name} was generated, is gone; run: opgen generate")
    chain = list(_chain(project, path, own, source))
    for keys in origin.keys:
        for root in chain:
            found = _found(root, keys)
            if found is not None:
                return _in_value(*found, origin), ".".join(keys)
    if not chain:
        raise Failure(f"{source} declares no op whose file is {path.name}; run: opgen generate")
    return chain[0].place, "op"


def _chain(project: Project, path: Path, own: dict[str, Source], source: str) -> Iterator[MapNode]:
    """The op's document and those that it extends, the nearest first."""
    found = [
        each.root for each in _documents(own[source]) if path in op_paths(project, _name(each.root, "op"))
    ]
    seen: set[str] = set()
    known: dict[str, MapNode] | None = None
    while found:
        root = found.pop()
        yield root
        parent = _name(root, "extends")
        if parent and parent not in seen:
            seen.add(parent)
            if known is None:
                library = read_sources(resources("opdefs")).sources
                every = (document.root for each in (*library, *own.values()) for document in _documents(each))
                known = {_name(each, "op"): each for each in every}
            found += [known[parent]] if parent in known else []


def _documents(source: Source) -> tuple[Document, ...]:
    return read_documents(source.path, source.text, Diagnostics())


def _name(root: MapNode, key: str) -> str:
    node = root.get(key)
    return node.value if isinstance(node, TextNode) else ""


def _found(root: MapNode, keys: tuple[str, ...]) -> tuple[Place, Node] | None:
    """The place of a path of keys, and the value there."""
    node: Node | None = root
    place = root.place
    for key in keys:
        if isinstance(node, ListNode) and key.isdecimal() and int(key) < len(node.items):
            node = node.items[int(key)]
            place = node.place
        elif isinstance(node, MapNode) and (name := node.key(key)) is not None:
            place, node = name.place, node.get(key)
        else:
            return None
    return None if node is None else (place, node)


def _in_value(place: Place, node: Node, origin: Origin) -> Place:
    """The place of the origin's pattern in a value, as many-th as it says; else that of the key."""
    if not origin.pattern or not isinstance(node, TextNode):
        return place
    found = next(islice(re.finditer(origin.pattern, node.value), origin.number, None), None)
    if found is None:
        return place
    start = found.end() - len(found.group().lstrip())
    return node.span(start, found.end(), node.scalar.positions(node.value))
