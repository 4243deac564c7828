"""`load`: a model as a module of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...base.vocabulary import DType
from ...ir import Constant, Expr, Function, IRModule, MixedModeMutator, Tuple, Var
from ...operator import Dim, TensorType
from .check import checked_model
from .convert import Conversion
from .decode import ModelLike
from .errors import Unsupported, UnsupportedOperatorError
from .graph import Model
from .limits import DEFAULT_LIMITS, Limits
from .signature import TensorInput, signature_of
from .state import State
from .supported import check_supported


def load(
    model: ModelLike,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[IRModule, dict[str, np.ndarray]]:
    """A model as a module, and its weights by name.

    `main` takes the graph's inputs in order, then the weights.  `shapes` gives inputs with dynamic dims their
    shapes; dims that stay open are symbolic, and an operator that needs their values raises
    UnsupportedOperatorError.
    """
    read = checked_model(Model(model), limits)
    check_supported(read)
    inputs: dict[str, Var] = {}
    dims: dict[str, Dim] = {}
    for each in signature_of(read).inputs:
        if not isinstance(each, TensorInput):
            raise UnsupportedOperatorError([Unsupported(each.name, "input", "a sequence; use prepare(...)")])
        inputs[each.name] = Var(each.name, _input_type(each, (shapes or {}).get(each.name), dims))
    state = State(None, limits)
    outputs = Conversion(read, inputs, state).outputs()
    if not all(isinstance(output, Expr) for output in outputs):
        raise UnsupportedOperatorError([Unsupported("output", "sequence", "use prepare(...)")])
    body: Expr = Tuple(tuple([o for o in outputs if isinstance(o, Expr)]))
    if len(outputs) == 1:
        body = body.children()[0]
    lifted = _Lift(state.parameters)
    body = lifted.rewrite(body)
    function = Function((*inputs.values(), *lifted.variables.values()), body)
    return state.program(function), lifted.arrays


def _input_type(given: TensorInput, shape: Sequence[int] | None, dims: dict[str, Dim]) -> TensorType:
    if not isinstance(given.dtype, DType):
        reason = f"a tensor of {given.dtype}; use prepare(...)"
        raise UnsupportedOperatorError([Unsupported(given.name, "input", reason)])
    if shape is not None:
        given.check(np.broadcast_to(np.zeros((), given.dtype.numpy), tuple(shape)))
        return TensorType(tuple(shape), given.dtype)
    return given.open_type(given.dtype, dims)


class _Lift(MixedModeMutator):
    """Initializers as variables of their names."""

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__()
        self.names = names
        self.variables: dict[str, Var] = {}
        self.arrays: dict[str, np.ndarray] = {}

    def rewrite_constant(self, pre: Constant, post: Constant) -> Expr:
        name = self.names.get(id(pre))
        if name is None or pre.is_scalar:
            return post
        if name not in self.variables:
            self.variables[name] = Var(name, pre.checked_type)
            self.arrays[name] = pre.data
        return self.variables[name]
