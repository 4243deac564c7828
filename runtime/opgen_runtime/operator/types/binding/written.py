"""Hand-written type relations: run like the declared ones, with every failure turned into a user error."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from ....base.errors import OpgenError, TypeInferenceError, UndecidedError, call_site
from ....base.forks import import_module
from ..relation import RelationFunction, TypeReporter
from ..type import TensorType, TupleType, Type
from .frame import EVALUATION_ERRORS, Frame


@lru_cache(maxsize=256)
def load_relation(path: str) -> RelationFunction:
    """The function that `package.module:function` names. Raises TypeInferenceError if there is none."""
    module, _, name = path.partition(":")
    try:
        return cast(RelationFunction, getattr(import_module(module), name))
    except (ImportError, AttributeError) as error:
        raise TypeInferenceError(f"type relation {path!r} cannot be loaded: {error}") from error


def run_relation(
    written: RelationFunction | str, inputs: Sequence[Type], result: Type, attrs: Any, reporter: TypeReporter
) -> bool:
    """Runs a hand-written relation. Raises TypeInferenceError, naming the op, for what it did not foresee."""
    relation = load_relation(written) if isinstance(written, str) else written
    try:
        return relation((*inputs, result), len(inputs), attrs, reporter)
    except UndecidedError:
        return False
    except Exception as error:  # anyone's code may raise anything
        ours = isinstance(error, OpgenError) and not isinstance(error, EVALUATION_ERRORS)
        if ours or isinstance(error, TypeInferenceError | MemoryError):
            raise
        shown = ", ".join(map(repr, inputs))
        raise TypeInferenceError(
            f"{reporter.op_name}: its type relation fails for ({shown}): {error} ({type(error).__name__})"
            f"\n  at {reporter.site if reporter.site is not None else call_site()}"
        ) from error


def written_outputs(frame: Frame, written: RelationFunction | str) -> tuple[TensorType, ...]:
    """The types of the results of a call whose operands are known. Raises TypeInferenceError if they stay open."""
    from ..solver import TypeSolver  # with the first hand-written relation

    solver = TypeSolver()
    out = solver.fresh("out")
    inputs = as_types(frame.groups)

    def relation(types: Sequence[Type], num_inputs: int, attrs: Any, reporter: TypeReporter) -> bool:
        return run_relation(written, types[:num_inputs], types[num_inputs], attrs, reporter)

    solver.add_relation(
        relation, (*inputs, out), len(inputs), frame.attrs, op_name=frame.op_name, site=frame.place()
    )
    done = solver.solve()
    result = solver.resolve(out)
    fields = result.fields if isinstance(result, TupleType) else (result,)
    if not done or not all(isinstance(t, TensorType) for t in fields):
        raise frame.error(TypeInferenceError, f"its type relation leaves the result open: {result}")
    frame.undecided.extend(solver.assumptions)
    return cast("tuple[TensorType, ...]", fields)


def as_types(groups: Sequence[Any]) -> tuple[Type, ...]:
    """Operands as types: a variadic one as a tuple type, an absent one as the unit."""
    return tuple(
        [TupleType(g) if isinstance(g, tuple) else TupleType(()) if g is None else g for g in groups]
    )
