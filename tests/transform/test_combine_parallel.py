"""CombineParallelDense, Conv2D and BatchMatmul, and FastMath: whole outputs, and what must stay."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.operator.registry import Op
from opgen_runtime.transform import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
    FastMath,
    Pass,
    PassContext,
    VerifyIR,
)
from tests.transform.whole import arrays_for, function, gives, run


def test_dense_layers_whole() -> None:
    gives(
        CombineParallelDense(),
        "fn (%x: [4, 8], %a: [3, 8], %b: [5, 8], %c: [2, 8]) { "
        "%0 = dense(%x, %a); %1 = dense(%x, %b); %2 = dense(%x, %c); (%0, %1, %2) }",
        "fn (%x: [4, 8], %a: [3, 8], %b: [5, 8], %c: [2, 8]) { "
        "%0 = concatenate((%a, %b, %c), axis=0); %1 = dense(%x, %0); "
        "%2 = split(%1, indices_or_sections=[3, 8], axis=1, as_positions=True); (%2.0, %2.1, %2.2) }",
    )


BRANCHES = {
    "elementwise ops and biases": (
        "%0 = dense(%x, %a); %1 = dense(%x, %b); %2 = add(%0, %p); %3 = add(%1, %q); "
        "%4 = relu(%2); %5 = relu(%3); (%4, %5)",
        "%0 = concatenate((%a, %b), axis=0); %1 = dense(%x, %0); %2 = concatenate((%p, %q), axis=0); "
        "%3 = add(%1, %2); %4 = relu(%3); %5 = split(%4, indices_or_sections=[3], axis=1, as_positions=True); "
        "(%5.0, %5.1)",
    ),
    "operands that all share": (
        "%0 = dense(%x, %a); %1 = dense(%x, %b); %2 = multiply(%s, %0); %3 = multiply(%s, %1); (%2, %3)",
        "%0 = concatenate((%a, %b), axis=0); %1 = dense(%x, %0); %2 = multiply(%s, %1); "
        "%3 = split(%2, indices_or_sections=[3], axis=1, as_positions=True); (%3.0, %3.1)",
    ),
    "biases of their own axis": (
        "%0 = dense(%x, %a); %1 = dense(%x, %b); %2 = bias_add(%0, %p); %3 = bias_add(%1, %q); (%2, %3)",
        "%0 = concatenate((%a, %b), axis=0); %1 = dense(%x, %0); %2 = concatenate((%p, %q), axis=0); "
        "%3 = bias_add(%1, %2); %4 = split(%3, indices_or_sections=[3], axis=1, as_positions=True); (%4.0, %4.1)",
    ),
    "one bias for all": (
        "%0 = dense(%x, %c); %1 = dense(%x, %a); %2 = add(%0, %p); %3 = add(%1, %p); (%2, %3)",
        "%0 = concatenate((%c, %a), axis=0); %1 = dense(%x, %0); %2 = concatenate((%p, %p), axis=0); "
        "%3 = add(%1, %2); %4 = split(%3, indices_or_sections=[3], axis=1, as_positions=True); (%4.0, %4.1)",
    ),
    "one element for all": (
        "%0 = dense(%x, %a); %1 = dense(%x, %b); %2 = add(%0, %o); %3 = add(%1, %o); (%2, %3)",
        "%0 = concatenate((%a, %b), axis=0); %1 = dense(%x, %0); %2 = add(%1, %o); "
        "%3 = split(%2, indices_or_sections=[3], axis=1, as_positions=True); (%3.0, %3.1)",
    ),
    "one for all along the other axis": (
        "%0 = dense(%x, %a); %1 = dense(%x, %b); %2 = add(%0, %r); %3 = add(%1, %r); (%2, %3)",
        "%0 = concatenate((%a, %b), axis=0); %1 = dense(%x, %0); %2 = add(%1, %r); "
        "%3 = split(%2, indices_or_sections=[3], axis=1, as_positions=True); (%3.0, %3.1)",
    ),
    "a batch of one": (
        "%0 = dense(%d, %a); %1 = dense(%d, %b); %2 = add(%0, %p); %3 = add(%1, %q); (%2, %3)",
        "%0 = concatenate((%a, %b), axis=0); %1 = dense(%d, %0); %2 = concatenate((%p, %q), axis=0); "
        "%3 = add(%1, %2); %4 = split(%3, indices_or_sections=[3], axis=1, as_positions=True); (%4.0, %4.1)",
    ),
    "as far as all go alike": (
        "%0 = dense(%x, %a); %1 = dense(%x, %b); %2 = relu(%0); %3 = relu(%1); %4 = exp(%2); %5 = tanh(%3); (%4, %5)",
        "%0 = concatenate((%a, %b), axis=0); %1 = dense(%x, %0); %2 = relu(%1); "
        "%3 = split(%2, indices_or_sections=[3], axis=1, as_positions=True); "
        "%4 = exp(%3.0); %5 = tanh(%3.1); (%4, %5)",
    ),
}
# What follows two dense layers and stays behind the split.
BEHIND = {
    "one of them has another reader": "%2 = relu(%0); %3 = relu(%1); (%2, %3, %0)",
    "other attrs": "%2 = clip(%0, a_min=0.0, a_max=1.0); %3 = clip(%1, a_min=0.0, a_max=2.0); (%2, %3)",
    "operands of the whole shape": "%2 = add(%0, %u); %3 = add(%1, %v); (%2, %3)",
    "an operand of one element": "%2 = add(%0, %p); %3 = add(%1, %o); (%2, %3)",
    "scalars that differ": "%2 = add(%0, %s); %3 = add(%1, %t); (%2, %3)",
    "sums over the axis": "%2 = softmax(%0); %3 = softmax(%1); (%2, %3)",
    "the places differ": "%2 = subtract(%0, %s); %3 = subtract(%s, %1); (%2, %3)",
    "an operand that needs the other branch": "%2 = max(%1, axis=0); %3 = slice_like(%2, %p); %4 = add(%0, %3); "
    "%5 = add(%1, %q); (%4, %5)",
    "the result is larger": "%2 = expand_dims(%0, axis=0); %3 = add(%2, %w); %4 = expand_dims(%1, axis=0); "
    "%5 = add(%4, %z); (%3, %5)",
    "one reads both": "add(%0, slice_like(%1, %0))",
}
PARAMS = (
    "%x: [4, 8], %a: [3, 8], %b: [5, 8], %p: [3], %q: [5], %r: [4, 1], %s: [], %t: [], "
    "%u: [4, 3], %v: [4, 5], %w: [2, 1, 3], %z: [2, 1, 5], %c: [3, 8], %d: [1, 8], %o: [1]"
)
LAYERS = "%0 = dense(%x, %a); %1 = dense(%x, %b); "


@pytest.mark.parametrize("name", BRANCHES)
def test_what_follows_alike_is_combined(name: str) -> None:
    before, after = (f"fn ({PARAMS}) {{ {text} }}" for text in BRANCHES[name])
    gives(CombineParallelDense(min_branches=2), before, after)
    same_bits(before)


@pytest.mark.parametrize("name", BEHIND)
def test_what_stays_behind_the_split(name: str) -> None:
    found = CombineParallelDense(min_branches=2)(function(f"fn ({PARAMS}) {{ {LAYERS}{BEHIND[name]} }}"))
    (cut,) = calls_of("split", found)
    assert cut.args == tuple(calls_of("dense", found)), str(found)
    same_bits(f"fn ({PARAMS}) {{ {LAYERS}{BEHIND[name]} }}")


def calls_of(name: str, program: ir.Expr) -> list[ir.Call]:
    nodes = ir.post_order(program)
    return [n for n in nodes if isinstance(n, ir.Call) and isinstance(n.op, Op) and n.op.name == name]


def same_bits(text: str) -> None:
    """What the text computes is computed to the bit."""
    program = function(text)
    arrays = arrays_for(program)
    found = CombineParallelDense(min_branches=2)(program)
    for one, other in zip(run(program, arrays), run(found, arrays), strict=True):
        np.testing.assert_array_equal(one, other)


def test_groups_that_need_each_other() -> None:
    program = function(
        "fn (%x: [8, 8], %y: [8, 8], %a: [8, 8], %b: [8, 8]) { %0 = dense(%x, %a); %1 = dense(%y, %b); "
        "%2 = dense(%x, %1); %3 = dense(%y, %0); (%2, %3) }"
    )
    combined(CombineParallelDense(min_branches=2), program, 3)


def combined(made: Pass, program: ir.Function, calls: int) -> None:
    with PassContext(instruments=[VerifyIR()]):
        found = made(program)
    name = next(n.op.name for n in ir.post_order(program) if isinstance(n, ir.Call) and isinstance(n.op, Op))
    assert len(calls_of(name, found)) == calls, str(found)
    if calls and found is not program:
        arrays = arrays_for(program)
        for one, other in zip(run(program, arrays), run(found, arrays), strict=True):
            np.testing.assert_array_equal(one, other)


def convolutions(weights: list[tuple[int, ...]], **attrs: object) -> ir.Function:
    x = ir.var("x", shape=(1, 4, 6, 6))
    w = [ir.var(f"w{k}", shape=shape) for k, shape in enumerate(weights)]
    return ir.Function((x, *w), ir.Tuple(tuple([ops.conv2d(x, each, **attrs) for each in w])))  # type: ignore[arg-type]


def test_convolutions() -> None:
    combined(CombineParallelConv2D(), convolutions([(2, 4, 3, 3), (3, 4, 3, 3), (4, 4, 3, 3)]), 1)
    combined(CombineParallelConv2D(min_branches=2), convolutions([(2, 4, 1, 1), (3, 4, 1, 1)]), 1)
    combined(CombineParallelConv2D(), convolutions([(2, 4, 3, 3), (3, 4, 3, 3)]), 2)
    combined(CombineParallelConv2D(min_branches=2), convolutions([(2, 4, 3, 3), (3, 4, 1, 1)]), 2)
    grouped = convolutions([(4, 2, 3, 3), (4, 2, 3, 3), (4, 2, 3, 3)], groups=2)
    assert CombineParallelConv2D()(grouped) is grouped


def test_batched_products() -> None:
    x = ir.var("x", shape=(2, 3, 4))
    w = [ir.var(f"w{k}", shape=(2, 5, 4)) for k in range(3)]
    program = ir.Function((x, *w), ir.Tuple(tuple([ops.batch_matmul(x, each) for each in w])))
    combined(CombineParallelBatchMatmul(), program, 1)


@pytest.mark.parametrize("batch", [1, 2])
def test_biases_of_each_product_and_of_each_image(batch: int) -> None:
    """Their extents of 1 are no axes of their own."""
    x, image = ir.var("x", shape=(batch, 3, 4)), ir.var("image", shape=(batch, 4, 6, 6))
    products = [ops.batch_matmul(x, ir.var(f"w{n}", shape=(batch, n, 4))) for n in (5, 6)]
    biased = [ops.relu(ops.add(p, ir.var(f"b{k}", shape=(batch, 1, 5 + k)))) for k, p in enumerate(products)]
    images = [ops.conv2d(image, ir.var(f"v{k}", shape=(3 + k, 4, 1, 1))) for k in range(2)]
    scaled = [ops.multiply(made, ir.var(f"s{k}", shape=(3 + k, 1, 1))) for k, made in enumerate(images)]
    for made, values in (
        (CombineParallelBatchMatmul(min_branches=2), biased),
        (CombineParallelConv2D(min_branches=2), scaled),
    ):
        body = ir.Tuple(tuple(values))
        found = made(ir.Function(tuple(ir.free_vars(body)), body))
        (cut,) = calls_of("split", found)
        assert isinstance(cut.args[0], ir.Call)
        assert cut.args[0].op.name in ("relu", "multiply"), str(found)  # type: ignore[union-attr]


def test_constants_are_joined_at_once() -> None:
    x = ir.var("x", shape=(4, 8))
    w = [ir.const(np.full((3, 8), k, np.float32)) for k in range(3)]
    program = ir.Function((x,), ops.add(ops.add(ops.dense(x, w[0]), ops.dense(x, w[1])), ops.dense(x, w[2])))
    combined(CombineParallelDense(), program, 1)
    assert "concatenate" not in str(CombineParallelDense()(program))


STAYS = {
    "other operands": "dense(%x, %a), dense(%y, %b), dense(%y, %c)",
    "a branch that needs another": "dense(%x, %a), dense(%x, %b), dense(%x, dense(%x, %b))",
    "other branches of an if": "dense(%x, %a), dense(%x, %b), if (%t) { dense(%x, %c) } else { dense(%x, %c) }",
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name: str) -> None:
    gives(
        CombineParallelDense(),
        f"fn (%x: [8, 8], %y: [8, 8], %a: [8, 8], %b: [8, 8], %c: [8, 8], %t: [] bool) {{ ({STAYS[name]}) }}",
    )


def fast(monkeypatch: pytest.MonkeyPatch, op: str, variant: str) -> None:
    """While a test runs, the declaration of `op` names a fast variant."""
    named = {op: variant}
    monkeypatch.setattr("opgen_runtime.transform.fast_math.variant_name", lambda found: named.get(found.name))


def test_fast_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "fn (%x: [2]) { %0 = exp(%x); tanh(%0) }"
    fast(monkeypatch, "exp", "sigmoid")
    gives(FastMath(), program, "fn (%x: [2]) { %0 = sigmoid(%x); tanh(%0) }")
    fast(monkeypatch, "exp", "bitwise_not")  # takes no floats
    gives(FastMath(), program)
    fast(monkeypatch, "exp", "cast")  # needs attrs
    gives(FastMath(), program)
    fast(monkeypatch, "exp", "fast_expp")
    with pytest.raises(PassError, match="op exp declares the fast variant 'fast_expp', which is no op"):
        gives(FastMath(), program)


def test_the_variants_that_are_declared() -> None:
    gives(
        FastMath(),
        "fn (%x: [2, 3]) { %0 = exp(%x); %1 = tanh(%0); %2 = erf(%1); softmax(%2, axis=0) }",
        "fn (%x: [2, 3]) { %0 = fast_exp(%x); %1 = fast_tanh(%0); %2 = fast_erf(%1); fast_softmax(%2, axis=0) }",
    )
    gives(FastMath(), "fn (%x: [2]) { %0 = fast_exp(%x); sin(%0) }")


def test_convolutions_of_any_rank_are_combined() -> None:
    """What a pass takes is told by what an op declares, not by its name."""
    image = ir.var("image", shape=(1, 4, 10))
    made = ir.Tuple(tuple(ops.conv1d(image, ir.var(f"v{k}", shape=(3 + k, 4, 3))) for k in range(3)))
    program = ir.Function(tuple(ir.free_vars(made)), made)
    assert len(calls_of("conv1d", CombineParallelConv2D()(program))) == 1
    assert len(calls_of("conv1d", CombineParallelDense()(program))) == 3
