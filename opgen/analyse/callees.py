"""The ops that a `compute:` calls, `y = ops.softmax(x, axis=1)`: their declarations, as far as a call needs them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from ..diagnostics import Diagnostics, did_you_mean
from ..expression import syntax as s
from ..expression.scope import Kind, Namespace
from ..expression.translate_blocks import translate_compute
from ..model import CheckedCallee
from ..model.opdef import OpDef
from .names.namespace import resolve_names
from .signatures.attrs import check_attrs
from .signatures.signature import check_signature

Define = Callable[[str], OpDef | None]
"""The declaration of an op of that name, as read; None where there is none that can be read."""

_ORDER = (
    Kind.INPUT, Kind.VARIADIC, Kind.ATTR, Kind.DIM, Kind.DIMS, Kind.DTYPE, Kind.LET, Kind.DEF, Kind.OUTPUT,
    Kind.OUTPUTS,
)  # fmt: skip


def op_calls(block: s.Block) -> Iterator[s.OpCall]:
    """The calls of ops in a compute text, in order."""
    for item in block:
        yield from (node for node in s.walk(item) if isinstance(node, s.OpCall))


def compute_function(op: OpDef, namespace: Namespace, known_ops: Mapping[str, str]) -> ast.FunctionDef:
    """The translated `compute:`."""
    assert op.compute is not None
    used = namespace.used(*op.compute)
    symbols = namespace.symbols
    inside = {item.name for item in op.compute if isinstance(item, s.Def)}
    given = [name for name in used if name not in inside]  # a `def` of `let:` is given like any of its names
    parameters = [name for kind in _ORDER for name in given if symbols[name].kind is kind]
    return translate_compute(op.compute, namespace, parameters, op.compute_place, known_ops)


class Callees:
    """Finds the ops that others call.  `known_ops`: their names here, with those in the registry."""

    def __init__(self, define: Define, known_ops: Mapping[str, str]) -> None:
        self._define = define
        self._known = known_ops
        self._found: dict[str, CheckedCallee | None] = {}  # by name; None: it has mistakes of its own

    def of(self, op: OpDef, diagnostics: Diagnostics) -> Mapping[str, CheckedCallee]:
        """What the compute text calls, and what that calls in turn, by names in the registry; the rest is reported."""
        found: dict[str, CheckedCallee] = {}
        for node in op_calls(op.compute or ()):
            name = node.op.name
            if name not in self._known:
                text = f"there is no op `{name[:60]}`"
                diagnostics.error("unknown-name", text, node.op.place, did_you_mean(name, self._known))
                continue
            below = self._below(name)
            if op.name in below:
                through = "" if name == op.name else f", through `{name}`"
                text = f"`{op.name}` calls itself{through}; the compute of an op that is called is expanded"
                diagnostics.error("cyclic", text, node.place)
                continue
            made = {each: self._callee(each) for each in below}
            wrong = next((each for each, callee in made.items() if callee is None), None)
            if wrong is not None:
                text = f"the declaration of `{wrong}` has mistakes of its own; mend them first"
                diagnostics.error("op-call", text, node.op.place)
                continue
            found |= {self._known[each]: callee for each, callee in made.items() if callee is not None}
        return found

    def _below(self, name: str) -> list[str]:
        """The op with all that it calls, by names here; those that are declared nowhere are left out."""
        found = [name]
        for each in found:
            op = self._define(each)
            called = [] if op is None else [node.op.name for node in op_calls(op.compute or ())]
            found += dict.fromkeys(other for other in called if other in self._known and other not in found)
        return found

    def _callee(self, name: str) -> CheckedCallee | None:
        if name not in self._found:
            op = self._define(name)
            self._found[name] = None if op is None else self._checked(op)
        return self._found[name]

    def _checked(self, op: OpDef) -> CheckedCallee | None:
        called = {node.op.name for node in op_calls(op.compute or ())}
        if not called <= self._known.keys() or any(op.name in self._below(name) for name in called):
            return None
        unreported = Diagnostics()
        namespace = resolve_names(op, unreported)
        attrs = check_attrs(op, namespace, unreported)
        signature = check_signature(op, attrs, namespace, self._known, unreported)
        if any(each.is_error for each in unreported.found) or op.partial:
            return None
        compute = None if op.compute is None else compute_function(op, namespace, self._known)
        return CheckedCallee(op.name, self._known[op.name], attrs, signature, compute)
