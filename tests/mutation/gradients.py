"""Derivative rules that are removed, one at a time: which of them no generated suite misses?

Every rule is wrapped once.  The suites' gradient checks run over all ops first, to see which op uses which rule; then
each rule is left out, and the checks of the ops that use it run, the quickest first, until one fails.  Rules of element
functions that no op needs must fail their own test.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from opgen_runtime.base.arith import Cast, Select, const
from opgen_runtime.base.arith.intrinsics import INTRINSICS
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.compute.te.derivative import local, place, pull, scans, term, updates
from opgen_runtime.declaration import derive
from opgen_runtime.testing.gradient import GradientCase, check_grad
from opgen_runtime.testing.suite import Suite

from ..compute.te import test_derivative
from ..gradients import cases_of, suites

_USED: Final[set[str]] = set()
_REMOVED: Final[set[str]] = set()


def removed(rule: str) -> bool:
    """Whether the rule is left out now; notes that it was asked for."""
    _USED.add(rule)
    return rule in _REMOVED


def install() -> None:
    """Wraps every rule, for the rest of the process."""
    for table in (local._BINARY, local._CALLS):
        for name, rule in table.items():
            table[name] = _without_operands(name, rule)
    _wrap(term, "parts_of", lambda f: lambda node, *rest: (
        [] if isinstance(node, Cast) and removed("cast") else list(f(node, *rest))))  # fmt: skip
    _wrap(term, "_parts", lambda f: lambda node, *rest: _arms(node, f(node, *rest)))
    _wrap(term, "_inside", lambda f: lambda *all_: [] if removed("a sum inside a recurrence") else f(*all_))
    _wrap(term, "where", lambda f: lambda condition, value: (
        value if removed("the condition of a choice") else f(condition, value)))  # fmt: skip
    _wrap(pull, "seeds_of", _without_seeds)
    _wrap(pull, "seeds_of_update", _without_updates)
    _wrap(pull, "pull_scan", lambda f: lambda *all_: None if removed("scan") else f(*all_))
    _wrap(scans, "has_steps", lambda f: lambda each: not removed("scan, the states before") and f(each))
    _wrap(place, "scatter", lambda f: lambda name, base, each: (
        base if removed("what is scattered") else f(name, base, each)))  # fmt: skip
    _wrap(place, "gathered", _without_gathers)
    _wrap(
        GradientCase,
        "declared",
        lambda f: lambda self, at: f(self, at) * (1.001 if removed("grad:") else 1.0),
    )


def _wrap(owner: Any, name: str, wrapped: Callable[[Any], Any]) -> None:
    setattr(owner, name, wrapped(getattr(owner, name)))


def _without_operands(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: tuple(
        [
            None if part is None or removed(f"{name}, operand {k}") else part
            for k, part in enumerate(rule(*values))
        ]
    )


def _arms(node: Any, parts: list[Any]) -> list[Any]:
    if not isinstance(node, Select):
        return parts
    return [part for part, arm in zip(parts, ("then", "else"), strict=True) if not removed(f"choice, {arm}")]


def _without_seeds(seeds_of: Callable[..., Any]) -> Callable[..., Any]:
    def found(tensor: Any, adjoint: Any, first: bool = False) -> list[Any]:
        name = tensor.op.body.combiner + (", the first of ties" if first else "")
        seeds = seeds_of(tensor, adjoint, first)
        return [seed for k, seed in enumerate(seeds) if not removed(f"reduction {name}, part {k}")]

    return found


def _without_updates(seeds_of_update: Callable[..., Any]) -> Callable[..., Any]:
    def found(tensor: Any, adjoint: Any) -> tuple[list[Any], Any]:
        seeds, base = seeds_of_update(tensor, adjoint)
        kind = next(updates._puts(tensor.op.body, (), None, const(0, "int64"))).put.op
        if removed(f"update {kind}, what is put"):
            seeds = []
        return seeds, pull.zeros(base) if removed(f"update {kind}, what is there before") else base

    return found


def _without_gathers(gathered: Callable[..., Any]) -> Callable[..., Any]:
    def found(each: Any, axes: Any) -> Any:
        made, inverse = gathered(each, axes)
        if removed("what is gathered"):
            made = replace(made, value=const(0.0, made.value.dtype))
        return made, inverse

    return found


def is_killed(suite: type[Suite]) -> bool:
    """Whether the suite's gradient checks fail."""
    derive._derived.clear()
    try:
        for case in cases_of(suite):
            check_grad(suite.op, case)
    except (AssertionError, OpgenError, ValueError, IndexError):  # what a wrong expression gives
        return True
    return False


def survey() -> Iterator[tuple[type[Suite], frozenset[str], float]]:
    """Every suite, the rules that its gradients use, and the seconds of its checks."""
    for suite in suites(()):
        _USED.clear()
        started = time.process_time()
        if is_killed(suite):
            raise RuntimeError(f"the gradients of {suite.op.name} fail without any rule removed")
        yield suite, frozenset(_USED), time.process_time() - started


def main() -> int:
    """Prints each rule, and the op whose suite misses it.  1 if a rule is missed by none."""
    install()
    known = sorted(survey(), key=lambda entry: entry[2])
    survivors: list[str] = []
    rules = sorted({rule for _, used, _ in known for rule in used} | set(_of_elements()))
    for rule in rules:
        _REMOVED.add(rule)
        killer = next((suite.op.name for suite, used, _ in known if rule in used and is_killed(suite)), None)
        if killer is None and rule in _of_elements() and _fails_its_test(rule.partition(",")[0]):
            killer = "its test alone, no op needs it"
        _REMOVED.clear()
        print(f"SURVIVED {rule}" if killer is None else f"killed   {rule}: by {killer}", flush=True)
        survivors += [rule] if killer is None else []
    print(f"\ngradients  {len(rules) - len(survivors)}/{len(rules)} killed")
    return bool(survivors)


def _of_elements() -> list[str]:
    """The rules of element functions, used or not."""
    found = []
    for name in sorted([*local._BINARY, *local._CALLS]):
        count = 2 if name in local._BINARY else INTRINSICS[name].arity
        found += [f"{name}, operand {k}" for k in range(count) if (name, k) != ("copysign", 1)]
    return found


def _fails_its_test(name: str) -> bool:
    try:
        test_derivative.test_the_rule_of_an_element_function(name)
    except AssertionError:
        return True
    return False
