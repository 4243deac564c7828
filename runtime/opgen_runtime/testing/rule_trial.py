"""A rule on samples: whether types and values stay, whether something becomes less; and what shows that it works.

What rules decrease, the measures:

    nodes         calls
    cost          arithmetic of one element of each call: a division or remainder 4, an element function 8, all else 1
    divide, ...   calls of the op of that name
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import OpgenError, PassError, RegistryError
from ..base.vocabulary import DType, dataclass
from ..declaration.patterns import CONSTANT, KNOWN, Apply, Capture
from ..declaration.rewrites import RewriteDef, RuleDef, Shown, Tried
from ..ir import Call, Constant, Expr, Function, Var, free_vars, to_text
from ..ir.visitor import rewrite_leaves
from ..operator import Op, TensorType
from ..transform import Evaluator, InferType, facts
from ..transform.pattern import Rewriter, Rule, matches, rule
from .rule_samples import Sample, arrays_for, captures, samples_of

_WRONG: Final = (OpgenError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
_MOST_VALUES: Final = 150  # samples of a rule whose values are compared
_SHOWN: Final = 6  # elements of an array in a message


class Refused(Exception):
    """Why a rule is none, with an example."""


@dataclass(slots=True)
class _Outcome:
    """What was found of one rule."""

    fired: int = 0
    other_types: str = ""
    shown: Expr | None = None  # the smallest call at which it applies
    stays: Expr | None = None  # the smallest one of its pattern at which it does not


def rules_of(made: RewriteDef) -> list[Rule]:
    """The rules of a pass, as it runs them.  Raises PassError for one that cannot be read."""
    names = [option.name for option in made.options]
    return [rule(each.match, each.replace, each.when, each.option, names) for each in made.rules]


def try_rewrite(made: RewriteDef) -> Tried:
    """What is wrong with the rules of a pass, and programs that show what they do.

    Raises PassError for a rule that cannot be read.
    """
    problems: list[tuple[int, str]] = []
    shown: list[Shown] = []
    rules = rules_of(made)
    for number, (each, stated) in enumerate(zip(rules, made.rules, strict=True)):
        try:
            found = _try(each, stated, made, rules[:number])
            shown += _shown(number, found, each, stated, rules, made)
        except (Refused, PassError) as error:
            problems.append((number, str(error)))
    return Tried(tuple(problems), tuple(shown))


def _try(each: Rule, stated: RuleDef, made: RewriteDef, before: Sequence[Rule]) -> _Outcome:
    options = {option.name: option.name == stated.option for option in made.options}
    outcome = _Outcome()
    _check_names(each, stated)
    for number, sample in enumerate(samples_of(each.match, stated.samples)):
        after = _applied(each, sample, options, outcome)
        if after is None:
            continue
        outcome.fired += 1
        if outcome.shown is None and all(other.apply(sample.call, options) is None for other in before):
            outcome.shown = sample.call
        _check_measure(sample, after, stated, made)
        if outcome.fired <= _MOST_VALUES or _is_large(sample):
            _check_values(sample, after, stated, number)
    if outcome.fired and outcome.shown is None:
        raise Refused("the rules before it take every call that was tried, and leave it nothing")
    if not outcome.fired:
        if outcome.other_types:
            raise Refused(outcome.other_types)
        raise Refused(
            "the rule applied to none of the calls that were tried; state what its captures may be, such as "
            'samples: {x: "float32[1,8,2,2]"}'
        )
    return outcome


def _check_names(each: Rule, stated: RuleDef) -> None:
    try:
        known = captures(each.match)
    except RegistryError as error:
        raise Refused(str(error)) from None
    for name in stated.samples:
        if name not in known:
            raise Refused(f"samples: {name}: the pattern captures {', '.join(known) or 'nothing'}")


def _applied(each: Rule, sample: Sample, options: Mapping[str, object], outcome: _Outcome) -> Expr | None:
    """What stands for the sample's call; None where the rule does not apply."""
    is_matched = False
    for bound in matches(each.match, sample.call, each.is_operand):
        is_matched = True
        try:
            after = each.replaced({**bound, "out": sample.call, **options})
        except _WRONG as error:
            raise Refused(
                f"the rule fails for {shown(sample.call)}: {type(error).__name__}: {error}"
            ) from None
        if after is None:
            continue
        if after.checked_type == sample.call.checked_type:
            return after
        outcome.other_types = outcome.other_types or (
            f"the rule makes {shown(sample.call)} of type {sample.call.checked_type} into {shown(after)} "
            f"of type {after.checked_type}, and nothing that was tried keeps its type"
        )
    if is_matched and outcome.stays is None:
        outcome.stays = sample.call
    return None


