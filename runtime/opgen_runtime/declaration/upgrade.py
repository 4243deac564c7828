"""Calls that an older version of an op saved, as calls of today's.

A saved call states the version of its op (`scaled@2(%x)` in texts, `attrs.scaled@2` in JSON; nothing for the first).
The entries of `upgrades:` lead from each version to the next; a version without one is called like the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from ..base.contract import handed_in
from ..base.errors import AttrError, CallError, RegistryError, did_you_mean
from ..base.vocabulary import dataclass
from ..ir import Expr, Operand, Span, Tuple, TupleGetItem, make_call
from ..operator import REQUIRED, AttrField, DimVar, KindError, Op, needs_of
from .compute import extern
from .declaration import OpDeclaration, Upgrade

Values: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class _Step:
    """From one version to the next: the operands and attrs that the next has."""

    version: int
    upgrade: Upgrade
    inputs: tuple[str, ...]
    attrs: Mapping[str, AttrField]


@dataclass(frozen=True, slots=True)
class _Saved:
    """What one version of an op takes, and how calls of it become calls of today's."""

    inputs: tuple[str, ...]
    attrs: Mapping[str, AttrField]
    steps: tuple[_Step, ...]


def upgraded(
    declaration: OpDeclaration, version: int, args: Sequence[Expr], given: Mapping[str, object], span: Span
) -> Expr:
    """What today's version says for a call of `version` on `args` with the attrs `given`.

    Raises CallError or AttrError for what the version did not take, and for what cannot be upgraded.
    """
    name = declaration.full_name
    saved = _saved(declaration, version)
    if len(args) > len(saved.inputs):
        raise CallError(
            f"{name}: version {version} takes {len(saved.inputs)} operands "
            f"({', '.join(saved.inputs)}), found {len(args)}"
        )
    operands: dict[str, Operand] = dict(zip(saved.inputs, args, strict=False))
    attrs = _completed(name, version, saved.attrs, given)
    scopes: list[Values] = []
    for step in saved.steps:
        scope = {**attrs, **{key: operands.get(key) for key in step.upgrade.inputs or step.inputs}}
        scopes.append(scope)
        operands, attrs = _next(name, step, operands, attrs, scope)
    inputs = [operands.get(each.name) for each in declaration.signature.inputs]
    made = None if declaration.attrs is None else declaration.attrs(**attrs)
    found: Expr = make_call(Op.get(name), inputs, made, span)
    for step, scope in zip(reversed(saved.steps), reversed(scopes), strict=True):
        if step.upgrade.result is not None:
            found = _expr(_called(step.upgrade.result, {**scope, **_results(declaration, found)}))
    return found


def upgraded_attrs(
    declaration: OpDeclaration, version: int, given: Mapping[str, object], dims: dict[str, DimVar]
) -> Values:
    """Today's attrs for those that `version` wrote as JSON; `dims` by name.  Raises AttrError like `upgraded`."""
    name = declaration.full_name
    saved = _saved(declaration, version)
    read = {
        key: saved.attrs[key].read_json(value, dims) if key in saved.attrs else value
        for key, value in given.items()
    }
    attrs = _completed(name, version, saved.attrs, read)
    for step in saved.steps:
        if step.upgrade.extern is not None:
            raise AttrError(
                f"{name}: attrs of version {step.version} are upgraded with their call only, by {step.upgrade.extern}"
            )
        attrs = _next_attrs(name, step, attrs, attrs)
    return attrs


def _saved(declaration: OpDeclaration, version: int) -> _Saved:
    """Found backwards, from what today's version takes."""
    inputs = tuple([each.name for each in declaration.signature.inputs])
    attrs = {} if declaration.attrs is None else {each.name: each for each in declaration.attrs.fields()}
    steps: list[_Step] = []
    for number in range(declaration.version - 1, version - 1, -1):
        upgrade = declaration.upgrades.get(number)
        if upgrade is not None:
            steps.append(_Step(number, upgrade, inputs, attrs))
            inputs = inputs if upgrade.inputs is None else upgrade.inputs
            attrs = {**attrs, **upgrade.attrs}
    return _Saved(inputs, attrs, tuple(reversed(steps)))


