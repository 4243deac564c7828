"""FirstOrderGradient: functions give the gradients of what they gave, too.

    fn (%x) { tanh(%x) }      fn (%x) { (tanh(%x), (the adjoint of %x,)) }

The result of each function is (result, (adjoint of each parameter)), where every element of the result has the
cotangent 1, as if it were summed; parameters that it does not depend on, and those that are no floats, have zeros.
"""

from __future__ import annotations

from ..base.errors import PassError
from ..base.forks import importing
from ..ir import Expr, Function, IRModule, Tuple
from ..operator import TensorType, TupleType
from .build import zeros
from .context import PassContext
from .define import function_pass
from .infer_type import InferType, infer_type
from .regions import is_closed


@function_pass(opt_level=0, required=(InferType,), changes_type=True)
def FirstOrderGradient(function: Function, module: IRModule, context: PassContext) -> Function:
    """Each function gives its result and the gradients.

    Raises PassError for functions of what is no tensor of static shape, and for what has no gradient, naming it.
    """
    if is_closed(function):
        return function
    with importing:  # few programs have gradients
        from .gradient import ones, values_and_pull
    result = function.body.checked_type
    whole = isinstance(result, TupleType)
    results = list(function.body) if whole else [function.body]
    kinds = [_tensor(each, "result") for each in results]
    params = [_tensor(each, f"parameter {each.name_hint}") for each in function.params]
    cotangents = [ones(kind) if kind.dtype.is_inexact else None for kind in kinds]
    values, adjoints = values_and_pull(results, cotangents, function.params, module)
    found = [zeros(kind) if each is None else each for each, kind in zip(adjoints, params, strict=True)]
    body = Tuple((Tuple(tuple(values)) if whole else values[0], Tuple(tuple(found))))
    made = infer_type(Function(function.params, body, attrs=function.attrs, span=function.span))
    assert isinstance(made, Function)
    return made


def _tensor(value: Expr, what: str) -> TensorType:
    kind = value.checked_type
    if not isinstance(kind, TensorType) or not kind.is_static:
        raise PassError(f"FirstOrderGradient: {what} is {kind}, expected a tensor of static shape")
    return kind
