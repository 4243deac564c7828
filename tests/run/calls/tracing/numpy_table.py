"""numpy's functions under `jit`: a call of each that works, a reason for each other.

`python -m tests.run.calls.tracing.numpy_table` writes docs/numpy.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from opgen_runtime.run.calls.tracing.ufuncs import UFUNCS

PAGE = Path(__file__).parents[4] / "docs" / "numpy.md"
MODULES = (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft))

_random = np.random.default_rng(5)
ARRAYS: dict[str, np.ndarray] = {
    "a": _random.uniform(1, 4, (2, 3)),
    "b": _random.uniform(1, 4, (2, 3)),
    "p": _random.uniform(0.1, 0.9, (2, 3)),
    "q": np.array([[1.0, np.nan, 3.0], [4.0, -2.0, np.nan]]),
    "s": _random.uniform(1, 4, (3, 3)),
    "v": _random.uniform(1, 4, 3),
    "w": _random.uniform(1, 4, 3),
    "i": np.array([[1, 2, 3], [6, 5, 4]]),
    "j": np.array([[3, 1, 2], [2, 4, 1]]),
    "c": np.array([[True, False, True], [False, False, True]]),
    "d": np.array([[True, True, False], [False, True, False]]),
}

# Calls of functions that are no ufuncs; those of ufuncs follow from how many operands they take.
CALLS = {
    "np": """
        all(c, axis=0) | allclose(a, b) | amax(a, 1) | amin(a, 1) | angle(a) | any(c, axis=1)
        append(a, b, 0) | argmax(a, 1) | argmin(a, 0) | argsort(a, 1) | around(a, 1) | array_equal(a, a)
        array_equiv(a, v) | array_split(a, 2, 1) | astype(a, np.float32) | atleast_1d(v) | atleast_2d(v)
        atleast_3d(a) | average(a, 1) | broadcast_arrays(a, v) | broadcast_to(v, (2, 3)) | clip(a, 2, 3)
        column_stack((v, w)) | concat((a, b)) | concatenate((a, b), 1) | copy(a) | corrcoef(a)
        count_nonzero(c, 1) | cov(a) | cross(a, b) | cumprod(a, 1) | cumsum(a, 0)
        cumulative_prod(a, axis=0) | cumulative_sum(a, axis=1) | diag(v, 1) | diagflat(a) | diagonal(s, -1)
        diff(a, axis=1) | dot(a, v) | dsplit(np.reshape(a, (1, 2, 3)), 3) | dstack((v, w)) | ediff1d(a)
        einsum('ij,ij->i', a, b) | empty_like(a) * 0 | expand_dims(a, 1) | fix(a) | flip(a, 0) | fliplr(a)
        flipud(a) | full_like(a, 2) | hsplit(a, 3) | hstack((v, w)) | imag(a) | inner(a, v) | iscomplex(a)
        isclose(a, b) | isin(i, j) | isneginf(a) | isposinf(a) | isreal(a) | kron(a, b)
        matrix_transpose(a) | max(a, 1) | mean(a, 0) | median(a, 1) | meshgrid(v, w) | min(a, 0)
        moveaxis(a, 0, 1) | nan_to_num(q) | nancumprod(q, 1) | nancumsum(q, 1) | nanmax(q, 1)
        nanmean(q, 1) | nanmin(q, 0) | nanprod(q) | nanstd(q, 1) | nansum(q, 0) | nanvar(q, 1) | ndim(a)
        ones_like(a) | outer(v, w) | pad(a, 1) | permute_dims(a, (1, 0)) | polyval(v, w) | prod(a, 1)
        ptp(a, 0) | ravel(a) | real(a) | real_if_close(a) | repeat(a, 2, 1) | reshape(a, (3, 2))
        result_type(a, np.float32).type(1) + a | roll(a, 1, 1) | rollaxis(a, 1) | rot90(a) | round(a, 1)
        select([c, d], [a, b], 0) | shape(a) | sinc(a) | size(a) | sort(a, 1) | split(a, 3, 1)
        squeeze(np.expand_dims(a, 0)) | stack((a, b), 1) | std(a, 1) | sum(a, 0) | swapaxes(a, 0, 1)
        take(v, i - 1, mode='clip') | take_along_axis(a, i % 2, 0) | tensordot(a, s, 1) | tile(a, 2)
        trace(s) | transpose(a) | trapezoid(a, axis=1) | tril(s) | triu(s) | unstack(a) | vander(v)
        quantile(a, 0.3, axis=1) | percentile(a, 30, 0) | nanquantile(q, 0.4, axis=0) | nanpercentile(q, 40, 1)
        nanmedian(q, 1) | partition(v, 1) | lexsort((j[0], i[0])) | searchsorted(np.sort(v), w)
        digitize(a, np.array([1.5, 2.5, 3.5])) | histogram_bin_edges(a, 4) | histogram(a, 4) | i0(a)
        convolve(v, w) | correlate(v, w, 'full') | interp(v, np.sort(w), v) | gradient(a) | unwrap(3 * a, axis=1)
        polyadd(v, w[:2]) | polysub(v, w) | polymul(v, w) | polyder(v) | polyint(v) | choose(i % 2, [a, b], mode='clip')
        nanargmax(q, 1) | nanargmin(q, 0) | argpartition(v, 1) | packbits(c, 1) | unpackbits(np.astype(i, np.uint8), 1)
        unravel_index(i, (3, 4)) | ravel_multi_index((i, j), (7, 5), mode='clip') | histogramdd((v, w), 3)
        unique_all(j) | unique_counts(i) | unique_inverse(j)
        histogram2d(v, w, (2, 3)) | polyfit(v, w, 1) | poly(v) | nonzero(c) | argwhere(c) | flatnonzero(c)
        extract(c, a) | compress(c[0], v) | unique(i) | unique_values(j).sum() | union1d(i, j) | delete(a, 1, axis=1)
        insert(a, 1, v, axis=0) | piecewise(a, [a < 2, a >= 3], [-1, lambda x: x * x]) | ix_(i[0], j[0])
        apply_over_axes(np.sum, a, (0, 1)) | diag_indices_from(s) | tril_indices_from(s) | triu_indices_from(s, 1)
        block([[a, b], [b, a]]) | resize(v, (2, 4)) | vecdot(a, b) | matvec(s, v) | vecmat(v, s)
        var(a, 0) | vdot(v, w) | vsplit(a, 2) | vstack((v, w)) | where(c, a, b) | zeros_like(a)
    """,
    "np.linalg": """
        cross(a, b) | diagonal(s) | matmul(a, s) | matrix_power(s, 3) | matrix_transpose(a) | multi_dot((a, s, v))
        cholesky(s @ s.T) | solve(s, v) | inv(s) | det(s) | slogdet(s) | qr(a) | cond(s, 1)
        eigh(s)[0] | eigvalsh(s) | svd(a, compute_uv=False) | svdvals(a) | pinv(a) | matrix_rank(a)
        tensorinv(s, 1) | tensorsolve(s, v) | norm(a, 1) | outer(v, w) | matrix_norm(a, ord=np.inf)
        tensordot(a, s, axes=1) | trace(s) | vecdot(a, b) | vector_norm(a, axis=1)
    """,
    "np.fft": """
        fft(v) | ifft(v) | rfft(a) | irfft(a) | hfft(a) | ihfft(a) | fft2(a) | ifft2(a) | rfft2(a) | irfft2(a)
        fftn(s) | ifftn(s) | rfftn(s) | irfftn(s) | fftshift(v) | ifftshift(v)
    """,
}
_SIZES = "the shape of what it gives depends on the values of elements"
_WRITES = "it writes to its argument, and nothing can be written to while a function is traced"
_RAISES = "it raises an error for the values of elements, and a program raises none"
_STATIC = "it takes no array: it gives the array that numpy gives, which becomes a constant of the program"
_ARRAYS = "numpy asks no tensor for it: what is traced is an array already, and has no elements yet"
_PYTHON = "it calls a Python function with each element; write the function with arrays"
_ALONG = "it calls a Python function with each line, one after the other; `rt.vmap` calls it once for all"
_TEXT = "it reads or writes files, text or memory"
_ABOUT = "it is about Python's objects or numpy's settings, not about values of arrays"
_OLD = "numpy is about to lose it; it is `np.vstack`"
_DATES = "dates and text are no dtypes of the runtime"
_COMPLEX = "its values are complex, and no declared op computes them"
_RANK = "it gives the rank and the residuals, too; `ops.lstsq` solves systems of full rank, and `ops.pinv` the others"
REASONS = {
    _SIZES: """
        intersect1d setdiff1d setxor1d polydiv trim_zeros bincount
    """,
    _WRITES: """
        copyto fill_diagonal place put put_along_axis putmask
    """,
    _RAISES: """
        asarray_chkfinite
    """,
    _STATIC: """
        arange bartlett blackman broadcast_shapes diag_indices empty eye fromfunction full geomspace hamming hanning
        identity indices kaiser linspace logspace mask_indices ones tri tril_indices triu_indices zeros fftfreq rfftfreq
    """,
    _ARRAYS: """
        array asanyarray asarray ascontiguousarray asfortranarray
    """,
    _PYTHON: """
        frompyfunc
    """,
    _ALONG: """
        apply_along_axis
    """,
    _TEXT: """
        array2string array_repr array_str base_repr binary_repr format_float_positional
        format_float_scientific from_dlpack frombuffer fromfile fromiter fromregex fromstring genfromtxt
        load loadtxt save savetxt savez savez_compressed
    """,
    _ABOUT: """
        can_cast common_type einsum_path get_include get_printoptions getbufsize geterr geterrcall info
        iscomplexobj isdtype isfortran isrealobj isscalar issubdtype iterable may_share_memory
        min_scalar_type mintypecode nested_iters printoptions promote_types require set_printoptions
        setbufsize seterr seterrcall shares_memory show_config show_runtime test typename asmatrix bmat
    """,
    _OLD: """
        row_stack
    """,
    _DATES: """
        busday_count busday_offset datetime_as_string datetime_data is_busday isnat
    """,
    _COMPLEX: """
        eig eigvals roots sort_complex
    """,
    _RANK: "lstsq",
}

OUTSIDE = {_TEXT, _ABOUT, _DATES}
HEAD = """# numpy under `jit`

