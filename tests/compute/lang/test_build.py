"""Compute functions in the form that the generator emits, built and evaluated against numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from opgen_runtime.base.arith import INTRINSICS
from opgen_runtime.base.errors import AccessError, DTypeError, LanguageError
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.compute import lang as _l
from opgen_runtime.compute import te
from opgen_runtime.operator.attrs import Attrs, attr
from opgen_runtime.operator.types import Input, Let, Output, Signature, Spread, Static, TensorType, bind


class NoAttrs(Attrs):
    type_key = "attrs.test_lang_none"


class AxisAttrs(Attrs):
    type_key = "attrs.test_lang_axis"
    axis: int = attr("int", default=0)


@dataclass(frozen=True)
class Declared:
    signature: Signature
    compute: Callable[..., None]


def run(
    declared: Declared, *arrays: np.ndarray | tuple[np.ndarray, ...] | None, **attrs: int
) -> list[np.ndarray]:
    """Bind, build and evaluate a declaration on arrays."""

    def type_of(a: np.ndarray | tuple[np.ndarray, ...] | None) -> object:
        if a is None:
            return None
        return tuple(map(type_of, a)) if isinstance(a, tuple) else TensorType(a.shape, a.dtype.name)

    values = AxisAttrs(**attrs) if attrs else NoAttrs()
    flat = [t for a in arrays for t in (a if isinstance(a, tuple) else (a,))]
    binding = bind(declared.signature, "test", values, [type_of(a) for a in flat])
    feeds = {}
    operands: list[object] = []
    for declared_input, array in zip(declared.signature.inputs, arrays, strict=True):
        if array is None:
            operands.append(None)
            continue
        made = []
        for one in array if isinstance(array, tuple) else (array,):
            tensor = te.placeholder(declared_input.name, one.shape, one.dtype.name)
            feeds[tensor] = one
            made.append(tensor)
        operands.append(tuple(made) if isinstance(array, tuple) else made[0])
    return te.evaluate(_l.build(declared, binding, operands), feeds)


def unary(compute: Callable[..., None], dtype: str = "data.dtype") -> Declared:
    return Declared(
        Signature(inputs=(Input("data"),), outputs=(Output("out", "data.shape", dtype),)), compute
    )


def axis_abs(data, axis, out):
    out.define(lambda *i: _l.select(_l.equal(i[axis], 1), lambda: _l.abs(data[*i]), lambda: data[*i]))


def test_a_slice_is_changed() -> None:
    data = np.arange(-5, 4, dtype="int32").reshape(3, 3)
    expected = data.copy()
    expected[:, 1] = np.abs(expected[:, 1])
    (out,) = run(unary(axis_abs), data, axis=1)
    np.testing.assert_array_equal(out, expected)


def matmul(a, b, A, B, K, out):
    out.define(
        lambda *p, i, j: _l.sum(
            _l.over(_l.range(K), lambda k: a[*_l.bcast(p, A), i, k] * b[*_l.bcast(p, B), k, j])
        )
    )


MATMUL = Declared(
    Signature(
        inputs=(Input("a", ("*A", "M", "K"), "T"), Input("b", ("*B", "K", "N"), "T")),
        outputs=(Output("out", (Spread(lambda A, B: _l.broadcast(A, B)), "M", "N"), "T"),),
        dtypes={"T": "number"},
    ),
    matmul,
)


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 3)), ((1, 1), (1, 1))]
)
def test_matmul_broadcasts_batches(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(-5, 5, a), rng.integers(-5, 5, b)
    (out,) = run(MATMUL, x, y)
    np.testing.assert_array_equal(out, x @ y)


def softmax(data, out):
    a, rest = data.ndim - 1, data.shape[:-1]
    m = _l.tensor("m", rest)
    e = _l.tensor("e", data.shape)
    s = _l.tensor("s", rest)
    out.define(lambda *i: _l.div(e[*i], s[*i[:a]]))  # used before they are defined
    m.define(lambda *r: _l.max(_l.over(_l.range(data.shape[a]), lambda k: data[*r, k])))
    e.define(lambda *i: _l.exp(data[*i] - m[*i[:a]]))
    s.define(lambda *r: _l.sum(_l.over(_l.range(data.shape[a]), lambda k: e[*r, k])))


def test_intermediates_may_come_after_their_use() -> None:
    data = np.random.default_rng(0).standard_normal((3, 7)).astype("float32")
    (out,) = run(unary(softmax), data)
    e = np.exp(data - data.max(-1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(-1, keepdims=True), rtol=1e-6)


def concatenate(data, starts, out):
    out.define(
        lambda i: _l.next(
            _l.over(
                _l.zip(data, starts),
                lambda x, s: _l.when(
                    _l.both(_l.less_equal(s, i), lambda: _l.less(i, s + _l.item(x.shape, 0))),
                    lambda: x[i - s],
                ),
                unpack=True,
            ),
            lambda: 0,
        )
    )


def test_variadic_concatenation() -> None:
    signature = Signature(
        inputs=(Input("data", None, "T", variadic=True),),
        rules=(
            Let(
                ("starts",),
                lambda data: tuple(sum(x.shape[0] for x in data[:j]) for j in range(len(data))),
            ),
        ),
        outputs=(Output("out", (Static(lambda data: sum(x.shape[0] for x in data)),), "T"),),
        dtypes={"T": "any"},
    )
    parts = (np.arange(3), np.arange(0), np.arange(10, 14))
    (out,) = run(Declared(signature, concatenate), parts)
    np.testing.assert_array_equal(out, np.concatenate(parts))


def cumsum(data, out):
    out.define(lambda t: data[t] + _l.select(_l.greater(t, 0), lambda: out[t - 1], lambda: 0))


def cumsum_backwards(data, out):
    n = data.shape[0]
    out.define(lambda t: data[t] + _l.select(_l.less(t, n - 1), lambda: out[t + 1], lambda: 0))


def fibonacci(data, out):
    f = _l.tensor("f", data.shape)
    f.define(lambda: 1, at=(0,))
    f.define(lambda: 1, at=(1,))
    f.define(lambda t: f[t - 1] + f[t - 2])
    out.define(lambda i: f[i] + data[i])


def test_scans_run_in_either_direction() -> None:
    data = np.array([3, -1, 4, 1, -5])
    np.testing.assert_array_equal(run(unary(cumsum), data)[0], np.cumsum(data))
    np.testing.assert_array_equal(run(unary(cumsum_backwards), data)[0], np.cumsum(data[::-1])[::-1])


def test_a_scan_with_literal_positions_takes_its_dtype_from_its_use() -> None:
    (out,) = run(unary(fibonacci), np.zeros(8, "int64"))
    np.testing.assert_array_equal(out, [1, 1, 2, 3, 5, 8, 13, 21])


def scan_before_other_axes(data, out):
    s = _l.tensor("s", data.shape)
    s.define(
        lambda t, *b, v: data[(t, *b, v)] + _l.select(_l.greater(t, 0), lambda: s[(t - 1, *b, v)], lambda: 0)
    )
    out.define(lambda *i: s[i])


def test_a_scan_whose_starred_indices_stand_between_others() -> None:
    data = np.random.default_rng(1).integers(-9, 9, (4, 2, 3, 2)).astype("int32")
    np.testing.assert_array_equal(run(unary(scan_before_other_axes), data)[0], np.cumsum(data, axis=0))


def coupled(data, out):
    c = _l.tensor("c", data.shape)
    h = _l.tensor("h", data.shape)
    c.define(lambda t, j: data[t, j] + _l.select(_l.greater(t, 0), lambda: h[t - 1, j] * 2, lambda: 1))
    h.define(lambda t, j: c[t, j] - _l.select(_l.greater(t, 0), lambda: c[t - 1, j], lambda: 0))
    out.define(lambda t, j: h[t, j])


def test_states_that_refer_to_each_other_form_one_scan() -> None:
    data = np.random.default_rng(1).integers(-9, 9, (5, 3)).astype("int32")
    c, h = np.zeros_like(data), np.zeros_like(data)
    for t in range(5):
        c[t] = data[t] + (h[t - 1] * 2 if t else 1)
        h[t] = c[t] - (c[t - 1] if t else 0)
    np.testing.assert_array_equal(run(unary(coupled), data)[0], h)


def in_a_circle(data, out):
    f = _l.tensor("f", data.shape)
    f.define(lambda i: out[i] + 1)
    out.define(lambda i: f[i])


def test_a_cycle_that_is_no_recurrence_is_refused() -> None:
    with pytest.raises(LanguageError, match="cycle that is no recurrence") as caught:
        run(unary(in_a_circle), np.zeros(3))
    assert caught.value.code == "cyclic"


def of_two_extents(data, out):
    n, _ = data.shape
    c = _l.tensor("c", data.shape)
    h = _l.tensor("h", (n + 1, data.shape[1]))
    c.define(lambda t, j: data[t, j] + h[t, j])
    h.define(lambda t, j: _l.select(_l.greater(t, 0), lambda: c[t - 1, j], lambda: 0))
    out.define(lambda t, j: h[n, j])


def test_states_of_two_extents_are_refused() -> None:
    with pytest.raises(LanguageError, match="must have one extent; it has 5 and 6") as caught:
        run(unary(of_two_extents), np.zeros((5, 3)))
    assert caught.value.code == "cyclic"


def scatter_add(data, out):
    out.define(lambda i: 0)
    for u in _l.loop(_l.range(data.shape[0])):
        with _l.guard(_l.both(_l.less_equal(0, data[u]), lambda u=u: _l.less(data[u], data.shape[0]))):
            out.put((data[u],), "+=", 1)


def test_updates_run_in_order() -> None:
    data = np.array([1, 1, 3, -2, 9, 3, 1])
    (out,) = run(unary(scatter_add), data)
    np.testing.assert_array_equal(out, [0, 3, 0, 2, 0, 0, 0])


def positions(data, out):
    out.define(lambda: _l.argmax(_l.over(_l.range(data.shape[0]), lambda k: data[k])))


@pytest.mark.parametrize("values", [[3.0, 9.0, 9.0, 1.0], [1.0, np.nan, 5.0, np.nan], []])
def test_argmax_gives_the_first_greatest(values: list[float]) -> None:
    declared = Declared(Signature(inputs=(Input("data"),), outputs=(Output("out", (), "int64"),)), positions)
    (out,) = run(declared, np.array(values, "float32"))
    assert out == (np.argmax(values) if values else -1)


def beyond(data, out):
    out.define(lambda i: data[i + 1])


def guarded(data, out):
    out.define(lambda i: _l.select(_l.less(i, data.shape[0] - 1), lambda: data[i + 1], lambda: data[0]))


def test_accesses_are_proved() -> None:
    np.testing.assert_array_equal(run(unary(guarded), np.array([1, 2, 3]))[0], [2, 3, 1])
    message = (
        r"cannot prove that index 0 of data is in bounds: i \+ 1 ranges over 1\.\.3, the dim is 3 \(0\.\.2\)"
    )
    with pytest.raises(AccessError, match=message):
        run(unary(beyond), np.array([1, 2, 3]))


def test_an_index_of_uint64_is_cast() -> None:
    def table(at, out):
        out.define(lambda i: _l.item((1, 2, 3), _l.floormod(at[i], 3)))

    def operand(at, out):
        out.define(lambda i: at[_l.floormod(at[i], 3)])

    def cast(at, out):
        out.define(lambda i: at[_l.floormod(_l.cast(at[i], _l.dtype("int64")), 3)])

    def of(compute):
        return Declared(
            Signature(inputs=(Input("at"),), outputs=(Output("out", "at.shape", "at.dtype"),)), compute
        )

    at = np.array([2**64 - 3, 2, 0], "uint64")
    for compute, what in ((table, "a constant table"), (operand, "at")):
        with pytest.raises(LanguageError) as caught:
            run(of(compute), at)
        text = f"index 0 of {what} is uint64, an index is a signed integer; use cast(..., int64)"
        assert (str(caught.value), caught.value.code) == (text, "dtype")
    np.testing.assert_array_equal(run(of(cast), at)[0], [at[0], at[2], at[0]])


def test_symbolic_dims_leave_proofs_open_or_closed() -> None:
    from opgen_runtime.base.arith import dim

    for compute, left in ((guarded, 0), (beyond, 1)):
        declared = unary(compute)
        n = dim("n")
        binding = bind(declared.signature, "test", NoAttrs(), [TensorType((n,), "int32")])
        unproved: list[str] = []
        _l.build(declared, binding, [te.placeholder("data", (n,), "int32")], unproved)
        # `data[0]` in `guarded` is read only where i >= n - 1 with 0 <= i < n, so n >= 1 there
        assert len(unproved) == left, unproved


def test_a_symbolic_dim_is_a_float_where_a_static_one_is() -> None:
    from opgen_runtime.base.arith import dim, evaluate_scalar
    from opgen_runtime.compute.te import Compute

    for scale, expected in (
        (lambda n: _l.sqrt(n), 2.0),
        (lambda n: _l.div(n + 1, 2), 2.5),
        (lambda n: _l.float(n) * 0.25 + 1, 2.0),
        (lambda n: _l.power(n, -0.5), 0.5),
        (lambda n: _l.power(_l.float(n), -1), 0.25),
        (lambda n: _l.pow(2.0, n), 16.0),
    ):
        assert scale(4) == expected
        scaled = Declared(
            Signature(
                inputs=(Input("data"),),
                rules=(Let(("by",), lambda data, scale=scale: scale(data.shape[0])),),
                outputs=(Output("out", "data.shape", "data.dtype"),),
            ),
            lambda data, by, out: out.define(lambda i: data[i] * by),
        )
        (found,) = run(scaled, np.array([1, 2, 3, -4], "float32"))
        np.testing.assert_array_equal(found, np.array([1, 2, 3, -4]) * expected)
        n = dim("n")
        binding = bind(scaled.signature, "test", NoAttrs(), [TensorType((n,), "float32")])
        (out,) = _l.build(scaled, binding, [te.placeholder("data", (n,), "float32")], [])
        assert isinstance(out.op, Compute)
        factor = out.op.body.b
        assert (factor.dtype, evaluate_scalar(factor, {n: 4})) == ("float32", expected)


@pytest.mark.parametrize("function", [_l.sqrt, _l.float, lambda i: _l.div(i, 2)])
def test_an_index_is_no_float(function: Callable[..., object]) -> None:
    def compute(data, out):
        out.define(lambda i: data[i] * function(i))

    with pytest.raises((DTypeError, LanguageError), match="cast"):
        run(unary(compute), np.zeros(3, "float32"))


def mixed(data, out):
    out.define(lambda i: data[i] + i)


def test_dtypes_do_not_mix() -> None:
    np.testing.assert_array_equal(run(unary(mixed, "int64"), np.zeros(3, "int32"))[0], [0, 1, 2])
    with pytest.raises(DTypeError, match="cast"):
        run(unary(mixed, "float32"), np.zeros(3, "float32"))


def wrong_rank(data, out):
    out.define(lambda *i: data[i[0]])


def test_indices_are_narrowed_when_they_are_stored_but_elements_are_not() -> None:
    data = np.array([300, -3, 7], "int64")

    def positions(data, out):
        out.define(lambda i: data.shape[0] - i)

    (found,) = run(unary(positions, "int8"), data)
    np.testing.assert_array_equal(found, np.array([3, 2, 1], "int8"))

    def elements(data, out):
        out.define(lambda i: data[i])

    def chosen(data, out):
        out.define(lambda i: _l.select(_l.less(i, 1), lambda: data[i], lambda: i))

    def of_an_intermediate(data, out):
        c = _l.tensor("c", data.shape)
        c.define(lambda i: i)
        out.define(lambda i: c[i])

    def updated(data, out):
        out.define(lambda i: 0)
        for u in _l.loop(_l.range(3), "u"):
            out.put(u, "=", data[u])

    for narrowing in (elements, chosen, of_an_intermediate, updated):
        with pytest.raises(
            (DTypeError, LanguageError), match=r"out (is declared|holds) int8.* int64; use cast"
        ):
            run(unary(narrowing, "int8"), data)


def test_rank_is_checked() -> None:
    with pytest.raises(LanguageError, match="data has 2 dims, but is read with 1 indices") as caught:
        run(unary(wrong_rank), np.zeros((2, 2)))
    assert caught.value.code == "rank"


def half(data, out):
    out.define(lambda i: data[i] + data[i] - 60000.0)


def test_float16_runs_in_float32_and_rounds_once() -> None:
    data = np.array([60000.0, 40000.0], "float16")
    (out,) = run(unary(half), data)
    expected = (data.astype("float32") * 2 - 60000).astype("float16")
    np.testing.assert_array_equal(out, expected)


def running_sum(data, out):
    out.define(lambda t: data[t] + _l.select(_l.greater(t, 0), lambda: out[t - 1], lambda: 0))


def centred(data, out):
    n = data.shape[0]
    total = _l.tensor("total", ())
    total.define(lambda: _l.sum(_l.over(_l.range(n), lambda k: data[k])))
    off = _l.tensor("off", (n,))
    off.define(lambda i: data[i] - _l.div(total[()], n))
    out.define(lambda i: off[i] * 1e-3)


def accumulated(data, out):
    out.define(lambda i: 0)
    for u in _l.loop(_l.range(data.shape[0]), "u"):
        out.put(0, "+=", data[u])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_scans_intermediates_and_updates_of_halves_are_kept_in_float32(dtype: str) -> None:
    half = DType(dtype).numpy
    ones = np.ones(4096, half)
    (out,) = run(unary(running_sum), ones)
    np.testing.assert_array_equal(out, np.arange(1, 4097).astype(half))
    (out,) = run(unary(accumulated), ones)
    assert out[0] == 4096
    data = (np.arange(3000) % 7).astype(half)
    wide = data.astype(np.float64)
    (out,) = run(unary(centred), data)
    np.testing.assert_array_equal(out, ((wide - wide.mean()) * 1e-3).astype(np.float32).astype(half))


def positions_of_hits(data, out):
    n = data.shape[0]
    c = _l.tensor("c", (n,))
    c.define(
        lambda f: (
            _l.select(_l.greater(f, 0), lambda: c[f - 1], lambda: 0)
            + _l.select(_l.not_equal(data[f], 0), lambda: 1, lambda: 0)
        )
    )
    out.define(lambda i: -1)
    for f in _l.loop(_l.range(n)):
        with _l.guard(_l.not_equal(data[f], 0)):
            out.put((c[f] - 1,), "=", f)


def test_a_running_count_of_hits_is_a_position() -> None:
    declared = Declared(
        Signature(inputs=(Input("data"),), outputs=(Output("out", "data.shape", "int64"),)), positions_of_hits
    )
    for dtype in ("float16", "int32"):
        (out,) = run(declared, np.array([0, 3, 0, 5, 7], dtype))
        np.testing.assert_array_equal(out, [1, 3, 4, -1, -1])


@pytest.mark.parametrize("name", INTRINSICS)
def test_every_element_function_has_its_name(name: str) -> None:
    assert callable(getattr(_l, name))
