"""Changes that calls of both versions show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..model import AttrValue, CheckedAttr, CheckedCase, CheckedOp
from .change import Change
from .stated import admitted, renamed
from .version import Version


def shown_changes(old: CheckedOp, new: CheckedOp) -> Iterator[Change]:
    """Bounds by the values at their ends, shapes and dtypes by the types of results, values by running both."""
    names = renamed(old.inputs, new.inputs), renamed(old.attrs, new.attrs)
    if {names[0].get(each.name, each.name) for each in old.inputs} != {each.name for each in new.inputs}:
        return  # no call is one of both versions
    known = {names[1].get(attr.name, attr.name) for attr in old.attrs}
    if any(attr.required and attr.name not in known for attr in new.attrs):
        return  # here, too
    first, second = Version(old), Version(new)
    yield from _bounds(old, new, first, second, names)
    yield from _results(old, new, first, second, names)


Names = tuple[dict[str, str], dict[str, str]]


def _there(case: CheckedCase, old: CheckedOp, new: CheckedOp, names: Names) -> CheckedCase:
    """A call of the old version, every attr given, as one of the new."""
    inputs = {names[0].get(name, name): text for name, text in case.inputs.items()}
    known = {attr.name for attr in new.attrs}
    attrs = {names[1].get(name, name): value for name, value in case.attrs.items()}
    ordered = {operand.name: inputs[operand.name] for operand in new.inputs}
    return CheckedCase(ordered, {name: value for name, value in attrs.items() if name in known}, case.place)


def _back(case: CheckedCase, old: CheckedOp, new: CheckedOp, names: Names) -> CheckedCase:
    """A call of the new version as one of the old."""
    back = tuple({after: before for before, after in each.items()} for each in names)
    return _there(case, new, old, (back[0], back[1]))


def _full(case: CheckedCase, version: Version) -> CheckedCase:
    attrs = version.completed(case.attrs)
    required = {attr.name for attr in version.op.attrs if attr.required}
    return replace(case, attrs={n: v for n, v in attrs.items() if n not in required or n in case.attrs})


def _calls(
    old: CheckedOp, new: CheckedOp, first: Version, second: Version, names: Names
) -> list[CheckedCase]:
    """Calls of the old version: its own, and what the new one's are there."""
    own = [_full(case, first) for case in (*old.tests, *old.sampled)]
    other = [_full(_back(_full(case, second), old, new, names), first) for case in (*new.tests, *new.sampled)]
    here = {attr.name for attr in new.attrs}
    gone = [attr for attr in old.attrs if names[1].get(attr.name, attr.name) not in here]
    given = [[case.attrs.get(attr.name) == attr.default for attr in gone] for case in (*own, *other)]
    return [case for case, same in zip((*own, *other), given, strict=True) if all(same)]


def _bounds(
    old: CheckedOp, new: CheckedOp, first: Version, second: Version, names: Names
) -> Iterator[Change]:
    after = {attr.name: attr for attr in new.attrs}
    for attr in old.attrs:
        other = after.get(names[1].get(attr.name, attr.name))
        if other is None or _text(attr) == _text(other):
            continue
        tightened, loosened = _ends(attr, other, old, new, first, second, names)
        name = f"attr `{other.name}`"
        if tightened is not None:
            text = f"{name} may no longer be {tightened}: its bounds are {_text(other)}, not {_text(attr)}"
            yield Change(old.name, "bound-tightened", text, True)
        if loosened is not None:
            text = f"{name} may be {loosened}: its bounds are {_text(other)}, not {_text(attr)}"
            yield Change(old.name, "bound-loosened", text, False)
        if tightened is None and loosened is None:
            text = f"the bounds of {name} are written {_text(other)}; no call shows a difference"
            yield Change(old.name, "bound-rewritten", text, False)


def _text(attr: CheckedAttr) -> str:
    return "none" if attr.bound is None else attr.bound.text


