"""Gradients of calls that no suite has: `python -m tests.fuzz gradients`.

A case takes a call of a generated suite of an op that has a gradient, and changes extents and attrs of it at random, as
far as the declaration admits them.  Off kinks, in float64: each derived gradient is the central difference
(`check_grad`), machine code gives what numpy gives for one of them, and `rt.jvp` is the transpose of `rt.vjp`.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import LanguageError, OpgenError
from opgen_runtime.base.vocabulary import FLOAT64
from opgen_runtime.operator.attrs.field import AttrField
from opgen_runtime.testing import Case, Suite
from opgen_runtime.testing.cases import declaration_of
from opgen_runtime.testing.data import Spec
from opgen_runtime.testing.gradient import GradientCase, check_grad, gradient_case
from tests.gradients import cases_of, native
from tests.gradients import suites as suites_of

COUNT: Final = 500
_EXTENTS: Final = (1, 1, 2, 3, 4, 5, 6, 7, 9)
_MOST: Final = 2000  # elements of operands and results together, which numpy goes through many times
_DRAFTS: Final = 40


@cache
def _suite(name: str) -> type[Suite]:
    (found,) = suites_of((name,))
    return found


@cache
def _has_gradient(suite: type[Suite]) -> bool:
    """Whether a call of the suite has floats that go in, and floats that come out."""
    return any(gradient_case(suite.op, case) is not None for case in cases_of(suite))


# ------------------------------------------------------------------ what is drawn


def _chosen(random: Random) -> type[Suite]:
    """The suite of an op with a gradient: the more operands and attrs it has, the likelier."""
    while True:
        suite = _suite(random.choice(ops.__all__))
        declaration = declaration_of(suite.op)
        fields = () if declaration.attrs is None else declaration.attrs.fields()
        if random.randint(1, 8) <= len(declaration.signature.inputs) + len(fields) and _has_gradient(suite):
            return suite


def drawn(random: Random, suite: type[Suite]) -> tuple[Case, GradientCase] | None:
    """A call with a gradient; None where no draft was one."""
    for _ in range(_DRAFTS):
        case = random.choice((*suite.declared_cases, *suite.sampled_cases))
        fixed = _is_limited(case)
        if random.random() < 0.7 and not fixed:
            case = _other_attrs(random, suite, case)
        if random.random() < 0.7 and not fixed:
            case = _other_extents(random, case)
        if not _is_small(case):
            continue
        try:
            made = gradient_case(suite.op, case)
        except (OpgenError, ValueError):
            continue
        if made is not None and _is_finite(made):
            return case, made
    return None


def _is_finite(made: GradientCase) -> bool:
    """Whether the results are numbers, not too many of them: a window of nothing has no difference."""
    if sum(math.prod(map(int, t.shape)) for t in made.made.results) > _MOST:
        return False
    pairs = zip(made.made.values(made.arrays), made.cotangents, strict=True)
    return all(bool(np.isfinite(np.asarray(value, float)).all()) for value, g in pairs if g is not None)


def _is_sized(made: GradientCase) -> bool:
    """Whether no data decides the shapes of the results."""
    return not made.made.binding.storage


def _is_small(case: Case) -> bool:
    specs = [
        text for value in case.inputs.values() for text in (value if isinstance(value, tuple) else (value,))
    ]
    return sum(math.prod(Spec.parse(text).shape) for text in specs if text is not None) <= _MOST


def _is_limited(case: Case) -> bool:
    """Whether integers of a range are given: positions, whose limits follow from extents and attrs."""
    return any(
        text is not None and " in " in text and not text.startswith(("float", "bfloat"))
        for value in case.inputs.values()
        for text in (value if isinstance(value, tuple) else (value,))
    )


def _other_extents(random: Random, case: Case) -> Case:
    """One or two extents are others wherever they stand."""
    changes: dict[str, str] = {}

    def turn(text: str) -> str:
        head, dims, rest = re.fullmatch(r"(\w+\[)([^\]]*)(\].*)", text, re.S).groups()  # type: ignore[union-attr]
        return head + re.sub(r"\d+", lambda found: _extent(random, found[0], changes), dims) + rest

    inputs: dict[str, Any] = {
        name: tuple(map(turn, value)) if isinstance(value, tuple) else value and turn(value)
        for name, value in case.inputs.items()
    }
    return Case(inputs, case.attrs)


def _extent(random: Random, old: str, changes: dict[str, str]) -> str:
    if old not in changes:
        chosen = random.choice(_EXTENTS) if random.random() < 0.4 else int(old)
        changes[old] = str(chosen)
    return changes[old]


def _other_attrs(random: Random, suite: type[Suite], case: Case) -> Case:
    """One to three attrs have values of their kind, of those that their bounds name or near what they were."""
    kind = declaration_of(suite.op).attrs
    if kind is None or not kind.fields():
        return case
    attrs = dict(case.attrs)
    for field in random.sample(kind.fields(), min(len(kind.fields()), random.randint(1, 3))):
        found = _value(random, field, attrs.get(field.name, field.default))
        if found is not None:
            attrs[field.name] = found
    return replace(case, attrs=attrs)


def _value(random: Random, field: AttrField, given: Any) -> Any:
    """Another value, which may be refused; None for the one that it was."""
    named = re.search(r" in (\([^)]*\))", field.bounds or "")
    if named:
        return random.choice(ast.literal_eval(named[1]))
    if field.kind == "bool":
        return random.random() < 0.5
    if field.kind in ("int", "number"):
        return random.randint(-3, 5)
    if field.kind == "float":
        return round(random.choice((random.uniform(-2, 2), random.uniform(0, 1), random.uniform(0, 4))), 3)
    if field.kind in ("ints", "shape"):
        count = len(given) if isinstance(given, tuple | list) else random.randint(1, 4)
        count = random.choice((count, count, 1, 2, 2 * count))
        if random.random() < 0.3:
            return (random.randint(-3, 5),) * count
        low = random.choice((-2, 0, 0, 1))
        return tuple([random.randint(low, 4) for _ in range(count)])
    if field.kind == "floats" and isinstance(given, tuple | list):
        return tuple([round(random.uniform(-1, 2), 3) for _ in given])
    return None


# ------------------------------------------------------------------ what must hold


def check_transposed(suite: type[Suite], case: Case, made: GradientCase, seed: int) -> None:
    """`sum(jvp(t) * g)` is `sum(t * vjp(g))`, of all float operands that have a gradient at once."""
    random = np.random.default_rng(seed)
    floats = [at for wrt, at in made.operands() if _is_derived(suite, made, wrt)]
    if not floats or not _is_sized(made):
        return  # of what data sizes a change that is zero has no shape
    names = [declared.name for declared in declaration_of(suite.op).signature.inputs]
    attrs = {} if made.attrs is None else made.attrs.as_dict()

    def function(*xs: Any) -> Any:
        arrays: list[Any] = list(made.arrays)
        for at, x in zip(floats, xs, strict=True):
            arrays[at] = x
        operands: dict[str, Any] = {}
        for name, operand in zip(names, made.made.operands, strict=True):
            if isinstance(operand, tuple):
                operands[name], arrays = arrays[: len(operand)], arrays[len(operand) :]
            elif operand is not None:
                operands[name], *arrays = arrays
        found = getattr(ops, suite.op.name)(**operands, **attrs)
        found = found if isinstance(found, tuple | list) else (found,)
        return [each for each, g in zip(found, made.cotangents, strict=True) if g is not None]

    points = [made.arrays[at] for at in floats]
    directions = [random.normal(size=x.shape).astype(x.dtype) for x in points]
    values, changes = rt.jvp(function, points, directions)
    cotangents = [np.asarray(random.normal(size=v.shape)).astype(v.dtype) for v in values]
    pulled = rt.vjp(function, *points)[1](cotangents)
    ahead = [c.astype(float) * g for c, g in zip(changes, cotangents, strict=True)]
    back = [p.astype(float) * t for p, t in zip(pulled, directions, strict=True)]
    single = any(x.dtype != np.float64 for x in (*points, *values))
    scale = max(1.0, *[float(np.abs(each).sum()) for each in (*ahead, *back)])
    off = abs(sum(float(each.sum()) for each in ahead) - sum(float(each.sum()) for each in back))
    assert off <= (1e-4 if single else 1e-9) * scale, f"{suite.op.name}({case}): jvp and vjp differ by {off}"


def _is_derived(suite: type[Suite], made: GradientCase, wrt: str) -> bool:
    """Whether there is a gradient: the record says why where there is none."""
    if wrt in declaration_of(suite.op).gradients:
        return True
    try:
        made.derived(wrt)
    except LanguageError:
        return False
    return True


def check_native(suite: type[Suite], case: Case, made: GradientCase, wrt: str) -> None:
    """Machine code gives for one operand, whose gradient is derived, what numpy gives."""
    if wrt in declaration_of(suite.op).gradients or not _is_derived(suite, made, wrt):
        return
    found, wanted = native(made, wrt), made.adjoint(wrt)
    tolerance = 1e-8 if wanted.dtype == FLOAT64.numpy else 1e-4
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    what = f"{suite.op.name}({case}), {wrt}"
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def case(seed: int) -> None:
    random = Random(seed)
    suite = _chosen(random)
    found = drawn(random, suite)
    if found is None:
        return
    case, made = found
    try:
        check_grad(suite.op, case)
    except Exception as error:
        raise AssertionError(f"{suite.op.name}({case})") from error
    check_native(suite, case, made, random.choice([wrt for wrt, _ in made.operands()]))
    check_transposed(suite, case, made, seed)
