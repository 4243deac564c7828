"""The element functions by name: `exp(x)` is `intrinsic("exp", x)`."""

from __future__ import annotations

from collections.abc import Callable

from .element import intrinsic
from .weak import Value


def _named(name: str) -> Callable[..., Value]:
    def apply(*args: Value) -> Value:
        return intrinsic(name, *args)

    apply.__name__ = name
    apply.__doc__ = f"The element function `{name}` (`vocabulary.FLOAT_INTRINSICS`, `NUMBER_INTRINSICS`)."
    return apply


exp = _named("exp")
exp2 = _named("exp2")
expm1 = _named("expm1")
log = _named("log")
log2 = _named("log2")
log10 = _named("log10")
log1p = _named("log1p")
sqrt = _named("sqrt")
rsqrt = _named("rsqrt")
sin = _named("sin")
cos = _named("cos")
tan = _named("tan")
asin = _named("asin")
acos = _named("acos")
atan = _named("atan")
atan2 = _named("atan2")
sinh = _named("sinh")
cosh = _named("cosh")
tanh = _named("tanh")
asinh = _named("asinh")
acosh = _named("acosh")
atanh = _named("atanh")
erf = _named("erf")
erfc = _named("erfc")
sigmoid = _named("sigmoid")
pow = _named("pow")
fmod = _named("fmod")
isnan = _named("isnan")
isinf = _named("isinf")
isfinite = _named("isfinite")
copysign = _named("copysign")
fma = _named("fma")
sign = _named("sign")
popcount = _named("popcount")
clz = _named("clz")
