"""DivToMul, SimplifyExpr, CanonicalizeOps, CanonicalizeCast: whole outputs, and what must stay."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import create_executor, ir, ops
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPES, DType, OpPattern
from opgen_runtime.declaration.rule_functions import is_exact
from opgen_runtime.operator.registry import Op, list_ops
from opgen_runtime.transform import CanonicalizeCast, CanonicalizeOps, DivToMul, PassContext, SimplifyExpr
from tests.transform.whole import gives

# ------------------------------------------------------------------ DivToMul


def quotient(divisor: np.ndarray) -> ir.Function:
    x = ir.var("x", shape=(2, 3), dtype=divisor.dtype.name)
    return ir.Function((x,), ops.divide(x, ir.const(divisor)))


def product(factor: np.ndarray) -> ir.Function:
    x = ir.var("x", shape=(2, 3), dtype=factor.dtype.name)
    return ir.Function((x,), ops.multiply(x, ir.const(factor)))


FLOATS = ["float32", "float64", "float16", "bfloat16"]


def array(values: list[float], dtype: str) -> np.ndarray:
    return np.array(values, np.float64).astype(DType(dtype).numpy)


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_divisors(dtype: str) -> None:
    gives(DivToMul(), quotient(array([2, -4, 0.5], dtype)), product(array([0.5, -0.25, 2], dtype)))
    gives(DivToMul(), "fn (%x: [2]) { divide(%x, 8f) }", "fn (%x: [2]) { multiply(%x, 0.125f) }")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "divisor",
    [[3, 3, 3], [2, 2, 3], [2, 4, 0], [2, 4, -0.0], [np.inf, 2, 4], [np.nan, 2, 4], [10, 2, 4]],
    ids=str,
)
def test_divisions_that_stay(dtype: str, divisor: list[float]) -> None:
    """One element that does not do keeps them all."""
    gives(DivToMul(), quotient(array(divisor, dtype)))


def test_reciprocals_that_are_not_finite_stay() -> None:
    for made in (DivToMul(), DivToMul(approximate=True)):
        gives(made, quotient(array([2, 2, 2.0**-140], "float32")))
        gives(made, quotient(array([2, 2, 2.0**-24], "float16")))
        gives(made, quotient(array([2, 2, 0], "float64")))
        gives(made, quotient(array([2, 2, np.inf], "float64")))


def test_integers_and_other_divisions_stay() -> None:
    gives(DivToMul(), quotient(np.array([2, 4, 8], np.int32)))
    gives(DivToMul(), "fn (%x: [2]) { floor_divide(%x, 4f) }")
    gives(DivToMul(), "fn (%x: [2]) { divide(4f, %x) }")
    gives(DivToMul(), "fn (%x: [2], %y: [2]) { divide(%x, %y) }")


@pytest.mark.parametrize("dtype", FLOATS)
def test_approximate_keeps_its_bound(dtype: str) -> None:
    rng = np.random.default_rng(0)
    divisor = array(list(rng.uniform(0.01, 100, 3)), dtype)
    program = quotient(divisor)
    found = DivToMul(approximate=True)(program)
    assert "divide" not in str(found)
    wide = np.float32 if np.dtype(divisor.dtype).itemsize == 2 else divisor.dtype
    factor = ops_constant(found)
    assert np.array_equal(factor, (np.ones((), wide) / divisor.astype(wide)).astype(divisor.dtype))
    data = array(list(rng.uniform(-100, 100, 6)), dtype).reshape(2, 3)
    before, after = [
        create_executor("debug").evaluate(f)(data).numpy().astype(np.float64)
        for f in (program, found)  # type: ignore[operator,union-attr]
    ]
    epsilon = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    assert (np.abs(after - before) <= 1.5 * epsilon * np.abs(before)).all()


def ops_constant(function: ir.Function) -> np.ndarray:
    (found,) = [node for node in ir.post_order(function) if isinstance(node, ir.Constant)]
    return found.data


def test_it_states_its_bound() -> None:
    context = PassContext()
    assert not DivToMul().stated(context).changes_values
    assert DivToMul(approximate=True).stated(context).error_bound.startswith("1.5 epsilon")
    assert DivToMul().stated(PassContext(config={"DivToMul.approximate": True})).changes_values


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_divisors_keep_every_bit(dtype: str) -> None:
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, 3, 1e-7, 6e4, 1e-38, 2.0**-149, 3.3e38]
    with np.errstate(over="ignore"):
        data = array(values, dtype)
    x = ir.var("x", shape=(12,), dtype=dtype)
    for divisor in (2.0, -0.5, 2.0**14, 2.0**-14, 2.0**15):
        program = ir.Function((x,), ops.divide(x, ir.const(array([divisor], dtype))))
        found = DivToMul()(program)
        assert "multiply" in str(found)
        before, after = [create_executor("debug").evaluate(f)(data).numpy() for f in (program, found)]  # type: ignore[operator,union-attr]
        nan = np.isnan(before.astype(np.float64))
        assert np.array_equal(nan, np.isnan(after.astype(np.float64)))
        assert before[~nan].tobytes() == after[~nan].tobytes()


# ------------------------------------------------------------------ SimplifyExpr

SIMPLER = {
    "times one": ("fn (%x: [2]) { multiply(%x, 1f) }", "fn (%x: [2]) { %x }"),
    "one times": ("fn (%x: [2]) { multiply(1f, %x) }", "fn (%x: [2]) { %x }"),
    "by one": ("fn (%x: [2]) { divide(%x, 1f) }", "fn (%x: [2]) { %x }"),
    "minus zero": ("fn (%x: [2]) { subtract(%x, 0f) }", "fn (%x: [2]) { %x }"),
    "plus -0.0": ("fn (%x: [2]) { add(%x, -0f) }", "fn (%x: [2]) { %x }"),
    "integers plus zero": ("fn (%x: [2] int32) { add(%x, 0) }", "fn (%x: [2] int32) { %x }"),
    "times ones": ("fn (%x: [2]) { multiply(%x, ones_like(%x)) }", "fn (%x: [2]) { %x }"),
    "integers plus zeros": ("fn (%x: [2] int32) { add(zeros_like(%x), %x) }", "fn (%x: [2] int32) { %x }"),
    "and true": ("fn (%x: [2] bool) { logical_and(%x, True) }", "fn (%x: [2] bool) { %x }"),
    "or false": ("fn (%x: [2] bool) { logical_or(False, %x) }", "fn (%x: [2] bool) { %x }"),
    "stored in blocks and back": (
        'fn (%x: [1, 8, 2, 2]) { %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c"); '
        'layout_transform(%0, src_layout="NCHW4c", dst_layout="NCHW") }',
        "fn (%x: [1, 8, 2, 2]) { %x }",
    ),
    "stored twice": (
        'fn (%x: [1, 8, 2, 3]) { %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC"); '
        'layout_transform(%0, src_layout="NHWC", dst_layout="NCHW4c") }',
        'fn (%x: [1, 8, 2, 3]) { layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c") }',
    ),
    "transposed there and back": (
        "fn (%x: [2, 3, 4]) { %0 = transpose(%x, axes=[1, 2, 0]); transpose(%0, axes=[2, 0, 1]) }",
        "fn (%x: [2, 3, 4]) { %x }",
    ),
    "transposed twice": (
        "fn (%x: [2, 3, 4]) { %0 = transpose(%x, axes=[1, 2, 0]); transpose(%0, axes=[1, 2, 0]) }",
        "fn (%x: [2, 3, 4]) { transpose(%x, axes=[2, 0, 1]) }",
    ),
    "not transposed": ("fn (%x: [2, 3]) { transpose(%x, axes=[0, 1]) }", "fn (%x: [2, 3]) { %x }"),
    "reshaped twice": (
        "fn (%x: [2, 3, 4]) { %0 = reshape(%x, newshape=[6, 4]); reshape(%0, newshape=[3, 8]) }",
        "fn (%x: [2, 3, 4]) { reshape(%x, newshape=[3, 8]) }",
    ),
    "reshaped there and back": (
        "fn (%x: [2, 3]) { %0 = expand_dims(%x, axis=1); squeeze(%0, axis=[1]) }",
        "fn (%x: [2, 3]) { %x }",
    ),
    "converted there and back": (
        'fn (%x: [2]) { %0 = cast(%x, dtype="float64"); cast(%0, dtype="float32") }',
        "fn (%x: [2]) { %x }",
    ),
    "converted over a wider type": (
        'fn (%x: [2] float16) { %0 = cast(%x, dtype="float64"); cast(%0, dtype="float32") }',
        'fn (%x: [2] float16) { cast(%x, dtype="float32") }',
    ),
    "converted to what it is": ('fn (%x: [2]) { cast(%x, dtype="float32") }', "fn (%x: [2]) { %x }"),
}
STAYS = [
    # elements that stand where they stood, but not all of them
    "fn (%x: [4, 3]) { %0 = transpose(%x); %1 = strided_slice(%0, begin=[0], end=[2]); transpose(%1) }",
    "fn (%x: [4, 3]) { %0 = transpose(%x); %1 = strided_slice(%0, begin=[0, 0], end=[3, 2]); transpose(%1) }",
    "fn (%x: [2]) { add(%x, 0f) }",
    "fn (%x: [2]) { add(0f, %x) }",
    "fn (%x: [2]) { subtract(%x, -0f) }",
    "fn (%x: [2]) { %0 = multiply(%x, 1e30f); multiply(%0, 1e-30f) }",
    'fn (%x: [2]) { %0 = cast(%x, dtype="float16"); cast(%0, dtype="float32") }',
    'fn (%x: [2] int32) { %0 = cast(%x, dtype="float32"); cast(%0, dtype="int32") }',
    'fn (%x: [2] int32) { %0 = cast(%x, dtype="float64"); cast(%0, dtype="int8") }',  # saturates, does not wrap
    'fn (%x: [2] int32) { %0 = cast(%x, dtype="uint32"); cast(%0, dtype="int64") }',
    "fn (%x: [2]) { multiply(%x, const([[1.0], [1.0]], float32)) }",  # it repeats
    "fn (%x: [2]) { add(%x, zeros_like(%x)) }",  # 0.0 of -0.0
    "fn (%x: [2] bool) { logical_and(%x, False) }",
    'fn (%x: [2, 4, 4, 4]) { %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC"); '
    'layout_transform(%0, src_layout="NCHW", dst_layout="NHWC") }',
    "fn (%x: [2]) { divide(1f, %x) }",
    "fn (%x: [2]) { subtract(0f, %x) }",
    "fn (%x: [2, 3]) { transpose(%x, axes=[1, 0]) }",
    "fn (%x: [3, 3]) { transpose(%x, axes=[1, 0]) }",
]


@pytest.mark.parametrize("name", SIMPLER)
def test_simpler(name: str) -> None:
    gives(SimplifyExpr(), *SIMPLER[name])


@pytest.mark.parametrize("text", STAYS)
def test_what_is_simple_already(text: str) -> None:
    gives(SimplifyExpr(), text)


def test_what_a_dtype_holds_exactly() -> None:
    """Against numpy's own conversions, on values at the ends."""
    reals = [dtype for dtype in map(DType, DTYPES) if not dtype.is_complex]
    for source in reals:
        ends = [0, 1] if source.is_bool else [-1, 1, 3, 255, -128, 2**31 - 1, 2**53 + 1, 2**63 - 1, -(2**63)]
        if source.is_float:
            ends = [0.1, 1e-7, 65504.0, 3e38, 1e300, 5e-324, 1e-40, 1.0078125]
        held = [v for v in ends if source.is_float or source.lowest <= v <= source.highest]
        with np.errstate(all="ignore"):
            values = np.array(held, np.float64 if source.is_float else object).astype(source.numpy)
            for target in reals:
                back = values.astype(target.numpy).astype(source.numpy)
                if is_exact(source, target):
                    same = back.astype(np.float64), values.astype(np.float64)
                    assert np.array_equal(*same, equal_nan=True), (source, target)
    assert is_exact(DType("int16"), DType("float32"))
    assert not is_exact(DType("int32"), DType("float32"))
    assert is_exact(DType("uint8"), DType("float16"))
    assert not is_exact(DType("float16"), DType("bfloat16"))


