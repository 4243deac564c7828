"""What hand-written code says twice is gone, or has a reason here; `python -m tests.repeated` lists it."""

from __future__ import annotations

from typing import Final

from .repeated import listed, repeated, sources

_SIGNATURE: Final = "the parameters of a mapping are the operator's specification, and are read from there"
_WALK: Final = "the frame of a walk on a stack of its own, around another rule for each node"
# Pairs of files (below runtime/opgen_runtime, or as they stand) -> why they may agree in six or more lines.
REASONS: Final = {
    ("frontend/onnx/mappings/image.py", "frontend/onnx/mappings/image.py"): _SIGNATURE,
    ("frontend/onnx/mappings/quantize.py", "frontend/onnx/mappings/quantize.py"): _SIGNATURE,
    ("frontend/onnx/mappings/quantize.py", "frontend/onnx/mappings/window.py"): _SIGNATURE,
    ("frontend/onnx/mappings/recurrent.py", "frontend/onnx/mappings/recurrent.py"): _SIGNATURE,
    ("frontend/onnx/mappings/window.py", "frontend/onnx/mappings/window.py"): _SIGNATURE,
    (
        "base/arith/expr.py",
        "base/arith/expr.py",
    ): "two node classes of the same fields; the field's word for each",
    (
        "run/compile/kernel/extern.py",
        "run/compile/kernel/symbolic.py",
    ): "a kernel and its base",
    ("frontend/onnx/exporter/writers/nn.py", "frontend/onnx/exporter/writers/nn.py"): _SIGNATURE,
    (
        "frontend/onnx/exporter/writers/recurrent.py",
        "frontend/onnx/exporter/writers/recurrent.py",
    ): _SIGNATURE,
    ("frontend/onnx/exporter/writers/window.py", "frontend/onnx/exporter/writers/window.py"): _SIGNATURE,
    ("run/calls/tracing/reductions.py", "run/calls/tracing/reductions.py"): _SIGNATURE,
    ("lower/tir/nodes/relocate.py", "lower/tir/phases/storage_flatten.py"): _WALK,
    ("lower/tir/lowering/shared.py", "lower/tir/lowering/shared.py"): _WALK,
    ("base/lru_cache.py", "run/compile/specialisations.py"): "two containers with the same face",
    ("operator/__init__.py", "operator/types/__init__.py"): "a front has the names of its rooms",
    ("run/executor/building.py", "run/executor/building.py"): "overloads of one function",
    (
        "run/executor/driver.py",
        "run/executor/driver.py",
    ): "what builds a program, and what that asks the compiler for",
    (
        "transform/integer_products.py",
        "transform/prune_filter_taps.py",
    ): "how a pass whose rewrites evaluate constants begins",
    (
        "transform/define.py",
        "transform/define.py",
    ): "one decorator for each kind of pass, of the same parameters",
    (
        "tests/base/arith/test_build.py",
        "tests/codegen/test_semantics.py",
    ): "names of operators, in two vocabularies",
    ("tests/codegen/pool_driver.py", "tests/codegen/test_threads.py"): "LLVM text of a closure that counts",
    (
        "tests/transform/test_class_passes.py",
        "tests/transform/test_options.py",
    ): "a fixture of theirs",
    (
        "tests/run/calls/tracing/conftest.py",
        "tests/run/executor/conftest.py",
    ): "a fixture that these folders alone have",
    (
        "tests/opgen/analyse/test_hostile.py",
        "tests/opgen/safety/test_endless.py",
    ): "the head of a declaration under test",
}


def test_what_is_said_twice_has_a_reason() -> None:
    found = repeated(sources())
    pairs = {(_short(run.first), _short(run.second)): run for run in found}
    assert not (unknown := [run for pair, run in pairs.items() if pair not in REASONS]), listed(unknown)
    assert REASONS.keys() <= pairs.keys(), f"said once by now: {sorted(REASONS.keys() - pairs.keys())}"


def _short(path: str) -> str:
    return path.removeprefix("runtime/opgen_runtime/")


def test_what_is_found() -> None:
    """Runs at two places, however they are indented, as far as they agree; once for each pair of places."""
    lines = [f"a{k} = b{k}" for k in range(8)]
    text = "\n".join(lines)
    inside = (
        "import os\n\ndef f():\n    # said again\n" + "\n".join(f"    {line}" for line in lines[:7]) + "\n"
    )
    (run,) = repeated({"x.py": text, "y.py": inside})
    assert str(run) == "x.py:1 ~ y.py:5: 7 lines"
    assert repeated({"x.py": text, "y.py": "\n".join(lines[:5])}) == []
    assert [str(each) for each in repeated({"x.py": text + "\n" + text})] == ["x.py:1 ~ x.py:9: 8 lines"]
    assert repeated({"x.py": "import os\n" * 12 + "\n" * 12}) == []
