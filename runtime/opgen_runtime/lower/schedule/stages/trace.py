"""Traces: the primitives that made a schedule what it is, as text that `replaying.py` applies again.

    out_local = schedule.cache_write(out, 'local')
    i_o, i_i = out.split(i, 8)
    out_local.compute_at(out, i_o)
    out.vectorize(i_i)

A line is a primitive.  Tensors have their names, loops those of their stage's table; where a name is taken, it gets a
number.  `schedule` is the schedule itself; an operand is written as it prints, `'b[k, j]'`, with `#n` where n such
operands stand before it in the body.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar, cast

from ....base.arith import Expr, post_order
from ....base.arith import to_text as expr_text
from ....base.lazy import lazy
from ....base.vocabulary import dataclass
from ....compute.te.tensor import IterVar, Tensor
from .intrinsic import Intrinsic


class Staged(Protocol):
    """What traces ask of a stage."""

    axes: tuple[IterVar, ...]
    reduce_axes: tuple[IterVar, ...]
    body: Expr | None
    tensors: tuple[Tensor, ...]


class Traced(Protocol):
    """What primitives are methods of: a schedule, or one of its stages."""

    @property
    def trace(self) -> Trace | None: ...


S = TypeVar("S", bound=Traced)
P = ParamSpec("P")
R = TypeVar("R")

SCHEDULE: Final = "schedule"  # the name of the schedule itself
_KINDS: Final = ("IterVar", "Stage", "Tensor", "Intrinsic", "Expr")  # of arguments, by their annotations


class Primitive:
    """A primitive: its name, and with the first step of it, its parameters."""

    def __init__(self, method: Callable[..., object]) -> None:
        self.name = method.__name__
        self._method = method

    @lazy
    def signature(self) -> inspect.Signature:
        return inspect.signature(self._method)

    @lazy
    def kinds(self) -> Mapping[str, str]:
        """The kinds of those parameters that are no numbers or texts."""
        return {
            name: next((kind for kind in _KINDS if kind in str(parameter.annotation)), "")
            for name, parameter in self.signature.parameters.items()
        }

    def arguments(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> list[tuple[str, str, object]]:
        """(parameter, kind, argument) of a call, in order; the parameter is empty where its name is not needed.

        Raises TypeError for arguments that the primitive does not take.
        """
        bound = self.signature.bind(None, *args, **kwargs)
        found = []
        for name, value in list(bound.arguments.items())[1:]:
            kind = self.kinds.get(name, "")
            if self.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                found.extend([("", kind, each) for each in value])
            else:
                found.append((name if name in kwargs else "", kind, value))
        return found


PRIMITIVES: Final[dict[tuple[bool, str], Primitive]] = {}  # (of the schedule, name) -> primitive


def primitive(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that changes a schedule: calls from outside of the schedule are steps of its trace."""
    known = Primitive(method)
    PRIMITIVES[method.__qualname__.startswith("Schedule."), known.name] = known

    @wraps(method)
    def recorded(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        trace = self.trace
        if trace is None or trace.busy:
            return method(self, *args, **kwargs)
        begun = trace.begin(self, known, known.arguments(args, kwargs))
        trace.busy = True
        try:
            result = method(self, *args, **kwargs)
        finally:
            trace.busy = False
        trace.steps.append(replace(begun, result=result))
        return result

    return cast("Callable[Concatenate[S, P], R]", recorded)


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A primitive that was applied: of the schedule, or of the stage `on`, with what it gave.

    `scope`: the stage whose loops its arguments are, with the axes and the body that it had.
    """

    primitive: Primitive
    on: Staged | None
    arguments: tuple[tuple[str, str, object], ...]
    scope: Staged | None
    axes: tuple[IterVar, ...]
    body: Expr | None
    result: object


@dataclass(eq=False, slots=True)
class Trace:
    """The steps of a schedule; `str` gives its text.  `made` are all stages, in the order in which they came."""

    stage_of: Callable[[Tensor], Staged]
    made: list[Staged] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    busy: bool = False  # a primitive is being applied; those that it uses are no steps

    def begin(
        self, owner: object, primitive: Primitive, arguments: Sequence[tuple[str, str, object]]
    ) -> Step:
        """A step that is about to be made."""
        on: Any = None if hasattr(owner, "stages") else owner
        scope: Any = on
        for _, kind, value in arguments:
            if kind == "Stage" or (kind == "Tensor" and scope is None):
                scope = self.stage_of(value) if isinstance(value, Tensor) else value
        axes = () if scope is None else (*scope.axes, *scope.reduce_axes)
        body = None if scope is None else scope.body
        return Step(primitive, on, tuple(arguments), scope, axes, body, None)

    def __str__(self) -> str:
        names = Names()
        names.meet(self.made)
        return "\n".join(_line(step, names) for step in self.steps)


# ------------------------------------------------------------------ names


class Names:
    """Names of tensors and of the loops of each stage: equal for schedules that came about in the same way."""

    def __init__(self) -> None:
        self.stages: dict[str, Staged] = {}
        self.tensors: dict[str, Tensor] = {}
        self._of_stage: dict[int, str] = {}
        self._of_tensor: dict[Tensor, str] = {}
        self._axes: dict[int, dict[str, IterVar]] = {}
        self._of_axis: dict[tuple[int, IterVar], str] = {}

    def meet(self, stages: Sequence[Staged]) -> None:
        """Name the stages that have no name yet, and their tensors."""
        for stage in stages:
            if id(stage) in self._of_stage:
                continue
            for tensor in stage.tensors:
                if tensor not in self._of_tensor:
                    name = _free(tensor.name, {*self.stages, *self.tensors, SCHEDULE})
                    self._of_tensor[tensor], self.tensors[name] = name, tensor
            known = self._of_tensor[stage.tensors[0]]
            # the rows of a state are a stage beside that of the scan, whose tensor is the same
            name = (
                known if known not in self.stages else _free(f"{known}_rows", {*self.stages, *self.tensors})
            )
            self._of_stage[id(stage)], self.stages[name] = name, stage

    def stage(self, stage: Staged) -> str:
        return self._of_stage[id(stage)]

    def tensor(self, tensor: Tensor) -> str:
        return self._of_tensor[tensor]

    def call(self, stage: Staged, axis: IterVar, name: str = "") -> str:
        """The name of a loop of a stage: the one that it has, else `name`, else one after its variable."""
        key = id(stage), axis
        if key not in self._of_axis:
            known = self._axes.setdefault(id(stage), {})
            name = name or _free(axis.var.name, known)
            self._of_axis[key], known[name] = name, axis
        return self._of_axis[key]

    def axes(self, stage: Staged) -> Mapping[str, IterVar]:
        return self._axes.get(id(stage), {})


def _free(name: str, taken: Mapping[str, object] | set[str]) -> str:
    """A name like `name` that is a word and not taken."""
    word = re.sub(r"\W", "_", name) or "_"
    word = f"_{word}" if word[0].isdigit() else f"{word}_" if keyword.iskeyword(word) else word
    found, number = word, 2
    while found in taken:
        found, number = f"{word}_{number}", number + 1
    return found


# ------------------------------------------------------------------ text


def _line(step: Step, names: Names) -> str:
    for axis in step.axes:
        assert step.scope is not None
        names.call(step.scope, axis)
    on = SCHEDULE if step.on is None else names.stage(step.on)
    given = ", ".join(
        f"{name}={text}" if name else text
        for name, text in [
            (name, _argument(kind, value, step, names)) for name, kind, value in step.arguments
        ]
    )
    results = step.result if isinstance(step.result, tuple) else (step.result,)
    left = []
    for each in results:
        if isinstance(each, Tensor):
            left.append(names.tensor(each))
        elif isinstance(each, IterVar) and step.on is not None:
            left.append(names.call(step.on, each))
    return f"{', '.join(left)}{' = ' if left else ''}{on}.{step.primitive.name}({given})"


def _argument(kind: str, value: object, step: Step, names: Names) -> str:
    if isinstance(value, Mapping):
        pairs = [(_argument(kind, a, step, names), _argument("", b, step, names)) for a, b in value.items()]
        return f"{{{', '.join(f'{a}: {b}' for a, b in pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_argument(kind, each, step, names) for each in value)}]"
    if isinstance(value, IterVar):
        assert step.scope is not None
        return names.call(step.scope, value)
    if isinstance(value, Tensor):
        return names.tensor(value)
    if isinstance(value, Intrinsic):
        return value.name
    if isinstance(value, Expr):
        assert step.body is not None
        return repr(_operand_text(value, step.body))
    return names.stage(value) if kind == "Stage" else repr(value)  # type: ignore[arg-type]


def _operand_text(operand: Expr, body: Expr) -> str:
    text = expr_text(operand)
    before = 0
    for node in post_order(body):
        if node is operand:
            break
        before += expr_text(node) == text
    return f"{text} #{before}" if before else text


def operand_of(body: Expr, text: str) -> Expr | None:
    """The part of a body that a trace names by its text."""
    text, _, number = text.partition(" #")
    found = [node for node in post_order(body) if expr_text(node) == text]
    place = int(number or 0)
    return found[place] if place < len(found) else None
