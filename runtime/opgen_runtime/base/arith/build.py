"""Constructors of scalar expressions: they check dtypes, fold constants and drop identities.

Operands are expressions or Python numbers.  A Python number is weak, it takes the other operand's dtype: an int
suits any number, a float only floats, a bool only bool.  Two Python ints make an `index`.  Folding has exactly
the run-time meaning (`semantics.py`), so integer arithmetic wraps and float operations round in their dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from ..errors import CallError, DTypeError
from ..vocabulary import BOOL
from .expr import Binary, Call, Compare, Const, Expr, Not, Select
from .intrinsics import ELEMENT_FUNCTIONS, INTRINSICS, intrinsic
from .literals import BOOLS, Operand, complex_number, const, literal, natural, operands, part
from .semantics import binary, compare, complement

_OF_COMPLEX: Final[dict[str, Callable[..., Expr]]] = {}


def register_complex(op: str, fn: Callable[..., Expr]) -> None:
    """Compute `op`, an operation or an element function, of complex numbers of one dtype by `fn`, from their parts."""
    _OF_COMPLEX[op] = fn


def _arithmetic(op: str, what: str, a: object, b: object) -> tuple[Expr, Expr, Expr | None]:
    """The operands, and the result if both are constants or complex numbers."""
    x, y = operands(a, b, what)
    if x.dtype.is_complex:
        if op not in _OF_COMPLEX:
            raise DTypeError(f"cannot {what} {x.dtype} values")
        return x, y, _OF_COMPLEX[op](x, y)
    if x.dtype is BOOL and op not in ("min", "max"):
        raise DTypeError(f"cannot {what} bool values; use cast(..., int32) first, or & | ^")
    if isinstance(x, Const) and isinstance(y, Const) and not x.dtype.is_storage:
        # Arithmetic of halves runs in float32 and rounds once at the end (te.widen), so it is not folded here.
        return x, y, const(binary(op, x.dtype, x.value, y.value), x.dtype)
    return x, y, None


def _is(e: Expr, value: int) -> bool:
    """An integer constant of that value."""
    return isinstance(e, Const) and e.dtype.is_int and e.value == value


def add(a: object, b: object) -> Expr:
    """`a + b`."""
    x, y, folded = _arithmetic("add", "add", a, b)
    if folded is not None:
        return folded
    if isinstance(x, Const):
        if x.value == 0 and _vanishes(x):
            return y
        if x.dtype.is_int:
            x, y = y, x
    if isinstance(y, Const):
        if y.value == 0 and _vanishes(y):
            return x
        if y.dtype.is_int:
            return _add_constant(x, int(y.value))
    return Binary(x.dtype, "add", x, y)


def _vanishes(zero: Const) -> bool:
    """x + zero is x: not for +0.0, since -0.0 + 0.0 is 0.0."""
    return zero.dtype.is_int or math.copysign(1.0, float(zero.value)) < 0


def _add_constant(x: Expr, c: int) -> Expr:
    """x + c for ints, (y + d) + c as y + (d + c); a negative sum prints as a difference."""
    dtype, inner = x.dtype, x
    if isinstance(inner, Binary) and isinstance(inner.b, Const) and inner.op in ("add", "sub"):
        d = int(inner.b.value)
        x, c = inner.a, int(binary("add", dtype, c, d if inner.op == "add" else -d))
    if c == 0:
        return x
    if c < 0 and c != dtype.lowest:
        return Binary(dtype, "sub", x, const(-c, dtype))
    return Binary(dtype, "add", x, const(c, dtype))


def sub(a: object, b: object) -> Expr:
    """`a - b`."""
    x, y, folded = _arithmetic("sub", "subtract", a, b)
    if folded is not None:
        return folded
    if isinstance(y, Const):
        if y.value == 0 and (y.dtype.is_int or not _vanishes(y)):
            return x
        if y.dtype.is_int and y.value != y.dtype.lowest and y.dtype.is_signed:
            return _add_constant(x, -int(y.value))
    if x is y and x.dtype.is_int:
        return const(0, x.dtype)
    return Binary(x.dtype, "sub", x, y)


def mul(a: object, b: object) -> Expr:
    """`a * b`."""
    x, y, folded = _arithmetic("mul", "multiply", a, b)
    if folded is not None:
        return folded
    if isinstance(x, Const):
        x, y = y, x
    if isinstance(y, Const):
        if y.value == 1:
            return x
        if _is(y, 0):
            return y
        if y.dtype.is_int and isinstance(x, Binary) and x.op == "mul" and isinstance(x.b, Const):
            return mul(x.a, const(binary("mul", x.dtype, x.b.value, y.value), x.dtype))
    return Binary(x.dtype, "mul", x, y)


def div(a: object, b: object) -> Expr:
    """`a / b` of floats, and of complex numbers."""
    x, y = operands(a, b, "divide")
    if x.dtype.kind not in "fc":
        raise DTypeError(
            f"/ needs floats, found {x.dtype}; use // (floor), trunc_div, or cast(..., float32) both operands"
        )
    x, y, folded = _arithmetic("div", "divide", x, y)
    if folded is not None:
        return folded
    if isinstance(y, Const) and y.value == 1:
        return x
    return Binary(x.dtype, "div", x, y)


def _division(op: str, what: str, a: object, b: object) -> Expr:
    x, y, folded = _arithmetic(op, what, a, b)
    if folded is not None:
        return folded
    if x.dtype.is_int and isinstance(y, Const) and (y.value == 0 or y.value == 1):
        # division by one, and division by zero, which gives 0
        return x if y.value == 1 and op.endswith("div") else const(0, x.dtype)
    if _is(x, 0):
        return x
    return Binary(x.dtype, op, x, y)


def floordiv(a: object, b: object) -> Expr:
    """`a // b`, rounded down; 0 where an integer `b` is 0; numpy's `floor_divide` for floats."""
    return _division("floordiv", "divide", a, b)


