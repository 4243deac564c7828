"""`infer`: the types of a program from the shapes and dtypes of its inputs, which are given by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ..base.errors import TypeInferenceError, did_you_mean
from ..ir import Expr, Function, IRModule, Var, free_vars
from ..operator import IncompleteType, TensorType, Type, TypeSolver
from .infer_type import KnownPart, infer_type, infer_types

Program = TypeVar("Program", IRModule, Function, Expr)


def infer(
    program: Program,
    shape: Mapping[str, Iterable[object]] | None = None,
    dtype: Mapping[str, str] | str | None = None,
) -> Program:
    """The program with every type known: a module of the parameters of its main, an expression of its free variables.

        infer(module, shape={"data": (1, 3, 224, 224)}, dtype={"data": "float32"})

    `shape`, `dtype`: of inputs by name, ints or symbolic dims; one dtype holds for all inputs that state none.  What
    is not given follows from what is, forwards and backwards.  A shape may say more of the dims that an input states.

    Raises TypeInferenceError for a name of no input, an input that is no tensor and what nothing determines;
    ShapeError and DTypeError where the inputs state something else, or ops refuse it.
    """
    if isinstance(program, IRModule):
        return infer_types(program, *_given(program["main"].params, shape or {}, dtype))
    inputs = program.params if isinstance(program, Function) else free_vars(program)
    typed = infer_type(program, *_given(inputs, shape or {}, dtype))
    assert isinstance(typed, type(program))
    return typed


def _given(
    variables: Sequence[Var], shape: Mapping[str, Iterable[object]], dtype: Mapping[str, str] | str | None
) -> tuple[dict[Var, Type], dict[Var, KnownPart]]:
    """What is given of each input: a type, or a part of one."""
    inputs = {var.name_hint: var for var in variables}
    untyped = [name for name, var in inputs.items() if isinstance(var.checked_type, IncompleteType)]
    dtypes = dict.fromkeys(untyped, dtype) if isinstance(dtype, str) else dtype or {}
    types: dict[Var, Type] = {}
    parts: dict[Var, KnownPart] = {}
    for name in dict.fromkeys([*shape, *dtypes]):
        if name not in inputs:
            raise TypeInferenceError(
                f"the program has no input {name!r}{did_you_mean(name, inputs)} (it has {', '.join(inputs) or 'none'})"
            )
        var = inputs[name]
        stated = var.checked_type
        new_shape = None if name not in shape else TensorType(shape[name]).shape  # type: ignore[arg-type]  # TensorType checks each dim
        new_dtype = None if name not in dtypes else TensorType((), dtypes[name]).dtype
        if isinstance(stated, TensorType):
            types[var] = TensorType(
                stated.shape if new_shape is None else new_shape, new_dtype or stated.dtype
            )
            solver = TypeSolver(op_name=f"input {name!r}")
            solver.unify(types[var], stated)
        elif not isinstance(stated, IncompleteType):
            raise TypeInferenceError(f"input {name!r} is a {stated}, which has no shape and no dtype")
        elif new_shape is not None and new_dtype is not None:
            types[var] = TensorType(new_shape, new_dtype)
        else:
            parts[var] = new_shape, new_dtype
    return types, parts
