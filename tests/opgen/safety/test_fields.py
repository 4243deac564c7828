"""Hostile text in every field: findings, or code with the structure of the benign declaration's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .declarations import BENIGN, FREE, TRAITS, keys, paths, renamed, replaced, to_yaml
from .harness import examine, many, shape_of
from .texts import INJECTIONS, names, texts

STRUCTURE = shape_of(examine(to_yaml(BENIGN)))
MASKED = shape_of(examine(to_yaml(BENIGN)), constants=True)
REQUIRED = {("op",), ("compute",)}


def test_the_benign_declaration_is_accepted() -> None:
    examined = examine(to_yaml(BENIGN))
    assert examined.found == ()
    assert len(examined.ops) == 1


@many(350)
@given(st.sampled_from(FREE), texts(longest=2000))
def test_free_text_never_changes_the_structure(path: tuple[str | int, ...], text: str) -> None:
    examined = examine(to_yaml(replaced(path, text)))
    if examined.ops and text.strip():  # a doc of blanks is left out
        assert shape_of(examined) == STRUCTURE


@many(50)
@given(st.sampled_from(TRAITS), texts())
def test_traits_never_change_the_structure(path: tuple[str | int, ...], text: str) -> None:
    examined = examine(to_yaml(replaced(path, text)))
    if examined.ops:
        assert shape_of(examined, constants=True) == MASKED


@many(700)
@given(st.sampled_from(list(paths())), texts())
def test_hostile_text_in_any_field(path: tuple[str | int, ...], text: str) -> None:
    examine(to_yaml(replaced(path, text)))


@many(300)
@given(st.sampled_from(list(keys())), names())
def test_hostile_names(path: tuple[str | int, ...], name: str) -> None:
    examine(to_yaml(renamed(path, name)))


@many(150)
@given(st.lists(st.tuples(st.sampled_from(list(paths())), texts()), min_size=2, max_size=5))
def test_several_fields_at_once(changes: list[tuple[tuple[str | int, ...], str]]) -> None:
    declaration = BENIGN
    for path, text in changes:
        declaration = replaced(path, text, declaration)
    examine(to_yaml(declaration))


@pytest.mark.parametrize("kind", [[], {}, [[]], ["x"], {"x": "y"}, "", None], ids=str)
def test_the_wrong_kind_in_any_field(kind: object) -> None:
    for path in paths():
        examine(to_yaml(replaced(path, kind)))


@pytest.mark.parametrize("name", ["yield", "class", "lambda", "compute", "None", "__init__", "a-b", "x\n"])
def test_names_that_no_op_has(name: str) -> None:
    examined = examine(to_yaml(replaced(("op",), name)))
    assert examined.ops == ()
    assert examined.codes <= {"bad-name", "reserved-name"}


def test_injections_are_kept_as_text() -> None:
    """What stands in `doc` and in a default arrives as it was, in the tree of the module."""
    for text in [each for each in INJECTIONS if len(each) < 500]:
        examined = examine(to_yaml(replaced(("attrs", "label", "default"), text)))
        for op in examined.ops:
            (attr,) = [each for each in op.attrs if each.name == "label"]
            assert attr.default == text