def floormod(a: object, b: object) -> Expr:
    """`a % b` with the sign of `b`; 0 where an integer `b` is 0; numpy's `mod` for floats."""
    return _division("floormod", "take the remainder of", a, b)


def truncdiv(a: object, b: object) -> Expr:
    """C's `a / b`, rounded to zero; 0 where an integer `b` is 0."""
    return _division("truncdiv", "divide", a, b)


def truncmod(a: object, b: object) -> Expr:
    """C's `a % b` (fmod for floats), with the sign of `a`; 0 where an integer `b` is 0."""
    return _division("truncmod", "take the remainder of", a, b)


def minimum(a: object, b: object) -> Expr:
    """The lesser; NaN if either is NaN."""
    x, y, folded = _arithmetic("min", "take the minimum of", a, b)
    if folded is not None:
        return folded
    return x if x is y else Binary(x.dtype, "min", x, y)


def maximum(a: object, b: object) -> Expr:
    """The greater; NaN if either is NaN."""
    x, y, folded = _arithmetic("max", "take the maximum of", a, b)
    if folded is not None:
        return folded
    return x if x is y else Binary(x.dtype, "max", x, y)


def _bits(op: str, what: str, a: object, b: object, bools: bool = True) -> Expr:
    x, y = operands(a, b, what)
    if x.dtype is BOOL and op in _LOGICAL:
        return _LOGICAL[op](x, y)
    if x.dtype.kind in "fc" or (x.dtype is BOOL and not bools):
        raise DTypeError(f"cannot {what} {x.dtype} values; expected an integer dtype, e.g. cast(..., int32)")
    if isinstance(x, Const) and isinstance(y, Const):
        return const(binary(op, x.dtype, x.value, y.value), x.dtype)
    return Binary(x.dtype, op, x, y)


def bit_and(a: object, b: object) -> Expr:
    """`a & b` of ints or bools."""
    return _bits("and", "bitwise-and", a, b)


