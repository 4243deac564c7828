"""What a segment is compiled to: a kernel for all runs, and one that precomputes what constants alone decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....base.lru_cache import Footprint
from ....base.vocabulary import dataclass
from ....ir import Call, Constant, Expr, Function, Tuple, TupleGetItem, post_order, rebuild
from ....operator import TensorType, TupleType
from .constant_cache import ran
from .dims import dims_in
from .kernel import Kernel
from .segments import Segments, Site, flat_constants, is_segment

_MAX_PRECOMPUTED_BYTES = 1 << 24  # of a value that is larger than the constants that it is made of


@dataclass(frozen=True, slots=True)
class Parts:
    """The kernels of a segment.

    `main` takes the segment's operands at the positions `operands`, tuples spread, and then what `precompute`
    gives, which takes the constants at `constants`.
    """

    main: Kernel
    operands: tuple[int, ...]
    precompute: Kernel | None = None
    constants: tuple[int, ...] = ()

    def footprint(self) -> Footprint:
        """The memory of the kernels."""
        yield from self.main.footprint()
        if self.precompute is not None:
            yield from self.precompute.footprint()


def whole(kernel: Kernel) -> Parts:
    """A kernel that takes all operands of its segment."""
    return Parts(kernel, tuple(range(len(kernel.inputs))))


def evaluated(function: Function, compiled: Callable[[Function], Kernel]) -> Function:
    """A partitioned function with the values of segments that take constants alone in place of their calls.

    A value that is large, and larger than its constants, is computed when the program runs.
    """
    new: dict[int, Expr] = {}
    for node in post_order(function.body, is_segment):
        children = [node] if is_segment(node) else [new[id(child)] for child in node.children()]
        made = node if is_segment(node) else rebuild(node, children)
        if isinstance(made, TupleGetItem) and isinstance(made.tuple_value, Tuple):
            made = made.tuple_value.fields[made.index]
        elif isinstance(made, Call) and is_segment(made.op):
            constants = flat_constants(made)
            if None not in constants and _is_small(made, constants) and not dims_in(made.op):
                arrays = [constant.data for constant in constants if constant is not None]
                values = [Constant(array) for array in ran(compiled(made.op), arrays)]
                made = Tuple(tuple(values)) if isinstance(node.checked_type, TupleType) else values[0]
        new[id(node)] = made
    body = new[id(function.body)]
    if body is function.body:
        return function
    return Function(function.params, body, function.ret_type, function.type_params, function.attrs)


def _is_small(call: Call, constants: Sequence[Constant | None]) -> bool:
    kind = call.checked_type
    fields = kind.fields if isinstance(kind, TupleType) else (kind,)
    size = 0
    for field in fields:
        if not isinstance(field, TensorType) or not field.is_static:
            return False
        size += int(np.prod(field.concrete_shape)) * field.dtype.itemsize
    return size <= max(_MAX_PRECOMPUTED_BYTES, sum([c.data.nbytes for c in constants if c is not None]))


def sites_of(segments: Segments, parts: Sequence[Parts]) -> tuple[dict[int, Site], list[str]]:
    """How each segment is called, by the id of its function, once what is precomputed has been; and what
    precomputed it.

    Equal kernels on the same constants run once.
    """
    sites: dict[int, Site] = {}
    made: dict[tuple[int, ...], tuple[np.ndarray, ...]] = {}
    names: list[str] = []
    for identity, number in segments.numbers.items():
        part, constants = parts[number], segments.operands[identity]
        precomputed: tuple[np.ndarray, ...] = ()
        if part.precompute is not None:
            arrays = [c.data for c in [constants[k] for k in part.constants] if c is not None]
            key = (number, *map(id, arrays))
            if key not in made:
                names.append(part.precompute.name)
                made[key] = ran(part.precompute, arrays)
            precomputed = made[key]
        sites[identity] = Site(number, part.operands, precomputed)
    return sites, names
