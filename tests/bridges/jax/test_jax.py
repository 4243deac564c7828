"""Ops in JAX: values, transformations, errors.  All ops: `python -m tests.bridges.jax_ops`."""

import json

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional extra: pip install opgen[jax]")

import jax.numpy as jnp  # noqa: E402  # what follows needs JAX
from jax.test_util import check_grads  # noqa: E402

import opgen_runtime.bridges.jax as J  # noqa: E402
from opgen_runtime import eager  # noqa: E402

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(4, 6)).astype(np.float32)
W = RANDOM.normal(size=(6, 3)).astype(np.float32)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [3, 1 << 18])  # by the thread of XLA alone, and by workers
def test_subnormal_numbers_stay(width):
    least = np.full((2, width), 1e-40, np.float32)
    doubled = jax.jit(lambda x: J.add(x, x))
    for x in (least, least[:1]):
        assert np.asarray(doubled(x)).tobytes() == (x + x).tobytes()
    assert doubled(least)[0, 0] + jnp.float32(1e-40) == 0  # XLA's own do not


def loss(softmax):
    return lambda x: (softmax(x) ** 2).sum()


def ours(x):
    return J.softmax(x, axis=0)


def theirs(x):
    return jax.nn.softmax(x, axis=0)


@pytest.mark.parametrize("wrapped", [lambda f: f, jax.jit])
def test_values_are_those_of_eager(wrapped):
    found = wrapped(lambda x: J.softmax(x, axis=1))(X)
    assert np.asarray(found).tobytes() == eager.softmax(X, axis=1).tobytes()


def test_operands_that_are_several_or_absent_and_results_that_are_several():
    parts = jax.jit(lambda x: J.split(x, indices_or_sections=2, axis=1))(X)
    assert [part.shape for part in parts] == [(4, 3), (4, 3)]
    close(jax.jit(lambda *parts: J.concatenate(list(parts), axis=1))(*parts), X)


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: jax.grad(loss(f)),
        lambda f: jax.jacfwd(f),
        lambda f: jax.jacrev(f),
        lambda f: jax.hessian(loss(f)),
        lambda f: jax.grad(lambda x: (jax.grad(loss(f))(x) ** 2).sum()),
        lambda f: lambda x: jax.jvp(f, (x,), (x + 1,))[1],
        lambda f: jax.vmap(f, in_axes=1, out_axes=1),
        lambda f: jax.vmap(jax.grad(loss(f))),
        lambda f: jax.grad(lambda x: jax.vmap(loss(f))(x).sum()),
        lambda f: jax.jacfwd(jax.grad(loss(f))),
        lambda f: jax.checkpoint(f),
    ],
)
def test_transformations(transformed):
    close(jax.jit(transformed(ours))(X), jax.jit(transformed(theirs))(X))


def test_an_operand_that_is_one_for_all_elements_gets_the_sum():
    def whole(matmul):
        return lambda x, w: (jax.vmap(matmul, in_axes=(0, None))(x, w) ** 2).sum()

    x = np.stack([X, X + 1, -X])
    for a, b in zip(
        jax.grad(whole(J.matmul), (0, 1))(x, W), jax.grad(whole(jnp.matmul), (0, 1))(x, W), strict=True
    ):
        close(a, b)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda z: J.multiply(z, J.conj(z)), lambda z: z * jnp.conj(z)),
        (J.exp, jnp.exp),
        (J.abs, jnp.abs),
        (J.fft, jnp.fft.fft),
    ],
)
def test_gradients_of_complex_numbers_are_by_the_convention_of_jax(ours, theirs):
    z = (X + 1j * X[::-1]).astype(np.complex64)
    weight = jnp.asarray(0.7 + 0.2j, jnp.complex64)
    for change in (
        lambda function: jax.grad(lambda a: jnp.real(function(a) * weight).sum())(z),
        lambda function: jax.jvp(function, (z,), (z[::-1],))[1],
        lambda function: jax.vmap(jax.grad(lambda a: jnp.real(function(a) * weight).sum()))(z),
    ):
        close(change(ours), change(theirs))


def test_batches_of_many_sizes():
    """From the third on they may share programs."""

    def slopes(softmax, matmul):
        return jax.jit(jax.vmap(jax.grad(lambda x, w: (softmax(matmul(x, w)) ** 2).sum()), in_axes=(0, None)))

    mine, jnps = slopes(J.softmax, J.matmul), slopes(jax.nn.softmax, jnp.matmul)
    for count in (1, 2, 3, 7):
        x = RANDOM.normal(size=(count, 4, 6)).astype(np.float32)
        close(mine(x, W), jnps(x, W))


def test_derivatives_against_differences():
    check_grads(
        lambda x, w: J.matmul(J.tanh(x), w), (X, W), order=2, modes=("fwd", "rev"), atol=0.05, rtol=0.05
    )


def test_ints_have_no_tangents():
    take = jax.jit(lambda x, i: J.take(x, i, axis=0))
    _, change = jax.jvp(lambda x: take(x, jnp.array([1, 0])), (X,), (X,))
    close(change, X[[1, 0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: J.softmax(X, axis=9), TypeError, "opgen: softmax: attr 'axis' is 9, outside its bounds"),
        (lambda: J.softmax(X, turn=9), TypeError, "softmax: argument 'turn' is none of data, axis"),
        (lambda: J.softmax(X, 0, axis=0), TypeError, "softmax: argument 'axis' is given twice"),
        (lambda: J.softmax(), TypeError, "softmax: the operand data is missing"),
        (lambda: J.softmax([1.0]), TypeError, "softmax: data is list, expected an array"),
        (lambda: J.concatenate(X), TypeError, "concatenate: data is ndarray, expected a list of arrays"),
        (lambda: J.add(X, X.astype(np.int32)), TypeError, "opgen: add: argument 'rhs' has dtype int32"),
        (
            lambda: J.tanh(jnp.ones(2, jnp.float8_e4m3b11fnuz)),
            TypeError,
            "opgen: unknown dtype 'float8_e4m3b11fnuz'",
        ),
        (
            lambda: J.matmul(X[0], W),
            TypeError,
            "opgen: matmul: argument 'a' has 1 dim, expected at least 2 dims",
        ),
        (
            lambda: jax.jit(J.tanh).trace(X).lower(lowering_platforms=("cuda",)),
            NotImplementedError,
            "primitive 'opgen_call' not found for platform cuda",
        ),
        (
            lambda: J.argwhere(X),
            NotImplementedError,
            "opgen: the sizes of the results of argwhere depend on data",
        ),
        (lambda: J.sofmax(X), AttributeError, "has no op 'sofmax'; did you mean 'softmax'"),
    ],
)
def test_errors_are_of_the_kind_that_jax_raises(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_program_that_names_what_is_not_there_fails_when_it_runs():
    broken = jax.ffi.ffi_call(J.TARGETS[0], jax.ShapeDtypeStruct((2,), jnp.float32))
    call = json.dumps({"path": ["no_such_op"], "form": [-1], "attrs": {}})
    text = json.dumps({"call": call, "dtypes": ["float32"], "units": 0})
    with pytest.raises(Exception, match=r"opgen: .*no_such_op"):
        jax.jit(lambda x: broken(x, digest=np.int64(7), program=text))(jnp.zeros(2)).block_until_ready()


def test_a_call_is_found_without_python_from_the_second_time_on(monkeypatch):
    from opgen_runtime.bridges.jax import handler

    compiled = jax.jit(lambda x: J.axis_abs(x, axis=1, indice=2))
    first = compiled(X)
    monkeypatch.setattr(handler, "_entries", None)
    close(compiled(X), first)
