"""Forms of arguments that numpy's functions take: calls of each, which `numpy_draw.py` runs under `jit`.

A row has functions of one family and what each is called with; what numpy refuses is written too, and is to be refused.
"""

from __future__ import annotations

import numpy as np

from .numpy_table import ARRAYS, calls

VALUES = {
    **ARRAYS,
    "t": np.arange(24.0).reshape(2, 3, 4) % 7 + 0.5,
    "f": ARRAYS["a"].astype(np.float32),
    "u": np.array([[1, 200, 3], [0, 5, 17]], np.uint8),
    "k": np.array([[-3, 2, 0], [1, -5, 4]], np.int16),
    "e": np.zeros((0, 3)),
    "n": np.array(3),
    "m": np.array(0.5),
    "z": np.array([[0.0, -0.0, np.inf], [-np.inf, np.nan, -1.5]]),
    "x": ARRAYS["a"] + 1j * ARRAYS["b"],
}
"""Besides those of the table: `t` has three axes, `n` and `m` none, `e` no element; `f` is float32, `u` uint8, `k`
int16; `z` has infinities and zeros, `x` is complex."""

_UNARY = "(f) | (i) | (u) | (k) | (c) | (e) | (m) | (z) | (t[0, :, ::2]) | (f, dtype=np.float64)"
_BINARY = """
    (f, b) | (i, j) | (u, k) | (c, d) | (a, v) | (v[:, None], w) | (e, 1.0) | (n, f) | (i, 2.5) | (2, u) | (m, z)
    (z, a) | (f, f, dtype=np.float64) | (a, s) | (f, np.float64(2))
"""
_REDUCTION = """
    (a) | (a, axis=(0, 1)) | (t, axis=(0, -1)) | (t, axis=(1, 2), keepdims=True) | (i, 1) | (u, 0) | (c) | (f)
    (n) | (m, axis=0) | (m, axis=()) | (t, axis=()) | (a, axis=2) | (a, axis=-3) | (a, axis=(0, 0)) | (e, axis=1)
    (e, axis=0) | (e) | (z, axis=1) | (a, axis=1.0) | (a, None, keepdims=True) | (k, axis=-1)
"""
_MASKED = "(a, where=c, initial=2) | (t, axis=1, where=np.array([True, False, True, True]), initial=1)"
_SUMMED = "(i, dtype=np.float32) | (u, axis=0, dtype=np.int8) | (a, where=c) | (a, initial=3) | (e, initial=2, axis=0)"
_AVERAGED = """
    (a, where=c) | (i, dtype=np.float32) | (f, axis=1, dtype=np.float64) | (a, axis=1, where=c, keepdims=True)
"""
_SPREAD = "(a, ddof=1) | (t, axis=(0, 2), ddof=1, keepdims=True) | (a, correction=1) | (i, axis=0, dtype=np.float32)"
_PLACE = """
    (a) | (i, 0) | (t, axis=-1, keepdims=True) | (c, 1) | (n) | (e) | (e, axis=1) | (a, 2)
    (f, axis=None, keepdims=True) | (z[:, :2], 1)
"""
_RUNNING = """
    (a) | (t, 1) | (i, axis=-1) | (u, 0) | (c, 1) | (f, axis=1) | (n) | (e, 0) | (e) | (a, 2)
    (i, 1, dtype=np.float32) | (k, axis=None)
"""
_QUANTILE = """
    (t, 0.3, axis=(0, 2)) | (a, 0) | (a, [0.1, 1.0], axis=1, keepdims=True) | (i, 0.5, 0) | (f, 0.25) | (m, 0.5)
    (a, 0.4, axis=1, method='midpoint') | (a, 0.4, 1, method='weibull') | (a, 0.4, axis=2)
    (v, 0.3, method='hazen') | (v, np.array([[0.1, 0.7]]), method='median_unbiased')
    (v, 0.6, method='inverted_cdf') | (q, 0.5, axis=1) | (v, 0.6, method='averaged_inverted_cdf')
    (v, 0.6, method='closest_observation') | (v, 0.5, method='normal_unbiased')
    (v, 0.6, method='interpolated_inverted_cdf') | (v, 1.5 * 100)
"""
_ORDER = (
    "(a) | (t, 1) | (i, axis=None) | (u, 0) | (c, 1) | (z, axis=0) | (e) | (e, 0) | (a, 2) | (f, -1) | (n)"
)
_LIKE = "(a) | (i, dtype=np.float32) | (u) | (c) | (e) | (a, shape=(4,)) | (n)"
_CUT = "(t, 2, 0) | (t, [1, 2], axis=1) | (t, [1, 5], 1) | (t, 3, axis=3) | (t, np.array([1]), -1) | (v, 2)"
_OF_TWO = "(a, v) | (v, w) | (f, i[0]) | (i[0], j[1]) | (c[0], d[1]) | (n, v) | (m, n) | (t, v) | (a, s)"
_OF_POLYNOMIALS = "(v, w[:1]) | (i[0], j[0]) | (f[0], v) | (v, 2.0)"
_SET_OF_MATRICES = "(np.stack([s, s + 1])) | (np.astype(s, np.float32)) | (i[:, :2]) | (a) | (v)"

