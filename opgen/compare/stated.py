"""Changes of what a declaration states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from opgen_runtime.base.vocabulary import DTYPE_CLASSES

from ..model import CheckedAttr, CheckedInput, CheckedOp
from .change import Change

_WIDER: Final = frozenset({("int", "number"), ("float", "number")})
DTypes = Mapping[str, str | tuple[str, ...]]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def stated_changes(old: CheckedOp, new: CheckedOp) -> Iterator[Change]:
    """All but what calls show."""
    yield from _inputs(old, new)
    yield from _attrs(old, new)
    yield from _outputs(old, new)
    yield from _rest(old, new)


def renamed(old: Sequence[_Named], new: Sequence[_Named]) -> dict[str, str]:
    """Old name -> new name of what stands at the same place under a name that the other version does not have."""
    before, after = {each.name for each in old}, {each.name for each in new}
    if len(old) != len(new):
        return {}
    pairs = ((a.name, b.name) for a, b in zip(old, new, strict=True))
    return {a: b for a, b in pairs if a != b and a not in after and b not in before}


def _inputs(old: CheckedOp, new: CheckedOp) -> Iterator[Change]:
    moved = renamed(old.inputs, new.inputs)
    for before, after in moved.items():
        yield Change(old.name, "input-renamed", f"input `{before}` is called `{after}` now", True)
    gone = [each.name for each in old.inputs if each.name not in moved]
    here = {each.name: each for each in new.inputs}
    for name in gone:
        if name not in here:
            yield Change(old.name, "input-removed", f"input `{name}` is gone", True)
    known = {moved.get(each.name, each.name): each for each in old.inputs}
    kept = [each.name for each in new.inputs if each.name in known]
    if kept != [name for name in known if name in here]:
        yield Change(old.name, "inputs-reordered", f"inputs come in the order {', '.join(kept)} now", True)
    for position, each in enumerate(new.inputs):
        if each.name not in known:
            is_last = position >= len(kept)
            text = f"input `{each.name}` is new" + ("" if each.optional else ", and must be given")
            text += "" if is_last else f", before `{new.inputs[position + 1].name}`"
            yield Change(old.name, "input-added", text, not (each.optional and is_last))
        else:
            yield from _input(old, new, known[each.name], each)


def _input(old: CheckedOp, new: CheckedOp, before: CheckedInput, after: CheckedInput) -> Iterator[Change]:
    name = f"input `{after.name}`"
    if before.optional != after.optional:
        text = "may be left out now" if after.optional else "must be given now"
        yield Change(old.name, "input-optional", f"{name} {text}", before.optional)
    if before.variadic != after.variadic:
        text = "several tensors" if after.variadic else "one tensor"
        yield Change(old.name, "input-variadic", f"{name} is {text} now", True)
    if before.layout != after.layout:
        yield Change(old.name, "layout", f"{name} has another storage order", True)
    had, has = admitted(before.dtype, old.signature.dtypes), admitted(after.dtype, new.signature.dtypes)
    dropped = [dtype for dtype in had if dtype not in has]
    added = [dtype for dtype in has if dtype not in had]
    if dropped:
        yield Change(old.name, "dtype-dropped", f"{name} is no longer of {', '.join(dropped)}", True)
    if added:
        yield Change(old.name, "dtype-added", f"{name} may be of {', '.join(added)}, too", False)


def admitted(dtype: str | tuple[str, ...], variables: DTypes) -> list[str]:
    """The dtypes that a declared one stands for."""
    if isinstance(dtype, str):
        dtype = variables.get(dtype, dtype)
    return list(map(str, DTYPE_CLASSES.get(dtype, (dtype,)))) if isinstance(dtype, str) else list(dtype)


def _attrs(old: CheckedOp, new: CheckedOp) -> Iterator[Change]:
    moved = renamed(old.attrs, new.attrs)
    for before, after in moved.items():
        yield Change(old.name, "attr-renamed", f"attr `{before}` is called `{after}` now", True)
    known = {moved.get(each.name, each.name): each for each in old.attrs}
    here = [each.name for each in new.attrs]
    for name in known:
        if name not in here:
            yield Change(old.name, "attr-removed", f"attr `{name}` is gone", True)
    kept = [name for name in here if name in known]
    if kept != [name for name in known if name in here]:
        yield Change(old.name, "attrs-reordered", f"attrs come in the order {', '.join(kept)} now", True)
    for position, each in enumerate(new.attrs):
        if each.name in known:
            yield from _attr(old.name, known[each.name], each)
            continue
        is_last = position >= len(kept)
        text = f"attr `{each.name}` is new" + (", and must be given" if each.required else "")
        text += "" if is_last else f", before `{here[position + 1]}`"
        yield Change(old.name, "attr-added", text, each.required or not is_last)


def _attr(op: str, before: CheckedAttr, after: CheckedAttr) -> Iterator[Change]:
    name = f"attr `{after.name}`"
    if before.kind != after.kind:
        text = f"{name} is of type {after.kind}, not {before.kind}"
        yield Change(op, "attr-type", text, (before.kind, after.kind) not in _WIDER)
    if before.required != after.required:
        text = (
            "must be given now" if after.required else f"may be left out now, and is {after.default!r} then"
        )
        yield Change(op, "attr-required", f"{name} {text}", after.required)
    elif not before.required and repr(before.default) != repr(after.default):
        text = f"the default of {name} is {after.default!r}, not {before.default!r}"
        yield Change(op, "default-changed", text, True)
    if before.optional != after.optional:
        text = "may be None now" if after.optional else "may no longer be None"
        yield Change(op, "attr-optional", f"{name} {text}", before.optional)


def _outputs(old: CheckedOp, new: CheckedOp) -> Iterator[Change]:
    if len(old.outputs) != len(new.outputs):
        text = f"there are {len(new.outputs)} results, not {len(old.outputs)}"
        yield Change(old.name, "results", text, True)
        return
    moved = renamed(old.outputs, new.outputs)
    for before, after in moved.items():
        yield Change(old.name, "result-renamed", f"result `{before}` is called `{after}` now", False)
    names = [moved.get(each.name, each.name) for each in old.outputs]
    if names != [each.name for each in new.outputs]:
        text = f"results come in the order {', '.join(each.name for each in new.outputs)} now"
        yield Change(old.name, "results-reordered", text, True)


def _rest(old: CheckedOp, new: CheckedOp) -> Iterator[Change]:
    name = old.name
    if old.extern != new.extern:
        text = f"computed by {_by(new.extern)}, not {_by(old.extern)}; values are not compared"
        yield Change(name, "computed-otherwise", text, True)
    if old.signature.relation != new.signature.relation:
        yield Change(
            name, "type-relation", "another hand-written type relation; types are not compared", True
        )
    before, after = old.traits.get("operator"), new.traits.get("operator")
    if before != after:
        text = f"called by the operator {after}" if after else f"no longer called by the operator {before}"
        yield Change(name, "operator", text, before is not None)
    lost = {each.input for each in old.gradients} - {each.input for each in new.gradients}
    if lost:
        yield Change(name, "gradient-removed", f"no gradient for {', '.join(sorted(lost))}", True)
    if old.deprecated != new.deprecated:
        text = f"deprecated: {new.deprecated}" if new.deprecated else "no longer deprecated"
        yield Change(name, "deprecated", text, False)
    if new.version != old.version:
        text = f"the version is {new.version}, not {old.version}"
        yield Change(name, "version", text, new.version < old.version)
    if old.pattern is not new.pattern:
        text = f"the pattern is {new.pattern.name.lower()}, not {old.pattern.name.lower()}"
        yield Change(name, "pattern", text, False)


def _by(extern: str | None) -> str:
    return "its declaration" if extern is None else extern
