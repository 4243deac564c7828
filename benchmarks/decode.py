"""Token by token: decoders with a cache beside onnxruntime with the same graph, one thread each.

    python -m benchmarks.decode [gpt2] [llama] [--tokens 500] [--json FILE]

GPT-2 and Llama of `decoders.py` (6 layers, 512 wide, random weights) are fed their own likeliest token.  Each model in
a process of its own with an empty cache; three ways take turns at every token:

    plain    past arrays in, present arrays out, which are the next past
    states   `prepare(..., states=...)`: what is new is appended in place
    ort      onnxruntime, present arrays given back as they come

    compiled   objects that LLVM makes from the third token on, of plain and of states; which are none
    first      processor seconds of the first two tokens
    begin      the median of tokens 1 to 50 as a share of onnxruntime's (the two that compile count as any)
    end        the median of the last 50
    error      the largest difference of a logit from onnxruntime's, as a share of the largest magnitude
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks.decoders import DECODERS
from benchmarks.open_models import TARGET, counted, session

GOALS: Final = "goals: compiled 0; plain at most 1.00 of onnxruntime's; states at most 0.80 at the end"
WAYS: Final = ("plain", "states", "ort")
_PART: Final = 50  # tokens
_HEAD: Final = f"{'model':8}{'way':8}{'compiled':>9}{'first':>8}{'begin':>8}{'end':>8}{'error':>9}"


@dataclass
class Measured:
    """Processor seconds of each token of each way, and what our own compiled."""

    name: str
    seconds: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    compiled: dict[str, list[int]] = field(default_factory=lambda: {way: [] for way in WAYS})
    error: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAYS, 0.0))

    def share(self, way: str, tokens: slice) -> float:
        """The median of tokens as a share of onnxruntime's."""
        return median(self.seconds[way][tokens]) / median(self.seconds["ort"][tokens])

    def rows(self) -> list[str]:
        return [
            f"{self.name:8}{way:8}{sum(self.compiled[way][2:]):9}{sum(self.seconds[way][:2]):8.2f}"
            f"{self.share(way, slice(0, _PART)):8.2f}{self.share(way, slice(-_PART, None)):8.2f}{self.error[way]:9.0e}"
            for way in WAYS[:2]
        ]


def measure(name: str, tokens: int) -> Measured:
    """A model token by token, in every way."""
    import opgen_runtime as rt
    from opgen_runtime.frontend import onnx as frontend

    make, shape = DECODERS[name]
    model = make()
    names = [each.name for each in model.graph.input]
    pasts = names[1:]
    presents = [each.name for each in model.graph.output][1:]
    reference = session(model)
    emitted = counted()
    plain = frontend.prepare(model, target=TARGET)
    grown = frontend.prepare(model, target=TARGET, states=dict(zip(pasts, presents, strict=True)))
    runs: dict[str, Callable[[list[Any]], list[Any]]] = {
        "plain": plain,
        "states": grown,
        "ort": lambda values: reference.run(None, dict(zip(names, values, strict=True))),
    }
    nothing = np.zeros((1, shape.key_heads, 0, shape.head), np.float32)
    caches: dict[str, list[Any]] = {way: [nothing] * len(pasts) for way in WAYS}
    caches["states"] = [rt.State.of(nothing, axis=2, capacity=tokens) for _ in pasts]
    found = Measured(name)
    token = np.array([[1]])
    for step in range(tokens):
        logits = {}
        for way in WAYS[step % 3 :] + WAYS[: step % 3]:
            before, began = len(emitted), time.process_time()
            logits[way], *caches[way] = runs[way]([token, *caches[way]])
            found.seconds[way].append(time.process_time() - began)
            found.compiled[way].append(len(emitted) - before)
        wanted = logits["ort"]
        for way in WAYS:
            off = float(np.abs(logits[way] - wanted).max() / np.abs(wanted).max())
            found.error[way] = max(found.error[way], off)
        token = wanted[:, -1:].argmax(-1)
    return found


def measured(name: str, tokens: int) -> Measured:
    """What a model gave in its own process with an empty cache.  Raises RuntimeError where that fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.decode", name, "--tokens", str(tokens), "--alone"]
        environment = {**os.environ, "OPGEN_CACHE_DIR": folder, "OPGEN_NUM_THREADS": "1"}
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if ended.returncode:
        raise RuntimeError(f"the process of {name} ended; its own message is above")
    return Measured(**json.loads(ended.stdout.splitlines()[-1]))


def main() -> int:
    """1 where something was compiled after two tokens, or values differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(DECODERS)}; all by default")
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--json", type=Path, help="the file for the seconds of all tokens")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = sorted(set(given.models) - set(DECODERS))
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(DECODERS)}")
    if given.tokens < _PART:
        parser.error(f"--tokens must be {_PART} or more, found {given.tokens}")
    if given.alone:
        print(json.dumps(asdict(measure(given.models[0], given.tokens))))
        return 0
    print(GOALS, _HEAD, sep="\n", flush=True)
    found = []
    for name in given.models or DECODERS:
        found.append(measured(name, given.tokens))
        print(*found[-1].rows(), sep="\n", flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in found]))
    late = any([sum(counts[2:]) for each in found for counts in each.compiled.values()])
    return int(late or any([off > 1e-3 for each in found for off in each.error.values()]))


if __name__ == "__main__":
    sys.exit(main())
