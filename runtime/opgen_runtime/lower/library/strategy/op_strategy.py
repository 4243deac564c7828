"""The implementations of an op, and the choice between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from ....base.arith.expr import Const, Expr
from ....base.contract import handed_in
from ....base.errors import StrategyError, UndecidedError
from ....base.vocabulary import dataclass
from ....operator import needs_of
from .generic import AnyFunction, keys_of


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a call; the function's parameter names say which names of the binding it needs.

    `target` is one of the names.  `text` is the declared expression.
    """

    function: AnyFunction
    text: str = ""

    def why_not(self, names: Mapping[str, Any]) -> str | None:
        """Why the condition does not hold; None if it does.

        A condition that needs the value of a symbolic dim does not hold.  Raises StrategyError for a name
        that the call does not have.
        """
        needs = needs_of(self.function)
        missing = [name for name in needs if name not in names]
        shown = self.text or f"a condition on {', '.join(needs)}"
        if missing:
            raise StrategyError(f"{shown} asks for {missing[0]!r}; known are {', '.join(sorted(names))}")
        with handed_in(shown, StrategyError):
            try:
                value = self.function(*[names[name] for name in needs])
            except UndecidedError as error:
                return f"{shown} cannot be decided: {error}"
        if isinstance(value, Expr):
            if not isinstance(value, Const):
                return f"{shown} cannot be decided: it depends on {value}"
            value = value.value
        return None if value else f"{shown} is false"


@dataclass(frozen=True, slots=True)
class Decided:
    """A condition that was decided for the call at hand, when the strategy was made; `reason`: why it does not hold."""

    reason: str
    text: str = ""

    def why_not(self, names: Mapping[str, Any]) -> str | None:
        """The reason."""
        return self.reason


@dataclass(frozen=True, slots=True)
class Implementation:
    """One way to compile an op: its schedule, and its compute where that is not the op's own.

    `keys`: target keys that it is for, or features of its instruction set such as avx512f; empty for every target.
    All `conditions` must hold.  `is_default`: it is that of the op's pattern, which any other that applies goes
    before, whatever its plevel.  `layouts`: those that it would have the op's operands in, by layout attr; the pass
    AlterOpLayout asks for them.
    """

    name: str
    schedule: AnyFunction
    compute: AnyFunction | None = None
    plevel: int = 10
    conditions: tuple[Condition | Decided, ...] = ()
    keys: tuple[str, ...] = ()
    is_default: bool = False
    layouts: Mapping[str, str] = field(default_factory=dict)

    def why_not(self, names: Mapping[str, Any]) -> str | None:
        """Why it does not apply to a call (`names` with `target`); None if it does."""
        target = names["target"]
        if self.keys and not any(key in keys_of(target) for key in self.keys):
            listed = ", ".join(target.keys)
            return f"it is for targets with {' or '.join(self.keys)}; the target's keys are {listed}"
        return next((why for c in self.conditions if (why := c.why_not(names)) is not None), None)

    def key_rank(self, keys: tuple[str, ...]) -> int:
        """The place of its best key among the target's; after all of them if it is for every target."""
        return min((keys.index(key) for key in self.keys if key in keys), default=len(keys))


