"""Calls with odd arrays, against numpy: layouts, byte orders, subclasses, overlaps, mapped files, read-only outputs."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.run.calls import eager
from tests.campaign import Tally
from tests.stress._process import fresh, repeated

_CALLS = 300  # a process


class Odd(np.ndarray):
    """A subclass that would show if its hooks were left out or its kind were kept."""

    def __array_finalize__(self, source: object) -> None:
        self.mark = getattr(source, "mark", "odd")


def _shape(choose: random.Random) -> tuple[int, ...]:
    kind = choose.random()
    if kind < 0.1:
        return ()
    if kind < 0.2:
        return tuple(choose.choice((0, 1, 3)) for _ in range(choose.randint(1, 4)))
    if kind < 0.25:
        return (1,) * choose.randint(12, 40) + (3,)
    if kind < 0.35:
        return (choose.randint(200, 700), choose.randint(300, 900))
    return tuple(choose.randint(1, 9) for _ in range(choose.randint(1, 4)))


def _laid_out(choose: random.Random, shape: tuple[int, ...], dtype: np.dtype, folder: Path) -> np.ndarray:
    """An array of the shape and of some odd layout; what it holds is not set."""
    kind = choose.randrange(8)
    if kind == 0 and 0 < len(shape) < 6:  # every second element, backwards
        return np.empty(tuple(2 * n for n in shape), dtype)[tuple(slice(None, None, -2) for _ in shape)]
    if kind == 1:  # transposed
        return np.empty(shape[::-1], dtype).T
    if kind == 2:  # not aligned
        count = int(np.prod(shape, dtype=np.int64))
        raw = np.empty(count * dtype.itemsize + 1, np.uint8)
        return raw[1:].view(dtype).reshape(shape)
    if kind == 3:  # the other byte order
        return np.empty(shape, dtype.newbyteorder())
    if kind == 4:
        return np.empty(shape, dtype).view(Odd)
    if kind == 5 and 0 not in shape and shape:
        handle, name = tempfile.mkstemp(dir=folder)
        Path(name).write_bytes(b"\0" * int(np.prod(shape)) * dtype.itemsize)
        os.close(handle)
        return np.memmap(name, dtype, "r+", shape=shape)
    return np.empty(shape, dtype)


def _one(choose: random.Random, folder: Path) -> str:
    """One call; what is wrong with it, or nothing."""
    random_ = np.random.default_rng(choose.randrange(1 << 30))
    dtype = np.dtype(choose.choice(("float32", "float64", "int32", "int64", "int16")))
    shape = _shape(choose)
    name, reference = choose.choice(
        (("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum), ("subtract", np.subtract))
    )
    operands = []
    for _ in range(2):
        array = _laid_out(choose, shape, dtype, folder)
        array[...] = random_.integers(-50, 50, shape).astype(dtype)
        operands.append(array)
    if choose.random() < 0.2 and operands[0].ndim:
        operands[1] = operands[0][tuple(slice(None, None, -1) for _ in shape)]  # the same memory, backwards
    if choose.random() < 0.1:
        operands[0] = np.broadcast_to(operands[0].reshape(-1)[0] if operands[0].size else operands[0], shape)
    plain = [np.array(operand, dtype.newbyteorder("="), copy=True, subok=False) for operand in operands]
    expected = reference(*plain)
    way = choose.randrange(5)
    what = f"{name} on {shape} {dtype}, strides {[o.strides for o in operands]}, {[type(o).__name__ for o in operands]}"
    op = eager.op(name)
    if way == 0:
        out = _laid_out(choose, shape, dtype, folder)
    elif way == 1:
        out = operands[choose.randrange(2)]  # in place
    elif way == 2 and shape and shape[0] > 1:  # overlapping an operand by a row
        base = np.empty((shape[0] + 1, *shape[1:]), dtype)
        operands[0], out = base[:-1], base[1:]
        operands[0][...] = plain[0]
    elif way == 3:
        out = np.empty(shape, dtype)
        out.flags.writeable = False
        try:
            op(*operands, out=out)
        except OpgenError:
            return ""
        return "" if 0 in shape else f"{what}: a read-only out was taken"
    else:
        found = op(*operands)
        ok = type(found) is np.ndarray and found.dtype == expected.dtype and np.array_equal(found, expected)
        return "" if ok and found.shape == expected.shape else f"{what}: wrong"
    if not out.flags.writeable:
        return ""
    given = op(*operands, out=out)
    if given is not out:
        return f"{what}: out is not what is given back"
    return (
        ""
        if np.array_equal(np.asarray(out), expected)
        else f"{what}: wrong in out, way {way}, strides {out.strides}"
    )


def problems(seed: int, calls: int = _CALLS) -> list[str]:
    """What went wrong in a process of many calls."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(calls):
            number = seed * _CALLS + k
            try:
                problem = _one(random.Random(number), Path(folder))
            except Exception as error:  # any that a call raises is a failure
                problem = repr(error)
            if problem:
                found.append(f"case {number}: {problem}")
    return found


def run(seconds: float, seed: int) -> Tally:
    """Processes until the time is over; `tried` counts calls."""
    return repeated(seconds, seed, lambda number: (_CALLS, fresh("tests.stress.entry", number)))


if __name__ == "__main__":
    for problem in problems(int(sys.argv[1])):
        print(problem, flush=True)
