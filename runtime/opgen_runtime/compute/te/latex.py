r"""Tensor expressions in LaTeX, for documentation.

    m[i0] = max(x[i0, k] for k in range(4))
-->
    m_{i} &= \max_{k < 4} x_{i, k}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...base.arith import post_order
from .definitions import Definition, definitions
from .graph import Statement, tensor_order
from .latex_values import COMMA, TooLong, Values, name_text
from .tensor import Extern, Guard, Loop, Placeholder, Sort, Tensor, Update
from .values import body_of

_MAX_NODES: Final = 1000  # of all values, among which few signs are not to be found
_UPDATES: Final = {"add": r"\mathrel{+}=", "mul": r"\mathrel{\cdot}=", "and": r"\mathrel{\land}=",
                   "or": r"\mathrel{\lor}=", "xor": r"\mathrel{\oplus}="}  # fmt: skip
_UNSEEN: Final = re.compile(
    r"\\(?:left|right|mathrm|mathbin|mathrel|operatorname\*?|text|frac|(?:begin|end)\{\w+\})(?![a-z])"
    r"|\\\\|\\[,! ]|[\s{}_^&]"
)
_SIGN: Final = re.compile(r"\\[a-zA-Z]+|\\.|\S")


def to_latex(outputs: Sequence[Tensor]) -> str | None:
    """The definitions of the outputs, as the lines of LaTeX's `aligned`.

    None where a hand-written function computes one of them, and where expressions are longer than anyone would read.
    """
    order = tensor_order(outputs)
    if any(isinstance(tensor.op, Extern) for tensor in order) or _nodes(order) > _MAX_NODES:
        return None
    made = definitions(outputs)
    values = Values(_names(made, outputs))
    try:
        lines = [line for each in made for line in _lines(each, values)]
    except TooLong:
        return None
    return " \\\\\n".join(lines)


def _nodes(order: Sequence[Tensor]) -> int:
    """How many nodes the values of tensors have."""
    return sum(len(post_order(body[1])) for tensor in order if (body := body_of(tensor)) is not None)


def signs(latex: str) -> int:
    """How many signs a reader sees of a text of `to_latex`: letters, digits, operators, brackets."""
    return len(_SIGN.findall(_UNSEEN.sub(" ", latex)))


def _names(made: Sequence[Definition], outputs: Sequence[Tensor]) -> Mapping[Tensor, str]:
    """Names of tensors; of several with one name, all but an operand or an output are numbered."""
    operands = [t for t in tensor_order(outputs) if isinstance(t.op, Placeholder)]
    found: dict[Tensor, str] = {}
    for tensor in dict.fromkeys((*operands, *outputs, *[each.tensor for each in made])):
        name, number = tensor.name, 2
        while (text := name_text(name)) in found.values():
            name, number = f"{tensor.name}{number}", number + 1
        found[tensor] = text
    return found


def _lines(made: Definition, values: Values) -> Iterator[str]:
    tensor, op = made.tensor, made.tensor.op
    if made.body is not None:
        with values.bound(made.axes) as names:
            yield f"{values.element(tensor, names)} &= {values.text(made.body)}"
    elif isinstance(op, Sort):
        function = r"\operatorname{argsort}" if op.positions else r"\operatorname{sort}"
        how = [values.element(op.source, ()), rf"\text{{axis }} {op.axis}"]
        how += [r"\text{descending}"] * op.descending
        yield rf"{values.element(tensor, ())} &= {function}\left({COMMA.join(how)}\right)"
    elif isinstance(op, Update):
        yield f"{values.element(tensor, ())} &= {values.element(op.base, ())}"
        for statement in op.body:
            yield from _statement(tensor, statement, (), values)


def _statement(tensor: Tensor, made: Statement, under: tuple[str, ...], values: Values) -> Iterator[str]:
    """A line for each element that is written; `under`: the loops and conditions around it."""
    if isinstance(made, Loop):
        with values.bound([made.axis]) as (name,):
            for inner in made.body:
                yield from _statement(tensor, inner, (*under, values.range(name, made.axis.extent)), values)
    elif isinstance(made, Guard):
        for inner in made.body:
            yield from _statement(tensor, inner, (*under, values.text(made.condition)), values)
    else:
        target = values.element(tensor, [values.text(index) for index in made.indices])
        value = values.text(made.value)
        if made.op in ("min", "max"):
            value = rf"\{made.op}\left({target}, {value}\right)"
        wherever = rf"\quad \text{{for }} {COMMA.join(under)}" if under else ""
        yield f"{target} &{_UPDATES.get(made.op, '=')} {value} {wherever}".rstrip()
