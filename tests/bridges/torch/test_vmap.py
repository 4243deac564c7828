"""`torch.func.vmap` of ops: one call for a batch."""

from __future__ import annotations

import math
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import opgen_runtime.bridges.torch as T  # noqa: E402

# torch's own modules, which it imports with the first transform
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script`")


class Calls(TorchDispatchMode):
    """The names of our ops that are called."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "opgen":
            self.names.append(function._opname)
        return function(*args, **(kwargs or {}))


def called(function, *args):
    with Calls() as calls:
        found = function(*args)
    return calls.names, found


def ours(x):
    return T.softmax(x, axis=0)


def theirs(x):
    return torch.softmax(x, 0)


def loss(softmax):
    return lambda x: (softmax(x) ** 2).sum()


X = torch.linspace(-2, 2, 120, dtype=torch.float64).sin().reshape(5, 2, 3, 4)
gradient, vmap = torch.func.grad, torch.vmap


@pytest.mark.parametrize(
    ("transformed", "names"),
    [
        (lambda f: vmap(f), ["softmax_batch"]),
        (lambda f: vmap(f, in_dims=1, out_dims=2), ["softmax_batch"]),
        (lambda f: vmap(f, in_dims=-1), ["softmax_batch"]),
        (lambda f: vmap(f, chunk_size=3), ["softmax_batch"] * 2),
        (lambda f: vmap(vmap(f, in_dims=1)), ["softmax_batch_batch"]),
        (lambda f: vmap(gradient(loss(f))), ["softmax_batch", "softmax_vjp_batch"]),
        (lambda f: gradient(loss(vmap(f))), ["softmax_batch", "softmax_batch_vjp"]),
        (
            lambda f: vmap(gradient(loss(vmap(f)))),
            ["softmax_batch_batch", "softmax_batch_vjp_batch"],
        ),
        (
            lambda f: lambda x: torch.func.jvp(vmap(f), (x,), (x + 1,))[1],
            ["softmax_batch", "softmax_batch_jvp"],
        ),
    ],
)
def test_a_batch_is_one_call(transformed, names):
    seen, found = called(transformed(ours), X)
    assert seen == names
    torch.testing.assert_close(found, transformed(theirs)(X))


def test_operands_without_the_axis_and_lists_of_them():
    x, w = X[:, 0], X[0, 0].T
    seen, found = called(vmap(T.matmul, in_dims=(0, None)), x, w)
    assert seen == ["matmul_batch"]
    torch.testing.assert_close(found, x @ w)
    grow = vmap(lambda a, b: T.concatenate([a, b, a], axis=1), in_dims=(0, None))
    seen, found = called(grow, x, x[0])
    assert seen == ["concatenate_batch"]
    torch.testing.assert_close(found, torch.cat([x, x[:1].expand_as(x), x], 2))
    first, second = vmap(lambda x: T.split(x, 2, axis=1))(x)
    assert torch.equal(first, x[:, :, :2])
    assert torch.equal(second, x[:, :, 2:])
    values, places = vmap(lambda x: T.topk(x, k=2, axis=1))(x)
    assert torch.equal(torch.gather(x, 2, places.long()), values)


def test_the_gradient_of_what_all_rows_share_is_the_sum_of_theirs():
    x, w = X[:, 0], X[0, 0].T
    found = torch.func.grad(lambda w: vmap(T.matmul, in_dims=(0, None))(x, w).square().sum())(w)
    torch.testing.assert_close(found, torch.func.grad(lambda w: (x @ w).square().sum())(w))


def test_it_is_traced_for_all_sizes():
    graphs = []

    def backend(module, _):
        graphs.append(module)
        return module

    compiled = torch.compile(vmap(ours), fullgraph=True, dynamic=True, backend=backend)
    for shape in ((5, 2, 3, 4), (3, 2, 6, 2), (4, 5, 2, 3)):
        rows = X.flatten()[: math.prod(shape)].reshape(shape)
        torch.testing.assert_close(compiled(rows), vmap(theirs)(rows))
    assert len(graphs) == 1


def test_what_has_no_form_for_a_batch_is_called_for_each_row_and_says_so():
    with pytest.warns(
        RuntimeWarning, match=r"opgen::argwhere is called for each row of a batch: .* sizes of its results"
    ):
        found = vmap(T.argwhere)(torch.ones(2, 3))
    assert found.tolist() == [[[0], [1], [2]]] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(T.argwhere)(torch.ones(2, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: T.softmax(x, axis=3), "opgen::softmax: softmax: attr 'axis' is 3, outside its bounds"),
        (lambda x: T.tanh(x.to(torch.float8_e4m3fnuz)), "element type 26, which no declared op has"),
    ],
)
def test_errors_are_those_of_a_row(call, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(call)(X)
