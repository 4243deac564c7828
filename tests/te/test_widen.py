"""float16 in float32."""

from __future__ import annotations

from opgen_runtime import te
from opgen_runtime.arith import Expr, call, cast, lt, select, to_text
from opgen_runtime.vocabulary import FLOAT16

X = te.placeholder("x", (4,), "float16")
Y = te.placeholder("y", (4,), "float32")
K = te.reduce_axis(4, "k")
H = te.read(X, 0)


def widened(e: Expr, dtype: str = "float16") -> str:
    return to_text(te.widen_half(e, dtype))


def test_widen() -> None:
    assert widened(H) == "x[0]"
    assert widened(H + 1.0) == "cast(cast(x[0], float32) + 1.0, float16)"
    assert widened(te.read(Y, 0) + 1.0, "float32") == "y[0] + 1.0"
    assert widened(cast(H * H, "float32"), "float32") == "cast(x[0], float32) * cast(x[0], float32)"
    assert (
        widened(cast(te.read(Y, 0), FLOAT16) + H)
        == "cast(cast(cast(y[0], float16), float32) + cast(x[0], float32), float16)"
    )
    assert widened(select(lt(H, 0.0), call("exp", H), H)) == (
        "cast(exp(cast(x[0], float32)) if cast(x[0], float32) < 0.0 else cast(x[0], float32), float16)"
    )
    assert widened(te.reduce("sum", K, te.read(X, K.var))) == (
        "cast(sum(cast(x[k], float32) for k in range(4)), float16)"
    )
    assert widened(te.reduce("argmax", K, te.read(X, K.var)), "int64") == (
        "cast(argmax(cast(x[k], float32) for k in range(4)), int64)"
    )
