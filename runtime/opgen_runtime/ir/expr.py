"""The nodes of the graph IR.

Nodes are immutable and compare by identity, so that a `Var` can be a dictionary key; structural equality is a
function (`structural.py`).  Every node has a `checked_type`, computed when the node is made from the types of its
operands; where those are not known yet it is an `IncompleteType`, and the pass InferType makes a typed copy.

    Var Constant GlobalVar          leaves
    Call Tuple TupleGetItem If      dataflow; a node may be used any number of times (the program is a DAG)
    Let Function                    bind variables
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import ClassVar, NamedTuple, NoReturn, TypeAlias

import numpy as np

from ..base.errors import CallError, DTypeError, TypeInferenceError
from ..base.vocabulary import DTYPES, DType, dataclass
from ..operator import Attrs, AttrVisitor, FuncType, IncompleteType, Op, TensorType, TupleType, Type, TypeVar
from .forward import call_type, function_type, join_types
from .picture import Pictured

NO_ATTRS: Mapping[str, object] = MappingProxyType({})


Init: TypeAlias = "Expr | Callable[[TensorType], Expr]"
"""An initialiser: an expression without free variables, or what makes one for the type of its variable."""


class Span(NamedTuple):
    """Where a node comes from: a file and a line, for messages."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, eq=False, slots=True, repr=False, kw_only=True)
class Expr:
    """An expression of the graph IR."""

    type_key: ClassVar[str] = "ir.Expr"
    span: Span | None = None
    checked_type: Type = field(init=False)

    def children(self) -> tuple[Expr, ...]:
        """The sub-expressions, in the order of evaluation."""
        return ()

    def visit_fields(self, visitor: AttrVisitor) -> None:
        """Calls `visitor.visit(name, kind, value)` for every field, in order; what follows of them is none."""

    # The operators are attached by `operators.py`, which finds the declared op of each symbol.
    __add__: ClassVar[Callable[[Expr, object], Call]]
    __radd__: ClassVar[Callable[[Expr, object], Call]]
    __sub__: ClassVar[Callable[[Expr, object], Call]]
    __rsub__: ClassVar[Callable[[Expr, object], Call]]
    __mul__: ClassVar[Callable[[Expr, object], Call]]
    __rmul__: ClassVar[Callable[[Expr, object], Call]]
    __truediv__: ClassVar[Callable[[Expr, object], Call]]
    __rtruediv__: ClassVar[Callable[[Expr, object], Call]]
    __floordiv__: ClassVar[Callable[[Expr, object], Call]]
    __rfloordiv__: ClassVar[Callable[[Expr, object], Call]]
    __mod__: ClassVar[Callable[[Expr, object], Call]]
    __rmod__: ClassVar[Callable[[Expr, object], Call]]
    __pow__: ClassVar[Callable[[Expr, object], Call]]
    __rpow__: ClassVar[Callable[[Expr, object], Call]]
    __matmul__: ClassVar[Callable[[Expr, object], Call]]
    __rmatmul__: ClassVar[Callable[[Expr, object], Call]]
    __lt__: ClassVar[Callable[[Expr, object], Call]]
    __le__: ClassVar[Callable[[Expr, object], Call]]
    __gt__: ClassVar[Callable[[Expr, object], Call]]
    __ge__: ClassVar[Callable[[Expr, object], Call]]
    __and__: ClassVar[Callable[[Expr, object], Call]]
    __rand__: ClassVar[Callable[[Expr, object], Call]]
    __or__: ClassVar[Callable[[Expr, object], Call]]
    __ror__: ClassVar[Callable[[Expr, object], Call]]
    __xor__: ClassVar[Callable[[Expr, object], Call]]
    __rxor__: ClassVar[Callable[[Expr, object], Call]]
    __lshift__: ClassVar[Callable[[Expr, object], Call]]
    __rlshift__: ClassVar[Callable[[Expr, object], Call]]
    __rshift__: ClassVar[Callable[[Expr, object], Call]]
    __rrshift__: ClassVar[Callable[[Expr, object], Call]]
    __neg__: ClassVar[Callable[[Expr], Call]]
    __invert__: ClassVar[Callable[[Expr], Call]]
    __abs__: ClassVar[Callable[[Expr], Call]]

    # numpy arrays on the left leave the operator to us instead of mapping it over their elements.
    __array_ufunc__: ClassVar[None] = None

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise CallError(
            'an expression holds no elements before it is run; rt.create_executor("graph").evaluate(expr, bindings) '
            "runs it, and ops of `opgen_runtime.ops` compute with it"
        )

    def __bool__(self) -> bool:
        raise CallError(
            "an expression has no truth value before it is run; use where(...), or ir.If for a branch"
        )

    def __getitem__(self, index: int) -> TupleGetItem:
        if not isinstance(self.checked_type, TupleType | IncompleteType):
            raise CallError(
                f"only an expression of tuple type can be indexed; this one is {self.checked_type}"
            )
        return TupleGetItem(self, index)

    def __iter__(self) -> Iterator[TupleGetItem]:
        if not isinstance(self.checked_type, TupleType):
            raise CallError(
                f"only an expression of tuple type can be unpacked; this one is {self.checked_type}"
            )
        return iter([TupleGetItem(self, i) for i in range(len(self.checked_type.fields))])

    def __str__(self) -> str:
        from .printer import to_text  # printing is the one service a node needs from above

        return to_text(self)

    def astext(self) -> str:
        """The program as text, as `str` gives it."""
        return str(self)

    def __repr__(self) -> str:
        """One node and its type; `str` gives the whole program."""
        label = getattr(self, "name_hint", None) or getattr(self, "name", None) or getattr(self, "op", None)
        name = label if isinstance(label, str) else label.name if isinstance(label, Op) else ""
        return f"<{' '.join([type(self).__name__, *([name] if name else [])])}: {self.checked_type!r}>"


