"""Gathers, scatters, searches."""

from __future__ import annotations

from typing import Any

import numpy

from opgen_runtime import eager, ops

from ..adapter import adapts, of_vector, table

np: Any = numpy

table(
    {
        "take_along_dim": lambda a, index, dim=None: np.take_along_axis(
            a, index if dim is not None else np.ravel(index), dim
        )
    }
)
table(
    {
        "argwhere": eager.argwhere,
        "masked_select": lambda a, mask: eager.masked_select(*np.broadcast_arrays(a, mask)),
    },
    traced=False,
)


@adapts("gather")
def gather(a: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    return ops.gather(a, np.astype(index, np.int64), axis=dim)


@adapts("index_select")
def index_select(a: Any, dim: int, index: Any) -> Any:
    return of_vector(lambda x, at: ops.take(x, np.reshape(at, (-1,)), axis=dim), a, index)


@adapts("take")
def take(a: Any, index: Any) -> Any:
    return np.take(a, index)


@adapts("__getitem__")
def getitem(a: Any, key: Any) -> Any:
    return a[key]


def _scatter(reduction: dict[str | None, str]) -> Any:
    def scatter(a: Any, dim: int, index: Any, src: Any, *, reduce: str | None = None) -> Any:
        updates = src if hasattr(src, "shape") else np.broadcast_to(np.asarray(src, a.dtype), index.shape)
        part = updates[tuple([slice(0, extent) for extent in index.shape])]
        return of_vector(
            lambda *given: ops.scatter_elements(*given, axis=dim, reduction=reduction[reduce]), a, index, part
        )

    return scatter


table(
    {
        "scatter": _scatter({None: "update", "add": "add", "multiply": "mul"}),
        "scatter_add": _scatter({None: "add"}),
    }
)


_WAYS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "mean"}


