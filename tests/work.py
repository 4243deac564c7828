"""How much work loop IR does, counted: so that a schedule of the wrong order of growth fails whatever the machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import CodeType
from typing import Final

from opgen_runtime import ir
from opgen_runtime.base.arith import (
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
_FUNCTIONS: Final = {"min": min, "max": max}
_LAST: Final = "rewrite_unsafe_select"  # behind it come phases that do the same with fewer instructions


def kernel_of(function: ir.Function, target: str) -> Lowered | None:
    """A segment after the phases that decide how much a kernel does; None for one that runs in Python."""
    *_, (_, record) = through_kernel(requested(function, target, PassContext.current()), upto(_LAST))
    return record if isinstance(record, Lowered) else None


def stores(func: PrimFunc, values: Values) -> int:
    """How many stores a kernel executes for values of its dims, a vector as one, and how many elements are gathered.

    A branch is taken as its condition says; one that reads elements counts as the longer of both sides.
    """
    return _Counter().count(func.body, dict(values))


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


def _gathered(s: Store) -> int:
    """How many elements a store reads one by one: lanes of vectors that lie neither side by side nor in steps."""
    found = 0
    for node in post_order(s.value):
        index = node.indices[0] if isinstance(node, Load) and len(node.indices) == 1 else None
        if index is not None and lanes_of(index) > 1 and not isinstance(index, Ramp | Splat):
            found += lanes_of(index)
    return found


class _Counter:
    def count(self, s: Stmt, values: dict[Var, int]) -> int:
        match s:
            case Store():
                return 1 + _gathered(s)
            case Block():
                return sum(self.count(part, values) for part in s.body)
            case Allocate():
                return self.count(s.body, values)
            case LetStmt():
                if s.var not in _decisive(s.body):
                    return self.count(s.body, values)  # a mask of lanes
                return self.count(s.body, {**values, s.var: _value(s.value, values)})
            case For():
                return self._loop(s, values)
            case If():
                return self._branch(s, values)
            case _:
                return 0

    def _loop(self, s: For, values: dict[Var, int]) -> int:
        first, extent = _value(s.minimum, values), max(0, _value(s.extent, values))
        if s.var not in _decisive(s.body):
            return extent * self.count(s.body, values) if extent else 0
        return sum(self.count(s.body, {**values, s.var: n}) for n in range(first, first + extent))

    def _branch(self, s: If, values: dict[Var, int]) -> int:
        sides = [s.then] if s.otherwise is None else [s.then, s.otherwise]
        if any(isinstance(node, Load) for node in post_order(s.condition)):
            return max(self.count(side, values) for side in sides)
        if _value(s.condition, values):
            return self.count(s.then, values)
        return self.count(s.otherwise, values) if s.otherwise is not None else 0


def _decisive(s: Stmt) -> set[Var]:
    """The variables that extents and conditions below a statement depend on."""
    match s:
        case Block():
            return set().union(*map(_decisive, s.body)) if s.body else set()
        case Allocate():
            return _decisive(s.body)
        case LetStmt():
            inner = _decisive(s.body)
            return inner | set(free_vars(s.value)) if s.var in inner else inner
        case For():
            return _decisive(s.body) | set(free_vars(s.minimum)) | set(free_vars(s.extent))
        case If():
            other = set() if s.otherwise is None else _decisive(s.otherwise)
            return _decisive(s.then) | other | set(free_vars(s.condition))
        case _:
            return set()


def _value(e: Expr, values: Values) -> int:
    """What a scalar is; compiled to Python, since that is asked for in every iteration."""
    if isinstance(e, Const):
        return int(e.value)
    variables, compiled = _compiled(e)
    try:
        return int(
            eval(compiled, {**_FUNCTIONS, **{f"v{n}": values[var] for n, var in enumerate(variables)}})
        )
    except ZeroDivisionError:  # a quotient by 0 is 0
        return int(evaluate_scalar(e, dict(values)))


@lru_cache(maxsize=10_000)  # by identity
def _compiled(e: Expr) -> tuple[tuple[Var, ...], CodeType]:
    variables = tuple(free_vars(e))
    named = {var: Var(var.dtype, f"v{n}") for n, var in enumerate(variables)}
    return variables, compile(to_text(substitute(e, named)), "<expression>", "eval")


def total(kernel: Lowered, sizes: Mapping[str, int]) -> int:
    """The stores of a kernel of which dims have sizes by name: of the first variant whose guard holds."""
    func = next(
        (each.what for each in kernel.versions if _holds(each.specialisation.guard, sizes)), kernel.func
    )
    return stores(func, {dim: sizes[dim.name] for dim in func.dims})


def _holds(guard: Expr, sizes: Mapping[str, int]) -> bool:
    return bool(_value(guard, {dim: sizes[dim.name] for dim in free_vars(guard)}))
