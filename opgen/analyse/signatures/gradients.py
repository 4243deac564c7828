"""`grad:` in terms of ops: one expression an input."""

from __future__ import annotations

from collections.abc import Mapping

from ...diagnostics import Diagnostics, did_you_mean
from ...expression.op_calls import op_expression
from ...expression.scope import Kind, Namespace
from ...model import CheckedGradient
from ...model.opdef import OpDef


def check_gradients(
    op: OpDef, namespace: Namespace, known_ops: Mapping[str, str], diagnostics: Diagnostics
) -> tuple[CheckedGradient, ...]:
    """The declared gradients: `lambda data, out, grad, ...: <ops>`.

    Names are the inputs, the attrs, the outputs, `grad` (`grad_<output>` where there are several, or one of these is
    called `grad`), and dims and values of `let:` that are none of these.
    """
    outputs = [output.name for output in op.outputs]
    given = [operand.name for operand in op.inputs] + [attr.name for attr in op.attrs]
    alone = len(outputs) == 1 and "grad" not in given + outputs
    grads = ["grad"] if alone else [f"grad_{output}" for output in outputs]
    names = given + outputs + grads
    names += [
        symbol.name
        for symbol in namespace.symbols.values()
        if symbol.kind in (Kind.DIM, Kind.DIMS, Kind.LET) and symbol.name not in names
    ]
    found: list[CheckedGradient] = []
    for entry in op.gradients:
        if entry.input not in [operand.name for operand in op.inputs]:
            hint = did_you_mean(entry.input, names)
            diagnostics.error("unknown-name", f"`{entry.input[:60]}` is not an input", entry.place, hint)
            continue
        function = op_expression(entry.text, names, known_ops, diagnostics)
        if function is not None:
            found.append(CheckedGradient(entry.input, function, " ".join(entry.text.value.split())))
    return tuple(found)
