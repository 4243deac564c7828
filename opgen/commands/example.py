"""One call of an op, from what the command line says: the operands' types and the attrs."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPE_CLASSES, DTYPES
from opgen_runtime.ir import Function, Var, make_call, var
from opgen_runtime.operator.attrs import KINDS as VALUES
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType

from ..document.kinds import KINDS, ValueProblem, parse_texts
from ..model import CheckedCase, CheckedOp
from ..project import Project
from .failure import Failure, Findings

_OPERAND: Final = re.compile(r"([a-z]+[0-9]*)\[([0-9, ]*)\]")
_CALL_SITE: Final = re.compile(r"\n  at [^\n]*")
_PREFERRED: Final = ("float32", "int32", "bool")


def example_function(
    project: Project,
    op: CheckedOp,
    shapes: Sequence[str],
    dtypes: Sequence[str],
    attrs: Sequence[str],
    given: Mapping[str, TensorType] | None = None,
) -> Function:
    """A function of one call of `op`; its parameters have the names of the operands.

    `given`: the types of all operands that the call has, by name.  Else `shapes` and `dtypes`: one an operand (one
    dtype for all is enough); without shapes those of the first test of the declaration.  `attrs`: `name=value`
    texts; the others are the first test's where the operands are.  Raises Failure.
    """
    case = op.tests[0] if op.tests else None
    kinds = {attr.name: attr for attr in op.attrs}
    values: dict[str, object] = dict(case.attrs) if case is not None and not shapes and not given else {}
    for text in attrs:
        name, equals, value = text.partition("=")
        if not equals or name not in kinds:
            known = ", ".join(kinds) or "none"
            raise Failure(f"--attr {text!r}: write name=value; the attrs of {op.name} are: {known}")
        values[name] = attr_value(kinds[name].kind, value)
    operands = _given(op, given) if given else _operands(op, case, shapes, dtypes)
    flat: list[Var] = []
    args: list[Var | tuple[Var, ...] | None] = []
    for name, operand in operands:
        if isinstance(operand, tuple):
            group = tuple(var(f"{name}{k}", each) for k, each in enumerate(operand))
            flat.extend(group)
            args.append(group)
        else:
            args.append(None if operand is None else var(name, operand))
            flat.extend(each for each in args[-1:] if isinstance(each, Var))
    try:
        declared = load_op(project, op)
        kind = declared.get_attr("declaration").attrs
        return Function(tuple(flat), make_call(declared, args, None if kind is None else kind(**values)))
    except OpgenError as error:
        raise Findings(_CALL_SITE.sub("", str(error))) from None  # the call is ours, not the user's


def load_op(project: Project, op: CheckedOp) -> Op:
    """The registered op, its generated package imported.  Raises Failure where it has not been generated."""
    root = str(project.import_root)
    if root not in sys.path:
        sys.path.insert(0, root)
    try:
        import_module(f"{project.package}._{op.name}")
    except ModuleNotFoundError:
        raise Findings(f"the module of op {op.name!r} has not been generated; run: opgen generate") from None
    found: Op = Op.get(project.qualified(op.name))
    return found


Operand = TensorType | tuple[TensorType, ...] | None


def _given(op: CheckedOp, given: Mapping[str, TensorType]) -> list[tuple[str, Operand]]:
    """The operands with the types given; those of a variadic one are called `name0`, `name1`, ..."""
    rest = dict(given)
    found: list[tuple[str, Operand]] = []
    for each in op.inputs:
        if each.variadic:
            group = [rest.pop(f"{each.name}{k}") for k in range(len(given)) if f"{each.name}{k}" in rest]
            found.append((each.name, tuple(group)))
        else:
            found.append((each.name, rest.pop(each.name, None)))
            if found[-1][1] is None and not each.optional:
                raise Failure(f"{op.name} needs the operand {each.name!r}: --input {each.name}=FILE.npy")
    if rest:
        names = ", ".join(
            f"{each.name}0, {each.name}1, ..." if each.variadic else each.name for each in op.inputs
        )
        raise Failure(f"{op.name} has no operand {next(iter(rest))!r}; its operands are: {names}")
    return found


def _operands(
    op: CheckedOp, case: CheckedCase | None, shapes: Sequence[str], dtypes: Sequence[str]
) -> list[tuple[str, Operand]]:
    if not shapes:
        if case is None:
            raise Failure(
                f"{op.name} declares no tests to take an example from; give --shape for each operand"
            )
        first = list(dtypes[:1])
        return [(name, _parsed(text, first)) for name, text in case.inputs.items()]
    needed = [each for each in op.inputs if not each.optional]
    named = needed if len(shapes) <= len(needed) else list(op.inputs)
    variadic = any(each.variadic for each in named)
    if len(shapes) != len(named) and not variadic:
        names = ", ".join(each.name for each in op.inputs)
        raise Failure(f"{op.name} takes {len(needed)} operands ({names}); give --shape as often")
    types = [TensorType(_dims(text), _dtype(op, k, dtypes, len(named))) for k, text in enumerate(shapes)]
    found: list[tuple[str, Operand]] = []
    extra = len(types) - len(named)
    for operand in op.inputs:
        if operand not in named:
            found.append((operand.name, None))
        elif operand.variadic:
            found.append((operand.name, tuple(types[: extra + 1])))
            del types[: extra + 1]
        else:
            found.append((operand.name, types.pop(0)))
    return found


def _parsed(text: str | tuple[str, ...] | None, dtypes: list[str]) -> Operand:
    if text is None:
        return None
    if isinstance(text, tuple):
        return tuple(each for part in text if isinstance(each := _parsed(part, dtypes), TensorType))
    match = _OPERAND.match(text)
    assert match is not None, text
    return TensorType(_dims(match[2]), dtypes[0] if dtypes else match[1])


def _dims(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.strip("()[] ").split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise Failure(f"--shape {text!r}: write the extents with commas, such as 4,4,1; '' is a scalar")
    return tuple(int(part) for part in parts)


def _dtype(op: CheckedOp, position: int, dtypes: Sequence[str], count: int) -> str:
    """The dtype given for an operand, else one that its declaration admits."""
    if len(dtypes) > 1 and len(dtypes) != count:
        raise Failure(f"give --dtype once, or once for each of the {count} operands")
    if dtypes:
        name = dtypes[position] if len(dtypes) > 1 else dtypes[0]
        if name not in DTYPES:
            raise Failure(f"--dtype {name!r}: the dtypes are {', '.join(DTYPES)}")
        return name
    declared = op.inputs[min(position, len(op.inputs) - 1)].dtype
    if isinstance(declared, str):
        declared = op.signature.dtypes.get(declared, declared)
    admitted = DTYPE_CLASSES.get(declared, (declared,)) if isinstance(declared, str) else declared
    return next((name for name in _PREFERRED if name in admitted), str(admitted[0]))


def attr_value(kind: str, text: str) -> object:
    """The value of an attr of a kind that a text means.  Raises Failure."""
    if text in ("None", "none"):
        return None
    try:
        return parse_texts(kind, text.split(",") if VALUES[kind].is_list and KINDS[kind].is_text else [text])
    except ValueProblem as problem:
        raise Failure(f"{text!r} is not a value of kind {kind}: {problem}") from None