_LINE = """
    (x) | (t) | (f) | (i) | (u) | (c) | (x, 5) | (x, 2, 0) | (t, axis=1) | (x, norm='ortho') | (t, 5, 0, 'forward')
    (np.astype(x, np.complex64), n=4) | (x, axis=2) | (a, 0) | (a, -1) | (n) | (a, norm='two')
    (e) | (e, axis=0) | (a, axis=0, norm='backward') | (a[:, :1])
"""
_LINES = """
    (x) | (t) | (f) | (i) | (v) | (t, axes=(0, 2)) | (t, (2, 5), (2, 0)) | (x, (4, 4), norm='ortho')
    (x, axes=(1, 0), norm='forward') | (t, axes=(1, 1)) | (t, (-1, 3), axes=(0, 1)) | (t, (2,), axes=(0, 1))
    (np.astype(x, np.complex64), axes=(0,)) | (x, axes=()) | (n) | (x, axes=(0, 2)) | (e) | (t, (2, 0), (0, 1))
"""

FORMS: dict[str, str] = {
    "sum prod": _REDUCTION + " | " + _SUMMED + " | " + _MASKED,
    "max min amax amin": _REDUCTION + " | " + _MASKED + " | (a, where=c) | (i, initial=9) | (e, axis=0, initial=1)",
    "any all": _REDUCTION + " | (a, where=c) | (c, axis=1, where=d, keepdims=True)",
    "mean": _REDUCTION + " | " + _AVERAGED,
    "var std": _REDUCTION + " | " + _AVERAGED + " | " + _SPREAD,
    "ptp count_nonzero median": _REDUCTION,
    "nansum nanprod nanmean nanmax nanmin nanmedian nanvar nanstd": _REDUCTION + " | (q, axis=(0, 1))",
    "nansum nanprod": "(q, where=c) | (q, initial=2) | (i, dtype=np.float32)",
    "nanmax nanmin": "(q, where=c, initial=0) | (q, 1, initial=2)",
    "nanmean nanvar nanstd": "(q, 1, where=c) | (i, 0)",
    "nanvar nanstd": "(q, axis=1, ddof=1) | (q, correction=1)",
    "argmax argmin": _PLACE,
    "nanargmax nanargmin": "(q) | (i, 0) | (t, axis=1) | (a, 1, keepdims=True) | (f) | (c, 0) | (a, axis=2)",
    "cumsum cumprod nancumsum nancumprod": _RUNNING,
    "cumulative_sum cumulative_prod": """
        (a, axis=0, include_initial=True) | (v) | (a) | (i, axis=1, dtype=np.float32) | (c, axis=0)
        (v, include_initial=True)
    """,
    "quantile nanquantile": _QUANTILE,
    "percentile nanpercentile": """
        (t, 30, axis=(0, 2)) | (a, [10, 90.5], 1, keepdims=True) | (i, 50) | (f, 25, method='midpoint')
        (a, 130)
    """,
    "average": """
        (a, weights=b) | (a, 1, weights=v) | (t, axis=(0, 1), weights=a) | (a, returned=True, weights=b) | (i) | (c, 0)
        (a, axis=2) | (a, 0, weights=v)
    """,
    "sort": _ORDER + " | (a, kind='stable') | (a, stable=True)",
    "argsort": _ORDER + " | (a, kind='stable')",
    "partition": "(v, 1) | (np.sort(a), 1, axis=0)",
    "searchsorted": """
        (np.sort(v), a, side='right') | (np.sort(i[1]), 4) | (np.sort(v), w, sorter=np.argsort(np.sort(v)))
        (np.sort(v), e)
    """,
    "digitize": "(i, np.array([1, 3, 5])) | (a, np.sort(v), right=True) | (m, np.array([0.0, 1.0]))",
    "histogram": """
        (a, 3, (1, 3)) | (i, np.array([0, 2, 9])) | (a, 4, weights=b) | (a, 4, density=True) | (c, 2) | (f) | (e)
        (a, 3, (1, 3), weights=i)
    """,
    "histogram_bin_edges": "(a, 3, (0, 1)) | (i) | (f, 3) | (a, [1, 2, 4]) | (e)",
    "histogram2d": """
        (v, w) | (v, w, 3, [[0, 4], [1, 5]]) | (v, w, [np.array([0.0, 2, 4]), 3]) | (v, w, 2, weights=v)
        (v, w, 2, density=True)
    """,
    "histogramdd": """
        (np.transpose(a), (2, 3)) | (a, 2, [(0, 4)] * 3) | (np.transpose(a), 2, weights=v)
        (np.transpose(a), 3, density=True)
    """,
    "where": "(c, a, 0) | (a, 1, f) | (c, i, b) | (c[0], t[:, :, :3], 1.5) | (n, a, b) | (c, u, 300)",
    "select": "([c, d], [a, i], -1) | ([c], [f]) | ([c, d], [a])",
    "clip": """
        (a, None, 2) | (i, 2, None) | (u, 3, 100) | (f, v, 3) | (a, min=2) | (a, 1, 2, dtype=np.float32)
        (z, -1, 1) | (i, 1.5, 3) | (e, 0, 1)
    """,
    "round around": "(a, 2) | (i) | (i * 37, -1) | (f, 1) | (z) | (m) | (e, 2) | (c) | (a, decimals=-1)",
    "fix": "(z) | (i) | (f)",
    "nan_to_num": "(z) | (q, nan=2) | (z, posinf=1, neginf=-1) | (i) | (f) | (m)",
    "isclose": "(a, a + 1e-9) | (z, z) | (z, z, equal_nan=True) | (i, j) | (f, 2, rtol=0.5) | (c, d) | (a, v, atol=1)",
    "allclose": "(z, z, equal_nan=True) | (i, i) | (a, v) | (e, e)",
    "array_equal": "(i, j) | (q, q, equal_nan=True) | (z, z) | (a, v) | (c, c) | (e, e)",
    "array_equiv": "(i, i[0]) | (a, s) | (c, c)",
    "isneginf isposinf": "(z) | (i) | (f) | (e)",
    "isreal iscomplex real imag real_if_close": "(i) | (f) | (c) | (e) | (n)",
    "angle": "(z) | (a, True) | (f) | (i)",
    "isin": "(i, [1, 2]) | (a, v, invert=True) | (c, [True]) | (i, 3) | (e, a) | (u, k) | (i, [])",
    "diff": """
        (a, 2) | (t, axis=1) | (i, prepend=0) | (a, axis=0, append=b) | (c) | (u) | (e, axis=0) | (a, axis=2)
        (a, n=0)
    """,
    "ediff1d": "(i) | (a, to_begin=0) | (v, to_end=[1, 2], to_begin=-1) | (u)",
    "gradient": """
        (t, axis=1) | (a, 2.0, axis=0) | (v, w) | (t, edge_order=2, axis=2) | (i) | (f, axis=(0, 1))
        (a, axis=2)
    """,
    "trapezoid": "(a) | (a, v) | (a, dx=2, axis=0) | (i) | (t, axis=1) | (c) | (a, axis=2)",
    "interp": """
        (a, np.sort(v), w) | (2.5, np.sort(v), w) | (v, np.sort(w), w, left=-1, right=9)
        (i, [1, 2, 4], [5, 6, 9]) | (v, np.array([0.0, 1, 2]), w, period=2.5)
    """,
    "unwrap": "(v * 9) | (a * 5, axis=0) | (i, period=4) | (f * 9) | (v * 5, discont=4)",
    "cov": """
        (a, bias=True) | (v, w) | (a, rowvar=False) | (a, ddof=0) | (i) | (a, aweights=v) | (a, fweights=i[0])
        (v) | (f) | (a, dtype=np.float32)
    """,
    "corrcoef": "(a, rowvar=False) | (v, w) | (v) | (f) | (i) | (s, dtype=np.float32)",
    "convolve": "(v, w[:2], 'same') | (i[0], v, mode='valid') | (v, 2) | (c[0], d[0]) | (v, e[:, 0])",
    "correlate": "(v, w[:2], 'same') | (i[0], v) | (f[0], w, 'full') | (v, e[:, 0])",
    "cross": """
        (t[:, :, :3], t[:, :, 1:]) | (i, j) | (a, v) | (s, s, axis=0) | (s, a.T, axisb=1, axisa=1, axisc=0)
        (a[:, :2], b[:, :2])
    """,
    "dot inner": _OF_TWO,
    "vdot outer": "(a, b) | (i, j) | (f, i) | (c, d) | (m, n) | (n, v) | (a, v)",
    "matmul": "(a, s) | (v, w) | (t, t[0].T) | (i, j.T) | (c, d.T) | (u, k.T) | (a, n) | (a, b) | (e, s) | (s, v)",
    "vecdot": "(a, v) | (i, j) | (c, d) | (t, t) | (a, s) | (s, s, axis=0)",
    "matvec": "(a, v) | (i, j[0]) | (t, t[0, :2, :]) | (a, a)",
    "vecmat": "(v, s) | (i[0], s) | (a, s) | (a, a)",
    "tensordot": """
        (t, t, 3) | (a, b, ([0, 1], [0, 1])) | (t, a, ((1,), (1,))) | (a, v, axes=0) | (i, j.T, 1)
        (a, s, ([1], [2])) | (a, s, (1, 0))
    """,
    "einsum": """
        ('ij->ji', a) | ('ij,j', a, v) | ('ii', s) | ('ii->i', s) | ('...j,j->...', t[..., :3], v)
        ('ijk->k', t) | ('i,j,k->ijk', v, w, v) | (a, [0, 1], b, [0, 1]) | (a, [0, 1], b, [0, 1], [1])
        ('ij,jk', i, j.T) | ('ij,ij->', f, f) | ('i...->...', t) | ('ij,ij', a, b, optimize=True)
        ('ij->i', a, dtype=np.float32) | ('ij->i', i, dtype=np.float64)
    """,
    "trace": "(t) | (s, 1) | (t, offset=-1, axis1=1, axis2=2) | (i, dtype=np.float32) | (u) | (v)",
    "diagonal": "(t) | (t, 1, 1, 2) | (a, -1) | (a, 9) | (v) | (t, axis1=0, axis2=0)",
    "diag": "(a) | (v) | (s, -1) | (i[0], 2) | (c[0]) | (t)",
    "diagflat": "(v, -1) | (a) | (i) | (n)",
    "tril triu": "(a, 1) | (t, -1) | (v) | (i, k=-1) | (c)",
    "kron": "(v, w) | (a, v) | (i, j) | (a, 2) | (c, d) | (t, a)",
    "vander": "(v, 4) | (i[0]) | (v, 2, increasing=True) | (f[0]) | (a)",
    "reshape": """
        (t, -1) | (t, (4, -1)) | (a, (3, 2), order='F') | (a, 7) | (t, [2, 12]) | (e, (3, 0)) | (a, shape=(6,))
        (n, (1, 1)) | (t, (6, 4), 'A')
    """,
    "ravel": "(t) | (a, 'F') | (n) | (e) | (c, order='K')",
    "transpose permute_dims": """
        (t) | (t, (1, 0, 2)) | (t, [2, 0, 1]) | (a, axes=(-1, 0)) | (v) | (t, (0, 1)) | (t, (0, 0, 1))
    """,
    "swapaxes": "(t, 0, 2) | (t, -1, 1) | (a, 0, 3) | (e, 0, 1)",
    "moveaxis": "(t, 0, -1) | (t, (0, 1), (-1, 0)) | (t, [0, 2], [1, 0]) | (a, 0, 4)",
    "rollaxis": "(t, 2) | (t, 2, 1) | (t, 0, 3) | (t, -1, start=-2) | (a, 3)",
    "expand_dims": "(t, (0, -1)) | (a, -1) | (n, 0) | (a, 5) | (a, (1, 1))",
    "squeeze": "(t[:1]) | (t[:1, :, :1], 0) | (t[:1, :, :1], axis=(0, 2)) | (t, 1) | (n)",
    "atleast_1d atleast_2d atleast_3d": "(n) | (v) | (a) | (t) | (v, a, n) | (2.5, v)",
    "flip": "(t) | (t, (0, 2)) | (a, -1) | (i, axis=1) | (e, 0) | (n) | (a, 2)",
    "fliplr flipud": "(t) | (i) | (c) | (e) | (v)",
    "rot90": "(a, 2) | (t, 1, (1, 2)) | (s, -1) | (a, axes=(1, 0)) | (t, axes=(0, 0)) | (v)",
    "roll": "(t, 2) | (t, (1, 2), axis=(0, 2)) | (i, -1, 0) | (a, 5, 1) | (e, 1, 1) | (t, 1, (0, 1)) | (a, 1, 2)",
    "concatenate concat": """
        ((a, i), -1) | ((a, b), axis=None) | ((f, i)) | ((a, v)) | ((c, d)) | ([t, t], 2) | ((e, a))
        ((a, b), dtype=np.float32) | ((a, b), axis=2) | ((f, b), dtype=np.int32, casting='unsafe')
    """,
    "stack": "([a, i], -1) | ((v, w), axis=1) | ([a, v]) | ([n, n]) | ((f, f), dtype=np.float64) | ([a, b], 5)",
    "vstack hstack dstack": "((a, b)) | ((v, i[0])) | ([n, m]) | ((t, t)) | ((e, a)) | ((a, v))",
    "vstack hstack": "((f, f), dtype=np.float64)",
    "column_stack": "((v, s)) | ((i[0], v)) | ((a, b))",
    "block": "([[s, v[:, None]], [v, 1.0]]) | ([a, i]) | ([[n]])",
    "append": "(a, b) | (a, 2.0) | (i, v) | (a, v, axis=0) | (a, b, axis=1)",
    "split": _CUT + " | (t, 2, -1) | (t, 5)",
    "array_split": _CUT + " | (t, 3, -1) | (v, 5) | (v, 0)",
    "hsplit": "(t, 3) | (a, [1]) | (v, 3) | (a, 2)",
    "vsplit": "(t, 2) | (a, [1]) | (v, 3)",
    "dsplit": "(t, 2) | (t, [1, 3]) | (a, 3)",
    "unstack": "(t, axis=1) | (i) | (a, axis=-1) | (a, axis=2)",
    "broadcast_to": "(a, (4, 2, 3)) | (n, (2,)) | (v, 3) | (a, (3, 2)) | (m, ()) | (c, (2, 2, 3))",
    "broadcast_arrays": "(a, n, v) | (v[:, None], w) | (a, s)",
    "meshgrid": "(v, w, indexing='ij') | (v, i[0], sparse=True) | (v) | (v, w, v)",
    "repeat": "(a, 2) | (a, [1, 0, 2], axis=1) | (v, 3) | (n, 2) | (t, 2, -1) | (a, (1, 2), 2) | (e, 2, 0)",
    "tile": "(a, (2, 1, 2)) | (v, 3) | (n, 2) | (t, (1, 2)) | (c, 2) | (e, 2) | (v, 0)",
    "resize": "(a, (3, 3)) | (v, 2) | (i, (2, 2)) | (e, (2, 2))",
    "pad": """
        (a, ((1, 0), (0, 2))) | (v, (1, 2), mode='edge') | (a, 1, 'reflect') | (a, 1, 'symmetric')
        (v, 4, 'symmetric') | (a, 1, constant_values=2) | (v, (2, 1), constant_values=(5, 6))
        (a, ((1, 2), (2, 1)), 'constant', constant_values=((1, 2), (3, 4))) | (v, 2, 'wrap') | (v, 5, 'reflect')
        (a, 2, 'mean') | (a, (1, 2), 'maximum') | (a, 1, 'minimum') | (v, 2, 'linear_ramp', end_values=1)
        (i, 1) | (c, 1) | (a, {0: (1, 2)}) | (t, (0, 1)) | (v, 2, 'median') | (a, -1)
        (v, 2, 'empty', constant_values=1) | (a, 1, 'maximum', stat_length=1)
    """,
    "take": """
        (a, [0, 2], axis=1) | (t, i % 3, 1) | (a, -1) | (a, 1, axis=0) | (v, [[0], [2]]) | (a, 9) | (v, i, mode='wrap')
        (v, i, mode='clip') | (a, [0, 1], axis=2) | (v, []) | (e, [0], axis=1)
    """,
    "take_along_axis": """
        (a, np.argsort(a, 1), 1) | (t, np.argmax(t, 1, keepdims=True), axis=1) | (a, np.array([5, 0]), None)
        (a, i[:, :1] % 3, -1) | (a, i[0], 1)
    """,
    "choose": "(i % 2, [a, b]) | (i, [1, 2, 3], mode='wrap') | (n, (a, b), mode='clip') | (c, (a, i), mode='clip')",
    "nonzero argwhere flatnonzero unique": "(a) | (i) | (c) | (z) | (e) | (t) | (n)",
    "unique": "(i, return_index=True, return_inverse=True, return_counts=True) | (i % 2, axis=0) | (q) | (i, axis=2)",
    "union1d": "(i, j) | (v, i) | (c, d) | (e, v)",
    "extract": "(c, i) | (i - 1, b) | (c[0], v)",
    "compress": "([True, False, True], a, axis=1) | ([False, True], t, 0) | (c[0], v) | ([True], a) | (c[0], a)",
    "delete": "(v, 1) | (a, [0, 2], 1) | (t, slice(0, 2), axis=1) | (a, -1) | (v, [True, False, True]) | (a, 3, 0)",
    "insert": """
        (v, 1, 9.5) | (a, 1, v, axis=0) | (a, [0, 2], 5, axis=1) | (i, 1, 2.7, 1) | (v, [2, 0], w[:2])
        (t, 1, m, 2)
    """,
    "piecewise": "(a, [a < 2, a >= 3], [-1, lambda x: x * x]) | (i, [i > 2], [lambda x: -x, 0]) | (a, c, [1, 2])",
    "apply_over_axes": "(np.sum, t, [0, 2]) | (np.max, a, 1) | (np.cumsum, a, 0)",
    "ix_": "(i[0], j[1]) | (v, w, i[0]) | (a, v)",
    "diag_indices_from tril_indices_from triu_indices_from": "(s) | (a) | (v)",
    "tril_indices_from triu_indices_from": "(a, 1) | (s, k=-1)",
    "unravel_index": "(i, (3, 4), order='F') | (n, (2, 3)) | (i, 7) | (2, (3, 4))",
    "ravel_multi_index": """
        ((i, j), (7, 5), mode='wrap') | ((i, j), (7, 5), mode=('clip', 'wrap'), order='F') | ((i, j), (7, 5))
    """,
    "lexsort": "((v, w)) | (a) | ((i, j), 0) | ((c[0], i[0]))",
    "argpartition": "(np.sort(v), 1) | (np.sort(a, 0), 1, axis=0)",
    "polyadd polysub": _OF_POLYNOMIALS,
    "polymul": _OF_POLYNOMIALS,
    "polyval": "(v, a) | (i[0], 2) | ([1, 2, 3], a) | (v, w) | (f[0], i) | ([], a)",
    "polyder polyint": "(v, 2) | (i[0]) | (f[0]) | (v, 0) | ([1, 2, 3] * v, m=1)",
    "polyint": "(v, 2, k=[1, 2]) | (v, k=3)",
    "polyfit": "(v, w, 2) | (v, np.stack([w, v], 1), 1) | (v, w, 1, w=v) | (i[0], w, 1)",
    "poly": "(i[0]) | (f[0]) | (m)",
    "roots": "(v)",
    "packbits": "(c) | (u, axis=0) | (c, 1, bitorder='little') | (i, axis=-1) | (c, axis=2) | (a)",
    "unpackbits": "(u) | (u, axis=0, bitorder='little') | (u, 1, count=5) | (u, axis=1, count=-3) | (i)",
    "full_like": """
        (a, 7, dtype=np.int8) | (i, 2.5) | (c, 1) | (a, v) | (u, 3, shape=(2,)) | (e, 1) | (a, 1.5, np.float32)
    """,
    "zeros_like ones_like": _LIKE,
    "empty_like": "(a, shape=(0, 2)) | (e, dtype=np.float32)",
    "astype": "(a, np.int32) | (i, np.float32) | (a, bool) | (z[:1, :2], np.int8) | (c, np.uint8)",
    "copy": "(t) | (c) | (e) | (n) | (a, order='F')",
    "shape size ndim": "(t) | (n) | (e)",
    "size": "(t, 1) | (t, (0, 1)) | (a, 2)",
    "sinc i0": "(z[:1, :2]) | (f) | (i) | (m) | (e)",
    "matrix_transpose": "(t) | (i) | (v)",
    "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft": _LINE,
    "fft.fft fft.rfft fft.irfft fft.hfft": "(np.astype(a, np.float16))",
    "fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2": _LINES,
    "fft.fftshift fft.ifftshift": "(x) | (t) | (t, axes=1) | (i, (0, 1)) | (a, axes=2) | (t, axes=(1, 1))",
    "linalg.cholesky": """
        (np.eye(3) + s * 0.01 + s.T * 0.01, upper=True) | (np.stack([np.eye(2) * m, np.eye(2)])) | (a) | (v)
    """,
    "linalg.solve": """
        (np.stack([s, s.T]), s) | (s, a.T) | (np.astype(s, np.float32), v) | (i[:, :2], v[:2]) | (a, v)
        (s, w[:2])
    """,
    "linalg.inv linalg.det linalg.slogdet": _SET_OF_MATRICES,
    "linalg.qr": "(a.T) | (s, mode='r') | (t) | (s, 'complete') | (i)",
    "linalg.norm": """
        (v) | (a) | (a, axis=1) | (a, np.inf) | (a, 'fro') | (v, 3) | (v, 0) | (v, -np.inf) | (t, axis=(0, 2))
        (i) | (a, ord=-1) | (a, 1, axis=(0, 1), keepdims=True) | (t, None, (1, 2), True) | (v, 'fro') | (t, 1)
        (a, axis=2)
    """,
    "linalg.matrix_norm": "(t) | (a, ord=1) | (i, keepdims=True) | (v)",
    "linalg.vector_norm": """
        (a) | (a, axis=1, ord=1) | (t, axis=(0, 1), keepdims=True) | (i) | (v, ord=np.inf) | (v, ord=0)
        (a, axis=2)
    """,
    "linalg.cond": "(s, 'fro') | (s, np.inf) | (s, -1) | (a, 1) | (s) | (a, 2) | (s, -2)",
    "linalg.matrix_power": "(s, 0) | (s, 1) | (s, -2) | (np.stack([s, s]), 2) | (i[:, :2], 3) | (a, 2)",
    "linalg.multi_dot": "([a, s, s]) | ((v, s)) | ((v, s, w)) | ((i, j.T, i))",
    "linalg.cross": "(i, j) | (a, v) | (s, s, axis=0) | (a[:, :2], b[:, :2])",
    "linalg.diagonal": "(t) | (t, offset=1) | (s, offset=-2)",
    "linalg.matmul": "(a, s) | (t, t[0].T) | (i, j.T) | (a, b)",
    "linalg.matrix_transpose": "(t) | (i) | (v)",
    "linalg.outer": "(i[0], w) | (a, v) | (f[0], v)",
    "linalg.tensordot": "(t, t, axes=3) | (a, b, axes=((0, 1), (0, 1)))",
    "linalg.tensorinv": "(np.reshape(np.eye(6) + 0.1, (6, 2, 3)) * m, ind=1) | (s, 0)",
    "linalg.tensorsolve": "(np.reshape(np.eye(6) + 0.1, (2, 3, 6)) * m, a)",
    "linalg.trace": "(t) | (s, offset=1) | (i, dtype=np.float32) | (u)",
    "linalg.vecdot": "(a, v) | (s, s, axis=0) | (i, j) | (a, s)",
    "linalg.pinv linalg.matrix_rank linalg.svdvals": "(s) | (a) | (t)",
    "linalg.pinv": "(a, rcond=0.5) | (a, rtol=None)",
    "linalg.matrix_rank": "(a, 0.5) | (a, rtol=0.5) | (v)",
    "linalg.svd": "(s, compute_uv=False) | (t, compute_uv=False)",
    "linalg.eigvalsh": "(s) | (s, 'U') | (np.stack([s, s])) | (a)",
    "linalg.lstsq": "(s, v, rcond=None)",
}  # fmt: skip


RAISES = frozenset(["np.power(u, k)", "np.pow(u, k)"])
"""Where numpy raises for the values of elements, and a program raises nothing."""


def _split(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split(" | ") if part.strip(" |")]


def forms() -> dict[str, list[str]]:
    """Function -> its calls: that of the table, and those of its families."""
    found = {name: [call] for name, call in calls().items()}
    for names, text in FORMS.items():
        for name in (f"np.{each}" for each in names.split()):
            if name in found:
                found[name] += [f"{name}{form.strip('| ')}" for form in _split(text)]
    for name in found:
        function = getattr(np, name.removeprefix("np."), None)
        if isinstance(function, np.ufunc) and function.signature is None:
            given = _UNARY if function.nin == 1 else _BINARY
            found[name] += [name + form for form in _split(given) if name + form not in RAISES]
    return found