@pytest.mark.parametrize(
    "text", [pair[0] for pair in SIMPLER.values() if "reshape" in pair[0] or "squeeze" in pair[0]]
)
def test_order_keeping_ops_keep_the_order(text: str) -> None:
    from opgen_runtime.transform.build import ORDER_KEEPING

    known = {name for name in ORDER_KEEPING if name in ops.__all__}
    for name in known:
        x = ir.var("x", shape=(2, 1, 3))
        call = getattr(ops, name)(x, **({"newshape": (3, 2)} if name == "reshape" else {}))
        data = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
        found = create_executor("debug").evaluate(call, {x: data}).numpy()  # type: ignore[union-attr]
        assert np.array_equal(found.ravel(), data.ravel()), name


# ------------------------------------------------------------------ CanonicalizeOps, CanonicalizeCast


def test_a_bias_is_added() -> None:
    gives(
        CanonicalizeOps(),
        "fn (%x: [2, 3, 4, 4], %b: [3]) { bias_add(%x, %b, axis=1) }",
        "fn (%x: [2, 3, 4, 4], %b: [3]) { %0 = expand_dims(%b, axis=1, num_newaxis=2); add(%x, %0) }",
    )
    gives(
        CanonicalizeOps(),
        "fn (%x: [2, 4, 4, 3], %b: [3]) { bias_add(%x, %b, axis=-1) }",
        "fn (%x: [2, 4, 4, 3], %b: [3]) { add(%x, %b) }",
    )


