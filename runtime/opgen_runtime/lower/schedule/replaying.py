"""Traces applied again: the lines of one, to a schedule of the same tensors (`trace.py`)."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...base.arith import to_text as expr_text
from ...base.errors import ScheduleError, did_you_mean
from ...compute.te.tensor import IterVar, Tensor
from .stages.intrinsic import Intrinsic
from .stages.trace import PRIMITIVES, SCHEDULE, Names, Primitive, Staged, operand_of

_WORDS: Final = {"IterVar": "loop", "Stage": "stage", "Tensor": "tensor", "Intrinsic": "intrinsic"}


class Replay:
    """Applies the lines of a trace to a schedule."""

    def __init__(self, schedule: Any, intrinsics: Sequence[Intrinsic]) -> None:
        self.schedule = schedule
        self.intrinsics = {each.name: each for each in intrinsics}
        self.names = Names()

    def run(self, text: str) -> None:
        """Raises ScheduleError with the line for what is no step of this program, and what primitives raise."""
        for number, line in enumerate(text.splitlines(), 1):
            if not line.partition("#")[0].strip():
                continue
            try:
                self._line(line)
            except (_Wrong, ScheduleError, TypeError) as error:
                raise ScheduleError(f"line {number} of the trace, `{line.strip()}`: {error}") from error

    def _line(self, line: str) -> None:
        left, call = _parsed(line)
        self.names.meet(self.schedule.trace.made)
        assert isinstance(call.func, ast.Attribute)
        assert isinstance(call.func.value, ast.Name)
        on, name = call.func.value.id, call.func.attr
        owner = self.schedule if on == SCHEDULE else self._known(on, self.names.stages, "stage")
        found = PRIMITIVES.get((on == SCHEDULE, name))
        if found is None:
            of = [each for whole, each in PRIMITIVES if whole == (on == SCHEDULE)]
            raise _Wrong(f"there is no primitive {name}{did_you_mean(name, of)}")
        args, kwargs = self._arguments(found, call, None if on == SCHEDULE else owner)
        result = getattr(owner, name)(*args, **kwargs)
        self.names.meet(self.schedule.trace.made)
        given = result if isinstance(result, tuple) else (result,)
        made = [each for each in given if isinstance(each, IterVar | Tensor)]
        if left and len(left) != len(made):
            raise _Wrong(f"it gives {len(made)} results, {len(left)} are named")
        for own, each in zip(left or [""] * len(made), made, strict=True):
            if isinstance(each, IterVar):
                self.names.call(owner, each, own)
            elif own and self.names.tensor(each) != own:
                raise _Wrong(f"its result is called {self.names.tensor(each)}, not {own}")

    def _arguments(
        self, found: Primitive, call: ast.Call, on: Staged | None
    ) -> tuple[list[object], dict[str, object]]:
        named = {each.arg or "": each.value for each in call.keywords}
        nodes = found.arguments(call.args, named)
        scope: Any = on
        for _, kind, node in nodes:
            if kind == "Stage" or (kind == "Tensor" and scope is None):
                scope = self._value(kind if kind == "Stage" else "of", node, None)
        if scope is not None:
            for axis in (*scope.axes, *scope.reduce_axes):
                self.names.call(scope, axis)
        made = [(name, self._value(kind, node, scope)) for name, kind, node in nodes]
        return [value for name, value in made if not name], {name: value for name, value in made if name}

    def _value(self, kind: str, node: object, scope: Staged | None) -> Any:
        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(kind, each, scope) for each in node.elts]
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return {self._value(kind, a, scope): self._value("", b, scope) for a, b in pairs}
        if isinstance(node, ast.Name):
            if kind == "of":  # the stage of a tensor
                return self.schedule[self._tensor(node.id)]
            if kind == "Stage":
                return self._known(node.id, self.names.stages, "stage")
            if kind == "Tensor":
                return self._tensor(node.id)
            if kind == "Intrinsic":
                return self._known(node.id, self.intrinsics, "intrinsic")
            if kind == "IterVar" and scope is not None:
                return self._known(node.id, self.names.axes(scope), "loop")
        assert isinstance(node, ast.AST)
        try:
            value = ast.literal_eval(node)
        except ValueError:
            expected = f"a {_WORDS[kind]}" if kind in _WORDS else "a number or a text"
            raise _Wrong(f"`{ast.unparse(node)}` is not {expected}") from None
        if kind == "Expr" and scope is not None and scope.body is not None:
            operand = operand_of(scope.body, str(value))
            if operand is None:
                raise _Wrong(f"the body `{expr_text(scope.body)}` has no operand `{value}`")
            return operand
        return value

    def _tensor(self, name: str) -> Tensor:
        found: Tensor = self._known(name, self.names.tensors, "tensor")
        return found

    def _known(self, name: str, known: Mapping[str, Any], what: str) -> Any:
        if name not in known:
            raise _Wrong(f"there is no {what} {name}; there are {', '.join(known) or 'none'}")
        return known[name]


class _Wrong(ValueError):
    """What a line of a trace says is not there."""


def _parsed(line: str) -> tuple[list[str], ast.Call]:
    """The names on the left, and the call."""
    try:
        (statement,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError) as error:
        raise _Wrong(f"expected `names = stage.primitive(arguments)`, {error}") from error
    left: list[str] = []
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        left = [part.id for part in parts if isinstance(part, ast.Name)]
    call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
    if not (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
    ):
        raise _Wrong("expected `names = stage.primitive(arguments)`")
    return left, call
