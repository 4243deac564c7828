"""The architectures of torchvision, timm and transformers: their names, and each as a module with its inputs.

torchvision   classifiers and segmentation, images of 224 x 224
timm          all, one image of the size that they were trained with
transformers  those that one input suffices for: 64 tokens, an image, or a second of sound; the default configuration
              with at most 4 layers, and with widths divided by a power of two where they are above 1,024
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

_SIDE: Final = 224  # of torchvision's images
_TOKENS: Final = 64
_SAMPLES: Final = 16_000
_MAX_LAYERS: Final = 4
_MAX_WIDTH: Final = 1024
_LAYERS: Final = (
    "num_hidden_layers",
    "num_layers",
    "n_layer",
    "n_layers",
    "encoder_layers",
    "decoder_layers",
)
_WIDTHS: Final = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")


@dataclass(frozen=True)
class Architecture:
    """A module of positional tensors that gives a tuple of tensors, and one set of inputs."""

    module: nn.Module
    inputs: tuple[torch.Tensor, ...]


class Called(nn.Module):
    """A module that is called with names for its inputs, or without, and gives the tensors among its results."""

    def __init__(self, module: nn.Module, names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.module = module
        self.names = names

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        named = dict(zip(self.names, tensors, strict=True)) if self.names else {}
        found = self.module(**named) if named else self.module(*tensors)
        parts = found.values() if isinstance(found, Mapping) else found
        if isinstance(parts, torch.Tensor):
            return (parts,)
        return tuple(part for part in parts if isinstance(part, torch.Tensor))


# ------------------------------------------------------------------ the libraries


@functools.cache
def _torchvision() -> Any:
    """The library's models. Its compiled operators may be those of another torch; no architecture here needs them."""
    if importlib.util.find_spec("torchvision") is None:
        raise ModuleNotFoundError("No module named 'torchvision'", name="torchvision")
    _declare_torchvision_operators()
    return importlib.import_module("torchvision.models")


def _declare_torchvision_operators() -> None:
    """Declares the two operators that the import of torchvision asks for, where its binary cannot be loaded."""
    root = importlib.util.find_spec("torchvision")
    assert root is not None
    assert root.submodule_search_locations is not None
    try:
        torch.ops.load_library(f"{root.submodule_search_locations[0]}/_C.so")
    except OSError:
        for name in ("nms", "qnms"):
            torch.library.define(
                f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            )


def _torchvision_names() -> list[str]:
    models = _torchvision()
    return sorted(models.list_models(module=models) + models.list_models(module=models.segmentation))


def _torchvision_made(name: str) -> Architecture:
    models = _torchvision()
    backbone = {"weights_backbone": None} if name in models.list_models(module=models.segmentation) else {}
    return Architecture(
        Called(models.get_model(name, weights=None, **backbone)), (torch.rand(1, 3, _SIDE, _SIDE),)
    )


def _timm_names() -> list[str]:
    _torchvision()  # timm imports it
    return sorted(importlib.import_module("timm").list_models())


def _timm_made(name: str) -> Architecture:
    _torchvision()
    timm = importlib.import_module("timm")
    module = timm.create_model(name, pretrained=False)
    return Architecture(Called(module), (torch.rand(1, *module.pretrained_cfg["input_size"]),))


def _transformers_names() -> list[str]:
    return sorted(importlib.import_module("transformers.models.auto.modeling_auto").MODEL_MAPPING_NAMES)


def _transformers_made(name: str) -> Architecture:
    _torchvision()
    transformers = importlib.import_module("transformers")
    config = transformers.CONFIG_MAPPING[name]()
    _shrink(config)
    config.use_cache = False
    module = transformers.AutoModel.from_config(config)
    names = [module.main_input_name]
    if config.is_encoder_decoder and names == ["input_ids"]:
        names.append("decoder_input_ids")
    return Architecture(Called(module, tuple(names)), tuple(_input(each, config) for each in names))


def _shrink(config: Any) -> None:
    """Fewer layers of less width; lists of an entry for each layer become as long."""
    fields = vars(config)
    layers = {each: fields[each] for each in _LAYERS if isinstance(fields.get(each), int)}
    counts = {count: min(count, _MAX_LAYERS) for count in layers.values()}
    for each, value in list(fields.items()):
        if each in layers:
            setattr(config, each, counts[value])
        elif isinstance(value, list) and len(value) in counts and not each.startswith("_"):
            setattr(config, each, value[: counts[len(value)]])
    shrunk = 1
    while fields.get("hidden_size") and fields["hidden_size"] // shrunk > _MAX_WIDTH:
        shrunk *= 2
    for each in _WIDTHS:
        if isinstance(fields.get(each), int):
            setattr(config, each, max(1, fields[each] // shrunk))


def _input(name: str, config: Any) -> torch.Tensor:
    """One input of a model of transformers. Raises ValueError for one that has no stated form here."""
    if name in ("input_ids", "decoder_input_ids"):
        return torch.randint(0, config.vocab_size, (1, _TOKENS))
    if name == "pixel_values":
        size = getattr(config, "image_size", _SIDE)
        height, width = (size, size) if isinstance(size, int) else size
        return torch.rand(1, getattr(config, "num_channels", 3), height, width)
    if name == "input_values":
        return torch.rand(1, _SAMPLES) - 0.5
    raise ValueError(f"its main input is {name!r}, for which no example is made")


@dataclass(frozen=True)
class Library:
    """The names of its architectures, and what makes one. `make` raises what the library raises."""

    names: Callable[[], list[str]]
    make: Callable[[str], Architecture]


LIBRARIES: Final[Mapping[str, Library]] = {
    "torchvision": Library(_torchvision_names, _torchvision_made),
    "timm": Library(_timm_names, _timm_made),
    "transformers": Library(_transformers_names, _transformers_made),
}


# ------------------------------------------------------------------ weights


def weights(library: str, name: str) -> int:
    """How many numbers an architecture has as weights; none is made."""
    with torch.device("meta"):
        return sum(each.numel() for each in LIBRARIES[library].make(name).module.parameters())


def disturb(module: nn.Module) -> None:
    """Adds noise to weights that are constants: zeros of a branch's last layer, as some have, would hide the branch."""
    with torch.no_grad():
        for each in module.parameters():
            if each.is_floating_point() and each.numel() > 1 and bool((each == each.flatten()[0]).all()):
                each.add_(torch.randn_like(each), alpha=0.1)
