"""What the documentation site adds to the pages of ops: what examples print, what elements are computed from, names."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/ops").glob("*.md"))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that writes the pages of the site."""
    pytest.importorskip("onnx")  # whose names of ops the pages have
    monkeypatch.syspath_prepend(str(ROOT / "scripts/documentation"))
    return import_module("build")


def page_of(site: Any, name: str, names: tuple[str, ...] = ()) -> str:
    text: str = site.page_text(ROOT / f"docs/ops/{name}.md", names)
    return text


def test_the_page_of_an_op(site: Any) -> None:
    text = page_of(site, "cumsum", ("np.cumsum", "ONNX CumSum"))
    assert "\nElsewhere: `np.cumsum`, `ONNX CumSum`\n" in text
    assert "```text\n[" in text
    assert "- `data`: axis 0 pointwise; axis 1 whole, one after the other (a scan)\n" in text
    assert "<!-- site:" not in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("add", ["`lhs`: axis 0 pointwise; axis 1 pointwise", "`rhs`: axis 0 pointwise; axis 1 pointwise"]),
        ("softmax", ["`data`: axis 0 pointwise; axis 1 whole (reduced)"]),
        ("sort", ["`data`: axis 0 pointwise; axis 1 whole, sorted"]),
    ],
)
def test_what_an_element_is_computed_from(site: Any, name: str, words: list[str]) -> None:
    assert re.findall(r"^- (`.*axis.*)$", page_of(site, name), re.MULTILINE) == words


def test_every_op_is_in_a_family_with_a_title(site: Any) -> None:
    families = site.families(PAGES)
    assert sum(map(len, families.values())) == len(PAGES)
    assert set(families) == set(import_module("families").TITLES.values())


def test_a_name_comes_before_those_that_begin_with_it(site: Any) -> None:
    names = {
        "max": ["max", "amax"],
        "max_pool2d": ["max_pool2d"],
        "pool": ["max_pool2d_grad"],
        "sum": ["sum"],
    }
    assert site.search_boosts(names) == {"max": 16, "max_pool2d": 4, "pool": 1, "sum": 1}


def test_an_op_is_not_found_by_the_name_of_another(site: Any) -> None:
    elsewhere = {"take": ["ONNX Gather", "torch.embedding"], "clip": ["np.clip"]}
    searched = site.searched_names(elsewhere, ["take", "gather", "clip"])
    assert searched == {"take": ["take", "embedding"], "gather": ["gather"], "clip": ["clip"]}
    assert site.unambiguous(searched) == {"embedding": "take"}


def test_names_elsewhere_are_those_of_ops(site: Any) -> None:
    names = site.other_names()
    ops = {page.stem for page in PAGES}
    assert names.keys() <= ops
    assert names["clip"] == ["torch.clamp", "torch.clamp_min", "torch.clamp_max"]
    assert "np.remainder" in names["floor_mod"]
    assert "ONNX GatherND" in names["gather_nd"]
    assert len(site.unambiguous(site.searched_names(names, sorted(ops)))) >= 60
