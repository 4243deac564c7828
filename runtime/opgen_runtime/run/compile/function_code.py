"""What a function of arrays is made of: its arguments and its object code."""

from __future__ import annotations

from ...base.arith import Var, evaluate_scalar
from ...base.arith.expr import Shape
from ...base.vocabulary import DType, dataclass
from .kernel.kernel import Slot


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that a function takes or fills."""

    name: str
    shape: Shape
    dtype: DType
    is_output: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"

    def slot(self, dims: dict[Var, int]) -> Slot:
        """It where the dims that are variables have values."""
        shape = [d if isinstance(d, int) else int(evaluate_scalar(d, dict(dims))) for d in self.shape]
        return Slot(self.name, tuple(shape), self.dtype.numpy)


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """What a function is made of: its arguments, and object code that serves all values of its dims.

    `target`: the text of what it was compiled for.  `symbol`: of the function in the code, which needs `imports`.
    """

    name: str
    target: str
    arguments: tuple[Argument, ...]
    symbol: str
    code: bytes
    imports: tuple[str, ...]
