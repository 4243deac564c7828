"""The language reference: every declaration passes, every error is the one shown, every value is the one stated."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen.analyse import check_project
from opgen.diagnostics import CODES, to_text
from opgen.expression import allowed
from opgen.expression.vocabulary import CONSTANTS, LIBRARY
from opgen_runtime import testing, types
from tests.library import library

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("language.md", *sorted(f"language/{path.name}" for path in (DOCS / "language").glob("*.md")))
_VECTOR = re.compile(r"(\w+)\[(.*)\]$")


def texts(block: Any) -> list[str]:
    """The declarations of a block."""
    return re.split(r"^---\n", block.text, flags=re.M)


def is_declaration(block: Any) -> bool:
    return block.language == "yaml" and block.note in ("", "base")


NAMES = {"inf": np.inf, "nan": np.nan, "True": True, "False": False, "None": None}


def constant(text: str) -> Any:
    """A Python value, `inf` and `nan` among them."""
    return eval(text, {"__builtins__": {}}, NAMES)


def vector(text: str) -> np.ndarray | None:
    """`int32[1, 2]` as an array; None for other text."""
    match = _VECTOR.match(text.strip())
    if match is None:
        return None
    return np.array([constant(item) for item in match[2].split(",") if item.strip()], match[1])


class Table:
    """A `values` block.

    `x = int32[1, 2]` gives an operand; `expression -> int32[1, 4]` are its elements, of which `i` is the index;
    `expression -> value` is a static value.
    """

    def __init__(self, block: Any, name: str) -> None:
        self.where, self.name = str(block), name
        self.operands: dict[str, np.ndarray] = {}
        self.elements: list[tuple[str, np.ndarray]] = []
        self.statics: list[tuple[str, Any]] = []
        for line in filter(str.strip, block.text.splitlines()):
            if "->" not in line:
                operand, _, value = line.partition("=")
                array = vector(value)
                assert array is not None, f"{block}: {line}"
                self.operands[operand.strip()] = array
                continue
            expression, _, result = line.rpartition("->")
            array = vector(result)
            if array is None:
                self.statics.append((expression.strip(), constant(result.strip())))
            else:
                self.elements.append((expression.strip(), array))

    def declaration(self) -> str:
        """An op that computes the elements, and binds the static values in its `let:`."""
        lines = [f"op: {self.name}", "inputs:"]
        lines += [f'  {name}: {{shape: "N", dtype: {a.dtype}}}' for name, a in self.operands.items()]
        if self.statics:
            lines += ["let: |", *(f"  v{k} = {text}" for k, (text, _) in enumerate(self.statics))]
        lines += [
            "outputs:",
            *(f"  o{k}: {{shape: N, dtype: {a.dtype}}}" for k, (_, a) in enumerate(self.elements)),
        ]
        lines += [] if self.elements else ['  o: {shape: "", dtype: int64}']
        lines += ["compute: |", *(f"  o{k}[i] = {text}" for k, (text, _) in enumerate(self.elements))]
        lines += [] if self.elements else ["  o[()] = 0"]
        given = ", ".join(f'{name}: "{a.dtype}[{a.size}]"' for name, a in self.operands.items())
        return "\n".join([*lines, f"tests: [{{{given}}}]", ""])


class Page:
    """A page's declarations as one scratch project, generated and importable."""

    def __init__(self, name: str, blocks: list[Any], folder: Path, command: Callable[..., str]) -> None:
        self.name = name
        self.blocks = blocks
        self.package = "docs_" + re.sub(r"\W", "_", name.removesuffix(".md"))
        self.folder = folder / self.package
        before = Path.cwd()
        os.chdir(folder)
        try:
            command("init", self.package)
            os.chdir(self.folder)
            for number, block in enumerate(each for each in blocks if is_declaration(each)):
                (self.folder / "opdefs" / f"{number:03}.yaml").write_text(block.text, encoding="utf-8")
            tables = [block for block in blocks if block.language == "values"]
            self.tables = [Table(block, f"table_{number}") for number, block in enumerate(tables)]
            for table in self.tables:
                (self.folder / "opdefs" / f"{table.name}.yaml").write_text(
                    table.declaration(), encoding="utf-8"
                )
            command("generate")
        finally:
            os.chdir(before)
        sys.path.insert(0, str(self.folder))

    def suite(self, op: str) -> type[testing.Suite]:
        """The generated suite of an op."""
        path = self.folder / "tests" / "generated" / f"test_{op}.py"
        spec = importlib.util.spec_from_file_location(f"{self.package}_test_{op}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return testing.suite_of(module)


@pytest.fixture(scope="module")
def pages(
    tmp_path_factory: pytest.TempPathFactory, read_page: Any, opgen_command: Any
) -> Iterator[Mapping[str, Page]]:
    """All pages, made when first asked for."""

    class Pages(dict[str, Page]):
        def __missing__(self, name: str) -> Page:
            folder = tmp_path_factory.mktemp("docs")
            self[name] = page = Page(name, read_page(name), folder, opgen_command)
            return page

    path = list(sys.path)
    yield Pages()
    sys.path[:] = path


@pytest.mark.parametrize("name", PAGES)
def test_declarations(name: str, pages: Mapping[str, Page]) -> None:
    """Every declaration of a page generates, and its declared cases pass in both executors."""
    page = pages[name]
    for block in filter(is_declaration, page.blocks):
        for text in texts(block):
            if re.search(r"^abstract: true", text, re.M):
                continue
            found = re.search(r"^op: (\w+)", text, re.M)
            assert found is not None, f"{block}: no op"
            suite = page.suite(found[1])
            assert suite.declared_cases, f"{block}: `{found[1]}` has no tests"
            assert suite.reference is not None
            for case in suite.declared_cases:
                testing.check_types(suite.op, case)
                for executor in ("debug", "graph"):
                    testing.check_values(suite.op, case, suite.reference, executor)
            for probe in suite.probes:
                testing.check_bound(suite.op, probe)
            for case, error in suite.refusals:
                testing.check_refused(suite.op, case, error)


def erroneous(page: str, blocks: list[Any]) -> Iterator[tuple[Any, str, str]]:
    """Each block that is marked as wrong, with the file's name and the text that is shown after it."""
    for block, after in itertools.pairwise(blocks):
        if block.language == "yaml" and block.note == "error":
            assert after.language == "text", f"{block}: no diagnostics are shown after it"
            name = re.search(r"^op: *(\w+)", block.text, re.M)
            yield block, f"{name[1] if name else 'op'}.yaml", after.text


def read_wrong(file: str, block: Any) -> str:
    """What a declaration that is marked as wrong gives; the picture of a bell stands for a bell."""
    text = block.text.replace("\u2407", "\a")
    return to_text(check_project({file: text}, library=library())[1])


@pytest.mark.parametrize("name", PAGES)
def test_errors(name: str, read_page: Any) -> None:
    for block, file, shown in erroneous(name, read_page(name)):
        assert read_wrong(file, block) + "\n" == shown, str(block)


def test_every_code_is_shown(read_page: Any) -> None:
    shown = "\n".join(text for page in PAGES for _, _, text in erroneous(page, read_page(page)))
    assert set(re.findall(r"error\[([\w-]+)\]", shown)) == set(CODES) - {"compute"}


def run_python(block: Any) -> str:
    """What a Python block prints, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", block.text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_python(name: str, read_page: Any) -> None:
    for block, after in itertools.pairwise(read_page(name)):
        if block.language == "python":
            assert after.note == "prints", f"{block}: what does it print?"
            assert run_python(block) == after.text, str(block)


# ------------------------------------------------------------------ tables of values


@pytest.mark.parametrize("name", PAGES)
def test_values(name: str, pages: Mapping[str, Page]) -> None:
    page = pages[name]
    wrong: list[str] = []
    for table in page.tables:
        op = importlib.import_module(f"{page.package}._{table.name}").OP
        binding = types.bind(
            op.get_attr("declaration").signature,
            table.name,
            None,
            [rt.TensorType(a.shape, a.dtype.name) for a in table.operands.values()],
        )
        for number, (expression, wanted) in enumerate(table.statics):
            value = binding.names[f"v{number}"]
            same = value == wanted or (value != value and wanted != wanted)
            if not same or not isinstance(value, type(wanted)):
                wrong.append(f"{table.where}: {expression} gives {value!r}")
        variables = [rt.var(k, rt.TensorType(a.shape, a.dtype.name)) for k, a in table.operands.items()]
        feeds = dict(zip(variables, table.operands.values(), strict=True))
        for executor in ("debug", "graph"):
            result = rt.create_executor(executor).evaluate(op_call(op, variables), feeds)
            found = [result] if len(table.elements) < 2 else list(result)
            for (expression, wanted), value in zip(table.elements, found, strict=False):
                if not is_close(value.numpy(), wanted):
                    wrong.append(f"{table.where}: {expression} in {executor} gives {value.numpy()!r}")
    assert not wrong, "\n".join(wrong)


def op_call(op: rt.Op, variables: list[Any]) -> Any:
    return rt.get_global_func(f"op._make.{op.name}")(*variables)


def is_close(found: np.ndarray, wanted: np.ndarray) -> bool:
    if wanted.dtype.kind != "f":
        return bool((found == wanted).all())
    return np.allclose(
        found, wanted, rtol=1e-5 if wanted.dtype != np.float16 else 1e-3, atol=0, equal_nan=True
    )


def test_what_a_reference_may_use_is_listed() -> None:
    page = (DOCS / "language/tests.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (.+) \| `([^`|]+)` \|$", page, re.M))
    listed = {label: frozenset(words.split()) for label, words in rows.items()}
    methods = "at reduce accumulate outer"
    ufuncs = listed.pop(f"`{methods}` of `np.`")
    dotted = {f"np.{ufunc}.{method}" for ufunc in ufuncs for method in methods.split()}
    assert listed.pop("of submodules") | dotted == allowed.DOTTED
    assert listed == {
        "functions": allowed.BUILTINS,
        "`np.`": allowed.NUMPY,
        "`math.`": allowed.MATH,
        "attributes": allowed.ATTRIBUTES,
        "methods": allowed.METHODS,
    }


def test_the_whole_library_is_shown(read_page: Any) -> None:
    shown = "\n".join(
        block.text for page in PAGES for block in read_page(page) if block.language in ("values", "yaml")
    )
    missing = (set(LIBRARY) | set(CONSTANTS)) - set(re.findall(r"[A-Za-z_]\w*", shown))
    assert not missing


def refresh(page: str, blocks: list[Any]) -> None:
    """Write what the declarations that are marked as wrong give into the page."""
    lines = (DOCS / page).read_text(encoding="utf-8").split("\n")
    for block, file, shown in reversed(list(erroneous(page, blocks))):
        start = block.line + block.text.count("\n") + 2  # the first line after "```text"
        found = read_wrong(file, block)
        lines[start : start + shown.count("\n")] = found.split("\n")
    (DOCS / page).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    from conftest import blocks_of  # the folder of this file is on the path of a script

    for each in PAGES:
        refresh(each, blocks_of(each))
