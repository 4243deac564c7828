"""Every op in torch: `python -m tests.bridges.torch_ops [OP ...] [--checks values,fake,opcheck,gradients,vmap]`.

values     all declared cases, on ordinary data: equal to `eager`, to the bit
fake       all declared cases with all dims dynamic: no size is taken at its value
opcheck    the first case: torch's own four tests
gradients  the first case that has a gradient, in float64, inside its domain: gradcheck in both modes, gradgradcheck
vmap       the same case: its values and its gradient under `vmap` against one by one, each one call

What is printed, and more arguments: `every_op.py`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import opgen_runtime.bridges.torch as T
from opgen_runtime import eager
from opgen_runtime.bridges.torch.schema import given
from opgen_runtime.bridges.torch.tensors import array_of, tensor_of
from opgen_runtime.operator import TupleType
from opgen_runtime.run.op_programs.programs import Declared
from opgen_runtime.testing.cases import Case
from opgen_runtime.testing.gradient import gradient_case
from opgen_runtime.testing.suite import Suite

from .every_op import Checks, NotMeant, main
from .operands import arrays_of, attrs_of

OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


# What torch's own checks cannot do -> why that is theirs.
TORCHS: dict[str, str] = {
    "can't be cast to the desired output type Long": "torch's check adds results of floats to those of ints in place"
}
# Ops that take a size at its value in a declared case -> why.
AT_VALUES: dict[str, str] = {
    "conv2d_transpose": "an attr says what size the weight has",
    "gather_nd": "the number of coordinates decides the rank of the result",
    "searchsorted": "the size of a row decides how many rounds a search takes",
}


def tensors_of(operands: Sequence[Any]) -> list[Any]:
    def one(array: np.ndarray) -> torch.Tensor:
        return tensor_of(np.array(array, order="C"), array.dtype.name)

    return [
        None if each is None else [one(item) for item in each] if isinstance(each, tuple) else one(each)
        for each in operands
    ]


def arguments(suite: type[Suite], operands: Sequence[Any], attrs: dict[str, Any]) -> dict[str, Any]:
    """A call of the raw op, by name."""
    op = T.operator(suite.op.name)
    names = [each.name for each in op.program.operands]
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in attrs.items()}
    return dict(zip(names, operands, strict=True)) | given(op.schema, plain)


def listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


def check_values(suite: type[Suite]) -> str:
    op = T.operator(suite.op.name)
    way = f"by the way of Python ({op.why_of_python})" if op.why_of_python else "native"
    for case in suite.declared_cases:
        arrays, attrs = arrays_of(suite, case), attrs_of(suite, case)
        wanted = listed(eager.op(suite.op.name)(*arrays, **attrs))
        found = listed(op.public(**arguments(suite, tensors_of(arrays), attrs)))
        assert len(found) == len(wanted), f"{case}: {len(found)} results, expected {len(wanted)}"
        for a, b in zip(found, wanted, strict=True):
            got = array_of(a)
            assert (got.shape, got.dtype) == (b.shape, b.dtype), f"{case}: another type than eager's"
            assert got.tobytes() == np.ascontiguousarray(b).tobytes(), f"{case}: other values than eager's"
    return way


def check_fake(suite: type[Suite]) -> str:
    taken = [found for case in suite.declared_cases for found in symbols_at_values(suite, case)]
    if taken and suite.op.name not in AT_VALUES:
        raise AssertionError(f"a size is taken at its value: {', '.join(taken)}")
    return "symbolic" if not taken else f"not in all cases: {AT_VALUES[suite.op.name]}"


def symbols_at_values(suite: type[Suite], case: Case) -> list[str]:
    """Which symbols torch must take at their values for the fake kernel of one call, all of whose dims are symbols."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    environment = ShapeEnv()
    mode = FakeTensorMode(shape_env=environment)

    def dynamic(each: Any) -> Any:
        if each is None or isinstance(each, list):
            return each and [dynamic(item) for item in each]
        context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * each.dim())
        return mode.from_tensor(each, symbolic_context=context)

    fakes = [dynamic(each) for each in tensors_of(arrays_of(suite, case))]
    with mode:
        T.operator(suite.op.name).overload(**arguments(suite, fakes, attrs_of(suite, case)))
    return [f"{symbol} = {value}" for symbol, value in environment.replacements.items() if value.is_number]


