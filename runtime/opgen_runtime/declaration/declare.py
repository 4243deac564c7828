"""Registering a declared op, and calling it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Final

from ..base.errors import CallError
from ..base.functions import provide_func
from ..ir import Call, Expr, Operand, Span, make_call, refuse_traced
from ..operator import Attrs, DimVar, Op, register_class, register_op, relate
from .compute import compute_of
from .declaration import OpDeclaration

MAKE: Final = "op._make"
_RUNTIME: Final = __name__.partition(".")[0]


def register(declaration: OpDeclaration, module_file: str) -> Op:
    """Register an op and its call maker `op._make.<name>`; `module_file` is the file of the module that declares it.

    The same file may declare the op again (a reload). Raises RegistryError if another file has declared it.
    """
    op = register_op(declaration.full_name, module_file, fill=lambda op: _fill(op, declaration))
    kind = declaration.attrs
    if kind is not None:
        register_class(kind, final=True)
        if declaration.version > 1:
            kind._version, kind._upgrade = declaration.version, partial(_upgraded_attrs, declaration)

    def make(*args: object, **attrs: object) -> Call:
        return _make(op, declaration, args, attrs)

    make.__name__ = make.__qualname__ = declaration.name
    make.__doc__ = declaration.doc
    provide_func(f"{MAKE}.{declaration.full_name}", make, module_file)
    return op


def _fill(op: Op, declaration: OpDeclaration) -> None:
    op.describe(declaration.doc).set_support_level(declaration.support_level).set_num_inputs(
        declaration.arity
    )
    for operand in declaration.signature.inputs:
        op.add_argument(operand.name, "Tensor" if not operand.variadic else "Tuple of tensors", operand.doc)
    op.add_type_rel(declaration.full_name, partial(relate, declaration.signature))
    op.set_attr("declaration", declaration)
    op.set_attr("compute", compute_of(declaration))
    op.set_attr("TOpPattern", declaration.pattern)
    op.set_attr("strategy", declaration.strategy)
    op.set_attr("upgrade", partial(_upgraded, declaration))


def _upgraded(
    declaration: OpDeclaration, version: int, args: Sequence[Expr], given: Mapping[str, object], span: Span
) -> Expr:
    from .upgrade import upgraded  # with the first call that an older version saved

    return upgraded(declaration, version, args, given, span)


def _upgraded_attrs(
    declaration: OpDeclaration, version: int, given: Mapping[str, object], dims: dict[str, DimVar]
) -> dict[str, object]:
    from .upgrade import upgraded_attrs

    return upgraded_attrs(declaration, version, given, dims)


def call(op: Op, args: Sequence[Operand], /, **attrs: object) -> Call:
    """A call of a declared op: its operands (variadic ones in line), its attrs by name.

    Raises CallError, AttrError, ShapeError, DTypeError; each names the op, what was expected and found, and where.
    """
    declaration: OpDeclaration = op.get_attr("declaration")
    refuse_traced(op.name, attrs.items())
    kind = declaration.attrs
    return make_call(op, args, None if kind is None else kind(**attrs), _caller())


def _make(op: Op, declaration: OpDeclaration, args: tuple[object, ...], attrs: dict[str, object]) -> Call:
    """The call maker: operands, then attrs in their order, or by name; a variadic operand is one sequence."""
    operands = len(declaration.signature.inputs)
    kind = declaration.attrs
    made: Attrs | None = None
    refuse_traced(op.name, [*[(str(k), value) for k, value in enumerate(args[operands:])], *attrs.items()])
    if kind is not None:
        made = kind.init_by_packed_args(*args[operands:], **attrs)
    elif attrs or len(args) > operands:
        raise CallError(
            f"{op.name}: takes {operands} operands and no attrs, found {len(args)} values and {len(attrs)} names"
        )
    # make_call checks each operand
    return make_call(op, args[:operands], made, _caller())  # type: ignore[arg-type]


def _caller() -> Span | None:
    """The frame that called the wrapper, the runtime's own left out."""
    wrapper = sys._getframe(2)
    frame: FrameType | None = wrapper.f_back or wrapper  # `call` itself may stand at the top of a module
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _RUNTIME:
        frame = frame.f_back
    return None if frame is None else Span(frame.f_code.co_filename, frame.f_lineno)
