"""Writes an architecture as an ONNX model with its inputs, in a process of its own.

    python -m benchmarks.zoo.export torchvision resnet18 FOLDER --max-weights 100000000 [--exporter torchscript]

The folder gets `model.onnx`, one file with all weights, and `inputs.npz`.  The weights are random, from seed 0.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Final

import numpy as np
import torch

from benchmarks.zoo import MADE
from benchmarks.zoo.architectures import LIBRARIES, disturb, weights

_OPSET: Final = 18
_MAX_SIDE: Final = 256


def export(library: str, name: str, folder: Path, exporter: str, max_weights: int) -> None:
    """Raises ValueError where it has more weights, larger images, or results that are not finite."""
    if (count := weights(library, name)) > max_weights:
        raise ValueError(f"it has {count / 1e6:.0f} million weights, more than {max_weights / 1e6:.0f}")
    torch.manual_seed(0)
    made = LIBRARIES[library].make(name)
    made.module.eval()
    if (side := max(made.inputs[0].shape[2:], default=0)) > _MAX_SIDE:
        raise ValueError(f"its images have sides of {side}, more than {_MAX_SIDE}")
    disturb(made.module)
    with torch.no_grad():
        results = made.module(*made.inputs)
    if not all(bool(each.isfinite().all()) for each in results):
        raise ValueError("it gives values that are not finite")
    print(MADE, flush=True)
    names = [f"input{n}" for n in range(len(made.inputs))]
    is_dynamo = exporter == "dynamo"
    torch.onnx.export(
        made.module, made.inputs, str(folder / "model.onnx"), dynamo=is_dynamo, external_data=False,
        input_names=names, opset_version=_OPSET, **({"verbose": False} if is_dynamo else {}),
    )  # fmt: skip
    np.savez(folder / "inputs.npz", **dict(zip(names, (each.numpy() for each in made.inputs), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("library", choices=sorted(LIBRARIES))
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--exporter", choices=("dynamo", "torchscript"), default="dynamo")
    parser.add_argument("--max-weights", type=int, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    export(given.library, given.name, given.folder, given.exporter, given.max_weights)


if __name__ == "__main__":
    main()
