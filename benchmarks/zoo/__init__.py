"""Architectures that nothing was tuned for, drawn by a seed, beside onnxruntime: `python -m benchmarks.zoo`."""

from typing import Final

MADE: Final = (
    "made"  # what the exporter's process prints on a line when an architecture is made, and its export begins
)
