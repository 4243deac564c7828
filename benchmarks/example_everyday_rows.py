"""The rows of example_rows.py, and more as it has them: what users of numpy and torch write by hand every day."""

from __future__ import annotations

import numpy as np

from benchmarks.example_rows import ROWS, Row, floats, row

__all__ = ["ROWS"]


@row
def quantile(random: np.random.Generator) -> Row:
    shares = (0.1, 0.5, 0.9)

    def form(x: np.ndarray) -> np.ndarray:
        places = [share * (x.shape[1] - 1) for share in shares]
        ends = [(int(place), int(place) + 1) for place in places]
        parted = np.partition(x, sorted({end for pair in ends for end in pair}), axis=1)
        columns = [
            parted[:, low] + (parted[:, high] - parted[:, low]) * np.float32(place - low)
            for place, (low, high) in zip(places, ends, strict=True)
        ]
        return np.stack(columns, 1)

    return (floats(random, 1000, 1000),), {"q": shares}, form


@row
def top_p(random: np.random.Generator) -> Row:
    def form(probs: np.ndarray) -> np.ndarray:
        ordered = np.sort(probs, axis=1)[:, ::-1]
        before = np.cumsum(ordered, axis=1)
        before -= ordered
        last = np.count_nonzero(before < np.float32(0.9), axis=1) - 1
        least = np.take_along_axis(ordered, last[:, None], 1)
        kept = np.where(probs >= least, probs, np.float32(0))
        kept /= kept.sum(1, keepdims=True)
        return kept

    weights = np.exp(floats(random, 16, 50_000) * np.float32(3))
    return (weights / weights.sum(1, keepdims=True),), {"p": 0.9}, form


@row
def fft(random: np.random.Generator) -> Row:
    x = floats(random, 1000, 64) + np.complex64(1j) * floats(random, 1000, 64)
    return (x,), {"radix": 8}, np.fft.fft


@row
def gauss_jordan(random: np.random.Generator) -> Row:
    factor = floats(random, 512, 16, 16)
    return (factor @ factor.swapaxes(-1, -2) / 16 + np.eye(16, dtype=np.float32),), {}, np.linalg.inv


@row
def hash_embedding(random: np.random.Generator) -> Row:
    def form(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
        rows = [((ids + 1) * (2654435761 + 40503 * h) // 65536) % table.shape[0] for h in range(2)]
        out = table[rows[0]]
        out += table[rows[1]]
        return out

    return (random.integers(0, 1 << 20, 20_000), floats(random, 10_000, 64)), {}, form


@row
def components(random: np.random.Generator) -> Row:
    def form(mask: np.ndarray) -> np.ndarray:
        none, inside, outside = mask.size, np.flatnonzero(mask), ~mask
        label = np.where(mask, np.arange(none).reshape(mask.shape), none)
        labels = label.reshape(-1)
        while True:
            near = label.copy()
            np.minimum(near[1:], label[:-1], out=near[1:])
            np.minimum(near[:-1], label[1:], out=near[:-1])
            np.minimum(near[:, 1:], label[:, :-1], out=near[:, 1:])
            np.minimum(near[:, :-1], label[:, 1:], out=near[:, :-1])
            found = near.reshape(-1)[inside]
            if (found == labels[inside]).all():
                label[outside] = -1
                return label
            labels[inside] = np.minimum(found, labels[found])

    return (random.random((256, 256)) < 0.55,), {}, form


@row
def smoothed(random: np.random.Generator) -> Row:
    def form(x: np.ndarray) -> np.ndarray:
        out = x * np.float32(0.1)
        out[0] = x[0]
        step = np.empty_like(x[0])
        for t in range(1, x.shape[0]):
            np.multiply(out[t - 1], np.float32(0.9), out=step)
            out[t] += step
        return out

    return (floats(random, 2000, 512),), {"weight": 0.1}, form


@row
def viterbi(random: np.random.Generator) -> Row:
    def form(emission: np.ndarray, transition: np.ndarray) -> np.ndarray:
        steps, chains, states = emission.shape
        back = np.empty(emission.shape, np.int64)
        best, into, every = emission[0], np.ascontiguousarray(transition.T), np.arange(chains)
        scores = np.empty((chains, states, states), np.float32)
        for t in range(1, steps):
            np.add(best[:, None, :], into, out=scores)
            back[t] = scores.argmax(2)
            best = np.take_along_axis(scores, back[t][:, :, None], 2)[:, :, 0] + emission[t]
        path = np.empty((steps, chains), np.int64)
        path[-1] = best.argmax(1)
        for t in range(steps - 1, 0, -1):
            path[t - 1] = back[t, every, path[t]]
        return path

    return (floats(random, 300, 32, 16), floats(random, 16, 16)), {}, form


@row
def haversine(random: np.random.Generator) -> Row:
    def points(count: int) -> np.ndarray:
        places = [random.uniform(-limit, limit, count) for limit in (80, 180)]
        return np.stack(places, 1).astype(np.float32)

    def form(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = (np.radians(each) for each in (a, b))
        out = np.subtract.outer(a[:, 0], b[:, 0])
        turn = np.subtract.outer(a[:, 1], b[:, 1])
        for each in (out, turn):
            each *= np.float32(0.5)
            np.sin(each, out=each)
            each *= each
        turn *= np.multiply.outer(np.cos(a[:, 0]), np.cos(b[:, 0]))
        out += turn
        np.minimum(out, np.float32(1), out=out)
        np.sqrt(out, out=out)
        np.arcsin(out, out=out)
        out *= np.float32(2 * 6371)
        return out

    return (points(1000), points(800)), {}, form


@row
def bilateral(random: np.random.Generator) -> Row:
    def form(x: np.ndarray) -> np.ndarray:
        (height, width), wide = x.shape, np.pad(x, 2, mode="edge")
        total, mixed, weight = np.zeros_like(x), np.zeros_like(x), np.empty_like(x)
        for u in range(5):
            for v in range(5):
                part = wide[u : u + height, v : v + width]
                np.subtract(part, x, out=weight)
                weight *= weight
                weight *= np.float32(-2)
                weight -= np.float32(((u - 2) ** 2 + (v - 2) ** 2) / 8)
                np.exp(weight, out=weight)
                total += weight
                weight *= part
                mixed += weight
        mixed /= total
        return mixed

    return (floats(random, 512, 512),), {}, form


@row
def nearest(random: np.random.Generator) -> Row:
    def form(queries: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        square = queries @ (-2 * points.T)
        square += np.einsum("nd,nd->n", points, points)
        index = np.argpartition(square, 8, axis=1)[:, :8]
        near = np.take_along_axis(square, index, 1)
        order = near.argsort(1)
        near = np.take_along_axis(near, order, 1) + np.einsum("qd,qd->q", queries, queries)[:, None]
        return np.sqrt(np.maximum(near, 0)), np.take_along_axis(index, order, 1)

    return (floats(random, 500, 16), floats(random, 4000, 16)), {"k": 8}, form