@pytest.mark.parametrize(
    "text",
    [
        "fn (%x: [2, 3], %b: [3]) { add(%x, %b) }",
        "fn (%x: [2, 3]) { relu(%x) }",
        "fn (%x: [2, 3], %b: [5, 3]) { dense(%x, %b) }",
    ],
)
def test_what_is_canonical(text: str) -> None:
    gives(CanonicalizeOps(), text)


def test_consumers_get_conversions_of_their_own() -> None:
    gives(
        CanonicalizeCast(),
        'fn (%x: [2] int8) { %0 = cast(%x, dtype="float32"); %1 = exp(%0); %2 = tanh(%0); (%1, %2) }',
        'fn (%x: [2] int8) { %0 = cast(%x, dtype="float32"); %1 = exp(%0); %3 = cast(%x, dtype="float32"); '
        "%2 = tanh(%3); (%1, %2) }",
    )
    found = CanonicalizeCast()(
        ir.Function((x := ir.var("x", shape=(2,), dtype="int8"),), shared(ops.cast(x, dtype="float32")))
    )
    assert str(found).count("cast") == 2


def shared(value: ir.Expr) -> ir.Expr:
    return ir.Tuple((ops.exp(value), ops.tanh(value)))


@pytest.mark.parametrize(
    "text",
    [
        'fn (%x: [2]) { %0 = cast(%x, dtype="float16"); (exp(%0), tanh(%0)) }',  # narrows
        'fn (%x: [2] int8) { %0 = cast(%x, dtype="float32"); exp(%0) }',
        'fn (%x: [2, 2] int8) { %0 = cast(%x, dtype="float32"); (dense(%0, %0), %0) }',
    ],
)
def test_conversions_that_stay_shared(text: str) -> None:
    gives(CanonicalizeCast(), text)


