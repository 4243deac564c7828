"""What a `reference:` may use of Python, numpy and math.  What is not listed here is refused."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BUILTINS: Final = _words(
    """
    abs all any bool dict divmod enumerate float int len list max min pow range reversed round set slice
    sorted sum tuple zip
    """
)
MATH: Final = _words(
    """
    acos acosh asin asinh atan atan2 atanh ceil comb copysign cos cosh degrees e erf erfc exp expm1 fabs
    factorial floor fmod gamma gcd hypot inf isclose isfinite isinf isnan lgamma log log10 log1p log2 nan pi pow
    prod radians sin sinh sqrt tan tanh tau trunc
    """
)
NUMPY: Final = _words(
    """
    abs absolute add all amax amin any append apply_along_axis apply_over_axes arange arccos arccosh
    arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort argwhere around array
    array_split asarray ascontiguousarray atleast_1d atleast_2d atleast_3d average bincount bitwise_and
    bitwise_not bitwise_or bitwise_xor block bool bool_ broadcast_arrays broadcast_shapes broadcast_to
    cbrt ceil choose clip column_stack compress concatenate convolve copy copysign correlate cos cosh
    count_nonzero cross cumprod cumsum delete diag diagonal diff digitize divide divmod dot dsplit
    dstack einsum empty empty_like equal errstate exp exp2 expand_dims expm1 extract eye fabs finfo
    flatnonzero flip fliplr flipud float16 float32 float64 float_power floating floor floor_divide fmax
    fmin fmod frexp full full_like gcd greater greater_equal heaviside histogram hsplit hstack hypot identity
    iinfo imag in1d indices inf inner insert int16 int32 int64 int8 integer interp intersect1d invert
    isclose isfinite isin isinf isnan isneginf isposinf issubdtype ix_ kron lcm ldexp left_shift less
    less_equal lexsort linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
    logical_or logical_xor matmul max maximum mean median meshgrid min minimum mod moveaxis multiply nan
    nan_to_num nancumsum nanmax nanmean nanmin nansum ndenumerate ndim ndindex negative newaxis
    nextafter nonzero not_equal number ones ones_like outer pad partition percentile pi place polyval
    positive power prod promote_types ptp put put_along_axis putmask quantile radians ravel
    ravel_multi_index real reciprocal remainder repeat reshape resize result_type right_shift rint roll
    rollaxis rot90 round searchsorted select setdiff1d shape sign signbit signedinteger sin sinc sinh
    size sort spacing split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan
    tanh tensordot tile trace transpose tri tril tril_indices triu triu_indices true_divide trunc uint16
    uint32 uint64 uint8 unique unravel_index unsignedinteger unwrap vander var vdot vectorize vsplit
    vstack where zeros zeros_like
    """
)
# Attributes of arrays, dtypes and their limits.
ATTRIBUTES: Final = _words(
    """
    T bits dtype eps flat imag itemsize kind max min ndim real shape size tiny
    """
)
# Methods of arrays, tuples and lists.
METHODS: Final = _words(
    """
    all any append argmax argmin argpartition argsort astype choose clip compress conj copy count
    cumprod cumsum diagonal dot extend fill flatten index insert item items keys max mean min nonzero
    pop prod ptp ravel repeat reshape reverse round searchsorted sort squeeze startswith std sum
    swapaxes take tolist trace transpose type values var view
    """
)
# Functions that are reached through a ufunc or a submodule.
DOTTED: Final = frozenset(
    ["np.lib.stride_tricks.sliding_window_view"]
    + [f"np.linalg.{name}" for name in ("cholesky", "det", "eigvalsh", "inv", "norm", "pinv", "qr", "solve")]
    + [f"np.fft.{name}" for name in ("fft", "fftn", "ifft", "ifftn", "rfft", "rfftn", "irfft", "irfftn")]
    + [f"np.fft.{name}" for name in ("hfft", "ihfft", "fftshift", "ifftshift", "fftfreq", "rfftfreq")]
    + [
        f"np.{ufunc}.{method}"
        for ufunc in (
            "add",
            "multiply",
            "maximum",
            "minimum",
            "subtract",
            "logical_and",
            "logical_or",
            "logical_xor",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
        )
        for method in ("at", "reduce", "accumulate", "outer")
    ]
)
