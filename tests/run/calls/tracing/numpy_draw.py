"""Draws of numpy's functions under `jit`, in every form of their arguments that is written down, beside numpy.

    python -m tests.run.calls.tracing.numpy_draw [--seed 7] [--count 120] [--only NAME ...]

A function works if each of its calls gives what numpy gives (dtype, shape, values), or is refused where numpy refuses
it. The command prints what differs, and the share of functions that work.
"""

from __future__ import annotations

import argparse
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import opgen_runtime as rt

from .numpy_forms import VALUES, forms


def flat(value: Any) -> list[Any]:
    """The arrays of a result, those of tuples and lists one after the other."""
    return [one for each in value for one in flat(each)] if isinstance(value, list | tuple) else [value]


def why_not_as_numpy(text: str) -> str | None:
    """What is different under `jit` in a call, or None."""
    code = compile(text, "<numpy>", "eval")
    used = [name for name in VALUES if name in code.co_names]

    def function(*values: Any) -> Any:
        return eval(code, {"np": np, **dict(zip(used, values, strict=True))})

    arrays = [VALUES[name] for name in used]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = _outcome(function, arrays)
        found = _outcome(rt.jit(function), arrays)
    if isinstance(expected, Exception) and isinstance(found, Exception):
        return None
    if isinstance(found, Exception):
        return f"{type(found).__name__}: {str(found).splitlines()[0]}"
    if isinstance(expected, Exception):
        return f"gives a value where numpy raises {type(expected).__name__}: {expected}"
    if len(found) != len(expected):
        return f"{len(found)} results, not {len(expected)}"
    return next((why for x, y in zip(found, expected, strict=True) if (why := _difference(x, y))), None)


def _outcome(function: Any, arrays: list[Any]) -> list[Any] | Exception:
    try:
        return flat(function(*arrays))
    except Exception as error:  # whatever it is, it is what the call gives
        return error


def _difference(mine: Any, theirs: Any) -> str | None:
    x, y = np.asarray(mine), np.asarray(theirs)
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return f"{x.dtype}{x.shape}, not {y.dtype}{y.shape}"
    part = y.real.dtype
    tolerance = 3e-6 if part == np.float32 else 2e-3 if part == np.float16 else 1e-12
    if y.dtype.kind in "fc":
        same = np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        same = np.array_equal(x, y)
    return None if same else f"{x.tolist()}, not {y.tolist()}"


def differences(names: Sequence[str]) -> dict[str, list[str]]:
    """Function -> its calls that differ, each with what is different."""
    calls = forms()
    found = {name: [(text, why_not_as_numpy(text)) for text in calls[name]] for name in names}
    return {
        name: [f"{text}: {why}" for text, why in rows if why]
        for name, rows in found.items()
        if any(why for _, why in rows)
    }


def draw(seed: int, count: int) -> list[str]:
    """Names of functions that have calls."""
    names = sorted(forms())
    return sorted(random.Random(seed).sample(names, min(count, len(names))))


def main() -> None:
    parser = argparse.ArgumentParser(description="numpy's functions under jit beside numpy")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    names = given.only or draw(given.seed, given.count)
    wrong = differences(names)
    for rows in wrong.values():
        print("\n".join(rows))
    print(f"{len(names) - len(wrong)} of {len(names)} functions work in all of their forms")


if __name__ == "__main__":
    main()
