"""Variables with initialisers: their values, computed once."""

from __future__ import annotations

from ...base.errors import ExecutorError
from ...ir import Constant, Expr, Function, IRModule, Tuple, Var
from ...ir.visitor import free_vars
from ...operator import TensorType
from ...transform import InferType, PassContext
from ..compile.program.program_steps import with_constants
from .arrays.params import Params
from .driver import build_program


def with_initial_values(module: IRModule, given: Params) -> tuple[IRModule, dict[Var, Constant]]:
    """The module whose main has constants for its variables with initialisers, and these; `given`: values by name.

    All that are not given are results of one program, which runs once, on this machine.  Raises ExecutorError for an
    initialiser that gives what its variable cannot be.
    """
    if not initialised(module):
        return module, {}
    if any([not isinstance(var.init, Expr) for var in initialised(module)]):
        module = InferType()(module)  # they are made for the types of their variables
    values = {var: Constant(given[var.name_hint]) for var in initialised(module) if var.name_hint in given}
    waiting = [var for var in initialised(module) if var not in values]
    if waiting:
        program = Function((), Tuple(tuple([_initialiser(var) for var in waiting])))
        arrays = build_program(program, context=PassContext(opt_level=1)).run([])
        assert isinstance(arrays, tuple)
        values |= {var: Constant(array) for var, array in zip(waiting, arrays, strict=True)}  # type: ignore[arg-type]
    return with_constants(module, values), values


def initialised(module: IRModule) -> list[Var]:
    """The variables of main, parameters and free ones, that have initialisers."""
    main = module["main"]
    return [var for var in (*main.params, *free_vars(main)) if var.init is not None]


def _initialiser(var: Var) -> Expr:
    """The expression of a variable's value."""
    expected = var.checked_type
    if isinstance(var.init, Expr):
        found: object = var.init
    else:
        assert isinstance(expected, TensorType), var
        assert var.init is not None, var
        found = var.init(expected)
    if not isinstance(found, Expr) or found.checked_type != expected:
        kind = found.checked_type if isinstance(found, Expr) else type(found).__name__
        raise ExecutorError(f"the initialiser of {var.name_hint!r} must give {expected}, found {kind}")
    return found
