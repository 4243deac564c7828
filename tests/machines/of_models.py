"""Real ONNX models, compiled for another machine from end to end and run there, compared with this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import opgen_runtime as rt
from opgen_runtime.frontend import onnx as frontend
from tests.campaign import Tally
from tests.conformance.models import ATOL_SHARE, MODELS, RTOL, RealModel, fetch

from .batch import Exported, results_there
from .emulated import Emulated
from .reference import HERE, flat

NAMES = ("magika", "ppocr_cls")


def checked(machine: Emulated) -> tuple[Tally, int]:
    """What went wrong with the models at each of their shapes, and how many models were run."""
    tally = Tally()
    made = [
        _exported(machine, model, shape) for model in MODELS if model.name in NAMES for shape in model.shapes
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = results_there(machine, made, Path(folder))
    for each, (result,) in zip(made, found, strict=True):
        tally.tried += 1
        if isinstance(result, str):
            tally.failures.append(f"{each.title}: {result}")
            continue
        for one, wanted in zip(result, each.results[0], strict=True):
            atol = ATOL_SHARE * float(np.abs(wanted).max())
            if not np.allclose(one, wanted, rtol=RTOL, atol=atol):
                tally.failures.append(f"{each.title}: as far away as {float(np.abs(one - wanted).max()):.1e}")
    return tally, len(NAMES)


def _exported(machine: Emulated, model: RealModel, shape: tuple[int, ...]) -> Exported:
    """A model at a shape of its input, with what this machine gives."""
    proto = fetch(model)
    weights = {tensor.name for tensor in proto.graph.initializer}
    (name,) = [value.name for value in proto.graph.input if value.name not in weights]
    module, params = frontend.load(proto, {name: shape})
    given = (model.inputs(np.random.default_rng(0), shape),)
    wanted = flat(rt.build(module, params, HERE).run(list(given)))
    there = rt.build(module, params, machine.target)
    return Exported(f"{model.name} {list(shape)}", there, (given,), (wanted,))
