"""The check of an op's values in an executor against its reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn
from unittest import SkipTest

import numpy as np

from ..base.vocabulary import OpPattern
from ..declaration.structure import structure_of
from ..operator import Op
from ..run.executor import create_executor
from .cases import Case, case_call, declaration_of, specs_of
from .compare import assert_close
from .data import Spec, ordinary, scattered, special

__tracebackhide__ = True  # pytest shows the line of the suite that fails, not what checks it


def check_values(
    op: Op, case: Case, reference: Callable[..., Any], executor: str, sampled: bool = False
) -> None:
    """The op in an executor against `reference`, on ordinary data and on data with special values.

    `reference` takes all inputs and all attrs by name.  Results have the inferred types; how close values must be
    is stated in `compare.py`.  A `sampled` case, which nobody has declared, is skipped where the reference raises and
    an operand is empty: numpy's functions do not all take empty arrays.  Any other call that the declaration admits its
    reference must take.
    """
    call, variables = case_call(op, case)
    pattern = declaration_of(op).pattern
    runner = create_executor(executor)
    attrs = call.attrs.as_dict() if call.attrs is not None else {}
    structure = structure_of(op, call.attrs, [arg.checked_type for arg in call.args])
    for special_values in (False, True):
        operands = operands_of(op, case, special_values)
        flat = list(flattened(operands))
        given = dict(zip(variables, flat, strict=True))
        found = runner.evaluate(call, given)
        names = [declared.name for declared in declaration_of(op).signature.inputs]
        copies = [_copied(operand) for operand in operands]
        with np.errstate(all="ignore"):
            try:
                expected = reference(**dict(zip(names, copies, strict=True)), **attrs)
            except Exception as error:
                if sampled:
                    _refused_by_reference(op, case, flat, error)
                raise
        what = f"{op.name}({case}) in the {executor} executor, {'special' if special_values else 'ordinary'} values"
        assert_close(found, expected, call.checked_type, flat, pattern, what, structure)


def operands_of(op: Op, case: Case, special_values: bool) -> list[np.ndarray | tuple[np.ndarray, ...] | None]:
    """An array for each input of a case: None for an absent one, a tuple for a variadic one."""
    pattern = declaration_of(op).pattern
    return [
        _arrays(spec, f"{case} {k}", special_values, pattern, first=k == 0)
        for k, spec in enumerate(specs_of(op, case))
    ]


def _refused_by_reference(op: Op, case: Case, operands: Sequence[np.ndarray], error: Exception) -> NoReturn:
    reason = f"{type(error).__name__}: {error}"
    if any(array.size == 0 for array in operands):
        raise SkipTest(f"the reference does not take an empty operand: {reason}") from error
    raise AssertionError(
        f"{op.name}: the declaration admits {op.name}({case}) and its reference does not take it: {reason}; "
        "narrow the declaration (shapes, bounds, require), or widen the reference"
    ) from error


def _arrays(
    spec: Spec | tuple[Spec, ...] | None, seed: str, special_values: bool, pattern: OpPattern, first: bool
) -> np.ndarray | tuple[np.ndarray, ...] | None:
    if spec is None:
        return None
    if isinstance(spec, tuple):
        made = [_arrays(item, f"{seed} {k}", special_values, pattern, first) for k, item in enumerate(spec)]
        return tuple([array for array in made if isinstance(array, np.ndarray)])
    if special_values:
        if pattern == OpPattern.OUT_ELEMWISE_FUSABLE:
            # A product of padding and infinity is nobody's contract.
            if spec.dtype.is_float and not first:
                return scattered(ordinary(spec, seed))  # the tolerance knows no products of large numbers
            return special(spec, seed, extremes=False, finite=True)
        return special(spec, seed, extremes=pattern <= OpPattern.INJECTIVE)
    return ordinary(spec, seed)


def _copied(
    operand: np.ndarray | tuple[np.ndarray, ...] | None,
) -> np.ndarray | tuple[np.ndarray, ...] | None:
    """For the reference, which may write to its arguments."""
    if isinstance(operand, tuple):
        return tuple([array.copy() for array in operand])
    return None if operand is None else operand.copy()


def flattened(operands: Sequence[np.ndarray | tuple[np.ndarray, ...] | None]) -> Iterator[np.ndarray]:
    """The arrays of operands one after the other, as programs take them."""
    for operand in operands:
        if isinstance(operand, tuple):
            yield from operand
        elif operand is not None:
            yield operand