def bit_or(a: object, b: object) -> Expr:
    """`a | b` of ints or bools."""
    return _bits("or", "bitwise-or", a, b)


def bit_xor(a: object, b: object) -> Expr:
    """`a ^ b` of ints or bools."""
    return _bits("xor", "bitwise-xor", a, b)


def shift_left(a: object, b: object) -> Expr:
    """`a << b`; 0 where `b` is negative or not below the width."""
    return _bits("shl", "shift", a, b, bools=False)


def shift_right(a: object, b: object) -> Expr:
    """`a >> b`; 0, or the sign, where `b` is negative or not below the width."""
    return _bits("shr", "shift", a, b, bools=False)


def bit_not(a: Operand) -> Expr:
    """`~a` of an int, negation of a bool."""
    x = a if isinstance(a, Expr) else natural(a)
    if x.dtype.kind in "fc":
        raise DTypeError(f"cannot complement {x.dtype}; expected an integer dtype or bool")
    if isinstance(x, Const):
        return const(complement(x.dtype, x.value), x.dtype)
    return x.a if isinstance(x, Not) else Not(x.dtype, x)


_ON_SELF: Final = {"lt": False, "le": True, "gt": False, "ge": True, "eq": True, "ne": False}


def _compare(op: str, a: object, b: object) -> Expr:
    x, y = operands(a, b, "compare")
    if x.dtype.is_complex:
        return _compare_complex(op, x, y)
    if isinstance(x, Const) and isinstance(y, Const):
        return BOOLS[compare(op, x.value, y.value)]
    if x is y and not x.dtype.is_float:
        return BOOLS[_ON_SELF[op]]
    return Compare(BOOL, op, x, y)


def _compare_complex(op: str, x: Expr, y: Expr) -> Expr:
    """Equal in both parts, or different in one."""
    if op not in ("eq", "ne"):
        raise DTypeError(f"{x.dtype} values have no order; compare abs(x) or real(x)")
    parts = [_compare(op, part(x, k), part(y, k)) for k in range(2)]
    return logical_and(*parts) if op == "eq" else logical_or(*parts)


def lt(a: object, b: object) -> Expr:
    """`a < b`."""
    return _compare("lt", a, b)


def le(a: object, b: object) -> Expr:
    """`a <= b`."""
    return _compare("le", a, b)


def gt(a: object, b: object) -> Expr:
    """`a > b`."""
    return _compare("gt", a, b)


def ge(a: object, b: object) -> Expr:
    """`a >= b`."""
    return _compare("ge", a, b)


def eq(a: object, b: object) -> Expr:
    """`a == b` (the operator `==` is identity outside of `comparing()`)."""
    return _compare("eq", a, b)


def ne(a: object, b: object) -> Expr:
    """`a != b`."""
    return _compare("ne", a, b)


def boolean(a: object, what: str = "a condition") -> Expr:
    """`a` as a bool expression.  Raises DTypeError for another dtype."""
    x = a if isinstance(a, Expr) else natural(a)
    if x.dtype is not BOOL:
        raise DTypeError(f"{what} must be bool, found {x.dtype}; compare it, or use cast(..., bool)")
    return x


def logical_and(a: object, b: object) -> Expr:
    """`a & b` of bools; both are evaluated."""
    x, y = boolean(a), boolean(b)
    if isinstance(x, Const):
        return y if x.value else x
    if isinstance(y, Const):
        return x if y.value else y
    return x if x is y else Binary(BOOL, "and", x, y)


def logical_or(a: object, b: object) -> Expr:
    """`a | b` of bools; both are evaluated."""
    x, y = boolean(a), boolean(b)
    if isinstance(x, Const):
        return x if x.value else y
    if isinstance(y, Const):
        return y if y.value else x
    return x if x is y else Binary(BOOL, "or", x, y)


