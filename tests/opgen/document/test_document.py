"""YAML to located nodes: places of every character, limits, and what is never resolved."""

from __future__ import annotations

import pytest

from opgen.diagnostics import Diagnostics, to_text
from opgen.document import MapNode, TextNode, compose, json_schema, make_source, read_documents


def read(text: str) -> tuple[list[MapNode], Diagnostics]:
    diagnostics = Diagnostics()
    source = make_source("a.yaml", text, diagnostics)
    found = [] if source is None else [document.root for document in compose(source, diagnostics)]
    return found, diagnostics


def text_of(root: MapNode, key: str) -> TextNode:
    node = root.get(key)
    assert isinstance(node, TextNode)
    return node


SCALARS = {
    "plain": ("k: abc def\n", "abc def"),
    "plain of two lines": ("k: abc\n  def\n", "abc def"),
    "single": ("k: 'it''s x'\n", "it's x"),
    "double": ('k: "a\\u00e9\\"b x"\n', 'aé"b x'),
    "literal": ("k: |\n  ab\n    cd\n\n  x\n", "ab\n  cd\n\nx\n"),
    "folded": ("k: >\n  ab\n  cd\n  x\n", "ab cd x\n"),
    "indented literal": ("k: |2\n    ab\n  x\n", "  ab\nx\n"),
}


@pytest.mark.parametrize("name", SCALARS)
def test_every_visible_character_has_its_place(name: str) -> None:
    text, value = SCALARS[name]
    (root,), diagnostics = read(text)
    node = text_of(root, "k")
    assert node.value == value
    lines = text.split("\n")
    positions = node.scalar.positions(value)
    assert len(positions) == len(value) + 1
    for char, (line, column) in zip(value, positions, strict=False):
        if char in "abcdefitsx":
            assert lines[line][column] == char
    assert not diagnostics.found


def test_a_sound_text_is_composed_once() -> None:
    first, second = Diagnostics(), Diagnostics()
    documents = read_documents("a.yaml", "op: once\n", first)
    assert read_documents("a.yaml", "op: once\n", second) is documents
    assert second.sources == first.sources == {"a.yaml": ("op: once", "")}
    (other,) = read_documents("b.yaml", "op: once\n", second)
    assert (other.path, documents[0].path) == ("b.yaml", "a.yaml")


def test_every_mistake_is_reported_each_time() -> None:
    for _ in range(2):
        diagnostics = Diagnostics()
        documents = read_documents("a.yaml", "op: fine\n---\nop: [1\n", diagnostics)
        assert [text_of(each.root, "op").value for each in documents] == ["fine"]
        assert len(diagnostics.found) == 1


def test_nothing_is_resolved() -> None:
    (root,), diagnostics = read("a: 1e-5\nb: no\nc: 017\nd: 1:30\ne: ~\nf: 2001-01-01\n")
    assert [(key.value, value.value) for key, value in root if isinstance(value, TextNode)] == [
        ("a", "1e-5"),
        ("b", "no"),
        ("c", "017"),
        ("d", "1:30"),
        ("e", "~"),
        ("f", "2001-01-01"),
    ]
    assert not diagnostics.found


def test_documents_before_a_mistake_are_kept() -> None:
    found, diagnostics = read("a: 1\n---\nb: [1\n---\nc: 2\n")
    assert [root.entries[0][0].value for root in found] == ["a"]
    assert [finding.code for finding in diagnostics.found] == ["yaml"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: " + "[" * 100_000, "limit"),
        ("\n".join(f"k{n}: [1, 2]" for n in range(30_000)), "limit"),
        ("a: " + "x" * 1_000_001, "limit"),
        ("a: &x [1]\nb: *x\n", "tag"),
        ("a: !!python/name:os.system x\n", "tag"),
        ("a: 1\na: 2\n", "duplicate-key"),
        ("? [a]\n: 1\n", "wrong-kind"),
        ("- 1\n", "wrong-kind"),
        ("a: \x1b[31m\n", "encoding"),
        ("a: \u202eabc\n", "encoding"),
        ("a: {b: c: d}\n", "yaml"),
        ("a:\n\t- b\n", "yaml"),
    ],
)
def test_bad_text_is_a_diagnostic(text: str, code: str) -> None:
    _, diagnostics = read(text)
    assert code in {finding.code for finding in diagnostics.found}
    assert "\x1b" not in to_text(diagnostics.found)


def test_schema_has_the_keys_of_the_model() -> None:
    schema = json_schema()
    assert schema["required"] == ["op"]
    assert schema["additionalProperties"] is False
    assert {"op", "inputs", "attrs", "outputs", "compute", "tests", "extends"} <= set(schema["properties"])
    assert schema["$defs"]["AttrPart"]["properties"]["type"]["anyOf"][0]["enum"][:2] == ["int", "float"]


def test_an_editor_shows_a_description_and_an_example_of_every_key() -> None:
    schema = json_schema()
    parts = {"op": schema, **schema["$defs"]}
    properties = {
        f"{part}.{name}": each for part, of in parts.items() for name, each in of["properties"].items()
    }
    assert len(properties) > 40
    for name, each in properties.items():
        assert each.get("description", "").endswith("."), name
        assert each.get("examples"), name
