"""Rules, and passes of them: what a declared rewrite becomes, and what one writes in Python.

rule("divide(?x, ?c: constant)", when="is_exact_reciprocal(c)", replace="multiply(?x, 1 / c)")
Halve = rewrite_pass("Halve", [rule(...)], doc="...", module=__name__)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

import numpy as np

from ..base.errors import PassError
from ..base.vocabulary import dataclass
from ..declaration.patterns import Apply
from ..declaration.rule_functions import FUNCTIONS
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator, Tuple, const
from ..ir.operators import apply_operator
from ..operator import Attrs, Op, TensorType
from .calls import Facts, move_facts
from .context import PassContext
from .define import PassMaker, function_pass
from .infer_type import InferType
from .info import Option
from .infrastructure import FunctionPass
from .matching import NO_FORMS, NOTHING, forms_of, matches

_MOST_STEPS: Final = 64  # of one call, before rules are taken for ones that never end
NONE: Final[Mapping[str, Option]] = MappingProxyType({})
functions: Final = SimpleNamespace(**FUNCTIONS)
"""What conditions and values of rules call."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is matched, on which condition, and what stands there instead.

    `when` and `replace` are functions whose parameters name what they read: what the pattern captured, `out`, the call
    itself, and options of the pass.  `option`: the option of the pass with which the rule is on.  `is_operand`: what
    stands there instead is something that was captured.
    """

    match: Apply
    replace: Callable[..., Expr]
    when: Callable[..., bool] | None = None
    option: str = ""
    is_operand: bool = False
    _names: tuple[tuple[str, ...], tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", (_parameters(self.when), _parameters(self.replace)))

    def apply(self, call: Call, options: Mapping[str, object], known: Facts | None = None) -> Expr | None:
        """What stands for a call; None where the rule does not apply.  It is of the call's own type.

        `known`: what `move_facts` knows of the call, where that is known.
        """
        if self.option and not options[self.option]:
            return None
        for bound in matches(self.match, call, self.is_operand, NOTHING, known):
            found = self.replaced({**bound, "out": call, **options})
            if found is not None and found.checked_type == call.checked_type:
                return found
        return None

    def replaced(self, known: Mapping[str, object]) -> Expr | None:
        """What stands there instead, of what is known by name; None where the condition does not hold."""
        with np.errstate(all="ignore"):
            if self.when is not None and not self.when(*[known[name] for name in self._names[0]]):
                return None
            return self.replace(*[known[name] for name in self._names[1]])


class RuleSet:
    """Rules in their order, by what a call must be for them to be looked at."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self.names = frozenset([each.match.name for each in rules if not each.match.is_form])
        forms = [each.match for each in rules if each.match.is_form]
        self._has_forms = bool(forms)
        self._of_constants = all([each.takes_constant for each in forms])
        self._found: dict[tuple[str, frozenset[str]], tuple[Rule, ...]] = {}

    def of(self, call: Call) -> tuple[tuple[Rule, ...], Facts | None]:
        """The rules that may apply to a call, and what is known of it."""
        if not isinstance(call.op, Op):
            return (), None
        name = call.op.name if call.op.name in self.names else ""
        known = None
        if self._has_forms and (not self._of_constants or _has_constant(call)):
            known = move_facts(call)
        elif not name:
            return (), None
        forms = NO_FORMS if known is None else forms_of(call, known)
        if not name and not forms:
            return (), known
        key = (name, forms)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(
                [each for each in self.rules if each.match.name in (forms if each.match.is_form else (name,))]
            )
        return found, known


class Rewriter(MixedModeMutator):
    """Rewrites an expression by rules, bottom-up: of each call the first that applies, until none does."""

    def __init__(
        self, rules: Sequence[Rule] | RuleSet, options: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        super().__init__()
        self.rules = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        self.options = options

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        found: Expr | None = self.once(post)
        if found is None:
            return post
        for _ in range(_MOST_STEPS):
            after = self.once(found) if isinstance(found, Call) else None
            if after is None:
                return found
            found = after
        raise PassError(f"rules still apply after {_MOST_STEPS} steps, to\n{found}")

    def once(self, call: Call) -> Expr | None:
        """What the first rule that applies makes of a call."""
        rules, known = self.rules.of(call)
        for each in rules:
            found = each.apply(call, self.options, known)
            if found is not None:
                return found
        return None


def _has_constant(call: Call) -> bool:
    return any([isinstance(arg, Constant) for arg in call.args])


def rewrite_pass(
    name: str,
    rules: Sequence[Rule],
    doc: str,
    module: str,
    opt_level: int = 0,
    options: Mapping[str, Option] = NONE,
    error_bound: str | Callable[..., str] = "",
) -> PassMaker[FunctionPass]:
    """A pass of rules, registered under its name; see `function_pass`.  `module`: where it is defined."""
    ordered = RuleSet(rules)

    def rewrite(function: Function, context_module: IRModule, context: PassContext, **given: Any) -> Function:
        found = Rewriter(ordered, given).rewrite(function)
        assert isinstance(found, Function)
        return found

    rewrite.__name__ = rewrite.__qualname__ = name
    rewrite.__module__, rewrite.__doc__ = module, doc
    decorate = function_pass(
        opt_level=opt_level,
        required=(InferType,),
        preserves=("InferType",),
        options=options,
        error_bound=error_bound,
    )
    return decorate(rewrite)


def bound_of(bounds: Mapping[str, str]) -> Callable[..., str]:
    """How far values may be from those before, in words, by the options of a run; "" stands for every run."""

    def bound(**options: bool) -> str:
        return "; ".join([text for option, text in bounds.items() if not option or options[option]])

    return bound


# ------------------------------------------------------------------ what replacements are written in


def call(name: str, *args: Expr, out: Call | None = None, **attrs: object) -> Call:
    """A call of an op, at the place of the one that it stands for."""
    op = Op.get(name)
    declaration = op.get_attr("declaration")
    kind: type[Attrs] | None = None if declaration is None else declaration.attrs
    return Call(op, args, None if kind is None else kind(**attrs), span=None if out is None else out.span)


def operator(symbol: str, *operands: Expr) -> Call:
    """The op that Python's operator stands for."""
    return apply_operator(symbol, *operands)


def value(number: object, out: Call) -> Constant:
    """A constant; a Python number takes the dtype of the result."""
    if isinstance(number, np.ndarray | np.generic):
        return Constant(np.asarray(number))
    type_ = out.checked_type
    assert isinstance(type_, TensorType)
    return const(number, type_.dtype)


def tuple_(*parts: Expr) -> Tuple:
    return Tuple(parts)


def _parameters(function: Callable[..., object] | None) -> tuple[str, ...]:
    return () if function is None else function.__code__.co_varnames[: function.__code__.co_argcount]
