"""What is tuned, as it goes to the child that times it."""

from __future__ import annotations

from .... import ir
from ....base import Target
from ....base.vocabulary import dataclass
from ....lower.library.segment import flat_types, kernel_name


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel to tune: a segment, its constant operands, the target, and modules that declare its ops."""

    function: ir.Function
    constant: tuple[int, ...]
    target: Target
    modules: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The name of the kernel with the types of its operands and results."""
        function = self.function
        operands = [each for p in function.params for each in flat_types(p.checked_type, p.name_hint)]
        results = flat_types(function.body.checked_type, "the result")
        shown = [", ".join(map(str, types)) for types in (operands, results)]
        return f"{kernel_name(function)} ({shown[0]}) -> {shown[1]}"
