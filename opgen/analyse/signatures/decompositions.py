"""`decompose:` in terms of ops: functions of the operands that give the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...diagnostics import Diagnostics
from ...expression.op_calls import called_ops, op_lines
from ...expression.scope import Kind, Namespace
from ...expression.translate import Translator, make_lambda
from ...model import CheckedDecomposition
from ...model.opdef import DecompositionDef, OpDef

_KINDS = (Kind.INPUT, Kind.ATTR, Kind.DIM, Kind.DIMS, Kind.DTYPE, Kind.LET)


def check_decompositions(
    op: OpDef, namespace: Namespace, known_ops: Mapping[str, str], diagnostics: Diagnostics
) -> tuple[CheckedDecomposition, ...]:
    """The declared decompositions: `def decompose_0(a, b, ..., N): ...`.

    Names are the inputs, the attrs, and dims, dtypes and values of `let:`.
    """
    names = [symbol.name for symbol in namespace.symbols.values() if symbol.kind in _KINDS]
    found = [
        _checked(op, entry, position, names, namespace, known_ops, diagnostics)
        for position, entry in enumerate(op.decompositions)
    ]
    return tuple(each for each in found if each is not None)


def _checked(
    op: OpDef,
    entry: DecompositionDef,
    position: int,
    names: Sequence[str],
    namespace: Namespace,
    known_ops: Mapping[str, str],
    diagnostics: Diagnostics,
) -> CheckedDecomposition | None:
    """One entry; None where it is wrong, which is reported.  One that calls its own op has a condition, to end."""
    place = entry.into.place
    if op.dynamic or any(output.variadic for output in op.outputs):
        text = "an op of variadic results, or whose sizes depend on data, is not decomposed"
        diagnostics.error("bad-value", text, place)
        return None
    outputs = [output.name for output in op.outputs]
    into = op_lines(entry.into, f"decompose_{position}", names, outputs, known_ops, diagnostics)
    if into is None:
        return None
    if entry.when is None:
        if known_ops[op.name] in called_ops(into):
            hint = "say with `when:` for which sizes, as in `when: N > 64`"
            diagnostics.error("cyclic", f"`{op.name}` becomes itself again, without an end", place, hint)
            return None
        return CheckedDecomposition(None, None, into)
    body = Translator(namespace, static=True).expression(entry.when, {})
    when = make_lambda(namespace.used(entry.when), body, entry.when.place)
    return CheckedDecomposition(when, entry.when_text, into)
