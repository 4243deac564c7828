"""Arithmetic on vectors as Python's operators, so that a function reads like its formula.

`Vec` is an SSA value of any lane count; operators on it append instructions to the function that is being written.
Everything here is lane-wise, so that a function gives the same bits for every lane count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..text import FunctionText
from ..text.types import float_literal, suffix, vector_type
from .coefficients import CONSTANTS, POLYNOMIALS

_FLOATS: Final = ("float", "double")
_INTEGER: Final = {"float": "i32", "double": "i64"}
MANTISSA: Final = {"float": 23, "double": 52}  # stored bits
BIAS: Final = {"float": 127, "double": 1023}
Number = int | float


class Vec:
    """An SSA value: `builder.lanes` elements of LLVM type `element`."""

    __slots__ = ("builder", "element", "text")

    def __init__(self, builder: Builder, element: str, text: str) -> None:
        self.builder, self.element, self.text = builder, element, text

    @property
    def type(self) -> str:
        """The LLVM type of the value."""
        return vector_type(self.element, self.builder.lanes)

    def _binary(self, other: Vec | Number, float_op: str, int_op: str, *, swap: bool = False) -> Vec:
        a, b = self, self.builder.like(self, other)
        if swap:
            a, b = b, a
        op = float_op if self.element in _FLOATS else int_op
        return self.builder.emit(self.element, f"{op} {self.type} {a.text}, {b.text}")

    def __add__(self, other: Vec | Number) -> Vec:
        return self._binary(other, "fadd", "add")

    __radd__ = __add__

    def __sub__(self, other: Vec | Number) -> Vec:
        return self._binary(other, "fsub", "sub")

    def __rsub__(self, other: Number) -> Vec:
        return self._binary(other, "fsub", "sub", swap=True)

    def __mul__(self, other: Vec | Number) -> Vec:
        return self._binary(other, "fmul", "mul")

    __rmul__ = __mul__

    def __truediv__(self, other: Vec | Number) -> Vec:
        return self._binary(other, "fdiv", "sdiv")

    def __rtruediv__(self, other: Number) -> Vec:
        return self._binary(other, "fdiv", "sdiv", swap=True)

    def __and__(self, other: Vec | int) -> Vec:
        return self._binary(other, "and", "and")

    def __or__(self, other: Vec | int) -> Vec:
        return self._binary(other, "or", "or")

    def __xor__(self, other: Vec | int) -> Vec:
        return self._binary(other, "xor", "xor")

    def __lshift__(self, other: Vec | int) -> Vec:
        return self._binary(other, "shl", "shl")

    def __rshift__(self, other: Vec | int) -> Vec:
        """Arithmetic shift right."""
        return self._binary(other, "ashr", "ashr")

    def __neg__(self) -> Vec:
        if self.element in _FLOATS:
            return self.builder.emit(self.element, f"fneg {self.type} {self.text}")
        return 0 - self

    def __invert__(self) -> Vec:
        return self._binary(-1, "xor", "xor")

    def _compare(self, other: Vec | Number, float_predicate: str, int_predicate: str) -> Vec:
        b = self.builder.like(self, other)
        word = f"fcmp {float_predicate}" if self.element in _FLOATS else f"icmp {int_predicate}"
        return self.builder.emit("i1", f"{word} {self.type} {self.text}, {b.text}")

    def __lt__(self, other: Vec | Number) -> Vec:
        return self._compare(other, "olt", "slt")

    def __le__(self, other: Vec | Number) -> Vec:
        return self._compare(other, "ole", "sle")

    def __gt__(self, other: Vec | Number) -> Vec:
        return self._compare(other, "ogt", "sgt")

    def __ge__(self, other: Vec | Number) -> Vec:
        return self._compare(other, "oge", "sge")

    def equals(self, other: Vec | Number) -> Vec:
        """Ordered equality, lane by lane."""
        return self._compare(other, "oeq", "eq")

    def is_nan(self) -> Vec:
        return self._compare(self, "uno", "ne")

    def bits(self) -> Vec:
        """The bits of floats as integers of the same width."""
        return self.builder.cast("bitcast", self, _INTEGER[self.element])

    def as_float(self) -> Vec:
        """The bits of integers as floats of the same width."""
        return self.builder.cast("bitcast", self, {"i32": "float", "i64": "double"}[self.element])


class Builder:
    """Formulas of `lanes` lanes in `element` ("float" or "double"), written into the function `f`."""

    def __init__(self, f: FunctionText, element: str, lanes: int) -> None:
        self.f, self.element, self.lanes = f, element, lanes
        self.target = f.module.target
        self.has_fma = self.target.has_fma
        self.mantissa, self.bias = MANTISSA[element], BIAS[element]
        precision = "float32" if element == "float" else "float64"
        self.polynomials, self.constants = POLYNOMIALS[precision], CONSTANTS[precision]

    def within(self, element: str) -> Builder:
        """A builder that goes on with the same body in another precision."""
        return self if element == self.element else Builder(self.f, element, self.lanes)

    # values

    def emit(self, element: str, instruction: str) -> Vec:
        """Append an instruction; its result has elements of type `element`."""
        return Vec(self, element, self.f.emit(instruction))

    def const(self, value: Number, element: str | None = None) -> Vec:
        """A constant in every lane."""
        element = element or self.element
        text = float_literal(element, value) if element in _FLOATS else str(int(value))
        return Vec(self, element, text if self.lanes == 1 else f"splat ({element} {text})")

    def like(self, a: Vec, b: Vec | Number) -> Vec:
        """`b` as an operand beside `a`."""
        return b if isinstance(b, Vec) else self.const(b, a.element)

    def cast(self, op: str, a: Vec, element: str) -> Vec:
        """`op` is LLVM's: bitcast, fpext, fptrunc, sitofp, trunc, ..."""
        return self.emit(element, f"{op} {a.type} {a.text} to {vector_type(element, self.lanes)}")

    def intrinsic(self, name: str, *operands: Vec) -> Vec:
        """`llvm.NAME` on operands of one type."""
        a = operands[0]
        listed = [(a.type, o.text) for o in operands]
        return Vec(self, a.element, self.f.call(f"llvm.{name}.{suffix(a.type)}", a.type, listed))

    def select(self, condition: Vec, a: Vec | Number, b: Vec | Number) -> Vec:
        """`a` where the condition holds, else `b`; one of them is a Vec."""
        x = a if isinstance(a, Vec) else b
        assert isinstance(x, Vec)
        a, b = self.like(x, a), self.like(x, b)
        text = f"select {condition.type} {condition.text}, {a.type} {a.text}, {b.type} {b.text}"
        return self.emit(a.element, text)

    # arithmetic

    def fma(self, a: Vec, b: Vec | Number, c: Vec | Number) -> Vec:
        """a * b + c, rounded once where the target has FMA; for sums whose rounding does not matter much."""
        b, c = self.like(a, b), self.like(a, c)
        return self.intrinsic("fma", a, b, c) if self.has_fma else a * b + c

    def fused(self, a: Vec, b: Vec | Number, c: Vec | Number) -> Vec:
        """a * b + c with the product's rounding error taken in; exact where the result is representable."""
        b, c = self.like(a, b), self.like(a, c)
        if self.has_fma:
            return self.intrinsic("fma", a, b, c)
        product = a * b
        return (c + product) + self.product_error(a, b, product)

    def product_error(self, a: Vec, b: Vec | Number, product: Vec) -> Vec:
        """a * b - product, exactly, for product = a * b rounded (Dekker 1971 where there is no FMA)."""
        b = self.like(a, b)
        if self.has_fma:
            return self.intrinsic("fma", a, b, -product)
        (ah, al), (bh, bl) = self._halves(a), self._halves(b)
        return ((ah * bh - product) + ah * bl + al * bh) + al * bl

    def _halves(self, a: Vec) -> tuple[Vec, Vec]:
        scaled = a * float(2 ** ((self.mantissa + 2) // 2) + 1)
        high = scaled - (scaled - a)
        return high, a - high

    def polynomial(self, v: Vec, coefficients: Sequence[float]) -> Vec:
        """sum of coefficients[k] * v**k: Horner, in two interleaved halves from degree 6 on (Estrin)."""
        if len(coefficients) >= 7:
            square = v * v
            even = self._horner(square, coefficients[0::2])
            return self.fma(self._horner(square, coefficients[1::2]), v, even)
        return self._horner(v, coefficients)

    def _horner(self, v: Vec, coefficients: Sequence[float]) -> Vec:
        total = self.const(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, v, c)
        return total

    def abs(self, a: Vec) -> Vec:
        return self.intrinsic("fabs", a)

    def sqrt(self, a: Vec) -> Vec:
        return self.intrinsic("sqrt", a)

    def copysign(self, magnitude: Vec, sign: Vec) -> Vec:
        return self.intrinsic("copysign", magnitude, sign)

    def minimum(self, a: Vec, bound: Number) -> Vec:
        """min(a, bound); NaN stays NaN."""
        b = self.const(bound)
        return self.select(a > b, b, a)

    def maximum(self, a: Vec, bound: Number) -> Vec:
        """max(a, bound); NaN stays NaN."""
        b = self.const(bound)
        return self.select(a < b, b, a)

    def nearest(
        self, a: Vec, factor: float, offset: float = 0.0, raised: int | None = None
    ) -> tuple[Vec, Vec]:
        """(n, k): a * factor + offset to the nearest integer, as floats and as integers.

        Adding 1.5 * 2**mantissa leaves the integer in the low bits of the sum; |n| < 2**(mantissa - 2).  Those of
        (k + raised) << mantissa, which exponents are, take one shift: of twice the bias, for `scale`, by default.
        """
        raised = 2 * self.bias if raised is None else raised
        magic = 1.5 * 2.0**self.mantissa + raised
        shifted = self.fma(a, factor, offset) + magic if offset else self.fma(a, factor, magic)
        magic_bits = ((self.bias + self.mantissa) << self.mantissa | 1 << (self.mantissa - 1)) + raised
        return shifted - magic, shifted.bits() - magic_bits

    def power_of_two(self, n: Vec) -> Vec:
        """2**n of integers within the exponents of normal numbers."""
        return ((n + self.bias) << self.mantissa).as_float()

    def scale(self, a: Vec, n: Vec, k: Vec) -> Vec:
        """a * 2**n rounded once; (n, k) as `nearest` gives them, |n| less than twice the largest exponent."""
        native = self._native_scale(a, n)
        if native is not None:
            return native
        both = k + 2 * self.bias  # the exponents of two factors; bits above them are shifted out
        first = (both << (self.mantissa - 1)) & (2 * self.bias + 1 << self.mantissa)
        return a * first.as_float() * ((both << self.mantissa) - first).as_float()

    def scale_normal(self, a: Vec, n: Vec, k: Vec) -> Vec:
        """a * 2**n, as `scale` where 2**n is a normal number; `nearest` has raised k by the bias at best."""
        native = self._native_scale(a, n)
        return a * self.power_of_two(k) if native is None else native

    def inverse_estimate(self, a: Vec) -> Vec:
        """1 / a, to a relative 2**-14 at least where that and a are normal numbers."""
        if self.element != "float" or not self.target.has("avx512f") or not self.target.has("avx512vl"):
            return 1.0 / a
        wide = max(4, 1 << (self.lanes - 1).bit_length())
        parts = [self._lanes_of(a, k, min(wide, 16)) for k in range(0, wide, 16)]
        found = [self._rcp14(part) for part in parts]
        while len(found) > 1:
            found = [
                self._lanes_of(x, 0, 2 * x.builder.lanes, y)
                for x, y in zip(found[::2], found[1::2], strict=True)
            ]
        (whole,) = found
        return Vec(self, a.element, self._lanes_of(whole, 0, self.lanes).text)

    def _lanes_of(self, a: Vec, first: int, count: int, after: Vec | None = None) -> Vec:
        """`count` lanes of `a`, and of what comes after it; those that are not there hold anything."""
        lanes, there = Builder(self.f, a.element, count), a.builder.lanes
        if (first, count) == (0, there):
            return a
        if there == 1:
            kind = vector_type(a.element, count)
            return lanes.emit(a.element, f"insertelement {kind} poison, {a.type} {a.text}, i32 0")
        if count == 1:
            return lanes.emit(a.element, f"extractelement {a.type} {a.text}, i32 {first}")
        most = there if after is None else 2 * there
        mask = ", ".join(f"i32 {k if k < most else 'poison'}" for k in range(first, first + count))
        other = "poison" if after is None else after.text
        text = f"shufflevector {a.type} {a.text}, {a.type} {other}, <{count} x i32> <{mask}>"
        return lanes.emit(a.element, text)

    def _rcp14(self, a: Vec) -> Vec:
        lanes = a.builder.lanes
        listed = [(a.type, a.text), (a.type, "zeroinitializer"), ("i16" if lanes == 16 else "i8", "-1")]
        return Vec(
            a.builder, a.element, self.f.call(f"llvm.x86.avx512.rcp14.ps.{32 * lanes}", a.type, listed)
        )

    def replace_rare(self, rare: Vec, symbol: str, operands: Sequence[Vec], usual: Vec) -> Vec:
        """`usual`, but in the lanes where `rare` holds the result of the helper `void symbol(in..., out, count)`.

        The helper takes arrays, so that one helper serves every lane count, and is called only if a lane asks.  It is a
        module of the runtime (`codegen/objects/helpers.py`), which code for any machine imports.
        """
        f, kind = self.f, usual.type
        before, asked, joined = f.block, f.label("rare"), f.label("join")
        f.branch_if(self._any(rare), asked, joined)
        f.start(asked)
        arrays = [f.emit_entry(f"alloca {kind}") for _ in range(len(operands) + 1)]
        for name, operand in zip(arrays, operands, strict=False):
            f.do(f"store {kind} {operand.text}, ptr {name}")
        f.call(symbol, "void", [*(("ptr", name) for name in arrays), ("i64", str(self.lanes))])
        found = self.emit(usual.element, f"load {kind}, ptr {arrays[-1]}")
        mixed = self.select(rare, found, usual)
        f.branch(joined)
        f.start(joined)
        return self.emit(usual.element, f"phi {kind} [ {usual.text}, %{before} ], [ {mixed.text}, %{asked} ]")

    def _any(self, flags: Vec) -> str:
        """An i1: whether any lane of an i1 vector is set."""
        if self.lanes == 1:
            return flags.text
        return self.f.call(f"llvm.vector.reduce.or.{suffix(flags.type)}", "i1", [(flags.type, flags.text)])

    def _native_scale(self, a: Vec, n: Vec) -> Vec | None:
        """AVX-512's scalef, where the lane count has one."""
        bits = {"float": 32, "double": 64}[self.element] * self.lanes
        letter = "s" if self.element == "float" else "d"
        if not self.target.has("avx512f") or not self.target.has("avx512vl"):
            return None
        if bits not in (128, 256, 512):
            return None
        name = f"llvm.x86.avx512.mask.scalef.p{letter}.{bits}"
        mask = "i16" if self.lanes == 16 else "i8"
        operands = [(a.type, a.text), (a.type, n.text), (a.type, "zeroinitializer"), (mask, "-1")]
        rounding = [("i32", "4")] if bits == 512 else []
        return Vec(self, a.element, self.f.call(name, a.type, [*operands, *rounding]))


Formula = Callable[..., Vec]  # of a Builder and as many operands as the function has
