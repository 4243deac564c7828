"""What a command line asks a library of custom ops to have: `OP`, `OP:ATTR=VALUE,...` and `OP(TYPE, ...)`.

softmax                                     the ranks of the declaration's tests, all element types of the declaration
softmax:axis=1                              another value of an attr
matmul(float32[n, 64], float32[64, ?])      these types: dims are sizes, names, or `?` for any size
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opgen_runtime.base.arith import Var, dim
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPE_CLASSES, DTYPES
from opgen_runtime.bridges import onnxruntime as bridge
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.op_programs.programs import OperandType, leaves, program_of
from opgen_runtime.testing import Spec

from ..model import CheckedOp
from .example import attr_value, load_op
from .failure import Failure, Findings
from .lookup import Found, find_op

_SPELLED: Final = re.compile(r"(?P<op>[\w.]+)(?P<types>\(.*?\))?(?::(?P<attrs>.*))?")
_TENSOR: Final = re.compile(r"(?P<dtype>[a-z]+\w*)\[(?P<dims>[^\]]*)\]")
_DIM: Final = re.compile(r"[A-Za-z_]\w*")


def requests_of(text: str, dtypes: Sequence[str], ranks: Sequence[int]) -> list[bridge.Request]:
    """What one argument asks for.

    `dtypes`: the element types of operands that may have several, all without any.  `ranks`: of the first operand.
    Raises Failure for what is no such argument, and Findings for what the op does not take.
    """
    spelled = _SPELLED.fullmatch(text)
    if spelled is None:
        raise Failure(f"{text!r}: write OP, OP:ATTR=VALUE,... or OP(TYPE, ...):ATTR=VALUE,...")
    found = find_op(spelled["op"])
    name = load_op(found.project, found.op).name
    program = program_of(name)
    why_not = bridge.why_not_callable(program)
    if why_not is not None:
        raise Findings(f"{found.op.name} cannot be an op of onnxruntime: {why_not}")
    attrs = dict(_attrs(found.op, spelled["attrs"] or ""))
    try:
        if spelled["types"] is not None:
            return [bridge.request(name, _spelled_types(found.op, spelled["types"]), attrs)]
        chosen = _declared_types(found, dtypes, ranks)
        requests, refused = bridge.first_that_suits(name, chosen, attrs)
    except OpgenError as error:
        raise Findings(str(error)) from None
    if not requests:
        raise Findings(str(refused))
    return requests


def _attrs(op: CheckedOp, text: str) -> Iterator[tuple[str, object]]:
    kinds = {attr.name: attr.kind for attr in op.attrs}
    for part in _parts(text):
        name, equals, value = part.partition("=")
        if not equals or name not in kinds:
            known = ", ".join(kinds) or "none"
            raise Failure(f"{op.name}: {part!r} is no NAME=VALUE of an attr; its attrs are: {known}")
        yield name, attr_value(kinds[name], value)


def _parts(text: str) -> list[str]:
    """Text between commas outside of brackets."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _spelled_types(op: CheckedOp, text: str) -> list[OperandType]:
    dims: dict[str, Var] = {}
    found: list[OperandType] = []
    texts = _parts(text[1:-1])
    if len(texts) > len(op.inputs):
        raise Failure(f"{op.name} takes {len(op.inputs)} operands, found {len(texts)} types: {text}")
    for operand, part in itertools.zip_longest(op.inputs, texts):
        if part is None or part == "none":
            if not operand.optional:
                raise Failure(f"{op.name} needs the operand {operand.name!r}, which has no type in {text}")
            found.append(None)
        elif operand.variadic:
            inner = part[1:-1] if part.startswith("(") else part
            group = [_tensor(f"{operand.name}{k}", each, dims) for k, each in enumerate(_parts(inner))]
            found.append(tuple(group))
        else:
            found.append(_tensor(operand.name, part, dims))
    return found


