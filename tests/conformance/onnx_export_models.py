"""Real models imported, exported and run: `python -m tests.conformance.onnx_export_models [NAME ...]`.

Each model of `models.py` and `open_models.py` is converted with its dims open where it takes them (else for one shape),
exported, and held against the model itself in onnxruntime at each of its shapes: equal within 1e-5 of the largest
magnitude, or twice what onnxruntime's own optimisations change where that is more.  Printed are how many nodes are of
ONNX's operators and how many of the domain `opgen`; a model with the latter is run by our own program of it.  Exit
code 1 if one is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.frontend import onnx as frontend
from tests.conformance.models import MODELS, error, fetch, oracle
from tests.conformance.open_models import OPEN_MODELS

TOLERANCE = 1e-5
SIZES = 2  # of each model with open dims


@dataclass(frozen=True)
class Sample:
    """A model, and inputs of several shapes."""

    name: str
    model: ModelProto
    inputs: tuple[dict[str, np.ndarray], ...]


def samples(names: Sequence[str]) -> Iterator[Sample]:
    for each in MODELS:
        if not names or each.name in names:
            model = fetch(each)
            (name,) = frontend.prepare(model).signature.names
            random = np.random.default_rng(1)
            yield Sample(each.name, model, tuple({name: each.inputs(random, s)} for s in each.shapes))
    known = {each.name for each in MODELS}
    for open_model in OPEN_MODELS:
        if open_model.name not in known and (not names or open_model.name in names):
            random = np.random.default_rng(1)
            sizes = open_model.some(SIZES, 0)
            yield Sample(
                open_model.name, open_model.load(), tuple(open_model.inputs(random, each) for each in sizes)
            )


def exported(sample: Sample, inputs: dict[str, np.ndarray]) -> tuple[ModelProto, bool]:
    """The model converted and exported, and whether its dims are open."""
    try:
        return frontend.export(*_named(frontend.load(sample.model))), True
    except OpgenError:
        shapes = {name: array.shape for name, array in inputs.items()}
        return frontend.export(*_named(frontend.load(sample.model, shapes=shapes))), False


def _named(loaded: Any) -> tuple[Any, None, Any]:
    module, weights = loaded
    return module, None, weights


def plain(model: ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """onnxruntime's outputs without its optimisations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return list(session.run(None, inputs))


def check(sample: Sample) -> bool:
    good = True
    model: ModelProto | None = None
    is_open = False
    for inputs in sample.inputs:
        if not is_open:
            model, is_open = exported(sample, inputs)
        assert model is not None
        own = sum(node.domain != "" for node in model.graph.node)
        wanted = oracle(sample.model, inputs)
        feeds = {value.name: inputs[value.name] for value in model.graph.input}
        found = frontend.run(model, feeds) if own else oracle(model, feeds)
        largest, _ = error(found, wanted)
        right = largest <= TOLERANCE or largest <= 2 * error(plain(sample.model, inputs), wanted)[0]
        good = good and right
        shapes = ", ".join(str(list(array.shape)) for array in inputs.values())
        print(
            f"{sample.name:20} {shapes:40} {'open' if is_open else 'static':6} {len(model.graph.node) - own} nodes of "
            f"ONNX, {own} of opgen; largest error {largest:.1e} of the largest magnitude: {'ok' if right else 'WRONG'}",
            flush=True,
        )
    return good


def main(names: Sequence[str]) -> int:
    found = []
    for sample in samples(names):
        try:
            found.append(check(sample))
        except OpgenError as reason:
            print(f"{sample.name:20} refused: {str(reason)[:300]}", flush=True)
            found.append(False)
    print(f"{sum(found)} of {len(found)} models right")
    return int(not all(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
