"""Sizes made of symbolic dims: their LLVM instructions, and their form in artifacts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ....base.arith import (
    CONSTRUCTORS,
    Binary,
    Cast,
    Compare,
    Const,
    Expr,
    Select,
    Var,
    const,
    dim,
    free_vars,
    post_order,
    select,
)
from ....base.arith.expr import Dim, Shape
from ....base.vocabulary import BOOL, INDEX
from ....codegen import FunctionText

_PLAIN: Final = {"add": "add", "sub": "sub", "mul": "mul"}
_EXTREMES: Final = {"min": "llvm.smin.i64", "max": "llvm.smax.i64"}
_DIVISIONS: Final = {"floordiv": "sdiv", "floormod": "srem"}
_COMPARISONS: Final = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_LOGICAL: Final = ("and", "or")


def why_not_a_size(e: Dim) -> str | None:
    """Why machine code and artifacts cannot have a dim; None where they can."""
    if isinstance(e, int):
        return None
    for node in post_order(e):
        if isinstance(node, Const | Var | Select | Compare):
            continue
        if isinstance(node, Cast) and node.dtype.is_int and node.a.dtype.is_int:
            continue
        if isinstance(node, Binary) and node.op in (*_PLAIN, *_EXTREMES, *_DIVISIONS, *_LOGICAL):
            continue
        return f"the size {e} is not made of sums, products and quotients of dims"
    return None


def vars_of(shapes: Iterable[Shape]) -> tuple[Var, ...]:
    """The dims in shapes, in the order in which they occur."""
    return tuple(
        dict.fromkeys(v for shape in shapes for d in shape if isinstance(d, Expr) for v in free_vars(d))
    )


class SizeText:
    """Writes sizes at the place where a function is written; each is computed once, so that place must dominate."""

    def __init__(self, f: FunctionText, dims: Mapping[Var, str]) -> None:
        self.f = f
        self.dims = dims
        self._done: dict[int, tuple[Expr, str]] = {}

    def of(self, e: Dim) -> str:
        """The i64 operand of a size."""
        if isinstance(e, int):
            return str(e)
        for node in post_order(e, self._done):
            self._done[id(node)] = node, self._node(node)
        return self._done[id(e)][1]

    def _node(self, e: Expr) -> str:
        f = self.f
        if isinstance(e, Const):
            return str(int(e.value))
        if isinstance(e, Var):
            return self.dims[e]
        parts = [self._done[id(child)][1] for child in e.children()]
        if isinstance(e, Select):
            kind = "i1" if e.dtype is BOOL else "i64"
            return f.emit(f"select i1 {parts[0]}, {kind} {parts[1]}, {kind} {parts[2]}")
        if isinstance(e, Compare):
            return f.emit(f"icmp {_COMPARISONS[e.op]} i64 {parts[0]}, {parts[1]}")
        if isinstance(e, Cast):
            return parts[0]
        assert isinstance(e, Binary)
        a, b = parts
        if e.op in _LOGICAL:
            return f.emit(f"{e.op} i1 {a}, {b}")
        if e.op in _EXTREMES:
            return f.call(_EXTREMES[e.op], "i64", [("i64", a), ("i64", b)])
        if e.op in _PLAIN:
            return f.emit(f"{_PLAIN[e.op]} i64 {a}, {b}")
        return self._division(e.op, a, b)

    def _division(self, op: str, a: str, b: str) -> str:
        """Rounded down; by zero it gives 0."""
        f = self.f
        none = f.emit(f"icmp eq i64 {b}, 0")
        divisor = f.emit(f"select i1 {none}, i64 1, i64 {b}")
        quotient, rest = f.emit(f"sdiv i64 {a}, {divisor}"), f.emit(f"srem i64 {a}, {divisor}")
        opposed = f.emit(f"icmp slt i64 {f.emit(f'xor i64 {rest}, {divisor}')}, 0")
        down = f.emit(f"and i1 {opposed}, {f.emit(f'icmp ne i64 {rest}, 0')}")
        if op == "floordiv":
            found = f.emit(f"select i1 {down}, i64 {f.emit(f'sub i64 {quotient}, 1')}, i64 {quotient}")
        else:
            found = f.emit(f"select i1 {down}, i64 {f.emit(f'add i64 {rest}, {divisor}')}, i64 {rest}")
        return f.emit(f"select i1 {none}, i64 0, i64 {found}")


class SizesOut:
    """Dims as values of JSON: ints, and lists of an operation and its operands; vars by their number in `table`."""

    def __init__(self) -> None:
        self._numbers: dict[Var, int] = {}

    @property
    def table(self) -> list[tuple[str, int | None]]:
        """Name and hint of each var."""
        return [(var.name, var.hint) for var in self._numbers]

    def shape(self, shape: Shape) -> list[object]:
        return [self.dim(d) for d in shape]

    def var(self, var: Var) -> int:
        return self._numbers.setdefault(var, len(self._numbers))

    def dim(self, e: Dim) -> object:
        if isinstance(e, int):
            return e
        if isinstance(e, Const):
            return ["const", bool(e.value) if e.dtype is BOOL else int(e.value)]
        if isinstance(e, Var):
            return ["dim", self.var(e)]
        parts = [self.dim(child) for child in e.children()]
        if isinstance(e, Cast):
            return parts[0]
        if isinstance(e, Select):
            return ["select", *parts]
        assert isinstance(e, Binary | Compare)
        return [e.op, *parts]


class SizesIn:
    """Reads what `SizesOut` has written."""

    def __init__(self, table: Sequence[Sequence[Any]]) -> None:
        self.vars = [dim(name, hint=hint) for name, hint in table]

    def shape(self, made: Sequence[Any]) -> Shape:
        return tuple([self.dim(each) for each in made])

    def dim(self, made: Any) -> Dim:
        return made if isinstance(made, int) else self.expr(made)

    def expr(self, made: Any) -> Expr:
        """A size that is no int."""
        if isinstance(made, int):
            return const(made, INDEX)
        op, *parts = made
        if op == "const":
            return const(parts[0], BOOL if isinstance(parts[0], bool) else INDEX)
        if op == "dim":
            return self.vars[int(parts[0])]
        operands = [self.expr(part) for part in parts]
        return select(*operands) if op == "select" else CONSTRUCTORS[op](*operands)
