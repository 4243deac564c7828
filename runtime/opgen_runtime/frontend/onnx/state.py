"""What a conversion knows of the values of a model: constants, what it computed from arrays, what it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.random import default_rng

from ...base.arith import Expr as DimExpr
from ...base.arith import free_vars as dims
from ...base.vocabulary import dataclass
from ...ir import Constant, Expr, Function, GlobalVar, IRModule, Var, const, free_vars, substitute
from ...operator import TensorType
from ...run.executor import array_type
from .emit import op
from .errors import NotSupported
from .evaluate import Evaluator
from .extents import Sizes, constant
from .limits import Budget, Limits
from .narrow import Narrow, carried, narrow_dtype
from .size_conditions import assumption, holds
from .texts import Texts

Value: TypeAlias = "Expr | Narrow | Texts | list[Any] | None"
"""What a name of a graph stands for: a tensor, of any element type, a sequence, or an absent optional."""
Environment: TypeAlias = "dict[str, Value]"


@dataclass(frozen=True, eq=False, slots=True)
class Probe:
    """What was computed from a call's inputs: the program holds where `expr` has this value, or this shape.

    `stands`: the variable that is the value in the rest of the program (a tensor whose shape depends on data).
    """

    expr: Expr
    value: np.ndarray
    stands: Var | None = None

    def holds(self, value: np.ndarray) -> bool:
        if self.stands is not None:
            return value.shape == self.value.shape
        return value.shape == self.value.shape and value.tobytes() == self.value.tobytes()


class State:
    """The values of one conversion.

    `arrays`: those of the inputs, where there are any.  `probes`: what was computed from them.  `random`: variables of
    random keys.  `parameters`: id of an initializer's constant -> its name.  `functions`: of the program, its loops.
    `refusals`: (flag of the program, why its results are none where the flag is set).  `captured`: what variables in
    bodies of loops stand for.
    """

    def __init__(self, arrays: Mapping[Var, np.ndarray] | None, limits: Limits) -> None:
        self.budget = Budget(limits)
        self.has_arrays = arrays is not None
        self.evaluator = Evaluator(arrays or {}, self.budget)
        self.probes: list[Probe] = []
        self.random: list[Var] = []
        self.parameters: dict[int, str] = {}
        self.functions: dict[GlobalVar, Function] = {}
        self.refusals: list[tuple[Expr, str]] = []
        self.captured: dict[Var, Expr] = {}
        self._attempts: dict[tuple[int, bool], object] = {}  # by body and whether it is within a block
        self._changing: set[Var] = set()
        self._depth = 0
        self.evaluator.functions = self.functions
        self._known: dict[int, Expr] = {}
        self._alive: list[Expr] = []
        self._constants: dict[int, Constant] = {}
        self.sizes: dict[Expr, Sizes] = {}  # tensors of sizes of open dims
        self.conditions: dict[Expr, Sizes] = {}  # tensors of conditions, of which some depend on sizes
        self.assumed: list[DimExpr] = []  # sizes that are at least 0 where the program runs
        self.is_decided_by_sizes = False

    def value(self, expr: Expr) -> np.ndarray:
        """The value of a tensor; one that depends on inputs becomes a probe. Raises NotSupported without arrays."""
        if isinstance(expr, Constant):
            return expr.data
        known = self._known.get(id(expr))
        if isinstance(known, Constant):
            return known.data
        if self._depth:
            outer = self._outside(expr)
            if outer is not expr:
                array = self.value(outer)
                self._remember(expr, const(array))
                return array
        if not self.evaluator.is_constant(expr):
            self._needs_arrays(expr)
            self.probes.append(Probe(expr, self.evaluator.array(expr)))
        array = self.evaluator.array(expr)
        self._remember(expr, const(array))
        return array

    def concrete(self, expr: Expr) -> Expr:
        """`expr`, or what stands for it where its shape depends on data or its value is known."""
        known = self._known.get(id(expr))
        if known is not None:
            return known
        type_ = expr.checked_type
        if isinstance(type_, TensorType) and not type_.is_static and self.has_arrays:
            if self._depth:
                raise NotSupported("within a branch or a loop, a tensor whose shape depends on data")
            array = self.evaluator.array(expr)
            var = Var(f"dynamic{len(self.probes)}", array_type(array))
            self.probes.append(Probe(expr, array, var))
            self.evaluator.arrays[var] = array
            self._remember(expr, var)
            return var
        return expr

    def sized(self, sizes: Sizes, dtype: str) -> Expr:
        """A tensor of sizes: a constant; where dims are open what they are is kept, and shapes are made of it."""
        array = constant(sizes)
        if array is not None:
            return const(array.astype(dtype))
        made = op.shape_to_tensor(shape=tuple(sizes.reshape(-1)), dtype=dtype)
        found = made if sizes.ndim == 1 else op.reshape(made, newshape=sizes.shape, allowzero=True)
        self.sizes[found] = sizes
        return found

    def told(self, value: Value) -> Sizes | None:
        """The sizes, or conditions on sizes, that a tensor holds; None where it is none of those."""
        if not isinstance(value, Expr):
            return None
        found = self.sizes.get(value)
        return self.conditions.get(value) if found is None else found

    def decide(self, condition: DimExpr) -> bool:
        """Whether a condition holds for the sizes at hand, which the program assumes from now on.

        Raises NotSupported where no sizes are at hand.
        """
        unknown = [each for each in dims(condition) if each.hint is None]
        if unknown:
            raise NotSupported(f"a condition on the dim {unknown[0]}; give the shapes of the inputs")
        found = holds(condition)
        self.assumed += assumption(condition, found)
        self.is_decided_by_sizes = True
        return found

    def guarded(self, results: Sequence[Value]) -> list[Value]:
        """The results of a program that runs only where what was assumed of sizes holds."""
        found = list(results)
        for place, value in enumerate(found):
            if self.assumed and isinstance(value, Expr) and not isinstance(value, Constant):
                found[place] = op.assume_sizes(value, sizes=tuple(self.assumed))
                break
        return found

    def folded(self, expr: Expr) -> Expr:
        """An expression of constants as one constant."""
        return const(self.evaluator.array(expr)) if not isinstance(expr, Constant) else expr

    def random_key(self) -> Expr:
        """Two words that each run of the program draws anew."""
        if self._depth:
            raise NotSupported("within a branch or a loop, random numbers")
        var = Var(f"random{len(self.random)}", TensorType((2,), "uint32"))
        self.random.append(var)
        self.evaluator.arrays[var] = fresh_key()
        return var

    def initializer(self, name: str, array: np.ndarray) -> Constant:
        """The constant of an initializer, one for each array."""
        found = self._constants.get(id(array))
        if found is None:
            found = self._constants[id(array)] = Constant(array)
            self.parameters[id(found)] = name
        return found

    def tensor(self, name: str, array: np.ndarray) -> Value:
        """An initializer of any element type of numbers."""
        kind = narrow_dtype(array.dtype)
        return self.initializer(name, array) if kind is None else Narrow(const(carried(array)), kind)

    def name_weight(self, constant: Constant, name: str) -> None:
        """Takes a constant for a weight of the model."""
        self.parameters.setdefault(id(constant), name)
        self._alive.append(constant)

    @contextmanager
    def block(self, changing: Iterable[Var]) -> Iterator[None]:
        """Within a branch or the body of a loop, whose variables `changing` have other values in each step."""
        self._changing.update(changing)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def attempt(self, body: object) -> None:
        """A loop's body is to become a block. Raises NotSupported if that was tried in vain.

        So a body is tried twice at most, however deep loops are nested that are unrolled then.
        """
        key = id(body), self._depth > 0
        if key in self._attempts:
            raise NotSupported("its body can be no block of the program")
        self._attempts[key] = body  # kept, so that its id stays its own

    def succeeded(self, body: object) -> None:
        """The body became a block, and may do so again."""
        self._attempts.pop((id(body), self._depth > 0))

    def capture(self, expr: Expr, name: str) -> Var:
        """A variable that stands for a value in the body of a loop."""
        var = Var(name, expr.checked_type)
        self.captured[var] = expr
        return var

    def refuse(self, flag: Expr, why: str) -> None:
        """A run of the program that sets the flag has no results. Raises NotSupported within another block."""
        if self._depth:
            raise NotSupported("within a branch or a loop, a loop of as many steps as the data says")
        self.refusals.append((flag, why))

    def program(self, function: Function) -> IRModule:
        """A module of a function and of all that it may call."""
        main = GlobalVar("main", function.checked_type)
        return IRModule({main: function, **self.functions})

    def _outside(self, expr: Expr) -> Expr:
        """`expr` in terms of what surrounds the loops that it is in. Raises NotSupported for what changes in them."""
        while True:
            variables = free_vars(expr)
            if not self._changing.isdisjoint(variables):
                raise NotSupported(
                    "the program depends on a value that is another one in each step of a loop"
                )
            known = {var: self.captured[var] for var in variables if var in self.captured}
            if not known:
                return expr
            expr = substitute(expr, known)

    def _remember(self, expr: Expr, value: Expr) -> None:
        self._known[id(expr)] = value
        self._alive.append(expr)

    def _needs_arrays(self, expr: Expr) -> None:
        if not self.has_arrays:
            raise NotSupported(
                "the program depends on the value of an input that is not constant; use run(...) or prepare(...), "
                "which specialise on it"
            )


def tensor_type(value: Value) -> TensorType | None:
    """The type of a value that is a tensor."""
    type_ = value.checked_type if isinstance(value, Expr) else None
    return type_ if isinstance(type_, TensorType) else None


def fresh_key() -> np.ndarray:
    """Two random words."""
    return default_rng().integers(0, 1 << 32, 2, np.uint32)
