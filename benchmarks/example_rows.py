"""The rows of examples.py: of each op of examples/ its operands, its attrs and numpy's best form.

A form of numpy is written as one who knows numpy would write it for speed: no Python loop where an array operation will
do, buffers reused, matrix products where they save work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]
Row = tuple[Arrays, dict[str, Any], Callable[..., Any]]  # operands, attrs, numpy's form of the operands
ROWS: dict[str, Callable[[np.random.Generator], Row]] = {}


def row(make: Callable[[np.random.Generator], Row]) -> Callable[[np.random.Generator], Row]:
    """The row of the op that the function is named after."""
    ROWS[make.__name__] = make
    return make


def floats(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.standard_normal(shape, np.float32)


@row
def alibi(random: np.random.Generator) -> Row:
    def form(scores: np.ndarray) -> np.ndarray:
        heads, queries, keys = scores.shape[-3:]
        slopes = np.exp2(np.float32(-8 / heads) * np.arange(1, heads + 1, dtype=np.float32))
        places = np.arange(queries, dtype=np.float32)[:, None] + np.float32(keys - queries)
        bias = slopes[:, None, None] * np.abs(places - np.arange(keys, dtype=np.float32))
        return np.subtract(scores, bias)

    return (floats(random, 4, 8, 256, 256),), {}, form


@row
def rope(random: np.random.Generator) -> Row:
    def form(x: np.ndarray) -> np.ndarray:
        half = x.shape[-1] // 2
        turns = np.float32(10000.0) ** (np.arange(half, dtype=np.float32) * np.float32(-1 / half))
        angle = np.arange(x.shape[-2], dtype=np.float32)[:, None] * turns
        cos, sin = np.cos(angle), np.sin(angle)
        out = np.empty_like(x)
        low, high = x[..., :half], x[..., half:]
        np.multiply(low, cos, out=out[..., :half])
        out[..., :half] -= high * sin
        np.multiply(high, cos, out=out[..., half:])
        out[..., half:] += low * sin
        return out

    return (floats(random, 32, 512, 64),), {}, form


def _offsets(random: np.random.Generator, parts: int, total: int) -> np.ndarray:
    """Parts without an empty one, which `reduceat` needs."""
    return np.concatenate([[0], 1 + np.sort(random.choice(total - 1, parts - 1, replace=False)), [total]])


@row
def ragged_softmax(random: np.random.Generator) -> Row:
    def form(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        lengths = np.diff(offsets)
        values = values - np.repeat(np.maximum.reduceat(values, offsets[:-1]), lengths)
        np.exp(values, out=values)
        values /= np.repeat(np.add.reduceat(values, offsets[:-1]), lengths)
        return values

    return (floats(random, 400_000), _offsets(random, 4_000, 400_000)), {}, form


@row
def box_iou(random: np.random.Generator) -> Row:
    def boxes(count: int) -> np.ndarray:
        low = random.uniform(0, 50, (count, 2))
        return np.concatenate([low, low + random.uniform(1, 20, (count, 2))], 1).astype(np.float32)

    def form(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        width = np.minimum(a[:, None, 2], b[:, 2]) - np.maximum(a[:, None, 0], b[:, 0])
        height = np.minimum(a[:, None, 3], b[:, 3]) - np.maximum(a[:, None, 1], b[:, 1])
        both = np.maximum(width, 0, out=width)
        both *= np.maximum(height, 0, out=height)
        areas = [(x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]) for x in (a, b)]
        whole = np.add.outer(*areas)
        whole -= both
        both /= whole
        return both

    return (boxes(1000), boxes(800)), {}, form


@row
def cholesky(random: np.random.Generator) -> Row:
    factor = floats(random, 512, 16, 16)
    a = factor @ factor.swapaxes(-1, -2) / 16 + np.eye(16, dtype=np.float32)
    return (a.astype(np.float32),), {}, np.linalg.cholesky


@row
def csr_matvec(random: np.random.Generator) -> Row:
    rows, columns, count = 20_000, 5_000, 400_000

    def form(data: np.ndarray, indices: np.ndarray, offsets: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.add.reduceat(data * x[indices], offsets[:-1])

    operands = (
        floats(random, count), random.integers(0, columns, count), _offsets(random, rows, count),
        floats(random, columns),
    )  # fmt: skip
    return operands, {}, form


@row
def kron(random: np.random.Generator) -> Row:
    def form(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        product = a[:, None, :, None] * b[None, :, None, :]
        return product.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])

    return (floats(random, 48, 48), floats(random, 32, 32)), {}, form


@row
def cosine_similarity(random: np.random.Generator) -> Row:
    def form(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        dots = np.einsum("sd,sd->s", a, b)
        norms = np.sqrt(np.einsum("sd,sd->s", a, a)) * np.sqrt(np.einsum("sd,sd->s", b, b))
        return dots / np.maximum(norms, np.float32(1e-8))

    return (floats(random, 4000, 256), floats(random, 4000, 256)), {}, form


@row
def dtw(random: np.random.Generator) -> Row:
    def form(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        m, n = a.size, b.size
        before = np.full(m + 1, np.inf, np.float32)  # by rows, of the diagonal before the last
        last = np.full(m + 1, np.inf, np.float32)
        before[0], turned = 0, b[::-1].copy()
        for s in range(m + n - 1):
            low, high = max(0, s - n + 1), min(s, m - 1) + 1
            cost = np.abs(a[low:high] - turned[n - 1 - s + low : n - 1 - s + high])
            cost += np.minimum(np.minimum(last[low + 1 : high + 1], last[low:high]), before[low:high])
            before, last = last, before
            last[low + 1 : high + 1] = cost
            last[: low + 1] = np.inf
            last[high + 1 :] = np.inf
        return last[m]

    return (floats(random, 600), floats(random, 500)), {}, form


@row
def focal_loss(random: np.random.Generator) -> Row:
    def form(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        decay = np.exp(-np.abs(x))
        entropy = np.maximum(x, 0) + np.log1p(decay) - x * y
        p = np.where(x >= 0, np.float32(1), decay) / (1 + decay)
        wrong = p + y - 2 * p * y
        return (np.float32(0.75) - np.float32(0.5) * y) * (wrong * wrong) * entropy

    targets = (random.random((1000, 500)) < 0.3).astype(np.float32)
    return (floats(random, 1000, 500), targets), {}, form


@row
def hamming(random: np.random.Generator) -> Row:
    a, b = (random.integers(0, 2**63, (n, 8), np.uint64) for n in (1000, 800))

    def form(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.zeros((a.shape[0], b.shape[0]), np.int32)
        for word in range(a.shape[1]):
            out += np.bitwise_count(a[:, word, None] ^ b[:, word])
        return out

    return (a, b), {}, form


@row
def horner(random: np.random.Generator) -> Row:
    def form(x: np.ndarray, c: np.ndarray) -> np.ndarray:
        out = np.full_like(x, c[0])
        for coefficient in c[1:]:
            out *= x
            out += coefficient
        return out

    return (floats(random, 1000, 500), floats(random, 9)), {}, form


@row
def kmeans_step(random: np.random.Generator) -> Row:
    def form(points: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distances = points @ (-2 * centres.T)
        distances += np.einsum("kd,kd->k", centres, centres)
        labels = distances.argmin(1)
        count = np.bincount(labels, minlength=centres.shape[0])
        order = np.argsort(labels, kind="stable")
        starts = np.cumsum(count) - count
        some = count > 0
        moved = centres.copy()
        sums = np.add.reduceat(points[order], starts[some], axis=0)
        moved[some] = sums / count[some, None].astype(np.float32)
        return labels, moved

    return (floats(random, 20_000, 16), floats(random, 32, 16)), {}, form


@row
def life(random: np.random.Generator) -> Row:
    def form(alive: np.ndarray) -> np.ndarray:
        wide = np.pad(alive.view(np.int8), 1, mode="wrap")
        rows = wide[:-2] + wide[1:-1]
        rows += wide[2:]
        around = rows[:, :-2] + rows[:, 1:-1]
        around += rows[:, 2:]
        return (around == 3) | (alive & (around == 4))

    return (random.random((1024, 1024)) < 0.3,), {}, form


@row
def mandelbrot(random: np.random.Generator) -> Row:
    im, re = (
        a.astype(np.float32) for a in np.meshgrid(np.linspace(-1.25, 1.25, 400), np.linspace(-2, 1, 500))
    )

    def form(re: np.ndarray, im: np.ndarray) -> np.ndarray:
        out = np.zeros(re.size, np.int32)
        left = np.arange(re.size)
        a, b = re.reshape(-1), im.reshape(-1)
        x, y = np.zeros_like(a), np.zeros_like(b)
        for _ in range(100):
            x, y = x * x - y * y + a, 2 * x * y + b
            inside = x * x + y * y <= 4
            left, a, b, x, y = left[inside], a[inside], b[inside], x[inside], y[inside]
            out[left] += 1
        return out.reshape(re.shape)

    return (re, im), {"steps": 100}, form


@row
def median3(random: np.random.Generator) -> Row:
    def form(x: np.ndarray) -> np.ndarray:
        out = x.copy()
        a, b, c = x[:, :-2], x[:, 1:-1], x[:, 2:]
        low, high = np.minimum(a, b), np.maximum(a, b)
        np.minimum(high, c, out=high)
        np.maximum(low, high, out=out[:, 1:-1])
        return out

    return (floats(random, 1000, 1000),), {}, form


@row
def opening(random: np.random.Generator) -> Row:
    def spread(x: np.ndarray, ufunc: Any, outside: float) -> np.ndarray:
        for axis in (0, 1):
            wide = np.pad(x, [(2, 2) if a == axis else (0, 0) for a in (0, 1)], constant_values=outside)
            parts = [wide[k : k + x.shape[0]] if axis == 0 else wide[:, k : k + x.shape[1]] for k in range(5)]
            x = ufunc(parts[0], parts[1])
            for part in parts[2:]:
                ufunc(x, part, out=x)
        return x

    def form(x: np.ndarray) -> np.ndarray:
        return spread(spread(x, np.minimum, np.inf), np.maximum, -np.inf)

    return (floats(random, 800, 800),), {"radius": 2}, form


@row
def nonzero_values(random: np.random.Generator) -> Row:
    def form(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places = np.flatnonzero(x)
        return x[places], places

    return (random.integers(0, 3, 100_000).astype(np.int32),), {}, form


@row
def ring_convolution(random: np.random.Generator) -> Row:
    def form(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.convolve(np.concatenate([x[1 - w.size :], x]), w, mode="valid")

    return (floats(random, 100_000), floats(random, 32)), {}, form


@row
def run_length(random: np.random.Generator) -> Row:
    def form(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
        return x[starts], np.diff(starts, append=x.size)

    return (
        (np.repeat(random.integers(0, 9, 100_000), random.integers(1, 9, 100_000)).astype(np.int32),),
        {},
        form,
    )


@row
def savgol(random: np.random.Generator) -> Row:
    k = np.arange(-5, 6)
    weights = ((3 * 5 * 6 - 1 - 5 * k * k) / (99 * 13 / 3)).astype(np.float32)

    def form(x: np.ndarray) -> np.ndarray:
        return np.convolve(np.pad(x, 5, mode="reflect"), weights, mode="valid")

    return (floats(random, 500_000),), {"radius": 5}, form


@row
def sinkhorn(random: np.random.Generator) -> Row:
    a, b = (w / w.sum() for w in (random.random(400, np.float32) + 1, random.random(300, np.float32) + 1))

    def form(cost: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        k = np.exp(-cost)
        v = np.ones_like(b)
        for _ in range(50):
            u = a / (k @ v)
            v = b / (u @ k)
        k *= u[:, None]
        k *= v
        return k

    return (random.random((400, 300), np.float32), a, b), {"steps": 50}, form


@row
def spline(random: np.random.Generator) -> Row:
    knots = np.cumsum(random.uniform(0.5, 1.5, 200))

    def form(knots: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
        h = np.diff(knots)
        slope = np.diff(values) / h
        inner = np.diag(2 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
        m = np.concatenate([[0], np.linalg.solve(inner, 6 * np.diff(slope)), [0]])
        i = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, h.size - 1)
        c1 = slope - h * (2 * m[:-1] + m[1:]) / 6
        s = at - knots[i]
        return values[i] + s * (c1[i] + s * (m[i] / 2 + s * (np.diff(m) / (6 * h))[i]))

    return (knots, random.standard_normal(200), random.uniform(knots[0], knots[-1], 100_000)), {}, form


@row
def top1(random: np.random.Generator) -> Row:
    def form(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = x.argmax(1)
        return np.take_along_axis(x, place[:, None], 1)[:, 0], place

    return (floats(random, 4000, 256),), {}, form


@row
def upsample2x(random: np.random.Generator) -> Row:
    def wider(x: np.ndarray, axis: int) -> np.ndarray:
        shape = list(x.shape)
        shape[axis] *= 2
        out = np.empty(shape, x.dtype)
        near, source, target = np.float32(0.75) * x, np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
        quarter = np.float32(0.25) * source
        near = np.moveaxis(near, axis, 0)
        np.add(near[1:], quarter[:-1], out=target[2::2])
        np.add(near[:-1], quarter[1:], out=target[1:-1:2])
        target[0], target[-1] = source[0], source[-1]
        return out

    return (floats(random, 16, 128, 128),), {}, lambda x: wider(wider(x, 2), 1)


@row
def weighted_histogram(random: np.random.Generator) -> Row:
    def form(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        place = (x * np.float32(100)).astype(np.int64)
        np.minimum(place, 99, out=place)
        return np.bincount(place, weights, 100).astype(np.float32)

    return (random.random(500_000, np.float32), random.random(500_000, np.float32)), {"bins": 100}, form
