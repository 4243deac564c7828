"""`vmap`: what it gives, with what it goes together, and what it refuses."""

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import CallError, PassError
from tests.gradients import suites
from tests.vmaps import check_op

RANDOM = np.random.default_rng(0)
XS = RANDOM.normal(size=(5, 3, 4)).astype(np.float32)
W = RANDOM.normal(size=(4, 6)).astype(np.float32)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def stacked(function, rows):
    return np.stack([rt.jit(function)(row) for row in rows])


def loss(x, w):
    return np.tanh(x @ w).sum()


def test_each_element_by_itself():
    close(rt.vmap(lambda x: x - x.mean())(XS), XS - XS.mean(axis=(1, 2), keepdims=True))


def test_axes_of_arguments_and_results():
    found = rt.vmap(lambda x, w: x @ w, in_axes=(-1, None), out_axes=1)(XS[0], W[:3])
    close(found, (XS[0].T @ W[:3]).T)


def test_trees_of_arguments_and_results():
    def function(state, scale):
        return {"sum": state["a"] + state["b"][0], "scale": scale}

    state = {"a": XS[:, 0], "b": (W[:, 0],)}
    found = rt.vmap(function, in_axes=({"a": 0, "b": (None,)}, None), out_axes={"sum": -1, "scale": None})(
        state, np.float32(2)
    )
    close(found["sum"], (XS[:, 0] + W[:, 0]).T)
    assert found["scale"] == 2


def test_numbers_and_texts_that_are_the_same_for_all():
    close(
        rt.vmap(lambda x, axis, how: x.sum(axis=axis), in_axes=(0, None, None))(XS, 1, "sum"), XS.sum(axis=2)
    )


def test_one_in_the_other():
    inner = rt.vmap(lambda a, b: (a * b).sum(), in_axes=(None, 1))
    close(rt.vmap(inner, in_axes=(0, None))(XS[0], W[:4]), XS[0] @ W)


def test_of_a_gradient():
    found = rt.vmap(rt.grad(loss, argnums=1), in_axes=(0, None))(XS, W)
    close(found, np.stack([rt.grad(loss, argnums=1)(x, W) for x in XS]))


def test_under_a_gradient_what_is_shared_gets_the_sum():
    def whole(xs, w):
        return rt.vmap(loss, in_axes=(0, None))(xs, w).sum()

    of_xs, of_w = rt.grad(whole, argnums=(0, 1))(XS, W)
    singles = [rt.grad(loss, argnums=(0, 1))(x, W) for x in XS]
    close(of_xs, np.stack([x for x, _ in singles]))
    close(of_w, sum(w for _, w in singles))


def test_under_a_gradient_ties_are_the_ops_own():
    """Of equal extrema the op gives the gradient to the first one, for each element of the batch."""

    def pooled(x):
        return ops.max_pool2d(x, pool_size=(2, 2), strides=(2, 2)).sum()

    x = np.zeros((2, 1, 1, 4, 4), np.float32)
    found = rt.grad(lambda xs: rt.vmap(pooled)(xs).sum())(x)
    close(found, stacked(rt.grad(pooled), x))


def test_of_a_gradient_of_a_vmap():
    def inner(w, x):
        return (rt.vmap(lambda row: np.exp(row @ w))(x) ** 2).sum()

    found = rt.vmap(rt.grad(inner), in_axes=(None, 0))(W[:, 0], XS)
    close(found, np.stack([rt.grad(inner)(W[:, 0], x) for x in XS]))


def test_rules_of_functions_hold():
    @rt.custom_vjp
    def clipped(x):
        return x * 1.0

    clipped.defvjp(lambda x: (x * 1.0, x), lambda x, g: (np.clip(g, -1, 1) * np.sign(x),))

    def value(x):
        return (clipped(x) * 3).sum()

    close(rt.vmap(rt.grad(value))(XS), np.sign(XS))
    close(rt.grad(lambda xs: rt.vmap(value)(xs).sum())(XS), np.sign(XS))
    stopped = rt.grad(lambda xs: rt.vmap(lambda x: (rt.stop_gradient(x) * x).sum())(xs).sum())
    close(stopped(XS), XS)


def test_loops_end_for_each_element():
    def grown(x):
        return rt.while_loop(
            lambda s: s[0].sum() < 10, lambda s: (s[0] * 1.5 + 1, s[1] + 1), (x, 0 * x[0, 0])
        )

    values, counts = rt.vmap(grown)(XS)
    for k, x in enumerate(XS):
        value, count = rt.jit(grown)(x)
        close(values[k], value)
        assert counts[k] == count


def test_loops_over_whole_batches_take_as_many_steps():
    def powers(x):
        return rt.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * s[1]), (np.int64(0), x))[1]

    close(rt.vmap(powers)(XS), XS**8)


@pytest.mark.parametrize(
    ("function", "options", "args", "message"),
    [
        (np.tanh, {}, (1.5,), "argument 0 has no axis 0; say None for it in in_axes"),
        (np.tanh, {"in_axes": None}, (XS,), "in_axes is None, and no argument has an axis of the batch"),
        (np.tanh, {"in_axes": 3}, (XS,), r"argument 0 has the shape \[5, 3, 4\], which has no axis 3"),
        (np.add, {}, (XS, W), "argument 1 has 4 elements along axis 0, argument 0 has 5"),
        (np.add, {"in_axes": (0,)}, (XS, XS), "in_axes has 1 entries for 2 arguments"),
        (
            np.tanh,
            {"in_axes": ("a",)},
            (XS,),
            "in_axes of argument 0 is 'a', expected an int, None, or a tree",
        ),
        (np.tanh, {"out_axes": None}, (XS,), "out_axes is None for the result, which differs from element"),
        (np.tanh, {"out_axes": 3}, (XS,), "out_axes is 3 for the result, which has 3 axes"),
        (np.tanh, {"out_axes": (0, 0)}, (XS,), r"out_axes of the result is \(0, 0\), expected an int"),
    ],
)
def test_what_is_refused(function, options, args, message):
    with pytest.raises(CallError, match=f"vmap of .*: {message}"):
        rt.vmap(lambda *args: function(*args), **options)(*args)


def test_ops_without_a_batched_form_are_named():
    with pytest.raises(PassError, match=r"vmap: batch.argwhere: the sizes of its results depend on data"):
        rt.vmap(ops.argwhere)(XS)


@pytest.mark.parametrize("name", ["cumsum", "scatter_nd", "avg_pool2d", "nll_loss"])
def test_ops_as_a_stack_of_single_calls(name):
    """All ops: `python -m tests.vmaps`."""
    (suite,) = suites([name])
    assert check_op(suite, cases=1) in ("batched op", "itself", "batched op and itself")
