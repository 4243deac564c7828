"""Gradients of ops in torch: both modes, higher orders, transforms of torch.func, what is saved."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")

import opgen_runtime.bridges.torch as T  # noqa: E402

# torch's own modules, which it imports with the first transform
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script`")


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


CALLS = {
    "axis_abs": (lambda x: T.axis_abs(x, axis=1, indice=1), (3, 4)),
    "softmax": (lambda x: T.softmax(x, axis=1), (3, 4)),
    "tanh": (T.tanh, (2, 3)),
    "layer_norm": (lambda x: T.layer_norm(x, torch.ones(4).double(), torch.zeros(4).double()), (3, 4)),
    "conv2d": (lambda x: T.conv2d(x, torch.ones(2, 2, 3, 3).double(), padding=[1]), (1, 2, 4, 4)),
    "matmul": (lambda x: T.matmul(x, x), (3, 3)),
}
COMPLEX = {
    "multiply": lambda z: T.multiply(z, T.conj(z)),
    "exp": T.exp,
    "abs": T.abs,
    "matmul": lambda z: T.matmul(z, z),
    "fft": T.fft,
}
RAW = {
    "softmax": lambda x: torch.ops.opgen.softmax(x, 1),
    "tanh": torch.ops.opgen.tanh,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_both_modes_of_complex_numbers(name):
    z = torch.randn(3, 3, dtype=torch.complex128).requires_grad_()
    assert torch.autograd.gradcheck(COMPLEX[name], (z,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(COMPLEX[name], (z,))


@pytest.mark.parametrize("name", CALLS)
def test_both_modes_and_second_order(name):
    call, shape = CALLS[name]
    x = randn(*shape).requires_grad_()
    assert torch.autograd.gradcheck(call, (x,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, (x,))


@pytest.mark.parametrize("name", CALLS)
def test_the_transforms_of_torch_func(name):
    call, shape = CALLS[name]
    x = randn(*shape)

    def loss(x):
        return call(x).square().sum()

    (wanted,) = torch.autograd.grad(loss(x.requires_grad_()), x)
    x = x.detach()
    torch.testing.assert_close(torch.func.grad(loss)(x), wanted)
    backward, forward = torch.func.jacrev(call)(x), torch.func.jacfwd(call)(x)
    torch.testing.assert_close(forward, backward)
    assert backward.abs().sum() > 0
    tangent = randn(*shape)
    _, change = torch.func.jvp(call, (x,), (tangent,))
    torch.testing.assert_close(change, torch.tensordot(forward, tangent, dims=len(shape)))
    rows = torch.stack([x, x + 1, x - 1])
    torch.testing.assert_close(torch.vmap(call)(rows), torch.stack([call(row) for row in rows]))
    torch.testing.assert_close(torch.vmap(torch.func.grad(loss))(rows)[0], wanted)


@pytest.mark.parametrize("name", RAW)
def test_the_raw_op_has_tangents_that_are_not_silently_zero(name):
    x, tangent = randn(3, 4), randn(3, 4)
    _, change = torch.func.jvp(RAW[name], (x,), (tangent,))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        plain = torch.autograd.forward_ad.unpack_dual(RAW[name](dual)).tangent
    torch.testing.assert_close(plain, change)
    torch.testing.assert_close(torch.func.jacfwd(RAW[name])(x), torch.func.jacrev(RAW[name])(x))
    assert change.abs().sum() > 0


def test_hessians_by_both_ways():
    x = randn(3)

    def loss(x):
        return T.tanh(x).prod()

    forward = torch.func.hessian(loss)(x)
    backward = torch.func.jacrev(torch.func.jacrev(loss))(x)
    torch.testing.assert_close(forward, backward)
    torch.testing.assert_close(forward, torch.func.hessian(lambda x: torch.tanh(x).prod())(x))


def test_several_results_and_those_that_nobody_uses():
    x = randn(4, 6).requires_grad_()
    first, _ = T.split(x, 2, axis=1)
    (first * 3).sum().backward()
    assert x.grad.tolist() == [[3.0] * 3 + [0.0] * 3] * 4
    values, indices = T.topk(randn(3, 5).requires_grad_(), k=2)
    assert values.requires_grad
    assert not indices.requires_grad


def test_operands_without_gradients_and_results_that_have_none():
    x, w = randn(2, 3), randn(3, 4).requires_grad_()
    T.matmul(x, b=w).sum().backward()
    torch.testing.assert_close(w.grad, x.sum(0)[:, None].expand(3, 4))
    assert x.grad is None
    assert not T.argmax(w, axis=[0]).requires_grad


def test_a_node_of_reverse_mode_has_tangents_of_its_gradient():
    x, tangent = randn(3).requires_grad_(), randn(3)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(3).double(), tangent)
        (found,) = torch.autograd.grad(T.tanh(x), x, dual)
        change = torch.autograd.forward_ad.unpack_dual(found).tangent
    torch.testing.assert_close(change, tangent * (1 - x.tanh().square()).detach())


def test_results_that_the_adjoint_reads_are_saved_and_others_are_not():
    x = randn(3).requires_grad_()
    assert len(T.exp(x).grad_fn.saved_tensors) == 2
    assert len(T.sin(x).grad_fn.saved_tensors) == 1


def test_an_op_without_a_gradient_says_so_when_it_is_asked_for_one():
    x = torch.tensor([1.0, 2.0, 1.0], requires_grad=True)
    distinct = T.unique(x)[0]
    assert distinct.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match=r"unique.* an element of out is that of all equal ones"):
        distinct.sum().backward()


def test_nothing_of_autograd_is_entered_where_nobody_wants_gradients():
    x = randn(3)
    assert T.tanh(x).grad_fn is None
    with torch.no_grad():
        assert T.tanh(randn(3).requires_grad_()).grad_fn is None
    with torch.inference_mode():
        assert T.tanh(x).is_inference()
