r"""Values of tensor expressions in LaTeX: `exp(x[i] - m[()]) / 2` is `\frac{\exp\left(x_{i} - m\right)}{2}`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeGuard

from ...base.arith import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Not,
    Select,
    Table,
    Var,
    post_order,
    structural_equal,
    to_text,
)
from ...base.vocabulary import BOOL, FLOAT16, FLOAT32, INDEX, INT64, DType
from .tensor import IterVar, Read, Reduce, Tensor

CONDITION, BIG, SUM, PRODUCT, POWER, ATOM = range(6)
"""How tightly a text binds; one that binds less tightly than its place asks is put in parentheses."""

_COMPARE: Final = {"lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge", "eq": "=", "ne": r"\ne"}
_SIGNS: Final = {
    "floormod": (r"\bmod", PRODUCT, POWER), "truncmod": (r"\operatorname{rem}", PRODUCT, POWER),
    "xor": (r"\oplus", SUM, PRODUCT), "shl": (r"\ll", SUM, PRODUCT), "shr": (r"\gg", SUM, PRODUCT),
}  # fmt: skip
_BITS: Final = {"and": r"\mathbin{\&}", "or": r"\mathbin{|}"}
_LOGIC: Final = {"and": r"\land", "or": r"\lor"}
_BIG: Final = {"sum": r"\sum", "prod": r"\prod", "min": r"\min", "max": r"\max", "any": r"\bigvee", "all": r"\bigwedge",
               "argmax": r"\operatorname*{arg\,max}", "argmin": r"\operatorname*{arg\,min}",
               "first": r"\operatorname*{first}"}  # fmt: skip
_FUNCTIONS: Final = frozenset({"exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"})
_AROUND: Final = {"abs": (r"\left|", r"\right|"), "floor": (r"\left\lfloor ", r" \right\rfloor"),
                  "ceil": (r"\left\lceil ", r" \right\rceil"), "sqrt": (r"\sqrt{", "}")}  # fmt: skip
_MAX_LENGTH: Final = 400  # nodes of an expression, each as often as it is written
_MAX_DEPTH: Final = 60
_COUNTS: Final = (INDEX, INT64)  # of which one is the other, to readers
_ROUNDED: Final = (FLOAT16, FLOAT32)  # whose numbers numpy writes with fewer digits
COMMA: Final = r",\, "
_ROW: Final = r" \\ "
_LETTERS: Final = "ijklmnpqrstuvwxyzabcdefgh"

Text = tuple[str, int]


class TooLong(Exception):
    """An expression that nobody would read."""


class Values:
    """Values in LaTeX, where tensors have the given names."""

    def __init__(self, tensors: Mapping[Tensor, str]) -> None:
        self._tensors = tensors
        self._axes: dict[Var, str] = {}

    @contextmanager
    def bound(self, axes: Sequence[IterVar]) -> Iterator[list[str]]:
        """The names of axes where they are bound: their own letters where those are free, else the next that are."""
        names = []
        for axis in axes:
            taken = {*self._axes.values(), *self._tensors.values()}
            own = axis.var.name
            letters = [own, *_LETTERS] if len(own) == 1 else _LETTERS
            names.append(next((each for each in letters if each not in taken), name_text(own)))
            self._axes[axis.var] = names[-1]
        yield names
        for axis in axes:
            del self._axes[axis.var]

    def text(self, e: Expr) -> str:
        """The value in LaTeX.  Raises TooLong."""
        length, depth = _size(e)
        if length > _MAX_LENGTH or depth > _MAX_DEPTH:
            raise TooLong
        return self._at(e)

    def element(self, tensor: Tensor, indices: Sequence[str]) -> str:
        """An element of a tensor."""
        return f"{self._tensors[tensor]}_{{{', '.join(indices)}}}" if indices else self._tensors[tensor]

    def range(self, name: str, extent: int | Expr) -> str:
        """`k < 4`: the values of an axis, which begin at 0."""
        return f"{name} < {extent if isinstance(extent, int) else self._at(extent, SUM)}"

    def _at(self, e: Expr, least: int = 0) -> str:
        """The text at a place that asks how tightly it binds."""
        text, binds = self._bound(e)
        return _inside(text, binds, least)

    def _bound(self, e: Expr) -> Text:
        match e:
            case Const():
                return _number(e)
            case Var():
                return self._axes.get(e) or name_text(e.name), ATOM
            case Read():
                return self.element(e.tensor, [self._at(index) for index in e.indices]), ATOM
            case Binary():
                return self._operation(e)
            case Compare():
                return f"{self._at(e.a, SUM)} {_COMPARE[e.op]} {self._at(e.b, SUM)}", CONDITION
            case Not():
                return rf"\lnot {self._at(e.a, ATOM)}", POWER
            case Select():
                return self._choice(e)
            case Cast():
                if e.dtype in _COUNTS and e.a.dtype in _COUNTS:
                    return self._bound(e.a)
                return rf"\mathrm{{{e.dtype}}}\left({self._at(e.a)}\right)", ATOM
            case Bitcast():
                return rf"\operatorname{{bits}}_{{\mathrm{{{e.dtype}}}}}\left({self._at(e.a)}\right)", ATOM
            case Call():
                return self._call(e)
            case Table():
                values = ", ".join(_number(Const(e.dtype, value))[0] for value in e.values)
                return rf"\left[{values}\right]_{{{self._at(e.index)}}}", ATOM
            case Reduce():
                return self._reduction(e), BIG
        return rf"\text{{{to_text(e)}}}", ATOM

    def _operation(self, e: Binary) -> Text:
        a, b = e.a, e.b
        match e.op:
            case "add":
                return self._sum(a, b)
            case "sub" if isinstance(a, Const) and a.value == 0:
                return f"-{self._at(b, PRODUCT)}", SUM
            case "sub":
                return f"{self._at(a, SUM)} - {self._at(b, PRODUCT)}", SUM
            case "mul" if structural_equal(a, b):
                return f"{self._at(a, ATOM)}^{{2}}", POWER
            case "mul" if isinstance(b, Const) and b.value == -1:
                return f"-{self._at(a, PRODUCT)}", SUM
            case "mul":
                return rf"{self._at(a, PRODUCT)} \cdot {self._at(b, PRODUCT)}", PRODUCT
            case "div":
                return rf"\frac{{{self._at(a)}}}{{{self._at(b)}}}", POWER
            case "floordiv":
                return rf"\left\lfloor \frac{{{self._at(a)}}}{{{self._at(b)}}} \right\rfloor", ATOM
            case "truncdiv":
                return rf"\operatorname{{trunc}}\left(\frac{{{self._at(a)}}}{{{self._at(b)}}}\right)", ATOM
            case "min" | "max":
                return rf"\{e.op}\left({self._at(a)}, {self._at(b)}\right)", ATOM
            case "and" | "or":
                return self._both(e)
        sign, left, right = _SIGNS[e.op]
        return f"{self._at(a, left)} {sign} {self._at(b, right)}", min(left, PRODUCT)

    def _sum(self, a: Expr, b: Expr) -> Text:
        """A sum; of what is negative the difference."""
        left, (right, binds) = self._at(a, SUM), self._bound(b)
        if right.startswith("-") and binds == SUM:
            return f"{left} - {right[1:]}", SUM
        return rf"{left} + {_inside(right, binds, SUM)}", SUM

    def _both(self, e: Binary) -> Text:
        """Both of two, or one of them: of conditions, or of the bits of ints.  0 <= i < n where that is meant."""
        a, b = e.a, e.b
        if e.dtype is not BOOL:
            return f"{self._at(a, PRODUCT)} {_BITS[e.op]} {self._at(b, PRODUCT)}", SUM
        if e.op == "and" and _is_rising(a) and _is_rising(b) and structural_equal(a.b, b.a):
            return f"{self._bound(a)[0]} {_COMPARE[b.op]} {self._at(b.b, SUM)}", CONDITION
        return f"{self._joined(a, e.op)} {_LOGIC[e.op]} {self._joined(b, e.op)}", CONDITION

    def _joined(self, e: Expr, op: str) -> str:
        """One side of conditions that are joined, without parentheses where it is a comparison or joined likewise."""
        alone = isinstance(e, Compare) or (isinstance(e, Binary) and e.op == op)
        return self._at(e, CONDITION if alone else ATOM)

    def _choice(self, e: Select) -> Text:
        if isinstance(e.otherwise, Const) and e.otherwise.value is False:
            return rf"{self._joined(e.condition, 'and')} \land {self._joined(e.then, 'and')}", CONDITION
        if isinstance(e.then, Const) and e.then.value is True:
            return rf"{self._joined(e.condition, 'or')} \lor {self._joined(e.otherwise, 'or')}", CONDITION
        rows, rest = [], e  # type: tuple[list[str], Expr]
        while isinstance(rest, Select):
            rows.append(rf"{self._at(rest.then)} & \text{{if }} {self._at(rest.condition)}")
            rest = rest.otherwise
        rows.append(rf"{self._at(rest)} & \text{{otherwise}}")
        return rf"\begin{{cases}} {_ROW.join(rows)} \end{{cases}}", POWER

    def _call(self, e: Call) -> Text:
        match e.name, e.args:
            case name, (of,) if name in _AROUND:
                before, behind = _AROUND[name]
                return f"{before}{self._at(of)}{behind}", ATOM
            case "rsqrt", (of,):
                return rf"\frac{{1}}{{\sqrt{{{self._at(of)}}}}}", POWER
            case "pow", (base, exponent):
                return f"{self._at(base, ATOM)}^{{{self._at(exponent)}}}", POWER
        name = rf"\{e.name}" if e.name in _FUNCTIONS else rf"\operatorname{{{escaped(e.name)}}}"
        return rf"{name}\left({', '.join(self._at(arg) for arg in e.args)}\right)", ATOM

    def _reduction(self, e: Reduce) -> str:
        with self.bound(e.axes) as names:
            under = [self.range(name, axis.extent) for name, axis in zip(names, e.axes, strict=True)]
            if e.condition is not None:
                under += sorted([self._at(each, CONDITION) for each in _conjuncts(e.condition)])
            value = self._at(e.value, PRODUCT)
        rest = "" if e.default is None else rf"\ \text{{or}}\ {self._at(e.default, SUM)}"
        return rf"{_BIG[e.combiner]}_{{{COMMA.join(under)}}} {value}{rest}"


def _conjuncts(e: Expr) -> list[Expr]:
    """The conditions that all hold where `e` does; how they are nested, and in which order, is no part of a formula."""
    if isinstance(e, Binary) and e.op == "and" and e.dtype is BOOL:
        return [*_conjuncts(e.a), *_conjuncts(e.b)]
    if isinstance(e, Select) and isinstance(e.otherwise, Const) and e.otherwise.value is False:
        return [*_conjuncts(e.condition), *_conjuncts(e.then)]
    return [e]


def _is_rising(e: Expr) -> TypeGuard[Compare]:
    return isinstance(e, Compare) and e.op in ("lt", "le")


def _inside(text: str, binds: int, least: int) -> str:
    return text if binds >= least else rf"\left({text}\right)"


def name_text(name: str) -> str:
    """A name: one letter as it is, others upright."""
    return name if len(name) == 1 else rf"\mathrm{{{escaped(name)}}}"


def escaped(name: str) -> str:
    """A name inside LaTeX."""
    return name.replace("_", r"\_")


def _number(e: Const) -> Text:
    value = e.value
    if isinstance(value, bool):
        return rf"\mathrm{{{str(value).lower()}}}", ATOM
    if isinstance(value, int):
        return str(value), ATOM if value >= 0 else SUM
    if value != value:
        return r"\mathrm{NaN}", ATOM
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    digits, _, power = _digits(abs(value), e.dtype).partition("e")
    text = digits.removesuffix(".0")
    if math.isinf(value):
        text = r"\infty"
    elif power:
        text = ("" if text == "1" else rf"{text} \cdot ") + f"10^{{{int(power)}}}"
    return sign + text, SUM if sign else PRODUCT if power else ATOM


def _digits(value: float, dtype: DType) -> str:
    """As few digits as tell a number from the others of its dtype."""
    return str(dtype.numpy.type(value)) if dtype in _ROUNDED else repr(value)


def _size(e: Expr) -> tuple[int, int]:
    """How many nodes are written, and how deep they are nested."""
    sizes: dict[int, tuple[int, int]] = {}
    for node in post_order(e):
        parts = [sizes[id(child)] for child in node.children()]
        sizes[id(node)] = (
            1 + sum(length for length, _ in parts),
            1 + max([deep for _, deep in parts], default=0),
        )
    return sizes[id(e)]
