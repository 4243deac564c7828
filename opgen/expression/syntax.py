"""The syntax tree of the compute language.  Every node carries its place in the YAML file.

These are the only constructs there are: what is not a class here is not in the language.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Place


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Anything that stands in the text."""

    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A number, a bool, a text or None."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Attribute(Node):
    """`value.name`, name one of shape ndim dtype."""

    value: Expression
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Node):
    """`lower:upper:step` inside a subscript."""

    lower: Expression | None
    upper: Expression | None
    step: Expression | None


@dataclass(frozen=True, slots=True, eq=False)
class Star(Node):
    """`*value` in a subscript, a call or a tuple."""

    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Subscript(Node):
    """`value[indices]`.  `x[()]` has no indices."""

    value: Expression
    indices: tuple[Expression | Slice | Star, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tuple(Node):
    items: tuple[Expression | Star, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    """op: `-` `~` `not`."""

    op: str
    operand: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """op: `+ - * / // % ** << >> & | ^`."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Node):
    """`first op operand op operand ...`; ops: `< <= > >= == != in not-in is-none is-not-none`.

    The last two have no operand.
    """

    first: Expression
    rest: tuple[tuple[str, Expression | None], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Logic(Node):
    """op: `and` `or`; two or more operands."""

    op: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """A call of a library function, an intrinsic or a `def`."""

    function: Name
    arguments: tuple[Expression | Star, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OpCall(Node):
    """`ops.op(operand, ..., attr=value, ...)`: the value of an assignment in `compute:`, or an operand of another."""

    op: Name
    operands: tuple[Expression, ...]
    attrs: tuple[tuple[Name, Expression], ...]


@dataclass(frozen=True, slots=True, eq=False)
class IndexOf(Node):
    """`tuple.index(value)`."""

    value: Expression
    argument: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Clause(Node):
    """`for targets in iterable if condition if condition`."""

    targets: tuple[Name, ...]
    unpack: bool  # several targets, or one in a tuple
    iterable: Expression
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension(Node):
    """`function(element for ...)`; function: a reduction, `tuple`, `sorted` or `next`.

    `next((element for ...), default)` has a default.
    """

    function: Name
    element: Expression
    clauses: tuple[Clause, ...]
    default: Expression | None


Expression = (
    Literal
    | Name
    | Attribute
    | Subscript
    | Tuple
    | Unary
    | Binary
    | Compare
    | Logic
    | Conditional
    | Call
    | OpCall
    | IndexOf
    | Comprehension
)


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """`name = value` (static, or a local of a loop or a `def`); `a, b = value` has several targets."""

    targets: tuple[Name, ...]
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Define(Node):
    """`tensor[indices]: shape = value`, or `tensor[member][indices] = value` of a variadic output."""

    tensor: Name
    member: Expression | None
    indices: tuple[Expression | Star, ...]
    shape: Expression | None
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(Node):
    name: str
    star: bool


@dataclass(frozen=True, slots=True, eq=False)
class Def(Node):
    """`def name(parameters):` with `name = value` lines and one `return`."""

    name: str
    parameters: tuple[Parameter, ...]
    locals: tuple[Assign, ...]
    result: Expression


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """A loop of an update."""

    targets: tuple[Name, ...]
    unpack: bool
    iterable: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Put(Node):
    """`tensor[indices] op value` of an update; op: `=` `+=` `*=` `&=` `|=` `^=` `max` `min`."""

    tensor: Name
    indices: tuple[Expression | Star, ...]
    op: str
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class While(Node):
    """`while condition and at_most(limit):` around definitions, and names for values; no condition: `limit` times."""

    condition: Expression | None
    limit: Expression
    body: tuple[Assign | Define, ...]

    @property
    def defines(self) -> tuple[Define, ...]:
        return tuple(item for item in self.body if isinstance(item, Define))

    @property
    def assigns(self) -> tuple[Assign, ...]:
        return tuple(item for item in self.body if isinstance(item, Assign))


@dataclass(frozen=True, slots=True, eq=False)
class Composition(Node):
    """`targets` are the types of `results`, which the lines bind: what `composed:` adds to `let:`.

    `tensors`: the inputs, and the names of what the lines make of them.
    """

    targets: tuple[Name, ...]
    lines: tuple[Assign, ...]
    results: tuple[Name, ...]
    tensors: frozenset[str]


Statement = Assign | Define | Def | If | For | Put | While | Composition
Block = tuple[Statement, ...]


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in source order."""
    return iter(_children(node))


def _children(node: Node) -> list[Node]:
    found: list[Node] = []
    for name in node.__dataclass_fields__:
        if name != "place":
            _add_nodes(getattr(node, name), found)
    return found


def _add_nodes(value: object, found: list[Node]) -> None:
    if isinstance(value, Node):
        found.append(value)
    elif type(value) is tuple:
        for item in value:
            _add_nodes(item, found)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack += reversed(_children(top))


def is_tensor(node: Node, tensors: Collection[str]) -> bool:
    """Whether an expression of a composition is a whole tensor, where `tensors` are the names that are some."""
    match node:
        case Name(_, name):
            return name in tensors
        case OpCall():
            return True
        case Attribute() | Subscript() | Call() | IndexOf() | Comprehension() | Literal():
            return False
        case Compare(_, _, ((("is-none" | "is-not-none"), _),)):
            return False
        case Conditional(_, _, then, otherwise):
            return is_tensor(then, tensors) or is_tensor(otherwise, tensors)
    return any(is_tensor(child, tensors) for child in children(node))
