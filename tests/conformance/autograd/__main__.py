"""Gradients beside those of PyTorch's autograd: `python -m tests.conformance.autograd [NAME ...] [--count N]`.

For each op, and for compositions of ops, random arguments: shapes, axes from either end, strides, paddings,
broadcasting, ties.  The values, and the gradients for all float operands from a random cotangent, are those of torch
in float64 to 1e-8 (what is declared as an approximation: 1e-4).  Exit code 1 where one is not.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

import opgen_runtime as rt

from . import elementwise, gathering, neural, programs, shaping
from .example import Draw, Example, Rows

FAMILIES = (
    elementwise.element_functions, elementwise.of_two, elementwise.reductions, shaping.shapes,
    gathering.slices, gathering.gathers, neural.products, neural.windows, neural.images, neural.layers,
    programs.programs,
)  # fmt: skip


def rows(torch: Any) -> Rows:
    for family in FAMILIES:
        yield from family(torch)


def compared(torch: Any, example: Example) -> int:
    """How many gradients agree.  Raises AssertionError where values or gradients do not."""
    floats = [k for k, array in enumerate(example.arrays) if array.dtype.kind == "f"]
    tensors = [torch.from_numpy(array.copy()) for array in example.arrays]
    for k in floats:
        tensors[k].requires_grad_()
    wanted = example.theirs(*tensors)
    several = isinstance(wanted, tuple | list)
    results = list(wanted) if several else [wanted]
    random = np.random.default_rng(7)
    cotangents = [
        random.normal(size=tuple(each.shape)).astype(each.detach().numpy().dtype) for each in results
    ]
    open_ = [
        (r, torch.from_numpy(np.asarray(g)))
        for r, g in zip(results, cotangents, strict=True)
        if r.requires_grad
    ]
    given = [tensors[k] for k in floats]
    theirs = (
        torch.autograd.grad([r for r, _ in open_], given, [g for _, g in open_], allow_unused=True)
        if open_
        else [None] * len(given)
    )

    def of_floats(*xs: Any) -> Any:
        full: list[Any] = list(example.arrays)
        for k, x in zip(floats, xs, strict=True):
            full[k] = x
        return example.ours(*full)

    value, pull = rt.vjp(of_floats, *[example.arrays[k] for k in floats])
    values = list(value) if several else [value]
    assert len(values) == len(results), f"{len(values)} results, torch has {len(results)}"
    limit = example.tolerance
    for mine, other in zip(values, results, strict=True):
        np.testing.assert_allclose(mine, other.detach().numpy(), rtol=limit, atol=limit, err_msg="the value")
    found = pull(tuple(cotangents) if several else cotangents[0])
    for k, mine, other in zip(floats, found, theirs, strict=True):
        whole = np.zeros_like(example.arrays[k]) if other is None else other.numpy()
        assert mine.shape == whole.shape
        scale = max(1.0, float(np.abs(whole).max(initial=0.0)))
        np.testing.assert_allclose(
            mine, whole, rtol=limit, atol=limit * scale, err_msg=f"the gradient for operand {k}"
        )
    return len(floats)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.autograd", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=4, help="examples of each row")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    right = gradients = 0
    names: set[str] = set()
    wrong: list[str] = []
    for name, make in rows(torch):
        if options.names and name not in options.names:
            continue
        names.add(name)
        for number in range(options.count):
            example = None
            try:
                example = make(Draw(options.seed, zlib.crc32(name.encode()), number))
                gradients += compared(torch, example)
                right += 1
            except Exception as error:  # of either library, with any arguments
                text = f"{name} {number}: {'' if example is None else example.text} {type(error).__name__}: {error}"
                wrong.append(text[:700])
                print(f"WRONG {text[:700]}", flush=True)
                if options.names:
                    traceback.print_exc()
    print(
        f"{len(names)} ops and programs, {right} examples with {gradients} gradients agree with torch "
        f"{torch.__version__}, {len(wrong)} do not"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
