"""What a pass must give back, checked after every pass that users write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..base.contract import Contract, Rule, When
from ..base.errors import OpgenError, PassError, RegistryError
from ..base.vocabulary import dataclass
from ..declaration import OpDeclaration
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    free_vars,
    post_order,
    why_not_well_formed,
)
from ..ir.forward import call_type
from ..operator import Op, Type

_NODES: Final = (Var, GlobalVar, Constant, Call, Tuple, TupleGetItem, If, Let, Function)


@dataclass(frozen=True, slots=True)
class Step:
    """A module before and after a pass, and whether the pass may change the type of `main`."""

    before: IRModule
    after: IRModule
    changes_type: bool


def _why_not_nodes(step: Step) -> str | None:
    """Every function is a Function, and every part of it a node of the IR."""
    for var, function in step.after.functions.items():
        if not isinstance(var, GlobalVar) or not isinstance(function, Function):
            return f"the module maps {var!r:.80} to {function!r:.80}, expected a GlobalVar and a Function"
        seen: set[int] = set()
        stack: list[tuple[object, str]] = [(function, f"@{var.name}")]
        while stack:
            node, place = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if not isinstance(node, _NODES):
                return f"@{var.name}: {place} is {node!r:.80}, expected a node of the IR"
            if not isinstance(node.checked_type, Type):
                return f"@{var.name}: {_text(node)} has the type {node.checked_type!r:.80}, which is none"
            if isinstance(node, Call) and not isinstance(node.op, Op | Expr):
                return f"@{var.name}: a call of {node.op!r:.80}, expected an op or a function"
            if isinstance(node, Call) and not isinstance(node.args, tuple):
                return f"@{var.name}: {_text(node)} has the operands {node.args!r:.80}, expected a tuple"
            stack.extend((child, f"an operand of {_text(node)}") for child in node.children())
    return None


def _calls(step: Step) -> Iterator[tuple[str, Call, Op]]:
    """The calls of ops, with where they stand."""
    for var, function in step.after.functions.items():
        for node in post_order(function):
            if isinstance(node, Call) and isinstance(node.op, Op):
                yield f"@{var.name}: {_text(node)}", node, node.op


def _why_not_registered(step: Step) -> str | None:
    for place, _, op in _calls(step):
        try:
            known = Op.get(op.name)
        except RegistryError:
            known = None
        if known is not op:
            return f"{place} calls an op {op.name!r} that is not the registered one"
    return None


def _why_not_attrs(step: Step) -> str | None:
    for place, call, op in _calls(step):
        declaration: OpDeclaration | None = op.get_attr("declaration")
        if declaration is None:
            continue
        kind = declaration.attrs
        if kind is None and call.attrs is not None:
            return f"{place} has attrs {call.attrs!r}, but the op takes none"
        if kind is not None and not isinstance(call.attrs, kind):
            return f"{place} has attrs {call.attrs!r}, expected {kind.__name__}"
    return None


def _why_not_operands(step: Step) -> str | None:
    for place, call, op in _calls(step):
        declaration: OpDeclaration | None = op.get_attr("declaration")
        wanted = op.num_inputs if declaration is None else len(declaration.signature.inputs)
        if wanted not in (-1, len(call.args)):
            return f"{place} has {len(call.args)} operands, expected {wanted}"
    return None


def _why_not_scoped(step: Step) -> str | None:
    return why_not_well_formed(step.after)


def _why_not_typed(step: Step) -> str | None:
    """A type that is known is the one that follows from the operands."""
    for place, call, op in _calls(step):
        if not call.checked_type.is_complete or not all(arg.checked_type.is_complete for arg in call.args):
            continue
        try:
            found: Type | str = call_type(
                op, tuple(arg.checked_type for arg in call.args), call.attrs, call.span
            )
        except OpgenError as error:
            found = str(error)
        if found != call.checked_type:
            return f"{place} says that its type is {call.checked_type}; its operands give {found}"
    return None


def _why_not_complete(step: Step) -> str | None:
    """Where every type was known, every type is known."""
    before = [node for function in step.before.functions.values() for node in post_order(function)]
    if not all(node.checked_type.is_complete for node in before):
        return None
    for var, function in step.after.functions.items():
        for node in post_order(function):
            if not node.checked_type.is_complete:
                return f"@{var.name}: the type of {_text(node)} is not known, and was before"
    return None


def _why_not_main(step: Step) -> str | None:
    if step.changes_type or "main" not in step.before:
        return None
    if "main" not in step.after:
        return f"@main is gone; the module has {', '.join(v.name for v in step.after) or 'no function'}"
    wanted, found = step.before["main"].checked_type, step.after["main"].checked_type
    if wanted.is_complete and found.is_complete and wanted != found:
        return (
            f"@main had the type {wanted}, now it has {found}; a pass that means to change it says "
            f"changes_type=True"
        )
    return None


def _text(node: object) -> str:
    """One node for a message, without its operands."""
    if isinstance(node, Call):
        return f"the call of {node.op.name}" if isinstance(node.op, Op | GlobalVar) else "a call"
    if isinstance(node, Var):
        return f"%{node.name_hint}"
    return f"a {type(node).__name__}"


def _why_not_in_segments(module: IRModule) -> str | None:
    """Each call of an op stands in exactly one segment, and a segment uses nothing but its parameters."""
    of: dict[int, int] = {}  # the segment of each call
    for var, function in module.functions.items():
        stack: list[tuple[Expr, int]] = [(function, 0)]
        seen: set[tuple[int, int]] = set()
        while stack:
            node, segment = stack.pop()
            if (id(node), segment) in seen:
                continue
            seen.add((id(node), segment))
            if isinstance(node, Function) and "Primitive" in node.attrs:
                segment = id(node)
                free = free_vars(node)
                if free:
                    return f"@{var.name}: a segment uses %{free[0].name_hint}, which is no parameter of it"
            if isinstance(node, Call) and isinstance(node.op, Op):
                if segment == 0:
                    return f"@{var.name}: {_text(node)} stands in no segment"
                if of.setdefault(id(node), segment) != segment:
                    return f"@{var.name}: {_text(node)} stands in two segments"
            stack.extend((child, segment) for child in node.children())
    return None


PASS: Final[Contract[Step]] = Contract(
    "what a pass gives",
    PassError,
    When.TESTS,
    (
        Rule("made of nodes", _why_not_nodes),
        Rule("ops are registered", _why_not_registered),
        Rule("attrs are of the op's class", _why_not_attrs),
        Rule("as many operands as the op has inputs", _why_not_operands),
        Rule("bound once, in scope, closed", _why_not_scoped),
        Rule("types are those of the operands", _why_not_typed),
        Rule("types stay complete", _why_not_complete),
        Rule("main keeps its type", _why_not_main),
    ),
)
SEGMENTS: Final[Contract[IRModule]] = Contract(
    "segments", PassError, When.TESTS, (Rule("each call in one closed segment", _why_not_in_segments),)
)
