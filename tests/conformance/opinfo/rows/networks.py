"""Activations, norms, convolutions, pools, images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, dims, of_vector, table

np: Any = numpy
NN = "nn.functional."

table({NN + "relu": ops.relu, NN + "relu6": ops.relu6, NN + "hardswish": ops.hard_swish, NN + "silu": ops.silu,
       NN + "logsigmoid": ops.log_sigmoid, NN + "mish": ops.mish, NN + "softsign": ops.softsign,
       NN + "tanhshrink": ops.tanhshrink, NN + "selu": ops.selu})  # fmt: skip


def _normal(function: Callable[..., Any]) -> Callable[..., Any]:
    def normalise(a: Any, dim: int, dtype: Any = None, **ignored: Any) -> Any:
        return of_vector(lambda x: function(x, axis=dim), a if dtype is None else np.astype(a, dtype))

    return normalise


table(
    {
        "softmax": _normal(ops.softmax),
        "log_softmax": _normal(ops.log_softmax),
        NN + "softmin": _normal(ops.softmin),
    }
)


@adapts(NN + "hardsigmoid")
def hardsigmoid(a: Any) -> Any:
    return ops.hard_sigmoid(a, alpha=1 / 6, beta=0.5)


@adapts(NN + "leaky_relu")
def leaky_relu(a: Any, negative_slope: float = 0.01) -> Any:
    return ops.leaky_relu(a, alpha=negative_slope)


@adapts(NN + "elu")
def elu(a: Any, alpha: float = 1.0) -> Any:
    return ops.elu(a, alpha=alpha)


@adapts(NN + "celu")
def celu(a: Any, alpha: float = 1.0) -> Any:
    return ops.celu(a, alpha=alpha)


@adapts(NN + "gelu")
def gelu(a: Any, *, approximate: str = "none") -> Any:
    return ops.gelu(a, approximate=approximate)


@adapts(NN + "glu")
def glu(a: Any, dim: int = -1) -> Any:
    return ops.glu(a, axis=dim)


@adapts(NN + "prelu")
def prelu(a: Any, weight: Any) -> Any:
    if weight.size == 1:
        return np.where(a > 0, a, np.reshape(weight, ()) * a)
    return ops.prelu(a, weight, axis=1 if a.ndim > 1 else 0)


@adapts(NN + "softplus")
def softplus(a: Any, beta: float = 1, threshold: float = 20) -> Any:
    made = ops.softplus(a) if beta == 1 else ops.softplus(a * beta) / beta
    return made if threshold == 20 else np.where(a * beta > threshold, a, made)


@adapts(NN + "softshrink")
def softshrink(a: Any, lambd: float = 0.5) -> Any:
    return ops.softshrink(a, lambd=lambd)


@adapts(NN + "hardshrink")
def hardshrink(a: Any, lambd: float = 0.5) -> Any:
    return ops.hardshrink(a, lambd=lambd)


@adapts(NN + "hardtanh")
def hardtanh(a: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return ops.hardtanh(a, low=min_val, high=max_val)


@adapts(NN + "threshold")
def threshold(a: Any, threshold: float, value: float) -> Any:
    return ops.threshold(a, threshold=float(threshold), value=float(value))


@adapts(NN + "layer_norm")
def layer_norm(a: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    scale = np.ones(shape, a.dtype) if weight is None else weight
    shift = np.zeros(shape, a.dtype) if bias is None else bias
    if len(shape) == 1:
        return ops.layer_norm(a, scale, shift, epsilon=eps)
    flat = np.reshape(a, (*a.shape[: a.ndim - len(shape)], -1))
    return np.reshape(ops.layer_norm(flat, np.ravel(scale), np.ravel(shift), epsilon=eps), a.shape)


@adapts(NN + "rms_norm")
def rms_norm(a: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    scale = np.ones(shape, a.dtype) if weight is None else weight
    epsilon = float(np.finfo(a.dtype).eps) if eps is None else eps
    flat = np.reshape(a, (*a.shape[: a.ndim - len(shape)], -1))
    return np.reshape(ops.rms_norm(flat, np.ravel(scale), epsilon=epsilon), a.shape)


@adapts(NN + "group_norm")
def group_norm(a: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    scale = np.ones(a.shape[1], a.dtype) if weight is None else weight
    shift = np.zeros(a.shape[1], a.dtype) if bias is None else bias
    return ops.group_norm(a, scale, shift, num_groups=groups, epsilon=eps)


@adapts(NN + "instance_norm")
def instance_norm(
    a: Any, *args: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, **ignored: Any
) -> Any:
    scale = np.ones(a.shape[1], a.dtype) if weight is None else weight
    shift = np.zeros(a.shape[1], a.dtype) if bias is None else bias
    return ops.instance_norm(a, scale, shift, epsilon=eps)


@adapts(NN + "batch_norm")
def batch_norm(
    a: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, training: bool = False, momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    channels = a.shape[1]
    scale = np.ones(channels, a.dtype) if weight is None else weight
    shift = np.zeros(channels, a.dtype) if bias is None else bias
    if training:
        old = [np.zeros(channels, a.dtype) if each is None else each for each in (mean, var)]
        return ops.batch_norm_train(a, scale, shift, *old, epsilon=eps, momentum=momentum)[0]
    return ops.batch_norm(a, scale, shift, mean, var, epsilon=eps)[0]


@adapts(NN + "local_response_norm")
def local_response_norm(a: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    return ops.lrn(a, size=size, alpha=alpha, beta=beta, bias=k)


@adapts(NN + "normalize")
def normalize(a: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    return a / np.maximum(np.linalg.vector_norm(a, axis=dims(dim), keepdims=True, ord=p), eps)


@adapts(NN + "cosine_similarity")
def cosine_similarity(a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    return ops.cosine_similarity(*np.broadcast_arrays(a, b), axis=dim, epsilon=eps)


@adapts(NN + "pairwise_distance")
def pairwise_distance(a: Any, b: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return np.linalg.vector_norm(a - b + eps, axis=-1, keepdims=keepdim, ord=p)


def _many(value: Any, rank: int) -> tuple[int, ...]:
    parts = (value,) if isinstance(value, int) else tuple(value)
    return parts * rank if len(parts) == 1 else parts


def _batched(a: Any, rank: int) -> tuple[Any, bool]:
    return (a, False) if a.ndim == rank + 2 else (np.expand_dims(a, 0), True)


def _convolution(rank: int) -> Callable[..., Any]:
    op = getattr(ops, f"conv{rank}d")

    def convolve(
        a: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        data, alone = _batched(a, rank)
        dilations = _many(dilation, rank)
        pads = _many(0 if padding == "valid" else padding, rank) if padding != "same" else None
        if pads is None:
            totals = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True)]
            pads = (*[t // 2 for t in totals], *[t - t // 2 for t in totals])
        made = op(data, weight, strides=_many(stride, rank), padding=pads, dilation=dilations, groups=groups)
        made = made if bias is None else ops.bias_add(made, bias)
        return np.squeeze(made, 0) if alone else made

    return convolve


def _transposed(rank: int) -> Callable[..., Any]:
    op = getattr(ops, f"conv{rank}d_transpose")

    def convolve(
        a: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        data, alone = _batched(a, rank)
        made = op(
            data, weight, strides=_many(stride, rank), padding=_many(padding, rank), dilation=_many(dilation, rank),
            output_padding=_many(output_padding, rank), groups=groups,
        )  # fmt: skip
        made = made if bias is None else ops.bias_add(made, bias)
        return np.squeeze(made, 0) if alone else made

    return convolve


def _average_pool(rank: int) -> Callable[..., Any]:
    op = getattr(ops, f"avg_pool{rank}d")

    def pool(
        a: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        data, alone = _batched(a, rank)
        made = op(
            data, pool_size=_many(kernel_size, rank), strides=_many(stride or kernel_size, rank),
            padding=_many(padding, rank), ceil_mode=ceil_mode, count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )  # fmt: skip
        return np.squeeze(made, 0) if alone else made

    return pool


def _max_pool(rank: int) -> Callable[..., Any]:
    op, with_positions = getattr(ops, f"max_pool{rank}d"), getattr(ops, f"max_pool{rank}d_with_indices")

    def pool(
        a: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        data, alone = _batched(a, rank)
        made = (with_positions if return_indices else op)(
            data, pool_size=_many(kernel_size, rank), strides=_many(stride or kernel_size, rank),
            padding=_many(padding, rank), dilation=_many(dilation, rank), ceil_mode=ceil_mode,
        )  # fmt: skip
        return _unbatched(made, return_indices, alone)

    return pool


def _unbatched(made: Any, several: bool, alone: bool) -> Any:
    """The result, or each of several, without the first axis where there was none."""
    if several:
        return tuple([_unbatched(each, False, alone) for each in made])
    return np.squeeze(made, 0) if alone else made


def _unpool(rank: int) -> Callable[..., Any]:
    op = getattr(ops, f"max_unpool{rank}d")

    def unpool(
        a: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        data, alone = _batched(a, rank)
        windows = (_many(v, rank) for v in (stride or kernel_size, padding, kernel_size))
        sizes = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(data.shape[2:], *windows, strict=True)]
        sizes = sizes if output_size is None else list(output_size)[-rank:]
        made = op(data, np.expand_dims(indices, 0) if alone else indices, output_size=sizes)
        return np.squeeze(made, 0) if alone else made

    return unpool


def _adaptive(kind: str, rank: int) -> Callable[..., Any]:
    name = f"adaptive_{kind}_pool{rank}d"

    def pool(a: Any, output_size: Any, return_indices: bool = False) -> Any:
        op = getattr(ops, f"{name}_with_indices" if return_indices else name)
        data, alone = _batched(a, rank)
        given = _many(output_size, rank)
        sizes = tuple([d if size is None else size for d, size in zip(data.shape[2:], given, strict=True)])
        return _unbatched(op(data, output_size=sizes), return_indices, alone)

    return pool


for _rank in (1, 2, 3):
    table({f"{NN}conv{_rank}d": _convolution(_rank), f"{NN}conv_transpose{_rank}d": _transposed(_rank),
           f"{NN}avg_pool{_rank}d": _average_pool(_rank), f"{NN}max_pool{_rank}d": _max_pool(_rank),
           f"{NN}max_unpool{_rank}d": _unpool(_rank), f"{NN}adaptive_avg_pool{_rank}d": _adaptive("avg", _rank),
           f"{NN}adaptive_max_pool{_rank}d": _adaptive("max", _rank)})  # fmt: skip


@adapts(NN + "interpolate")
def interpolate(
    a: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    rank = a.ndim - 2
    if antialias:
        raise NotImplementedError("resize has no such filter")
    factors = None if scale_factor is None else [scale_factor] * rank
    if isinstance(scale_factor, (list, tuple)):
        factors = list(scale_factor)
    sizes = (
        _many(size, rank)
        if factors is None
        else tuple([int(d * f) for d, f in zip(a.shape[2:], factors, strict=True)])
    )
    if mode == "area":
        return _adaptive("avg", rank)(a, sizes)
    method = {"nearest": "nearest_neighbor", "nearest-exact": "nearest_neighbor", "bicubic": "cubic"}.get(
        mode, "linear"
    )
    where = {"nearest": "asymmetric", "nearest-exact": "half_pixel"}.get(
        mode, "align_corners" if align_corners else "half_pixel"
    )
    kept = factors is not None and not recompute_scale_factor and where != "align_corners"
    scales = tuple(map(float, factors)) if factors is not None and kept else None
    given: dict[str, Any] = {
        "rounding_method": {"nearest": "floor", "nearest-exact": "round_prefer_ceil"}.get(mode, "")
    }
    if mode == "bicubic":
        given["cubic_alpha"] = -0.75
    op = getattr(ops, f"resize{rank}d")
    return op(a, size=sizes, scales=scales, method=method, coordinate_transformation_mode=where, **given)


@adapts(NN + "upsample_nearest")
def upsample_nearest(a: Any, size: Any = None, scale_factor: Any = None) -> Any:
    return interpolate(a, size, scale_factor)


@adapts(NN + "upsample_bilinear")
def upsample_bilinear(a: Any, size: Any = None, scale_factor: Any = None) -> Any:
    return interpolate(a, size, scale_factor, "bilinear", True)


@adapts(NN + "grid_sample")
def grid_sample(
    a: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = False
) -> Any:
    places = np.moveaxis(grid, -1, 1)
    return ops.grid_sample(
        a, places, method=mode, padding_mode=padding_mode, align_corners=bool(align_corners)
    )


@adapts("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(a: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return grid_sample(a, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)