BINARY = [
    name
    for name in list_ops()
    if (own := Op.get(name).get_attr("declaration")).pattern <= OpPattern.BROADCAST
    and len(own.signature.inputs) == 2
]
ODD = np.array([1.75, -1.125, 0.0, -0.0, np.inf, np.nan, 200.0, 1.0])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint32", "bool"])
def test_constants_leave_out_no_operator_that_does_something(dtype: str) -> None:
    """Every operator of the library on two tensors, beside each constant that some operator leaves out."""
    with np.errstate(all="ignore"):
        x = ODD.astype(DType(dtype).numpy) if DType(dtype).is_float else np.arange(8).astype(dtype)
    operand = ir.var("x", shape=x.shape, dtype=dtype)
    changed = set()
    for name in BINARY:
        for number in (0.0, -0.0, 1.0) if DType(dtype).is_float else (0, 1, -1):
            constant = ir.const(np.array(number).astype(DType(dtype).numpy))
            for operands in ((operand, constant), (constant, operand)):
                try:
                    before = ir.Function((operand,), getattr(ops, name)(*operands))
                except OpgenError:
                    continue
                after = SimplifyExpr()(before)
                if after is before:
                    continue
                changed.add(name)
                found, wanted = [create_executor("debug").evaluate(f)(x).numpy() for f in (after, before)]
                wide = [each.astype(np.float64) for each in (found, wanted)]
                np.testing.assert_array_equal(*wide, f"{name} of {number}")
                signs = [np.signbit(np.nan_to_num(each)) for each in wide]  # -0.0 too
                np.testing.assert_array_equal(*signs, f"{name} of {number}")
    assert len(changed) >= (2 if dtype == "bool" else 4)