def _ends(
    attr: CheckedAttr,
    other: CheckedAttr,
    old: CheckedOp,
    new: CheckedOp,
    first: Version,
    second: Version,
    names: Names,
) -> tuple[object, object]:
    """A value that only the old version takes, and one that only the new one takes."""
    tightened: AttrValue = None
    loosened: AttrValue = None
    values: list[AttrValue] = [*(attr.choices or ()), *(other.choices or ())]
    for op, name in ((old, attr.name), (new, other.name)):
        values += [end for probe in op.probes if probe.attr == name for end in (probe.inside, probe.outside)]
        values += [case.attrs[name] for case in (*op.tests, *op.sampled) if name in case.attrs]
    for case in [_full(case, first) for case in old.tests]:
        for value in values:
            call = replace(case, attrs={**case.attrs, attr.name: value})
            fits = [first.types(call) is not None, second.types(_there(call, old, new, names)) is not None]
            if fits == [True, False] and tightened is None:
                tightened = value
            if fits == [False, True] and loosened is None:
                loosened = value
    return tightened, loosened


def _results(
    old: CheckedOp, new: CheckedOp, first: Version, second: Version, names: Names
) -> Iterator[Change]:
    """The first call of each kind that shows one."""
    lost = {dtype for a, b in _operands(old, new, names) for dtype in a if dtype not in b}
    seen: set[str] = set()
    same = 0
    for call in _calls(old, new, first, second, names):
        there = _there(call, old, new, names)
        before, after = first.types(call), second.types(there)
        shown = _shown(call)
        if before is None and after is None:
            continue
        if before is None or after is None:
            is_explained = any(dtype in shown for dtype in lost) or _own_reason(call, first, second, there)
            if before is not None and not is_explained and "refused" not in seen:
                seen.add("refused")
                yield Change(old.name, "shape-rule", f"{shown} is refused now: {second.bind(there)}", True)
            if before is None and not _own_reason(call, first, second, there) and "accepted" not in seen:
                seen.add("accepted")
                yield Change(old.name, "shape-rule", f"{shown} is a call now", False)
        elif before != after:
            code = "shape-rule" if _shape(before) != _shape(after) else "dtype-rule"
            if code not in seen:
                seen.add(code)
                yield Change(old.name, code, f"{shown} gives {after}, not {before}", True)
        else:
            a, b = (
                first.values(call),
                second.values(there, {after: before for before, after in names[0].items()}),
            )
            if a is None or b is None:
                continue
            same += 1
            if "value" not in seen and not all(map(_equal, a, b)):
                seen.add("value")
                yield Change(old.name, "value-changed", f"{shown} gives other values", True)
    if "value" not in seen and old.formula != new.formula and old.extern is None and new.extern is None:
        text = f"the compute is written otherwise; {same} calls give the same values"
        yield Change(old.name, "compute-rewritten", text, False)


def _operands(old: CheckedOp, new: CheckedOp, names: Names) -> list[tuple[list[str], list[str]]]:
    here = {each.name: each for each in new.inputs}
    pairs = ((each, here[names[0].get(each.name, each.name)]) for each in old.inputs)
    return [
        (admitted(a.dtype, old.signature.dtypes), admitted(b.dtype, new.signature.dtypes)) for a, b in pairs
    ]


def _own_reason(call: CheckedCase, first: Version, second: Version, there: CheckedCase) -> bool:
    """Whether an attr's bound or a dtype, of which is told elsewhere, refuses a call in one of the versions."""
    texts = [found for found in (first.bind(call), second.bind(there)) if isinstance(found, str)]
    return any("bounds" in text or "dtype" in text for text in texts)


def _shown(call: CheckedCase) -> str:
    parts = [f"{name}: {text}" for name, text in call.inputs.items() if text is not None]
    return ", ".join([*parts, *(f"{name}={value!r}" for name, value in call.attrs.items())]) or "the call"


def _shape(type_: str) -> str:
    return type_[: type_.rfind(",")] if "," in type_ else type_


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Within what the order of sums may change."""
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "fV":
        return bool(np.array_equal(a, b))
    x, y = a.astype(np.float64), b.astype(np.float64)
    return bool(np.allclose(x, y, rtol=1e-5, atol=1e-7, equal_nan=True))
