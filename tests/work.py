"""How much work loop IR does, counted: so that a schedule of the wrong order of growth fails whatever the machine."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, cast

from opgen_runtime import ir
from opgen_runtime.base.arith import (
    Binary,
    Const,
    Expr,
    Var,
    evaluate_scalar,
    free_vars,
    post_order,
    substitute,
    to_text,
)
from opgen_runtime.lower.tir.nodes.stmt import (
    Allocate,
    Block,
    For,
    If,
    LetStmt,
    Load,
    PrimFunc,
    Ramp,
    Splat,
    Stmt,
    Store,
)
from opgen_runtime.lower.tir.nodes.vector import lanes_of
from opgen_runtime.run.compile.kernel.records import Lowered
from opgen_runtime.run.compile.kernel.segments import segments_of
from opgen_runtime.run.compile.pipeline import optimise, requested, through_kernel, upto
from opgen_runtime.transform import PassContext

Values = Mapping[Var, int]
_LAST: Final = "rewrite_unsafe_select"  # behind it come phases that do the same with fewer instructions


def kernel_of(function: ir.Function, target: str) -> Lowered | None:
    """A segment after the phases that decide how much a kernel does; None for one that runs in Python."""
    *_, (_, record) = through_kernel(requested(function, target, PassContext.current()), upto(_LAST))
    return record if isinstance(record, Lowered) else None


def stores(func: PrimFunc, values: Values) -> int:
    """How much a kernel executes for values of its dims: stores, a vector as one, branches, and elements by themselves.

    These are elements that are gathered, and positions that are divided by what is no constant.

    A branch is taken as its condition says; one that reads elements counts as the longer of both sides.
    """
    return _counting(func)(*[values[dim] for dim in func.dims])


def work(function: ir.Function, sizes: Mapping[str, int], target: str) -> int:
    """The stores of a whole program, of which dims have sizes by name."""
    return Work(function, target).at(sizes)


class Work:
    """What a program does, as a function of the sizes of its dims."""

    def __init__(self, function: ir.Function, target: str) -> None:
        module = optimise(ir.IRModule.from_expr(function))
        segments = segments_of(*module.functions.values()).functions
        found = [kernel_of(segment, target) for segment in segments]
        self._kernels = [kernel for kernel in found if kernel is not None]

    def at(self, sizes: Mapping[str, int]) -> int:
        """The stores where dims have these sizes, by name."""
        return sum(total(kernel, sizes) for kernel in self._kernels)


def _alone(s: Store) -> int:
    """How many elements a store treats one by one: lanes that lie neither side by side nor in steps, or are divided."""
    found = 0
    for node in post_order(s.value):
        if isinstance(node, Binary) and node.op in ("floordiv", "floormod") and _is_open(node.b):
            found += lanes_of(node.b)
        index = node.indices[0] if isinstance(node, Load) and len(node.indices) == 1 else None
        if index is not None and lanes_of(index) > 1 and not isinstance(index, Ramp | Splat):
            found += lanes_of(index)
    return found


def _is_open(divisor: Expr) -> bool:
    return isinstance(divisor, Splat) and not isinstance(divisor.value, Const)


class _Counter:
    """Writes Python that counts: its loops are those of whose variables extents and conditions depend."""

    def __init__(self, func: PrimFunc) -> None:
        self._lines: list[str] = []
        self._names: dict[Var, str] = {}
        self._totals = 0
        self._decisive: dict[int, set[Var]] = {}
        dims = [self._named(dim) for dim in func.dims]
        fixed = self._add(func.body, "total", 1)
        head = [f"def count({', '.join(dims)}):", f" total = {fixed}"]
        self.text = "\n".join((*head, *self._lines, " return total"))

    def _named(self, var: Var) -> str:
        return self._names.setdefault(var, f"v{len(self._names)}")

    def _fresh(self) -> str:
        self._totals += 1
        return f"t{self._totals}"

    def _value(self, e: Expr) -> str:
        named = {var: Var(var.dtype, self._named(var)) for var in free_vars(e)}
        return ast.unparse(_TotalDivision().visit(ast.parse(to_text(substitute(e, named)), mode="eval")))

    def _line(self, depth: int, text: str) -> None:
        self._lines.append(" " * depth + text)

    def _add(self, s: Stmt, total: str, depth: int) -> int:
        """Lines that add the stores of a statement to a variable; gives those that are always executed."""
        match s:
            case Store():
                return 1 + _alone(s)
            case Block():
                return sum(self._add(part, total, depth) for part in s.body)
            case Allocate():
                return self._add(s.body, total, depth)
            case LetStmt():
                if s.var in self._of(s.body):  # else a mask of lanes
                    self._line(depth, f"{self._named(s.var)} = {self._value(s.value)}")
                return self._add(s.body, total, depth)
            case For():
                return self._loop(s, total, depth)
            case If():
                return self._branch(s, total, depth)
            case _:
                return 0

    def _loop(self, s: For, total: str, depth: int) -> int:
        inner = self._fresh()
        if s.var in self._of(s.body):
            first, extent = self._value(s.minimum), self._value(s.extent)
            self._line(depth, f"for {self._named(s.var)} in range({first}, {first} + max(0, {extent})):")
            self._part(s.body, inner, depth + 1)
            self._line(depth + 1, f"{total} += {inner}")
            return 0
        before = len(self._lines)
        self._line(depth, f"if {self._value(s.extent)} > 0:")
        fixed = self._add(s.body, inner, depth + 1)
        if len(self._lines) == before + 1 and isinstance(s.extent, Const):
            del self._lines[before]
            return max(0, int(s.extent.value)) * fixed
        self._lines.insert(before + 1, " " * (depth + 1) + f"{inner} = {fixed}")
        self._line(depth + 1, f"{total} += {inner} * ({self._value(s.extent)})")
        return 0

    def _part(self, s: Stmt, total: str, depth: int) -> None:
        """Lines that set a variable to the stores of a statement."""
        before = len(self._lines)
        fixed = self._add(s, total, depth)
        self._lines.insert(before, " " * depth + f"{total} = {fixed}")

    def _branch(self, s: If, total: str, depth: int) -> int:
        sides = [s.then] if s.otherwise is None else [s.then, s.otherwise]
        if any(isinstance(node, Load) for node in post_order(s.condition)):
            counts = [self._fresh() for _ in sides]
            for side, count in zip(sides, counts, strict=True):
                self._part(side, count, depth)
            self._line(depth, f"{total} += max(0, {', '.join(counts)})")
            return 1
        for line, side in zip((f"if {self._value(s.condition)}:", "else:"), sides, strict=False):
            count = self._fresh()
            self._line(depth, line)
            self._part(side, count, depth + 1)
            self._line(depth + 1, f"{total} += {count}")
        return 1

    def _of(self, s: Stmt) -> set[Var]:
        """The variables that extents and conditions below a statement depend on."""
        found = self._decisive.get(id(s))
        if found is None:
            found = self._decisive[id(s)] = self._decisive_of(s)
        return found

    def _decisive_of(self, s: Stmt) -> set[Var]:
        match s:
            case Block():
                return set().union(*map(self._of, s.body))
            case Allocate():
                return self._of(s.body)
            case LetStmt():
                inner = self._of(s.body)
                return inner | set(free_vars(s.value)) if s.var in inner else inner
            case For():
                return self._of(s.body) | set(free_vars(s.minimum)) | set(free_vars(s.extent))
            case If():
                other = set() if s.otherwise is None else self._of(s.otherwise)
                return self._of(s.then) | other | set(free_vars(s.condition))
            case _:
                return set()


class _TotalDivision(ast.NodeTransformer):
    """Quotients and remainders by what may be 0 as calls of functions that give 0 then."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = {ast.FloorDiv: "quotient", ast.Mod: "remainder"}.get(type(node.op))
        if name is None or (isinstance(node.right, ast.Constant) and node.right.value):
            return node
        return ast.Call(ast.Name(name), [node.left, node.right], [])


_FUNCTIONS: Final = {
    "min": min,
    "max": max,
    "int64": int,
    "quotient": lambda a, b: a // b if b else 0,
    "remainder": lambda a, b: a % b if b else 0,
}


@lru_cache(maxsize=64)  # by identity
def _counting(func: PrimFunc) -> Callable[..., int]:
    scope: dict[str, object] = dict(_FUNCTIONS)
    exec(_Counter(func).text, scope)
    return cast(Callable[..., int], scope["count"])


def total(kernel: Lowered, sizes: Mapping[str, int]) -> int:
    """The stores of a kernel of which dims have sizes by name: of the first variant whose guard holds."""
    func = next(
        (each.what for each in kernel.versions if _holds(each.specialisation.guard, sizes)), kernel.func
    )
    return stores(func, {dim: sizes[dim.name] for dim in func.dims})


def _holds(guard: Expr, sizes: Mapping[str, int]) -> bool:
    return bool(evaluate_scalar(guard, {dim: sizes[dim.name] for dim in free_vars(guard)}))