def _tensor(name: str, text: str, dims: dict[str, Var]) -> TensorType:
    spelled = _TENSOR.fullmatch(text)
    if spelled is None or spelled["dtype"] not in DTYPES:
        raise Failure(f"{text!r} is no type such as float32[n, 64] with a dtype of {', '.join(DTYPES)}")
    shape: list[int | Var] = []
    for axis, part in enumerate(_parts(spelled["dims"])):
        if part.isdecimal():
            shape.append(int(part))
        elif part == "?":
            shape.append(dim(f"{name}.shape[{axis}]"))
        elif _DIM.fullmatch(part):
            shape.append(dims.setdefault(part, dim(part)))
        else:
            raise Failure(f"{text!r}: a dim is a size, a name, or ? for any size; found {part!r}")
    return TensorType(shape, spelled["dtype"])


def _declared_types(found: Found, dtypes: Sequence[str], ranks: Sequence[int]) -> list[list[OperandType]]:
    """Open types of the ranks of the declared tests, of all element types that the declaration has.

    Raises Failure where no test has such a rank.
    """
    op = found.op
    program = program_of(found.project.qualified(op.name))
    tests = [[_type_of(test.inputs.get(each.name)) for each in op.inputs] for test in op.tests]
    shown = list(dict.fromkeys([_rank(types) for types in tests]))
    wanted = [types for types in tests if not ranks or _rank(types) in ranks]
    if not wanted:
        raise Failure(
            f"no test of {op.name} has a first operand of rank {', '.join(map(str, ranks))}, but "
            f"{', '.join(map(str, shown)) or 'there are none'}; spell the types: '{op.name}(float32[?, ?], ...)'"
        )
    made: dict[str, list[OperandType]] = {}
    for types in wanted:
        for typed in _of_all_dtypes(op, types, dtypes):
            made.setdefault(_key(typed), bridge.as_open(program, typed))
    return list(made.values())


def _of_all_dtypes(
    op: CheckedOp, types: Sequence[OperandType], dtypes: Sequence[str]
) -> Iterator[list[OperandType]]:
    """The types with each choice of element types: one a dtype variable, and one an operand of a class of its own."""
    names: list[str] = []
    choices: dict[str, tuple[str, ...]] = {}
    for operand, type_ in zip(op.inputs, types, strict=True):
        given = list(leaves([type_]))
        is_variable = isinstance(operand.dtype, str) and operand.dtype in op.signature.dtypes
        name = str(operand.dtype) if is_variable else f"operand {operand.name}"
        names.append(name)
        if name in choices or not given:
            continue
        declared = op.signature.dtypes[str(operand.dtype)] if is_variable else operand.dtype
        admitted = DTYPE_CLASSES.get(declared, (declared,)) if isinstance(declared, str) else declared
        chosen = [str(each) for each in admitted if str(each) in dtypes]
        own = str(given[0].dtype)
        choices[name] = tuple(chosen or ([str(e) for e in admitted] if is_variable and not dtypes else [own]))
    for combination in itertools.product(*choices.values()):
        dtype_of = dict(zip(choices, combination, strict=True))
        yield [_with_dtype(type_, dtype_of.get(name)) for name, type_ in zip(names, types, strict=True)]


def _with_dtype(type_: OperandType, dtype: str | None) -> OperandType:
    if type_ is None or dtype is None:
        return type_
    if isinstance(type_, tuple):
        return tuple([TensorType(each.shape, dtype) for each in type_])
    return TensorType(type_.shape, dtype)


def _type_of(text: str | Iterable[str] | None) -> OperandType:
    if text is None:
        return None
    return Spec.parse(text).type if isinstance(text, str) else tuple([Spec.parse(each).type for each in text])


def _rank(types: Sequence[OperandType]) -> int:
    return next((leaf.ndim for leaf in leaves(types)), 0)


def _key(types: Sequence[OperandType]) -> str:
    """The same for types of the same ranks and element types."""

    def text(type_: OperandType) -> str:
        if isinstance(type_, tuple):
            return f"({', '.join(map(text, type_))})"
        return "none" if type_ is None else f"{type_.dtype}[{type_.ndim}]"

    return ", ".join(map(text, types))