_INVERSE: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def logical_not(a: object) -> Expr:
    """`not a`; a comparison of ints is inverted."""
    x = boolean(a)
    if isinstance(x, Const):
        return BOOLS[not x.value]
    if isinstance(x, Not):
        return x.a
    if isinstance(x, Compare) and (not x.a.dtype.is_float or x.op in ("eq", "ne")):
        return Compare(BOOL, _INVERSE[x.op], x.a, x.b)
    return Not(BOOL, x)


def select(condition: object, then: object, otherwise: object) -> Expr:
    """`then if condition else otherwise`; what is not chosen is not read."""
    c = boolean(condition)
    x, y = operands(then, otherwise, "choose between")
    if isinstance(c, Const):
        return x if c.value else y
    if isinstance(x, Const) and isinstance(y, Const) and x.dtype is BOOL and x.value != y.value:
        return c if x.value else logical_not(c)
    return x if x is y else Select(x.dtype, c, x, y)


def call(name: str, *args: object) -> Expr:
    """An intrinsic.

    Raises CallError for an unknown name or a wrong count, DTypeError for a dtype that it does not take.
    """
    row = ELEMENT_FUNCTIONS.get(name)
    if row is None:
        raise CallError(f"unknown intrinsic {name!r}; expected one of {', '.join(INTRINSICS)}")
    if len(args) != row.arity:
        raise CallError(f"{name} takes {row.arity} argument{'s' if row.arity > 1 else ''}, found {len(args)}")
    first = next((a for a in args if isinstance(a, Expr)), None)
    if first is None:
        first = const(args[0], "float64") if isinstance(args[0], float) else natural(args[0])
    values = []
    for a in args:
        first = operands(first, a, f"call {name} on")[0]
    for a in args:
        values.append(operands(first, a, f"call {name} on")[1])
    dtype = first.dtype
    if dtype.is_complex and name in _OF_COMPLEX:
        return _OF_COMPLEX[name](*values)
    needed = row.why_not(dtype)
    if needed is not None:
        cast_to = "float32" if row.takes == "float" else "int32"
        raise DTypeError(f"{name} needs {needed}, found {dtype}; use cast(..., {cast_to})")
    if name == "abs" and dtype.kind == "u":
        return values[0]
    result = BOOL if row.gives_bool else dtype
    if row.exact and not dtype.is_storage and all(isinstance(v, Const) for v in values):
        numbers = tuple(v.value for v in values if isinstance(v, Const))
        return const(intrinsic(name, dtype, numbers), result)
    if name == "pow" and isinstance(values[1], Const) and values[1].value in _FEW and not dtype.is_storage:
        return _multiplied(values[0], int(values[1].value))
    return Call(result, name, tuple(values))


_FEW: Final = (1.0, 2.0, 3.0, 4.0)  # exponents of powers that are products, within two roundings of pow


def _multiplied(a: Expr, times: int) -> Expr:
    """`a` to the power of a few times; no product on the way leaves the range of floats unless the power does."""
    square = a if times == 1 else mul(a, a)
    return square if times < 3 else mul(square, a if times == 3 else square)


def negate(a: Expr) -> Expr:
    """`-a`: 0 - a for ints, -0.0 - a for floats (so that the sign of a zero flips)."""
    if a.dtype.is_complex:
        return complex_number(negate(part(a, 0)), negate(part(a, 1)))
    if a.dtype.is_float:
        return literal(-float(a.value), a.dtype) if isinstance(a, Const) else mul(a, -1.0)
    return sub(const(0, a.dtype), a)


_LOGICAL: Final = {"and": logical_and, "or": logical_or}

# The constructor of every operation of `Binary` and `Compare`, by its name there.
CONSTRUCTORS: Final[dict[str, Callable[[object, object], Expr]]] = {
    "add": add, "sub": sub, "mul": mul, "div": div,
    "floordiv": floordiv, "floormod": floormod, "truncdiv": truncdiv, "truncmod": truncmod,
    "min": minimum, "max": maximum,
    "and": bit_and, "or": bit_or, "xor": bit_xor, "shl": shift_left, "shr": shift_right,
    "lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq, "ne": ne,
}  # fmt: skip
