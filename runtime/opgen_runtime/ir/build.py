"""Functions that make nodes from what users write: arrays, Python numbers, lists of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..base.errors import TypeInferenceError
from ..base.vocabulary import DTYPES, DType
from ..operator import Attrs, Input, Op, Signature, TensorType, Type
from .constant import ExprLike, as_expr, const, is_literal
from .expr import Call, Constant, Expr, Init, Span, Tuple, Var
from .forward import declared
from .traced import Traced, first_traced
from .visitor import free_vars

Operand: TypeAlias = ExprLike | Sequence[ExprLike] | None


def var(
    name: str,
    type: Type | None = None,
    *,
    shape: Iterable[object] | None = None,
    dtype: str = "float32",
    init: Init | None = None,
) -> Var:
    """A variable of a type; `shape` and `dtype` may be given instead; without either the type is inferred.

    `init`: what gives it its value in a program that `build` is given none of: an expression without free variables, or
    a function that makes one for its type.  Raises TypeInferenceError for one that reads variables, or has another type
    than the variable.
    """
    if type is None and shape is not None:
        type = TensorType(shape, dtype)  # type: ignore[arg-type]  # TensorType checks each dim
    if not isinstance(init, Expr):
        return Var(name, type, init=init)
    read = free_vars(init)
    if read:
        raise TypeInferenceError(
            f"the initialiser of {name!r} reads {read[0].name_hint}, which nothing binds"
        )
    if type is not None and type != init.checked_type and init.checked_type.is_complete:
        raise TypeInferenceError(f"variable {name!r} is {type}, and its initialiser {init.checked_type}")
    return Var(name, init.checked_type if type is None else type, init=init)


def make_call(op: Op, args: Sequence[Operand], attrs: Attrs | None = None, span: Span | None = None) -> Call:
    """A typed call of `op`, one argument a declared input.

    An argument is an expression, an array, or a Python number, which takes the dtype that the op's other operands
    give it; for a variadic input a sequence of these, for an absent optional input None.

    Traced values stand for their expressions; with one among the arguments the result is traced, too.

    Raises CallError (number or kind of arguments), DTypeError, ShapeError, AttrError.
    """
    declaration = declared(op)
    signature = declaration.signature if declaration is not None else None
    plain = True
    for arg in args:
        if not isinstance(arg, Expr):
            plain = False
    if plain and (signature is None or _is_complete(signature, len(args))):
        return Call(op, tuple(args), attrs, span=span)  # type: ignore[arg-type]  # just seen to be expressions
    traced = None if plain else first_traced(args)
    if signature is not None:
        args = _grouped(signature, args)
    exprs = [_operand(arg) for arg in args]
    if any(_holds_weak(arg) for arg in args):
        exprs = _typed_literals(args, exprs, signature)
    call = Call(op, tuple(exprs), attrs, span=span)
    return call if traced is None else traced.wrapped(call)


def _is_complete(signature: Signature, given: int) -> bool:
    """Whether each argument is one declared input, and none is absent."""
    return given >= len(signature.inputs) and not any([declared.variadic for declared in signature.inputs])


def _grouped(signature: Signature, args: Sequence[Operand]) -> Sequence[Operand]:
    """One argument a declared input where a variadic one's tensors stand in line; absent ones at the end added."""
    inputs = signature.inputs
    at = next((k for k, declared in enumerate(inputs) if declared.variadic), None)
    if at is None:
        absent = inputs[len(args) :]
        return (*args, *[None for _ in absent]) if all([declared.optional for declared in absent]) else args
    after = len(inputs) - at - 1
    if len(args) == len(inputs):
        only = args[at]
        if isinstance(only, list | tuple) or (
            isinstance(only, Expr) and not isinstance(only.checked_type, TensorType)
        ):
            return args
    if len(args) < at + after:
        return args  # too few: binding says so
    return (*args[:at], tuple(args[at : len(args) - after]), *args[len(args) - after :])  # type: ignore[arg-type]


def _operand(arg: Operand) -> Expr:
    if arg is None:
        return Tuple(())
    if isinstance(arg, list | tuple):
        return Tuple(tuple([as_expr(item) for item in arg]))
    return as_expr(arg)


def _is_weak(arg: object) -> bool:
    return is_literal(arg) or (isinstance(arg, Traced) and arg.weak)


def _holds_weak(arg: Operand) -> bool:
    return any(map(_is_weak, arg)) if isinstance(arg, list | tuple) else _is_weak(arg)


def _typed(arg: object, dtype: DType) -> Expr:
    """A weak operand in a dtype; one that is not weak as it is."""
    if isinstance(arg, Traced) and arg.weak:
        return arg.typed(dtype)
    return const(arg, dtype) if is_literal(arg) else as_expr(arg)


def _typed_literals(args: Sequence[Operand], exprs: list[Expr], signature: Signature | None) -> list[Expr]:
    """Python numbers as constants of the dtype that their position demands."""
    inputs = signature.inputs if signature is not None else ()
    result: list[Expr] = []
    for position, (arg, expr) in enumerate(zip(args, exprs, strict=True)):
        wanted = _wanted_dtype(position, args, exprs, inputs)
        if wanted is not None and _is_weak(arg):
            expr = _typed(arg, wanted)
        elif wanted is not None and isinstance(arg, list | tuple):
            expr = Tuple(tuple([_typed(a, wanted) for a in arg]))
        result.append(expr)
    return result


def _wanted_dtype(
    position: int, args: Sequence[Operand], exprs: Sequence[Expr], inputs: Sequence[Input]
) -> DType | None:
    """The dtype of an input: the declared one, or that of a typed operand with the same dtype variable."""
    own = inputs[position].dtype if position < len(inputs) else None
    if isinstance(own, str) and own in DTYPES:
        return DType(own)
    for other, (arg, expr) in enumerate(zip(args, exprs, strict=True)):
        if own is not None and (other >= len(inputs) or inputs[other].dtype != own):
            continue
        items = (
            list(zip(arg, expr.children(), strict=True)) if isinstance(arg, list | tuple) else [(arg, expr)]
        )
        for written, item in items:
            if not _is_weak(written) and isinstance(item.checked_type, TensorType):
                return item.checked_type.dtype
    return None


def constant_like(value: object, like: Expr) -> Constant:
    """`value` as a constant of the dtype of `like`."""
    type_ = like.checked_type
    return const(value, type_.dtype if isinstance(type_, TensorType) else None)