def _check_measure(sample: Sample, after: Expr, stated: RuleDef, made: RewriteDef) -> None:
    measures = made.decreases
    found = first_less(sample.call, after, sample.leaves, measures)
    if found is None or stated.decreases not in ("", found):
        wanted = stated.decreases or ", then ".join(measures)
        raise Refused(
            f"the rule does not decrease {wanted}, so that rules may never end: it makes {shown(sample.call)} into "
            f"{shown(after)}"
        )


def _is_large(sample: Sample) -> bool:
    return any(
        isinstance(var.checked_type, TensorType) and np.prod(var.checked_type.concrete_shape) > 100
        for var in sample.variables
    )


def _check_values(sample: Sample, after: Expr, stated: RuleDef, seed: int) -> None:
    for arrays in arrays_for(sample.variables, bool(stated.samples), seed):
        with np.errstate(all="ignore"):
            try:
                before, found = (Evaluator(arrays).array(expr) for expr in (sample.call, after))
            except OpgenError as error:
                raise Refused(f"no value of {shown(sample.call)} or of {shown(after)}: {error}") from None
        at = first_difference(before, found, stated.ulp)
        if at is None:
            continue
        given = ", ".join(f"{var.name_hint} = {_element(array, at)}" for var, array in arrays.items())
        given = f" for {given}" if given else ""
        allowed = "the same bits" if not stated.ulp else f"at most {stated.ulp:g} ulp between them"
        raise Refused(
            f"the rule changes values: it makes {shown(sample.call)} into {shown(after)} "
            f"which give {_text(before[at])} and {_text(found[at])}{given}; expected {allowed}"
        )


def first_difference(before: np.ndarray, after: np.ndarray, ulp: float) -> tuple[int, ...] | None:
    """The place of the first elements that are further apart than `ulp`; NaN is like NaN.

    A unit in the last place is that of the greater of the two, the least subnormal number at least.
    """
    dtype = DType(before.dtype.name)
    if dtype.float_format is None:
        differ = before != after
    else:
        form = dtype.float_format
        a, b = before.astype(np.float64), after.astype(np.float64)
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(a), np.abs(b))
            unit = np.maximum(
                np.exp2(np.floor(np.log2(np.where(size > 0, size, 1)))) * form.epsilon, form.step
            )
            near = np.abs(a - b) <= ulp * unit
        same = (a == b) & (np.signbit(a) == np.signbit(b))
        both = np.isnan(a) & np.isnan(b)
        differ = ~(same | both | (near if ulp else False))
    places = np.argwhere(np.atleast_1d(differ))
    return None if not len(places) else tuple(int(k) for k in places[0])[: before.ndim]


def _element(array: np.ndarray, at: tuple[int, ...]) -> str:
    """The element that an element of the result is made of, where the shapes say so; else the first ones of all."""
    if len(at) == array.ndim and all(k < extent for k, extent in zip(at, array.shape, strict=True)):
        return _text(array[at])
    return f"[{', '.join(_text(number) for number in array.ravel()[:_SHOWN])}, ..]"