What numpy {version} has in its main namespace, in `np.linalg` and in `np.fft` for values of arrays, and what becomes of
it while a function is [traced](jit.md). A row with a call works: the tests run the call under `jit`, and it gives what
numpy gives, dtype and shape included. The other rows say why not. Functions of files, text, dates and
settings are left out. `python -m tests.run.calls.tracing.numpy_table` writes this page.
`python -m tests.run.calls.tracing.numpy_draw --seed 7 --count 120` draws functions that work and runs each in further
forms of its arguments (axes, dtypes, masks, empty arrays, numbers, and what numpy refuses).

In the calls `a` and `b` are 2 x 3 floats, `p` such between 0 and 1, `q` with NaN, `s` 3 x 3, `v` and `w` vectors of 3,
`i` and `j` 2 x 3 ints, `c` and `d` bools."""


def functions() -> dict[str, Any]:
    """Every function of the modules by its name, `np.linalg.norm`."""
    found = {}
    for prefix, module in MODULES:
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if not name.startswith("_") and callable(function) and not isinstance(function, type):
                found[f"{prefix}.{name}"] = function
    return found


def calls() -> dict[str, str]:
    """Function -> a call of it that works under `jit`."""
    found = {}
    for prefix, text in CALLS.items():
        for call in (part.strip() for line in text.splitlines() for part in line.split("|")):
            name = call.partition("(")[0]
            if call and hasattr(np if prefix == "np" else getattr(np, prefix[3:]), name):
                found[f"{prefix}.{name}"] = f"{prefix}.{call}"
    for name, function in functions().items():
        if isinstance(function, np.ufunc) and (function in UFUNCS or function in (np.matmul,)):
            found[name] = _of_ufunc(name, function)
    return found


_INTEGERS = ("bitwise", "invert", "shift", "gcd", "lcm")


def _of_ufunc(name: str, ufunc: np.ufunc) -> str:
    if ufunc is np.matmul:
        return "np.matmul(a, s)"
    if ufunc is np.bitwise_count:
        return "np.bitwise_count(i)"
    if ufunc is np.ldexp:
        return "np.ldexp(a, i)"
    names = "ij" if any(word in ufunc.__name__ for word in _INTEGERS) else "ab"
    if ufunc in (np.arcsin, np.arccos, np.arctanh):
        names = "p"
    return f"{name}({', '.join(names[: ufunc.nin])})"


def reasons() -> dict[str, str]:
    """Function -> why it has no counterpart."""
    by_name = {name: reason for reason, names in REASONS.items() for name in names.split()}
    works = calls()
    return {
        each: by_name[each.rpartition(".")[2]]
        for each in functions()
        if each not in works and each.rpartition(".")[2] in by_name
    }


def version() -> str:
    """Of which numpy the page is."""
    return ".".join(np.__version__.split(".")[:2])


def page() -> str:
    """The text of docs/numpy.md."""
    works, others = calls(), reasons()
    lines = [HEAD.format(version=version())]
    for prefix, _ in MODULES:
        rows = [each for each in functions() if each.rpartition(".")[0] == prefix]
        rows = [each for each in rows if others.get(each) not in OUTSIDE]
        count = sum(each in works for each in rows)
        lines += ["", f"## {prefix}", "", f"{count} of {len(rows)} work.", ""]
        lines += ["| Function | Works as, or why not |", "|---|---|"]
        lines += [f"| `{each}` | {_code(works[each]) if each in works else others[each]} |" for each in rows]
    return "\n".join(lines) + "\n"


def _code(call: str) -> str:
    return f"`{call}`"


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
