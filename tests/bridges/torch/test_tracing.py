"""Ops under torch's tracers: sizes as symbols, `opcheck`, `compile`, `export`."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext  # noqa: E402

import opgen_runtime.bridges.torch as T  # noqa: E402

# torch's own modules, and its own checks
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script`", "ignore:The .grad attribute")

OPCHECKED = {
    "axis_abs": ((torch.randn(4, 4, 1),), {"axis": 1, "indice": 1}),
    "softmax": ((torch.randn(4, 6),), {}),
    "layer_norm": ((torch.randn(4, 8), torch.randn(8), torch.randn(8)), {}),
    "concatenate": (([torch.randn(2, 3), torch.randn(4, 3)],), {}),
    "split": ((torch.randn(4, 6), [2]), {"axis": 1}),
    "gather": ((torch.randn(3, 4), torch.tensor([[0, 1, 2, 1]])), {"axis": 0}),
}


@pytest.mark.parametrize("name", OPCHECKED)
def test_torchs_own_checks(name):
    args, kwargs = OPCHECKED[name]
    for each in torch.utils._pytree.tree_leaves(args):
        if isinstance(each, torch.Tensor) and each.is_floating_point():
            each.requires_grad_()
    torch.library.opcheck(T.operator(name).overload, args, kwargs)


def fake(mode, *shape):
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * len(shape))
    return mode.from_tensor(torch.empty(shape), symbolic_context=context)


def test_sizes_are_symbols():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x, y, images = fake(mode, 5, 7), fake(mode, 7, 11), fake(mode, 2, 3, 19, 23)
    with mode:
        product = T.matmul(x, y)
        joined = T.concatenate([x, x], axis=1)
        strided = T.avg_pool2d(images, pool_size=[3], strides=[2])
    assert [str(extent) for extent in product.shape] == [str(x.shape[0]), str(y.shape[1])]
    assert str(joined.shape[1]) == str(x.shape[1] + x.shape[1])
    assert all(isinstance(extent, torch.SymInt) for extent in strided.shape)
    assert [extent.node.hint for extent in strided.shape] == [2, 3, 9, 11]


def test_only_sizes_that_the_relation_must_know_are_taken_at_their_values():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = fake(mode, 1, 7)
    with mode:
        found = T.squeeze(x, axis=[0])
    assert len(found.shape) == 1
    assert isinstance(found.shape[0], torch.SymInt)


def test_sizes_of_at_least_2_are_symbols_where_1_would_be_another_result():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = fake(mode, 5, 1, 7, 1)
    with mode:
        found = T.squeeze(x)
    assert [str(extent) for extent in found.shape] == [str(x.shape[0]), str(x.shape[2])]
    assert not mode.shape_env.guards


COMPILED = {
    "squeeze": (lambda n: T.squeeze(torch.ones(n, 1, n + 1)), 2),
    "upsampling": (lambda n: T.upsampling(torch.ones(1, 2, n, n + 1), scale_h=2.0, scale_w=3.0), 2),
    "rounded": (lambda n: T.upsampling(torch.ones(1, 2, n, n + 1), scale_h=1.5, scale_w=2.5), 2),
    "reduction": (lambda n: T.mean(torch.ones(n, n + 1)), 2),
    "reshape": (lambda n: T.reshape(torch.ones(n, 6), newshape=[-1, 3]), 2),
    "searchsorted": (lambda n: T.searchsorted(torch.arange(n), torch.arange(n + 1)), 5),
}
"""A call for a size -> how often torch compiles it for five sizes: anew for each where a size is taken at its value."""


@pytest.mark.parametrize("name", COMPILED)
def test_compile_with_dynamic_sizes(name):
    call, most = COMPILED[name]
    graphs = []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, dynamic=True, backend=backend)
    for n in range(3, 8):
        torch.testing.assert_close(compiled(n), call(n))
    assert len(graphs) <= most


def test_a_size_that_depends_on_data_is_a_symbol_of_its_own():
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = fake(mode, 5, 7)
    with mode:
        found = T.argwhere(x)
    assert isinstance(found.shape[0], torch.SymInt)
    assert found.shape[1] == 2


class Model(torch.nn.Module):
    """Eight ops of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Parameter(torch.randn(8, 16))
        self.b = torch.nn.Parameter(torch.randn(16, 8))
        self.gamma, self.beta = torch.nn.Parameter(torch.ones(8)), torch.nn.Parameter(torch.zeros(8))

    def forward(self, x):
        h = T.layer_norm(x, self.gamma, self.beta)
        h = T.gelu(T.matmul(h, self.a))
        h = T.tanh(T.matmul(h, self.b))
        h = T.multiply(T.softmax(h, axis=-1), T.sigmoid(h))
        return T.add(x, h)


def test_compile_breaks_no_graph_and_compiles_once_for_all_sizes():
    model, graphs = Model(), []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=backend)
    for n in range(3, 15):
        x = torch.randn(n, 8)
        torch.testing.assert_close(compiled(x), model(x))
    assert len(graphs) <= 2


def test_compile_with_gradients():
    model = Model()
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    x = torch.randn(5, 8)
    wanted = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
    found = torch.autograd.grad(compiled(x).square().sum(), list(model.parameters()))
    torch.testing.assert_close(found, wanted)


def test_export_with_a_dynamic_dim():
    model = Model()
    n = torch.export.Dim("n", min=2, max=64)
    exported = torch.export.export(model, (torch.randn(4, 8),), dynamic_shapes=({0: n},))
    x = torch.randn(9, 8)
    torch.testing.assert_close(exported.module()(x), model(x))