def _set_type(node: Expr, type_: Type) -> None:
    object.__setattr__(node, "checked_type", type_)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Var(Expr):
    """A variable; two are the same only if they are one object.  `type` may be left open (None).

    `init`: what gives a parameter of main its value where a build is given none; no text has it.
    """

    type_key: ClassVar[str] = "ir.Var"
    name_hint: str
    type: Type | None = None
    init: Init | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _set_type(self, IncompleteType() if self.type is None else self.type)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("name_hint", "str", self.name_hint)
        visitor.visit("type", "object", self.type)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GlobalVar(Expr):
    """The name of a function of a module.  `type` is the function's, where it is known."""

    type_key: ClassVar[str] = "ir.GlobalVar"
    name: str
    type: Type | None = None

    def __post_init__(self) -> None:
        _set_type(self, IncompleteType() if self.type is None else self.type)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("name", "str", self.name)
        visitor.visit("type", "object", self.type)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Constant(Expr):
    """A tensor whose value is known.  `data` is kept read-only; a writeable array is copied.

    Raises DTypeError for an array of a type that is not an element type (objects, text).
    """

    type_key: ClassVar[str] = "ir.Constant"
    data: np.ndarray

    def __post_init__(self) -> None:
        data = np.asarray(self.data)
        if data.dtype.name not in DTYPES:
            raise DTypeError(
                f"a constant of dtype {data.dtype} is not possible; expected one of {', '.join(DTYPES)}"
            )
        if not data.dtype.isnative:
            data = data.astype(data.dtype.newbyteorder("="))
        if data.flags.writeable:
            data = data.copy()
            data.flags.writeable = False
        object.__setattr__(self, "data", data)
        _set_type(self, TensorType(data.shape, DType(data.dtype.name)))

    @property
    def is_scalar(self) -> bool:
        return self.data.ndim == 0

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("data", "tensor", self.data)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Tuple(Expr):
    """Several values as one.  The empty tuple stands for an optional input that is absent."""

    type_key: ClassVar[str] = "ir.Tuple"
    fields: tuple[Expr, ...]

    def __post_init__(self) -> None:
        _set_type(self, TupleType(tuple([f.checked_type for f in self.fields])))

    def children(self) -> tuple[Expr, ...]:
        return self.fields

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("fields", "array", self.fields)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class TupleGetItem(Expr):
    """One field of a tuple.  Raises TypeInferenceError for a position outside it."""

    type_key: ClassVar[str] = "ir.TupleGetItem"
    tuple_value: Expr
    index: int

    def __post_init__(self) -> None:
        source = self.tuple_value.checked_type
        if isinstance(source, TupleType):
            if not 0 <= self.index < len(source.fields):
                raise TypeInferenceError(
                    f"field {self.index} of a tuple of {len(source.fields)} fields: {source}"
                )
            _set_type(self, source.fields[self.index])
        elif isinstance(source, IncompleteType):
            _set_type(self, IncompleteType())
        else:
            raise TypeInferenceError(f"field {self.index} of a value that is no tuple: {source}")

    def children(self) -> tuple[Expr, ...]:
        return (self.tuple_value,)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("tuple_value", "object", self.tuple_value)
        visitor.visit("index", "int", self.index)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Call(Expr):
    """`op` applied to `args`: an Op with its attrs, or an expression of function type.

    An op takes one argument per declared input: a variadic input is a Tuple, an optional input that is absent
    is the empty Tuple.  Raises what the op's type relation raises (ShapeError, DTypeError, AttrError, CallError).
    """

    type_key: ClassVar[str] = "ir.Call"
    op: Op | Expr
    args: tuple[Expr, ...]
    attrs: Attrs | None = None
    type_args: tuple[Type, ...] = ()

    def __post_init__(self) -> None:
        callee = self.op if isinstance(self.op, Op) else self.op.checked_type
        types = tuple([arg.checked_type for arg in self.args])
        _set_type(self, call_type(callee, types, self.attrs, self.span, self.type_args))

    def children(self) -> tuple[Expr, ...]:
        return (self.op, *self.args) if isinstance(self.op, Expr) else self.args

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("op", "object", self.op)
        visitor.visit("args", "array", self.args)
        visitor.visit("attrs", "object", self.attrs)
        visitor.visit("type_args", "array", self.type_args)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Let(Expr):
    """`body` with `var` standing for `value`, which is evaluated once."""

    type_key: ClassVar[str] = "ir.Let"
    var: Var
    value: Expr
    body: Expr

    def __post_init__(self) -> None:
        _set_type(self, self.body.checked_type)

    def children(self) -> tuple[Expr, ...]:
        return (self.var, self.value, self.body)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("var", "object", self.var)
        visitor.visit("value", "object", self.value)
        visitor.visit("body", "object", self.body)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class If(Expr):
    """`then` or `otherwise` by a rank-0 bool; only the chosen branch is evaluated."""

    type_key: ClassVar[str] = "ir.If"
    condition: Expr
    then: Expr
    otherwise: Expr

    def __post_init__(self) -> None:
        condition = self.condition.checked_type
        if condition.is_complete and condition != TensorType((), "bool"):
            raise TypeInferenceError(f"the condition of an if must be Tensor[(), bool]; found {condition}")
        then, otherwise = self.then.checked_type, self.otherwise.checked_type
        _set_type(self, join_types(then, otherwise, "the branches of an if"))

    def children(self) -> tuple[Expr, ...]:
        return (self.condition, self.then, self.otherwise)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("condition", "object", self.condition)
        visitor.visit("then", "object", self.then)
        visitor.visit("otherwise", "object", self.otherwise)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Function(Expr, Pictured):
    """A function; `attrs` are marks of passes, such as `Primitive`.

    Raises TypeInferenceError if the body is not of the type `ret_type`.
    """

    type_key: ClassVar[str] = "ir.Function"
    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: Mapping[str, object] = field(default_factory=lambda: NO_ATTRS)

    def __post_init__(self) -> None:
        params = tuple([p.checked_type for p in self.params])
        _set_type(self, function_type(params, self.body.checked_type, self.ret_type, self.type_params))

    def children(self) -> tuple[Expr, ...]:
        return (*self.params, self.body)

    def visit_fields(self, visitor: AttrVisitor) -> None:
        visitor.visit("params", "array", self.params)
        visitor.visit("body", "object", self.body)
        visitor.visit("ret_type", "object", self.ret_type)
        visitor.visit("type_params", "array", self.type_params)
        visitor.visit("attrs", "map", self.attrs)

    def with_attrs(self, **attrs: object) -> Function:
        """The same function with more attrs."""
        merged = MappingProxyType({**self.attrs, **attrs})
        return Function(self.params, self.body, self.ret_type, self.type_params, merged, span=self.span)

    def __call__(self, *args: Expr) -> Call:
        return Call(self, args)


__all__ = [
    "NO_ATTRS",
    "Call",
    "Constant",
    "Expr",
    "FuncType",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "Span",
    "Tuple",
    "TupleGetItem",
    "Var",
]
