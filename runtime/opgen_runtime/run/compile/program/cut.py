"""Programs partitioned at data-dependent shapes: each part is a program on dims, known when it begins.

    argwhere(%x)        part 0 gives %0: [n, 1]
    exp(cast(%0))       part 1 takes [n, 1] for any n

A part ends with ops that state data-dependent dims; what reads them, and what needs that, is in a later one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....base.errors import OpgenError
from ....ir import Constant, Expr, Function, IRModule, Tuple, TupleGetItem, Var, post_order, rebuild
from ....operator import TensorType, TupleType, is_narrower
from ....transform import EliminateCommonSubexpr, InferType, Inline, PassContext
from ....transform.evaluator import is_op_call
from ..kernel.dims import declared_of
from ..kernel.lazy_kernel import check_any_sizes, for_any_size, is_dynamic
from .plan import Slots
from .program_records import Section


def sections_of(module: IRModule, context: PassContext) -> tuple[tuple[Section, ...], Slots]:
    """The sections of a program, in order, and the numbers of its values as its result nests them.

    None where nothing reads what has such a size, and where the program has control flow, or declares more of its
    result than is known.
    """
    for each in (Inline(), InferType(), EliminateCommonSubexpr()):  # equal calls give one size
        module = each(module, context)
    main = module["main"]
    order = post_order(main.body)
    if not all([isinstance(n, Var | Constant | Tuple | TupleGetItem) or is_op_call(n) for n in order]):
        return (), ()
    if is_narrower(declared_of(main), main.body.checked_type):
        return (), ()
    try:
        return _Cut(main, order).sections()
    except OpgenError:  # an op that needs to know a size: the program as a whole says so
        return (), ()


class _Cut:
    """`part`: which part computes a node; `ready`: the first part that may read it."""

    def __init__(self, main: Function, order: Sequence[Expr]) -> None:
        self.main = main
        self.part: dict[int, int] = {}
        self.ready: dict[int, int] = {}
        for node in order:
            children = node.children()
            if is_op_call(node):
                self.part[id(node)] = max([self.ready[id(child)] for child in children], default=0)
                self.ready[id(node)] = self.part[id(node)] + is_dynamic(node)
            else:
                self.part[id(node)] = max([self.part[id(child)] for child in children], default=0)
                self.ready[id(node)] = max([self.ready[id(child)] for child in children], default=0)
        self.variables: dict[int, Var] = {}  # that stand for values of earlier parts

    def sections(self) -> tuple[tuple[Section, ...], Slots]:
        count = 1 + max(self.part.values())
        if count == 1:
            return (), ()
        needed: list[dict[int, Expr]] = [{} for _ in range(count)]
        leaves = list(_leaves(self.main.body))
        for leaf in leaves:
            if not isinstance(leaf, Var):
                needed[self.part[id(leaf)]][id(leaf)] = leaf
        functions: list[tuple[Function, list[Expr]]] = []
        for number in reversed(range(count)):
            function, taken = self.function(number, list(needed[number].values()))
            functions.insert(0, (function, taken))
            for each in taken:
                if not isinstance(each, Var):
                    needed[self.part[id(each)]][id(each)] = each
        place: dict[int, int] = {id(param): k for k, param in enumerate(self.main.params)}
        sections: list[Section] = []
        for (function, taken), given in zip(functions, needed, strict=True):
            check_any_sizes(function)
            sections.append(Section(function, tuple([place[id(each)] for each in taken])))
            place.update({identity: len(place) + k for k, identity in enumerate(given)})
        return tuple(sections), _structure(self.main.body, iter([place[id(leaf)] for leaf in leaves]))

    def function(self, number: int, values: Sequence[Expr]) -> tuple[Function, list[Expr]]:
        """The part that computes some values, and what it takes; the first part takes all parameters."""

        def is_taken(node: Expr) -> bool:
            earlier = not isinstance(node, Var | Constant | Tuple) and self.part[id(node)] < number
            return earlier and isinstance(node.checked_type, TensorType)

        new: dict[int, Expr] = {}
        taken: dict[int, Expr] = {} if number else {id(param): param for param in self.main.params}
        for node in post_order(Tuple(tuple(values)), is_taken):
            if isinstance(node, Var):
                taken[id(node)] = node
                new[id(node)] = node
            elif is_taken(node):
                taken[id(node)] = node
                new[id(node)] = self.variables.setdefault(
                    id(node), Var(f"v{len(self.variables)}", for_any_size(node.checked_type))
                )
            else:
                new[id(node)] = rebuild(node, [new[id(child)] for child in node.children()])
        params = [each if isinstance(each, Var) else new[id(each)] for each in taken.values()]
        body = Tuple(tuple([new[id(value)] for value in values]))
        return Function(tuple([p for p in params if isinstance(p, Var)]), body), list(taken.values())


def _leaves(value: Expr) -> Iterator[Expr]:
    """The tensors of a value, in order."""
    if isinstance(value, Tuple):
        for part in value.fields:
            yield from _leaves(part)
    elif isinstance(value.checked_type, TupleType):
        raise OpgenError(f"{value} is returned as a tuple")
    else:
        yield value


def _structure(value: Expr, places: Iterator[int]) -> Slots:
    if isinstance(value, Tuple):
        return tuple([_structure(part, places) for part in value.fields])
    return next(places)
