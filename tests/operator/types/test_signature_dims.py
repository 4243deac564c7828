"""Signatures forwards: dims that depend on data, on each other, or on how many results there are."""

from __future__ import annotations

import pytest

from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import (
    ShapeError,
    UndecidedError,
)
from opgen_runtime.operator.types import (
    Input,
    Let,
    Output,
    Require,
    Signature,
    Spread,
    Static,
    TensorType,
    bind,
)

from .binding import failing, t


def test_a_number_of_results_that_is_a_symbol_is_undecided() -> None:
    signature = Signature(
        inputs=(Input("data", shape=("N", "*R")),),
        outputs=(Output("part", ("*R",), "float32", variadic=lambda N: N),),
    )
    assert len(bind(signature, "unstack", None, [TensorType((3, 2), "float32")]).outputs) == 3
    with pytest.raises(UndecidedError, match="the number of results 'part' must be an int"):
        bind(signature, "unstack", None, [TensorType((dim("n"), 2), "float32")])


def test_data_dependent_dims() -> None:
    signature = Signature(
        inputs=(Input("data"),),
        rules=(Let(("size",), lambda data: data.shape[0] * data.shape[1]),),
        outputs=(Output("out", shape=("n", Static(lambda data: data.ndim)), dtype="int64"),),
        dynamic={"n": lambda size: size},
    )
    binding = bind(signature, "argwhere", None, [t(3, 4)])
    assert str(binding.outputs[0]) == "Tensor[(?, 2), int64]"
    assert binding.storage == ((12, 2),)
    assert binding.dynamic == {"n": 12}
    assert "n" not in binding.names
    assert binding.dynamic_axes == (((0, "n"),),)


def test_data_dependent_dims_are_found_wherever_they_stand() -> None:
    shape = (Spread(lambda x: x.shape[:1]), Spread(lambda k, n: (k, n)), Spread(lambda x: x.shape[2:]))
    signature = Signature(
        inputs=(Input("x"),),
        outputs=(Output("out", shape, "x.dtype"), Output("rest", ("n",), "x.dtype")),
        dynamic={"n": lambda x: x.shape[0], "k": lambda x: 7},
    )
    binding = bind(signature, "op", None, [t(2, 3, 4, 5)])
    assert str(binding.outputs[0]) == "Tensor[(2, ?, ?, 4, 5), float32]"
    assert binding.dynamic_axes == (((1, "k"), (2, "n")), ((0, "n"),))
    assert binding.storage == ((2, 7, 2, 4, 5), (2,))


def test_a_dim_computed_from_a_data_dependent_one_is_refused() -> None:
    signature = Signature(
        inputs=(Input("x"),),
        outputs=(Output("out", (Static(lambda n: n * 2, "n * 2"),), "x.dtype"),),
        dynamic={"n": lambda x: x.shape[0]},
    )
    assert failing(ShapeError, signature, None, t(4)) == (
        "op: dim 0 of output 'out' is n * 2, computed from the data-dependent dim n; expected a data-dependent dim "
        "itself: declare n * 2 under `dynamic`"
    )


def test_what_the_sign_of_dims_decides_is_not_assumed() -> None:
    n = dim("n")
    signature = Signature(
        inputs=(Input("x", shape=("N", "M")), Input("y", shape=(Static(lambda N: N * 2 + 1, "N * 2 + 1"),))),
        rules=(Require(lambda N, M: N + M > 2, "N + M > 2"),),
        outputs=(Output("out", ("N",), "x.dtype"),),
    )
    binding = bind(signature, "op", None, [t(n, 3), t(n + n + 1)])
    assert binding.undecided == ()
    assert failing(ShapeError, signature, None, t(n, 3), t(n * 2)).startswith(
        "op: argument 'y' (%1) has n * 2 as dim 0, expected N * 2 + 1 = n * 2 + 1"
    )
    assert len(bind(signature, "op", None, [t(n, 3), t(n)]).undecided) == 1
    never = Signature(
        inputs=(Input("x"),),
        rules=(Require(lambda x: x.shape[0] + 1 <= 0, "x.shape[0] + 1 <= 0"),),
        outputs=(Output("out", "x.shape", "x.dtype"),),
    )
    assert failing(ShapeError, never, None, t(n)) == (
        "op: requires x.shape[0] + 1 <= 0, found with x: Tensor[(n,), float32]"
    )


def test_constants_in_patterns() -> None:
    signature = Signature(inputs=(Input("x", shape=("N", 3)),), outputs=(Output("out", ("N",), "x.dtype"),))
    assert bind(signature, "op", None, [t(5, 3)]).outputs == (t(5),)
    assert failing(ShapeError, signature, None, t(5, 4)) == (
        "op: argument 'x' (%0) has 4 as dim 1, expected 3\n  expected shape (N, 3), found Tensor[(5, 4), float32]"
    )
    assert [a.text for a in bind(signature, "op", None, [t(5, dim("n"))]).undecided] == ["3 of x: 3 == n"]


def test_a_second_starred_name_waits_for_its_length() -> None:
    signature = Signature(
        inputs=(Input("x", shape=("*B", "*S", "C")), Input("y", shape=("*S",))),
        outputs=(Output("out", ("*B", "C"), "x.dtype"),),
    )
    assert bind(signature, "op", None, [t(2, 3, 4, 5), t(3, 4)]).outputs == (t(2, 5),)
    assert failing(ShapeError, signature, None, t(2, 3, 4, 5), t(3, 9)).startswith(
        "op: argument 'x' (%0) has (3, 4) as the dims, expected *S = (3, 9)"
    )
