"""The type of a node from the types of its operands, when the node is made.

This is the fast path of type inference; where an operand's type is not known the result is an `IncompleteType`, and
the pass InferType solves the whole expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from ..base.arith import Any
from ..base.arith.expr import Dim, Shape
from ..base.contract import handed_in
from ..base.errors import CallError, OpgenError, ShapeError, TypeInferenceError, call_site
from ..base.vocabulary import DType
from ..operator import (
    Assumption,
    Attrs,
    FuncType,
    IncompleteType,
    Op,
    RelationFunction,
    Signature,
    TensorType,
    TupleType,
    Type,
    TypeReporter,
    TypeVar,
    bind_type_vars,
    binding_of,
    certainly_different,
    dims_equal,
)


class CallDeclaration(Protocol):
    """The part of an op's declaration that making a call needs, here and where ops run on arrays."""

    @property
    def name(self) -> str: ...

    @property
    def doc(self) -> str: ...

    @property
    def signature(self) -> Signature: ...

    @property
    def attrs(self) -> type[Attrs] | None: ...

    @property
    def version(self) -> int: ...


def declared(op: Op) -> CallDeclaration | None:
    """What the op's declaration says; None for an op that was registered by hand."""
    return cast("CallDeclaration | None", op.get_attr("declaration", None))


def attrs_type(op: Op) -> type[Attrs] | None:
    """The class of the attrs of an op's calls; None where they have none.

    Raises AttrError for an op registered by hand whose attrs no loaded class has.
    """
    declaration = declared(op)
    return op.attrs_type if declaration is None else declaration.attrs


def type_relation(op: Op) -> RelationFunction:
    """The type relation of an op; what one that is registered by hand raises is an error of the op at the call.

    Raises RegistryError for an op without one.
    """
    (relation,) = op.op_type.constraints
    if declared(op) is not None:
        return relation.function

    def guarded(types: Sequence[Type], num_inputs: int, attrs: object, reporter: TypeReporter) -> bool:
        try:
            with handed_in(f"{op.name}: its type relation {relation.name}", TypeInferenceError):
                return relation.function(types, num_inputs, attrs, reporter)
        except OpgenError as error:
            error.args = (f"{error}{_at(reporter.site or call_site())}", *error.args[1:])
            raise

    return guarded


def version_of(op: Op) -> int:
    """The version of the op's declaration: 1 until a change breaks callers."""
    declaration = declared(op)
    return 1 if declaration is None else declaration.version


def call_type(
    callee: Op | Type,
    types: tuple[Type, ...],
    attrs: Attrs | None,
    site: object | None,
    type_args: tuple[Type, ...] = (),
) -> Type:
    """The type of a call of an op, or of a value of type `callee`, on operands of the given types.

    `type_args`: what type parameters of the callee stand for, where it is said; else operands say it.

    Raises what the op's type relation raises, or CallError for a callee that is no function.
    """
    if isinstance(callee, Type):
        return _function_call_type(callee, types, type_args, site)
    op = callee
    declaration = declared(op)
    if declaration is None:
        return _relation_type(op, types, attrs, site)
    if not all([t.is_complete for t in types]):
        return IncompleteType()
    return binding_of(declaration.signature, op.name, attrs, types, site).result_type


class _OneCall:
    """The reporter of a relation that is run for one call with known operands."""

    def __init__(self, op_name: str, site: object | None, result: Type) -> None:
        self.op_name = op_name
        self.site = site
        self.result = self.value = result

    def assign(self, target: Type, value: Type) -> None:
        if target is self.result:
            self.value = value

    def assume(self, assumption: Assumption) -> None:
        pass

    def known(self, target: Type) -> tuple[Shape | None, DType | None]:
        return None, None

    def narrow(self, target: Type, shape: Shape | None, dtype: DType | None) -> None:
        pass


def _relation_type(op: Op, types: Sequence[Type], attrs: Attrs | None, site: object | None) -> Type:
    """The type of a call of an op that has a relation and no declaration."""
    result = IncompleteType()
    if not all(t.is_complete for t in types):
        return result
    reporter = _OneCall(op.name, site, result)
    done = type_relation(op)((*types, result), len(types), attrs, reporter)
    return reporter.value if done else result


def _function_call_type(
    function: Type, types: Sequence[Type], type_args: Sequence[Type], site: object | None
) -> Type:
    if isinstance(function, IncompleteType):
        return IncompleteType()
    if not isinstance(function, FuncType):
        raise CallError(f"a value of type {function} is called, which is no function{_at(site)}")
    if len(types) != len(function.params):
        raise CallError(
            f"a function of {len(function.params)} parameters is called with {len(types)}{_at(site)}"
        )
    if function.type_params:
        instance = _instance(function, types, type_args, site)
        if instance is None:
            return IncompleteType()
        function = instance
    for position, (found, expected) in enumerate(zip(types, function.params, strict=True)):
        join_types(expected, found, f"parameter {position} and its argument{_at(site)}")
    return function.ret


def _instance(
    function: FuncType, types: Sequence[Type], type_args: Sequence[Type], site: object | None
) -> FuncType | None:
    """The function with types for its type parameters; None where the operands do not say them, or not yet."""
    wanted = function.type_params
    if type_args and len(type_args) != len(wanted):
        raise CallError(
            f"a function of {len(wanted)} type parameters is called with {len(type_args)} types{_at(site)}"
        )
    bound = dict(zip(wanted, type_args, strict=False))
    for param, found in zip(function.params, types, strict=True):
        bind_type_vars(param, found, bound, wanted)
    if function.constraints or len(bound) < len(wanted):
        return None
    return function.instantiate([bound[each] for each in wanted])


def function_type(
    params: tuple[Type, ...], body: Type, ret: Type | None, type_params: tuple[TypeVar, ...]
) -> FuncType:
    """The type of a function. Raises TypeInferenceError where the declared result is not the body's type."""
    if ret is None:
        return FuncType(params, body, type_params)
    join_types(ret, body, "the declared result of a function and its body")
    return FuncType(params, ret, type_params)


def join_types(a: Type, b: Type, what: str) -> Type:
    """The type that both are, `?` where a dim is open. Raises TypeInferenceError (`what` says of what) if none is."""
    if a is b or not b.is_complete:
        return a
    if not a.is_complete:
        return b
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype is b.dtype and a.ndim == b.ndim:
        if any(certainly_different(m, n) for m, n in zip(a.shape, b.shape, strict=True)):
            raise ShapeError(f"{what} differ in shape: {a} and {b}")
        return TensorType([_join_dims(m, n) for m, n in zip(a.shape, b.shape, strict=True)], a.dtype)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.fields) == len(b.fields):
        return TupleType(tuple([join_types(m, n, what) for m, n in zip(a.fields, b.fields, strict=True)]))
    if a == b:
        return a
    raise TypeInferenceError(f"{what} differ in type: {a} and {b}")


def _join_dims(a: Dim, b: Dim) -> Dim:
    return a if dims_equal(a, b) else Any()


def _at(site: object | None) -> str:
    return f"\n  at {site}" if site is not None else ""