def check_opcheck(suite: type[Suite]) -> str:
    op, case = T.operator(suite.op.name), suite.declared_cases[0]
    tensors = tensors_of(arrays_of(suite, case))
    made = gradient_case(suite.op, case) if differentiable(op.program) else None
    if made is not None:  # inside the domain: torch compares NaN with NaN
        inside = iter(made.arrays)
        tensors = [
            None
            if each is None
            else [_like(item, next(inside)) for item in each]
            if isinstance(each, list)
            else _like(each, next(inside))
            for each in tensors
        ]
    kwargs = arguments(suite, tensors, attrs_of(suite, case))
    for test in OPCHECKS:
        torch.library.opcheck(op.overload, (), kwargs, test_utils=test)
    return f"in {len(OPCHECKS)} tests"


def _like(tensor: torch.Tensor, values: np.ndarray) -> torch.Tensor:
    found = torch.from_numpy(values.astype(np.float64)).to(tensor.dtype)
    return found.requires_grad_() if found.is_floating_point() else found


def gradient_call(suite: type[Suite]) -> tuple[Callable[..., Any], list[torch.Tensor]]:
    """The results in floats of the first case that has a gradient, of its operands that have one, in float64."""
    op = T.operator(suite.op.name)
    if not differentiable(op.program):
        raise NotMeant("no gradient")
    made = next(
        (
            found
            for found in (gradient_case(suite.op, case) for case in suite.declared_cases)
            if found is not None
        ),
        None,
    )
    if made is None:
        raise NotMeant("no declared case takes floats and gives floats")
    if any(each.dtype != np.float64 for each in made.arrays if each.dtype.kind == "f"):
        raise NotMeant("not computed in float64")
    places = [at for _, at in made.operands()]
    attrs = {} if made.attrs is None else made.attrs.as_dict()
    flat = [tensor_of(array.copy(), array.dtype.name) for array in made.arrays]
    wanted = [flat[at].requires_grad_() for at in places]

    def call(*given_: torch.Tensor) -> Any:
        rest = iter([given_[places.index(k)] if k in places else each for k, each in enumerate(flat)])
        operands = [
            ([next(rest) for _ in type_.fields] or None) if isinstance(type_, TupleType) else next(rest)
            for type_ in made.types
        ]
        operands = [
            each if each is not None or declared.kind != "several" else []
            for each, declared in zip(operands, op.program.operands, strict=True)
        ]
        found = listed(op.overload(**arguments(suite, operands, attrs)))
        return tuple([each for each in found if each.is_floating_point()])

    return call, wanted


def check_gradients(suite: type[Suite]) -> str:
    call, wanted = gradient_call(suite)
    torch.autograd.gradcheck(call, wanted, check_forward_ad=True, fast_mode=True)
    torch.autograd.gradgradcheck(call, wanted, fast_mode=True)
    return "both modes"


def check_vmap(suite: type[Suite]) -> str:
    call, wanted = gradient_call(suite)
    if T.operator(suite.op.name).program.is_data_dependent:
        raise NotMeant("each row would have a size of its own")

    def loss(*given_: torch.Tensor) -> torch.Tensor:
        return sum([each.double().square().sum() for each in call(*given_)], torch.zeros(()).double())

    gradient = torch.func.grad(loss, argnums=tuple(range(len(wanted))))
    rows = [[each.detach() * factor for each in wanted] for factor in (1, 0.999)]
    stacked = [torch.stack(column) for column in zip(*rows, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # that it goes row by row
        values, found = torch.vmap(call)(*stacked), torch.vmap(gradient)(*stacked)
    each_value, each_gradient = zip(*[(call(*row), gradient(*row)) for row in rows], strict=True)
    for a, b in zip(
        (*values, *found), (*zip(*each_value, strict=True), *zip(*each_gradient, strict=True)), strict=True
    ):
        torch.testing.assert_close(a, torch.stack(b), rtol=1e-9, atol=1e-9, equal_nan=True)
    return "values and gradients"


def differentiable(program: Declared) -> bool:
    stated: Any = program.declaration.traits.get("gradient", {})
    return "none" not in stated


def why_theirs(error: Exception) -> str:
    return next((why for text, why in TORCHS.items() if text in " ".join(str(error).split())), "")


def begin() -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)


CHECKS = Checks(
    {
        "values": check_values,
        "fake": check_fake,
        "opcheck": check_opcheck,
        "gradients": check_gradients,
        "vmap": check_vmap,
    },
    why_theirs,
    begin,
)


if __name__ == "__main__":
    sys.exit(main(CHECKS, __doc__, sys.argv[1:]))