@dataclass(frozen=True, slots=True)
class Considered:
    """An implementation that was looked at, and why it does not apply (None: it does)."""

    implementation: Implementation
    why_not: str | None


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen implementation and all that were considered."""

    op_name: str
    implementation: Implementation
    considered: tuple[Considered, ...]
    dispatched_on: str = ""

    def explain(self) -> str:
        """The choice as text: one line an implementation, the chosen one first."""
        chosen = self.implementation
        on = f" (strategy of {self.dispatched_on})" if self.dispatched_on else ""
        lines = [f"{self.op_name}: {chosen.name}, plevel {chosen.plevel}{on}: {self._reason()}"]
        for each in self.considered:
            if each.implementation is not chosen:
                why = each.why_not or self._lost(each.implementation)
                lines.append(f"  not {each.implementation.name}, plevel {each.implementation.plevel}: {why}")
        return "\n".join(lines)

    def _reason(self) -> str:
        others = [
            c
            for c in self.considered
            if c.why_not is None and c.implementation is not self.implementation and self._is_rival(c)
        ]
        held = " and ".join(c.text for c in self.implementation.conditions if c.text)
        reason = "the highest plevel of those that apply" if others else "the only one that applies"
        return f"{reason}; {held} holds" if held else reason

    def _is_rival(self, other: Considered) -> bool:
        return not other.implementation.is_default or other.implementation.plevel < self.implementation.plevel

    def _lost(self, other: Implementation) -> str:
        chosen = self.implementation
        if other.is_default and other.plevel >= chosen.plevel:
            return "applies, where nothing else does"
        if other.plevel < chosen.plevel:
            return f"applies, but {chosen.plevel} beats {other.plevel}"
        return f"applies, but {chosen.name} is for an earlier key of the target"


@dataclass(slots=True)
class OpStrategy:
    """A list of implementations. The applicable one with the highest plevel is chosen."""

    implementations: list[Implementation] = field(default_factory=list)
    _conditions: list[Condition] = field(default_factory=list)

    def add_default(self, schedule: AnyFunction, name: str) -> OpStrategy:
        """Adds what is taken where no implementation applies, at plevel 0."""
        self.implementations.append(Implementation(name, schedule, plevel=0, is_default=True))
        return self

    def add_implementation(
        self,
        compute: AnyFunction | None,
        schedule: AnyFunction,
        name: str,
        plevel: int = 10,
        condition: AnyFunction | None = None,
        text: str = "",
        keys: tuple[str, ...] = (),
        layouts: Mapping[str, str] | None = None,
        why_not: str | None = None,
    ) -> OpStrategy:
        """Adds an implementation, under the conditions of enclosing `under` blocks and its own.

        `compute` None: the op's.  `layouts`: what its operands should lie in, `{"data_layout": "NHWC"}`.  `why_not`:
        why it does not apply to the call at hand, where that is known.  Raises StrategyError for a name that is taken.
        """
        for role, function in (("compute", compute), ("schedule", schedule), ("condition", condition)):
            if not callable(function) and (function is not None or role == "schedule"):
                raise StrategyError(
                    f"implementation {name!r}: its {role} is {function!r:.80}, expected a function"
                )
        if type(plevel) is not int:
            raise StrategyError(f"implementation {name!r}: its plevel is {plevel!r:.80}, expected an int")
        if any(known.name == name for known in self.implementations):
            raise StrategyError(f"the strategy already has an implementation {name!r}")
        conditions: list[Condition | Decided] = [*self._conditions]
        conditions += [] if condition is None else [Condition(condition, text)]
        conditions += [] if why_not is None else [Decided(why_not)]
        self.implementations.append(
            Implementation(
                name, schedule, compute, plevel, tuple(conditions), keys, layouts=dict(layouts or {})
            )
        )
        return self

    @contextmanager
    def under(self, condition: AnyFunction, text: str = "") -> Iterator[OpStrategy]:
        """Implementations added inside apply only where the condition holds."""
        self._conditions.append(Condition(condition, text))
        try:
            yield self
        finally:
            self._conditions.pop()

    def select(self, op_name: str, names: Mapping[str, Any], dispatched_on: str = "") -> Selection:
        """The implementation for a call; `names` are the binding's, with `target`.

        Of several at the highest plevel, the one for the earliest of the target's keys.  Raises StrategyError
        if none applies, saying why each does not, or if two are equally good.
        """
        keys = keys_of(names["target"])
        considered = tuple([Considered(i, i.why_not(names)) for i in self.implementations])
        applicable = [c.implementation for c in considered if c.why_not is None]
        if not applicable:
            reasons = (
                "".join(f"\n  {c.implementation.name}: {c.why_not}" for c in considered) or " there is none"
            )
            raise StrategyError(f"{op_name}: no implementation applies:{reasons}")
        ranked = sorted(applicable, key=lambda i: _rank(i, keys))
        best = ranked[0]
        if len(ranked) > 1:
            second = ranked[1]
            if _rank(second, keys) == _rank(best, keys):
                raise StrategyError(
                    f"{op_name}: implementations {best.name!r} and {second.name!r} both apply at plevel {best.plevel}; "
                    f"give one of them a higher plevel"
                )
        return Selection(op_name, best, considered, dispatched_on)


def _rank(implementation: Implementation, keys: tuple[str, ...]) -> tuple[bool, int, int]:
    """The less, the better."""
    return implementation.is_default, -implementation.plevel, implementation.key_rank(keys)