def _text(number: Any) -> str:
    return str(number) if isinstance(number, np.integer | np.bool) else f"{float(number):.9g}"


def shown(expr: Expr) -> str:
    """An expression in a message: a function of its variables, on one line."""
    lines = to_text(closed(expr)).strip().splitlines()
    return f"`{' '.join([line.strip() for line in lines])}`"


def closed(expr: Expr) -> Function:
    """The function of what an expression leaves open."""
    return Function(tuple(var for var in free_vars(expr) if isinstance(var, Var)), expr)


def _shown(
    number: int, found: _Outcome, each: Rule, stated: RuleDef, rules: Sequence[Rule], made: RewriteDef
) -> Iterator[Shown]:
    """The smallest program that the rule changes, and one that it does not."""
    options = {option.name: option.name == stated.option for option in made.options}
    chosen = tuple(name for name, is_on in options.items() if is_on)
    assert found.shown is not None
    before = _typed(closed(found.shown))
    after = Rewriter(rules, options).rewrite(before)
    yield Shown(number, to_text(before), to_text(after), chosen)
    for candidate in (found.stays, _without_constants(found.shown, each.match)):
        if candidate is None:
            continue
        program = _typed(closed(candidate))
        try:
            kept = Rewriter(rules, options).rewrite(program)
        except PassError:
            continue
        if kept is program:
            yield Shown(number, to_text(program), "", chosen)
            return


def _typed(function: Function) -> Function:
    found = InferType()(function)
    assert isinstance(found, Function)
    return found


def _without_constants(expr: Expr, pattern: Apply) -> Expr | None:
    """The call with variables in the place of constants, where the pattern asks for these."""
    asked = [arg for arg in pattern.args if isinstance(arg, Capture) and arg.kind in (CONSTANT, KNOWN)]
    constants = [child for child in expr.children() if isinstance(child, Constant)]
    if not asked or not constants:
        return None
    return rewrite_leaves(expr, {each: Var("other", each.checked_type) for each in constants})


# ------------------------------------------------------------------ what rules decrease


@dataclass(frozen=True, slots=True)
class _Weighed:
    """An expression by a measure: as a tree, of its root alone, of what it holds but for given leaves, and these."""

    tree: int
    root: int
    distinct: int
    leaves: Counter[int]


def _weight_of(measure: str) -> Callable[[Call], int]:
    """What one call weighs."""
    if measure == "nodes":
        return lambda call: 1
    if measure == "cost":
        return lambda call: 1 + (known.cost if (known := facts(call)) is not None else 0)
    return lambda call: int(isinstance(call.op, Op) and call.op.name == measure)


def _weighed(expr: Expr, leaves: Collection[int], measure: str) -> _Weighed:
    """An expression by a measure, down to the `leaves`, which are ids."""
    weight = _weight_of(measure)
    own: dict[int, int] = {}
    found: Counter[int] = Counter()
    stack = [expr]
    tree = 0
    while stack:
        node = stack.pop()
        if id(node) in leaves:
            found[id(node)] += 1
            continue
        if isinstance(node, Call):
            own[id(node)] = weight(node)
            tree += own[id(node)]
        stack += node.children()
    return _Weighed(tree, own.get(id(expr), 0), sum(own.values()), found)


def first_less(before: Expr, after: Expr, leaves: Collection[int], measures: Sequence[str]) -> str | None:
    """The first measure that is less after, where those before it are not more; None where there is none.

    Less is: as a tree, where nothing that was captured stands more often than before; or what is new weighs less than
    the call that goes, whatever of the rest goes with it.  Each is an order of its own.
    """
    tree = graph = True
    for measure in measures:
        a, b = _weighed(before, leaves, measure), _weighed(after, leaves, measure)
        tree = tree and b.leaves <= a.leaves
        if (tree and b.tree < a.tree) or (graph and b.distinct < a.root):
            return measure
        tree = tree and b.tree == a.tree
        graph = graph and b.distinct == a.root
    return None
