"""Gradients beside those of PyTorch's autograd: `python -m tests.conformance.autograd [NAME ...] [--count N]`.

For each op, and for compositions of ops, random arguments: shapes, axes from either end, strides, paddings,
broadcasting, ties; and where functions have kinks, poles and infinite values.  The values, and the gradients for all
float operands from a random cotangent, are those of torch in float64 to 1e-8 (what is declared as an approximation:
1e-4).  `--dtype`: in a narrower dtype, beside torch in float64 on the same values.  `--second`: the gradients of the
gradients along random directions, and that `rt.jvp` is the transpose of `rt.vjp`, too.  Exit code 1 where one is not.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import opgen_runtime as rt
from opgen_runtime.base.errors import DTypeError

from . import edges, elementwise, gathering, neural, programs, shaping
from .example import Draw, Example, Rows

FAMILIES = (
    elementwise.element_functions, elementwise.of_two, elementwise.reductions, shaping.shapes,
    gathering.slices, gathering.gathers, neural.products, neural.windows, neural.images, neural.layers,
    programs.programs, edges.edges,
)  # fmt: skip


def rows(torch: Any) -> Rows:
    for family in FAMILIES:
        yield from family(torch)


NARROW = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 5e-2}


def narrowed(example: Example, dtype: str) -> Example:
    """The example on the values that a narrower dtype has, still in float64."""
    kind = rt.ir.const(0.0, dtype).data.dtype
    arrays = [a.astype(kind).astype(float) if a.dtype.kind == "f" else a for a in example.arrays]
    ours = example.ours

    def run(*xs: Any) -> Any:
        return ours(*[x.astype(kind) if a.dtype.kind == "f" else x for a, x in zip(arrays, xs, strict=True)])

    return replace(example, arrays=arrays, ours=run, tolerance=max(NARROW[dtype], example.tolerance))


def compared(torch: Any, example: Example, second: bool = False) -> int:
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
        torch.autograd.grad(
            [r for r, _ in open_], given, [g for _, g in open_], allow_unused=True, create_graph=second
        )
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
        whole = np.zeros_like(example.arrays[k]) if other is None else other.detach().numpy(force=True)
        assert mine.shape == whole.shape
        scale = max(1.0, float(np.abs(whole[np.isfinite(whole)]).max(initial=0.0)))
        np.testing.assert_allclose(
            mine, whole, rtol=limit, atol=limit * scale, err_msg=f"the gradient for operand {k}"
        )
    if second:
        arrays = [example.arrays[k] for k in floats]
        directions = [random.normal(size=array.shape) for array in arrays]
        given_back = tuple(cotangents) if several else cotangents[0]
        bent(torch, of_floats, arrays, given_back, directions, list(zip(given, theirs, strict=True)), limit)
    return len(floats)


def bent(
    torch: Any,
    function: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    cotangents: Any,
    directions: Sequence[np.ndarray],
    theirs: Sequence[tuple[Any, Any]],
    limit: float,
) -> None:
    """The gradients of the gradient along directions are torch's, and the changes along them have the same product."""

    def along(*xs: Any) -> Any:
        found = rt.vjp(function, *xs)[1](cotangents)
        return sum([(g * d).sum() for g, d in zip(found, directions, strict=True)])

    open_ = [
        (g, d) for (_, g), d in zip(theirs, directions, strict=True) if g is not None and g.requires_grad
    ]
    total = sum([(g * torch.from_numpy(d)).sum() for g, d in open_]) if open_ else None
    inputs = [x for x, _ in theirs]
    wanted = [None] * len(inputs) if total is None else torch.autograd.grad(total, inputs, allow_unused=True)
    found = rt.grad(along, tuple(range(len(arrays))))(*arrays)
    for k, (mine, other) in enumerate(zip(found, wanted, strict=True)):
        whole = np.zeros_like(mine) if other is None else other.detach().numpy(force=True)
        scale = max(1.0, float(np.abs(whole).max(initial=0.0)))
        np.testing.assert_allclose(
            mine,
            whole,
            rtol=10 * limit,
            atol=10 * limit * scale,
            err_msg=f"the second gradient for operand {k}",
        )
    _, changes = rt.jvp(function, arrays, directions)
    pairs = zip(
        *[each if isinstance(each, tuple) else (each,) for each in (changes, cotangents)], strict=True
    )
    product = float(sum([float(np.sum(change * g)) for change, g in pairs]))
    np.testing.assert_allclose(product, float(rt.jit(along)(*arrays)), rtol=1e-8, atol=1e-8, err_msg="jvp")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.autograd", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=4, help="examples of each row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=NARROW, help="of the operands; float64 without it")
    parser.add_argument("--second", action="store_true", help="gradients of gradients, and jvp, too")
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    right = gradients = 0
    names: set[str] = set()
    wrong: list[str] = []
    for name, make in rows(torch):
        if options.names and name not in options.names:
            continue
        if options.second and name.startswith(
            "edge: "
        ):  # at kinks torch's second gradients are NaN, or of one side
            continue
        names.add(name)
        for number in range(options.count):
            example = None
            try:
                example = make(Draw(options.seed, zlib.crc32(name.encode()), number))
                if options.dtype is not None:
                    example = narrowed(example, options.dtype)
                gradients += compared(torch, example, options.second)
                right += 1
            except DTypeError as error:
                if options.dtype is None:
                    raise
                print(
                    f"{name} is not of {options.dtype} alone: {str(error).splitlines()[0]}"[:200], flush=True
                )
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
