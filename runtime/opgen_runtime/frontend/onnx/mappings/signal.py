"""Fourier transforms, windows of signals, and counts of n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ....ir import Expr, const
from ..element_types import dtype_of
from ..emit import op
from ..errors import ModelError, NotSupported
from ..rules import Flag, converts
from ._tools import (
    arange,
    at_least,
    axis_of,
    check_rank,
    exactly,
    extent,
    index,
    ndim,
    reshape,
    room,
    shape,
    take_slice,
)

Scalar = Any
Ints = Sequence[int]


def _resized(x: Expr, axis: int, size: int) -> Expr:
    """The first `size` places of an axis, zeros where it is shorter."""
    length = extent(x, axis)
    if length >= size:
        return take_slice(x, axis, 0, size)
    widths = [0] * (2 * ndim(x))
    widths[2 * axis + 1] = size - length
    return op.pad(x, pad_width=tuple(widths))


def fourier(x: Expr, length: int, axis: int, inverse: bool, onesided: bool) -> Expr:
    """The discrete Fourier transform along `axis` of numbers whose last axis holds (real) or (real, imaginary)."""
    last = ndim(x) - 1
    room(*(length if d == axis else n for d, n in enumerate(shape(x))))
    half = length // 2 + 1
    mirrored = inverse and onesided
    used = _resized(x, axis, half if mirrored else length)
    real = index(used, last, 0)
    imaginary = index(used, last, 1) if extent(x, -1) == 2 else op.zeros_like(real)
    if mirrored:
        real, imaginary = _whole(real, length, axis, 1), _whole(imaginary, length, axis, -1)
    parts: list[Expr] = list(op.dft(real, imaginary, inverse=inverse, axis=axis))
    if mirrored:
        return op.expand_dims(parts[0], axis=last)
    if onesided:
        parts = [take_slice(each, axis, 0, half) for each in parts]
    return op.stack(parts, axis=last)


def _whole(half: Expr, length: int, axis: int, sign: int) -> Expr:
    """All `length` places of which the first half is given, the others being `sign` times their mirror images."""
    mirrored = op.reverse(take_slice(half, axis, 1, (length + 1) // 2), axis=axis)
    return op.concatenate([half, mirrored if sign > 0 else op.negative(mirrored)], axis=axis)


@converts("DFT", since=17)
def dft_17(
    x: Expr, length: Scalar | None = None, *, axis: int = 1, inverse: Flag = 0, onesided: Flag = 0
) -> Expr:
    return dft(x, length, axis, inverse=inverse, onesided=onesided)


@converts("DFT", since=20)
def dft(
    x: Expr,
    length: Scalar | None = None,
    axis: Scalar | None = None,
    *,
    inverse: Flag = 0,
    onesided: Flag = 0,
) -> Expr:
    at = axis_of(-2 if axis is None else int(axis), ndim(x))
    points = at_least(x, 2)[at]
    default = 2 * (points - 1) if inverse and onesided else points
    size = default if length is None else int(length)
    if size < 1 or at == ndim(x) - 1 or extent(x, -1) not in (1, 2):
        raise ModelError(
            f"a transform of length {size} along axis {at} of a tensor of shape {list(shape(x))}"
        )
    return fourier(x, size, at, bool(inverse), bool(onesided))


@converts("STFT", since=17)
def stft(
    x: Expr, step: Scalar, window: Expr | None = None, length: Scalar | None = None, *, onesided: Flag = 1
) -> Expr:
    """The transforms of frames that are `step` apart."""
    check_rank(x, 2, 3)
    framed = extent(x, 1) if window is None else exactly(window, 1)[0]
    size = framed if length is None else int(length)
    if int(step) < 1 or not 1 <= size <= extent(x, 1):
        raise ModelError(f"frames of {size} in steps of {int(step)} of a signal of {extent(x, 1)}")
    if ndim(x) == 2:
        x = op.expand_dims(x, axis=2)
    count = 1 + (extent(x, 1) - size) // int(step)
    room(count, size)
    places = arange(count)[:, None] * int(step) + arange(size)[None, :]
    frames = op.take(x, places.astype(np.int64), axis=1)
    if window is not None:
        frames = op.multiply(frames, reshape(_resized(window, 0, size), (1, 1, size, 1)))
    return fourier(frames, size, 2, False, bool(onesided) and extent(x, -1) == 1)


@converts("MelWeightMatrix", since=17)
def mel_weight_matrix(
    bins: Scalar, length: Scalar, rate: Scalar, low: Scalar, high: Scalar, *, output_datatype: int = 1
) -> Expr:
    """Triangles on the mel scale, 2595 log10(1 + f / 700), over the bins of a spectrum."""
    if bins < 1 or length < 1 or rate < 1 or not 0 <= low <= high <= rate / 2:
        raise ModelError(f"{bins} bins of {low} to {high} Hz, of {length} samples at {rate} Hz")
    room(length // 2 + 1, bins)
    edges = arange(bins + 2)
    first, last = (2595 * np.log1p(f / 700) / np.log(10) for f in (low, high))
    mels = edges * ((last - first) / (bins + 2)) + first
    at = (((length + 1) * (700 * np.expm1(mels / 2595 * np.log(10)))) // rate).astype(int)
    table = np.zeros((length // 2 + 1, bins))
    for k in range(bins):
        left, centre, right = at[k : k + 3]
        if centre == left:
            table[centre, k] = 1
        else:
            table[left : centre + 1, k] = (np.arange(left, centre + 1) - left) / (centre - left)
        if right > centre:
            table[centre:right, k] = (right - np.arange(centre, right)) / (right - centre)
    return const(table.astype(dtype_of(output_datatype).numpy))


@converts("TfIdfVectorizer", since=9)
def tf_idf(
    x: Expr,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: Literal["TF", "IDF", "TFIDF"],
    ngram_counts: Ints,
    ngram_indexes: Ints,
    pool_int64s: Ints | None = None,
    pool_strings: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
) -> Expr:
    """How often each n-gram of a pool occurs in each row, its elements up to `max_skip_count` apart."""
    if pool_int64s is None:
        raise NotSupported("a pool of strings")
    rows = reshape(x, (1, *at_least(x, 1))) if ndim(x) < 2 else x
    rows, pool = op.cast(rows, dtype="int64"), np.array(pool_int64s, np.int64)
    _check_grams(len(pool), ngram_counts, ngram_indexes, weights)
    width = max(ngram_indexes) + 1
    room(extent(rows, 0) + len(pool), width)
    total: Expr = const(np.zeros((extent(rows, 0), width), np.float32))
    number = 0
    for position, begin in enumerate(ngram_counts):
        size = position + 1
        end = ngram_counts[position + 1] if position + 1 < len(ngram_counts) else len(pool)
        grams = pool[begin:end].reshape(-1, size)
        columns = list(ngram_indexes[number : number + len(grams)])
        number += len(grams)
        if not len(grams) or not min_gram_length <= size <= max_gram_length:
            continue
        for apart in range(1, 2 if size == 1 else max_skip_count + 2):
            found = _occurrences(rows, grams, apart)
            if found is None:  # nor further apart
                break
            place = np.zeros((len(grams), width), np.float32)
            place[np.arange(len(grams)), columns] = 1
            total = op.add(total, op.matmul(found, place))
    if mode == "IDF":
        total = op.cast(op.greater(total, 0.0), dtype="float32")
    if mode != "TF" and weights is not None:
        scale = np.ones(width, np.float32)
        scale[list(ngram_indexes)] = weights
        total = op.multiply(total, scale)
    return reshape(total, (width,)) if ndim(x) == 1 else total


def _check_grams(pool: int, counts: Ints, indexes: Ints, weights: Sequence[float] | None) -> None:
    """Raises ModelError where the pool, of so many elements, is not cut into whole n-grams with a column each."""
    found = 0
    for size, (begin, end) in enumerate(pairwise((*counts, pool)), 1):
        if not 0 <= begin <= end <= pool or (end - begin) % size:
            raise ModelError(
                f"ngram_counts {list(counts)} cut no {size}-grams out of a pool of {pool} elements"
            )
        found += (end - begin) // size
    if len(indexes) != found or min(indexes, default=0) < 0 or not indexes:
        raise ModelError(
            f"ngram_indexes {list(indexes)}, expected a column for each of {found} n-grams, of 1 or more"
        )
    if weights is not None and len(weights) != found:
        raise ModelError(f"{len(weights)} weights, expected one for each of {found} n-grams")


def _occurrences(rows: Expr, grams: np.ndarray, apart: int) -> Expr | None:
    """(rows, grams): how often each occurs with its elements `apart`; None where no row is long enough."""
    size = grams.shape[1]
    count = extent(rows, 1) - (size - 1) * apart
    if count <= 0:
        return None
    room(count, size)
    places = arange(count)[:, None] + arange(size)[None, :] * apart
    seen = op.take(rows, places.astype(np.int64), axis=1)
    same = op.equal(reshape(seen, (extent(rows, 0), count, 1, size)), grams[None, None])
    hits = op.cast(op.all(same, axis=(3,), keepdims=False), dtype="float32")
    return op.sum(hits, axis=(1,), keepdims=False)
