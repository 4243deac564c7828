"""Writes the sources of the documentation site: the pages of docs/, and on those of ops what only a run tells.

    python scripts/documentation/build.py FOLDER

FOLDER/docs gets the pages and the vendored files, FOLDER/mkdocs.yml the settings, FOLDER/names.json what
the check searches for.  The settings are of MkDocs, which Zensical reads, too.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from access import access_text
from calls import run
from families import families, navigation
from names import bare, other_names

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
_EXAMPLE = re.compile(r"```python\n(import numpy.*?)```", re.DOTALL)
_TITLE = re.compile(r"^# .*\n\n(.*)$", re.MULTILINE)
_BOOST = 4
_FONTS = {"Roboto": ("roboto", (400, 700)), "Roboto Mono": ("roboto-mono", (400, 700))}


def main(folder: Path) -> None:
    """Write everything anew."""
    shutil.rmtree(folder / "docs", ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("onnx"))
    pages = sorted((folder / "docs/ops").glob("*.md"))
    names = other_names()
    unknown = names.keys() - {page.stem for page in pages}
    if unknown:
        raise SystemExit(f"names.yaml names ops that there are not: {', '.join(sorted(unknown))}")
    warnings.simplefilter("error")
    searched = searched_names(names, [page.stem for page in pages])
    boosts = search_boosts(searched)
    for page in pages:
        head = {"search": {"boost": boosts[page.stem]}, "tags": searched[page.stem], "title": page.stem}
        text = page_text(page, names.get(page.stem, ()))
        page.write_text(f"---\n{yaml.safe_dump(head)}---\n{text}", encoding="utf-8")
    (folder / "docs/ops/index.md").write_text(index_text(pages), encoding="utf-8")
    vendor(folder / "docs/assets", folder / "node_modules")
    (folder / "mkdocs.yml").write_text(settings(pages), encoding="utf-8")
    found = {"ops": [page.stem for page in pages], "names": unambiguous(searched)}
    (folder / "names.json").write_text(json.dumps(found), encoding="utf-8")


def page_text(page: Path, names: Sequence[str]) -> str:
    """The page of an op, with its names elsewhere, what its example prints, and what its results are computed from."""
    text = page.read_text(encoding="utf-8")
    program = _EXAMPLE.search(text)
    printed, access = "", ""
    if program is not None:
        made = run(page.stem, program[1])
        printed = f"```text\n{made.printed}```"
        picture = access_text(made.operands, made.results) if made.results else None
        if picture is not None:
            access = f"## What an element is computed from\n\nIn the example:\n\n{picture}"
    shown = ", ".join(f"`{name}`" for name in names)
    text = text.replace("<!-- site: printed -->", printed).replace("<!-- site: access -->", access)
    return text.replace("<!-- site: names -->", f"Elsewhere: {shown}" if names else "")


def searched_names(names: Mapping[str, Sequence[str]], ops: Sequence[str]) -> dict[str, list[str]]:
    """By which names each op is found: its own, and those elsewhere that are no op's own, in small letters."""
    own = set(ops)
    elsewhere = {op: dict.fromkeys(bare(name).lower() for name in names.get(op, ())) for op in ops}
    return {op: [op, *[name for name in others if name not in own]] for op, others in elsewhere.items()}


def search_boosts(names: Mapping[str, Sequence[str]]) -> Mapping[str, int]:
    """By what factor pages stand before others, so that a name comes before those that begin with it.

    A search is for all words that begin with what is typed: `log` is no nearer to itself than `log_sigmoid` is.
    """
    longer = {
        op: [
            other
            for other, of in names.items()
            if other != op and any(a != b and b.startswith(a) for a in own for b in of)
        ]
        for op, own in names.items()
    }
    depths: dict[str, int] = {}

    def depth(op: str, above: frozenset[str] = frozenset()) -> int:
        if op not in depths:
            below = [depth(each, above | {op}) for each in longer[op] if each not in above]
            depths[op] = 1 + max(below, default=-1)
        return depths[op]

    return {op: _BOOST ** depth(op) for op in names}


def index_text(pages: Sequence[Path]) -> str:
    """All ops in their families, each with its sentence."""
    parts = ["# The ops", "", f"{len(pages)} ops, each declared once.", ""]
    for title, members in families(pages).items():
        parts += [f"## {title}", "", "| Op | Meaning |", "|---|---|"]
        for page in members:
            sentence = _TITLE.search(page.read_text(encoding="utf-8"))
            parts.append(f"| [{page.stem}]({page.name}) | {sentence[1] if sentence else ''} |")
        parts.append("")
    return "\n".join(parts)


def vendor(assets: Path, modules: Path) -> None:
    """Styles, scripts and fonts, so that a page asks no other host."""
    assets.mkdir()
    for name in ("site.css", "site.js"):
        shutil.copy(HERE / name, assets)
    katex = modules / "katex/dist"
    for name in ("katex.min.js", "katex.min.css"):
        shutil.copy(katex / name, assets)
    (assets / "fonts").mkdir()
    for font in katex.glob("fonts/*.woff2"):
        shutil.copy(font, assets / "fonts")
    faces = []
    for family, (package, weights) in _FONTS.items():
        for weight in weights:
            file = f"{package}-latin-{weight}-normal.woff2"
            shutil.copy(modules / f"@fontsource/{package}/files/{file}", assets / "fonts")
            faces.append(
                f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-display: swap; '
                f'src: url("fonts/{file}") format("woff2"); }}\n'
            )
    (assets / "fonts.css").write_text("".join(faces), encoding="utf-8")


def settings(pages: Sequence[Path]) -> str:
    """mkdocs.yml of the sources: that of the repository without its hook, and with what is vendored."""
    made: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    del made["hooks"]
    made["docs_dir"], made["site_dir"] = "docs", "html"
    made["extra_css"] = [f"assets/{name}" for name in ("fonts.css", "katex.min.css", "site.css")]
    made["extra_javascript"] = ["assets/katex.min.js", "assets/site.js"]
    made["nav"].append({"The ops": [{"All ops": "ops/index.md"}, *navigation(pages)]})
    return yaml.safe_dump(made, sort_keys=False)


def unambiguous(searched: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The op of each name that is of one op alone, and not its own."""
    found: dict[str, list[str]] = {}
    for op, names in searched.items():
        for name in names[1:]:
            found.setdefault(name, []).append(op)
    return {name: of[0] for name, of in found.items() if len(of) == 1}


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
