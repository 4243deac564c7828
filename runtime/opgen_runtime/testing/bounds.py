"""The check of a bound: on both sides of one of its ends."""

from __future__ import annotations

from ..base.errors import AttrError, OpgenError
from ..operator import Op
from .cases import Probe, case_call, declaration_of

__tracebackhide__ = True  # pytest shows the line of the suite that fails, not what checks it


def check_bound(op: Op, probe: Probe) -> None:
    """The bound of this attr accepts the value inside, and refuses the value outside."""
    inside = _refusal(op, probe, probe.inside)
    if inside is None:
        assert probe.accepted, (
            f"{op.name}: {probe.attr}={probe.inside!r} is accepted, though nothing else fits it"
        )
    elif probe.accepted or _refused_by(inside) == (op.name, probe.attr):
        raise inside
    outside = _refusal(op, probe, probe.outside)
    call = f"{op.name}: {probe.attr}={probe.outside!r}"
    assert outside is not None, f"{call} is outside its bounds and is accepted"
    assert _refused_by(outside) == (op.name, probe.attr), (
        f"{call} is refused, not by its bounds but with {type(outside).__name__}: {outside}"
    )
    assert isinstance(outside, AttrError)
    kind = declaration_of(op).attrs
    assert kind is not None
    declared = next(field for field in kind.fields() if field.name == probe.attr)
    found, expected = (outside.value, outside.bound), (declared.normalise(probe.outside), declared.bounds)
    assert found == expected, f"{call}: the error tells of value and bounds {found}, expected {expected}"


def _refusal(op: Op, probe: Probe, value: object) -> OpgenError | None:
    try:
        case_call(op, probe.case.with_attr(probe.attr, value))
    except OpgenError as error:
        return error
    return None


def _refused_by(error: OpgenError) -> tuple[str | None, str | None] | None:
    """The op and the attr whose bound refused a call; None if no bound did."""
    return (error.op, error.attr) if isinstance(error, AttrError) and error.bound is not None else None