def _completed(
    name: str, version: int, fields: Mapping[str, AttrField], given: Mapping[str, object]
) -> Values:
    """The attrs of a saved call, in their kept form, with the defaults that they had."""
    found: Values = {key: each.default for key, each in fields.items() if each.default is not REQUIRED}
    for key, value in given.items():
        if key not in fields:
            near = did_you_mean(key, fields, 1)
            raise AttrError(
                f"{name}: version {version} has no attr {key!r}{near}; it has {', '.join(fields) or 'none'}"
            )
        try:
            found[key] = fields[key].normalise(value)
        except KindError as error:
            raise AttrError(
                f"{name}: attr {key!r} of version {version} must be {error}, found {value!r:.80}"
            ) from None
    return found


def _next(
    name: str, step: _Step, operands: Mapping[str, Operand], attrs: Values, scope: Values
) -> tuple[dict[str, Operand], Values]:
    """Operands and attrs of the next version."""
    upgrade = step.upgrade
    if upgrade.extern is not None:
        return _by_hand(name, upgrade.extern, step, operands, attrs)
    made = {
        key: cast("Operand", _called(upgrade.becomes[key], scope))
        if key in upgrade.becomes
        else operands.get(key)
        for key in step.inputs
    }
    return made, _next_attrs(name, step, attrs, scope)


def _next_attrs(name: str, step: _Step, attrs: Values, scope: Mapping[str, object]) -> Values:
    upgrade = step.upgrade
    if upgrade.require is not None and not _called(upgrade.require[0], scope):
        raise AttrError(f"{name}: a call of version {step.version} is upgraded only where {upgrade.require[1]}; found "
                        + ", ".join(f"{key}={attrs[key]!r}" for key in needs_of(upgrade.require[0])))  # fmt: skip
    made = {key: value for key, value in attrs.items() if key in step.attrs}
    return made | {key: _called(f, scope) for key, f in upgrade.becomes.items() if key in step.attrs}


def _by_hand(
    name: str, reference: str, step: _Step, operands: Mapping[str, Operand], attrs: Values
) -> tuple[dict[str, Operand], Values]:
    """What a hand-written function gives, held to what the next version takes."""
    with handed_in(f"{name}: {reference}", RegistryError):
        found: object = extern(reference, name)(dict(operands), dict(attrs))
    if (
        not isinstance(found, tuple)
        or len(found) != 2
        or not all([isinstance(each, Mapping) for each in found])
    ):
        raise RegistryError(f"{name}: {reference} gave {found!r:.80}, expected operands and attrs by name")
    inputs, made = cast("tuple[Mapping[str, Operand], Mapping[str, object]]", found)
    strange = [*(inputs.keys() - set(step.inputs)), *(made.keys() - step.attrs.keys())]
    if strange:
        raise RegistryError(
            f"{name}: {reference} gave {strange[0]!r}, which is neither operand nor attr after version {step.version}"
        )
    return dict(inputs), dict(made)


def _results(declaration: OpDeclaration, found: Expr) -> dict[str, Expr]:
    outputs = declaration.signature.outputs
    if not declaration.signature.returns_tuple:
        return {outputs[0].name: found}
    return {each.name: TupleGetItem(found, position) for position, each in enumerate(outputs)}


def _called(function: object, scope: Mapping[str, object]) -> object:
    assert callable(function)
    return function(**{key: scope[key] for key in needs_of(function)})


def _expr(value: object) -> Expr:
    """An expression; a tuple of expressions is one."""
    return Tuple(tuple(map(_expr, value))) if isinstance(value, tuple) else cast("Expr", value)