@adapts("scatter_reduce")
def scatter_reduce(a: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    part = src[tuple([slice(0, extent) for extent in index.shape])]
    if not a.ndim:
        given = [np.reshape(each, (1,)) for each in (a, index, part)]
        return scatter_reduce(given[0], 0, *given[1:], reduce, include_self=include_self)[0]
    return ops.scatter_reduce(a, index, part, axis=dim, reduction=_WAYS[reduce], include_self=include_self)


def _along(a: Any, dim: int, index: Any) -> Any:
    """The places of the elements of slices, for `scatter_elements`."""
    at = dim % max(a.ndim, 1)
    shape = [1] * a.ndim
    shape[at] = -1
    wanted = (*a.shape[:at], index.size, *a.shape[at + 1 :])
    return np.broadcast_to(np.reshape(index, shape), wanted)


def _put(a: Any, dim: int, index: Any, source: Any, reduction: str) -> Any:
    """The slices of `source` at places along an axis, a number counting as one element."""

    def put(x: Any, at: Any) -> Any:
        places = _along(x, dim, at)
        given = source if a.ndim else np.reshape(source, (-1,))
        return ops.scatter_elements(
            x, places, np.broadcast_to(given, places.shape), axis=dim, reduction=reduction
        )

    return of_vector(put, a, np.reshape(index, (-1,)) if a.ndim else index)


@adapts("index_add")
def index_add(a: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    source = source if alpha == 1 else source * alpha
    return _put(a, dim, index, source, "add")


@adapts("index_reduce")
def index_reduce(a: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    places = _along(a, dim, index) if a.ndim else np.reshape(index, ())
    return scatter_reduce(a, dim, places, source, reduce, include_self=include_self)


@adapts("index_copy")
def index_copy(a: Any, dim: int, index: Any, source: Any) -> Any:
    return _put(a, dim, index, source, "update")


@adapts("index_fill")
def index_fill(a: Any, dim: int, index: Any, value: Any) -> Any:
    each = value if hasattr(value, "shape") else np.asarray(value, a.dtype)
    return _put(a, dim, np.reshape(index, (-1,)), each, "update")


@adapts("masked_fill")
def masked_fill(a: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, np.astype(np.asarray(value), a.dtype) if not hasattr(value, "shape") else value, a)


@adapts("masked_scatter")
def masked_scatter(a: Any, mask: Any, source: Any) -> Any:
    data, where = np.broadcast_arrays(a, mask)
    return ops.masked_scatter(data, where, source)


@adapts("nonzero", traced=False)
def nonzero(a: Any, *, as_tuple: bool = False) -> Any:
    found = eager.argwhere(a)
    return tuple(found[:, k] for k in range(found.shape[1])) if as_tuple else found


@adapts("nonzero_static", traced=False)
def nonzero_static(a: Any, *, size: int, fill_value: int = -1) -> Any:
    found = np.asarray(eager.argwhere(a))[:size]
    return np.pad(found, ((0, size - found.shape[0]), (0, 0)), constant_values=fill_value)


@adapts("put")
def put(a: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    places, values = np.reshape(index, (-1,)), np.reshape(source, (-1,))
    flat = np.reshape(a, (-1,))
    made = ops.scatter_elements(flat, places, values, axis=0, reduction="add" if accumulate else "update")
    return np.reshape(made, a.shape)


@adapts("searchsorted")
def searchsorted(
    sequence: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Any:
    values = values if hasattr(values, "shape") else np.asarray(values, sequence.dtype)
    rows = values if sequence.ndim > 1 else np.reshape(values, (-1,))
    found = ops.searchsorted(sequence, rows, sorter, right=right or side == "right")
    return np.astype(np.reshape(found, np.shape(values)), np.int32 if out_int32 else np.int64)


@adapts("bucketize")
def bucketize(a: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    found = np.searchsorted(boundaries, a, "right" if right else "left")
    return np.astype(found, np.int32 if out_int32 else np.int64)


@adapts("unravel_index")
def unravel_index(indices: Any, shape: Any) -> Any:
    return np.unravel_index(indices, shape)


@adapts("repeat_interleave")
def repeat_interleave(a: Any, repeats: Any, dim: int | None = None, *, output_size: Any = None) -> Any:
    return np.repeat(a, repeats, dim)


@adapts("nn.functional.one_hot", traced=False)
def one_hot(a: Any, num_classes: int = -1) -> Any:
    depth = int(eager.max(a)) + 1 if num_classes < 0 else num_classes
    return eager.one_hot(a, np.int64(1), np.int64(0), depth=depth)


@adapts("bincount", traced=False)
def bincount(a: Any, weights: Any = None, minlength: int = 0) -> Any:
    size = max(minlength, int(eager.max(a)) + 1 if a.size else 0)
    shares = np.ones(a.shape, np.int64) if weights is None else weights
    return eager.bincount(a, shares, size=size)


@adapts("nn.functional.embedding")
def embedding(
    weight: Any, index: Any, padding_idx: Any = None, max_norm: Any = None, *_: Any, **ignored: Any
) -> Any:
    if max_norm is not None:
        raise NotImplementedError("it would write to the weights")
    return np.take(weight, index, axis=0)


@adapts("nn.functional.embedding_bag")
def embedding_bag(
    weight: Any,
    index: Any,
    offsets: Any = None,
    max_norm: Any = None,
    mode: str = "mean",
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
    **ignored: Any,
) -> Any:
    if max_norm is not None:
        raise NotImplementedError("it would write to the weights")
    if offsets is None:
        offsets = np.arange(0, index.size, index.shape[1])
    padding = None if padding_idx is None else padding_idx % weight.shape[0]
    offsets = offsets[:-1] if include_last_offset else offsets
    factors = None if per_sample_weights is None else np.ravel(per_sample_weights)
    return ops.embedding_bag(weight, np.ravel(index), offsets, factors, mode=mode, padding_index=padding)


@adapts("index_put", traced=False)
def index_put(a: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    of_axes = [part for each in indices for part in _places(each)]
    places = np.stack(np.broadcast_arrays(*of_axes), -1)
    rest = places.shape[:-1] + a.shape[len(of_axes) :]
    return eager.scatter_nd(a, places, np.broadcast_to(values, rest), mode="add" if accumulate else "update")


def _places(index: Any) -> list[Any]:
    """The positions along each axis that an index names: of a mask those where it holds."""
    if index.dtype != np.bool_:
        return [index]
    found = np.asarray(eager.argwhere(index))
    return [found[:, axis] for axis in range(index.ndim)]


@adapts("unique", traced=False)
def unique(
    a: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    values, _, inverse, counts = eager.unique(a, axis=dim)
    found = [values]
    if return_inverse:
        found.append(inverse if dim is not None else inverse.reshape(a.shape))
    if return_counts:
        found.append(counts)
    return tuple(found) if len(found) > 1 else values


@adapts("unique_consecutive", traced=False)
def unique_consecutive(
    a: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    values, inverse, counts = eager.unique_consecutive(a, axis=dim)
    kept = inverse if dim is not None else inverse.reshape(a.shape)
    found = [values, *([kept] if return_inverse else []), *([counts] if return_counts else [])]
    return tuple(found) if len(found) > 1 else values
