"""Kernels of loop IR as ops of the graph: a kernel that is called on values of a program is a part of it.

rt.jit(lambda a, b: product(a, b) * 2)  -->  multiply(kernel.product_3f0c41d2(%a, %b), 2)

The op's name has a digest of the kernel's text, so that equal kernels are one op, in every process.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import partial

from ....base.errors import LoweringError, ShapeError, call_site
from ....base.vocabulary import OpPattern
from ....compute.te import Tensor
from ....declaration import OpDeclaration, register
from ....declaration.compute import OperandTensors
from ....ir import Call, Operand, make_call
from ....operator import (
    KERNELS,
    Attrs,
    Binding,
    Input,
    Op,
    Output,
    Signature,
    TensorType,
    TupleType,
    Type,
    TypeReporter,
    has_op,
)
from ..nodes.stmt import PrimFunc
from .kernel_call import check_callable, result_shapes, tensors_of


def call_kernel(kernel: PrimFunc, *operands: Operand) -> Call:
    """The call of a kernel as an op: its result is a new tensor, of several outputs a tuple.

    An operand is an expression, a traced value, an array or a number, as of other ops.  Raises LoweringError for a
    kernel with a dim that none of its inputs has, CallError, DTypeError and ShapeError for operands that are not its
    inputs'.
    """
    return make_call(op_of(kernel), operands)


def op_of(kernel: PrimFunc) -> Op:
    """The op of a kernel, registered when it is first asked for.  Raises LoweringError as `call_kernel` does."""
    digest = hashlib.blake2b(str(kernel).encode(), digest_size=16).hexdigest()
    name = f"{re.sub('[^A-Za-z0-9_]', '_', kernel.name)}_{digest[:8]}"
    if has_op(f"{KERNELS}.{name}"):
        return Op.get(f"{KERNELS}.{name}")
    check_callable(kernel)
    return register(_declaration(kernel, name, digest), __file__)


def _declaration(kernel: PrimFunc, name: str, digest: str) -> OpDeclaration:
    return OpDeclaration(
        name=name,
        doc=f"The kernel {kernel.name}, written by hand.",
        support_level=10,
        arity=len(kernel.inputs),
        attrs=None,
        signature=Signature(
            inputs=tuple([Input(each.name, None, str(each.dtype)) for each in kernel.inputs]),
            outputs=tuple([Output(output.name) for output in kernel.outputs]),
            relation=partial(_relate, kernel),
        ),
        compute=None,
        extern=None,
        pattern=OpPattern.OPAQUE,
        digest=f"{KERNELS} {digest}",
        namespace=KERNELS,
        derive=partial(_compute, kernel),
    )


def _relate(
    kernel: PrimFunc, types: Sequence[Type], num_inputs: int, attrs: Attrs | None, reporter: TypeReporter
) -> bool:
    """The type relation: the results' shapes from the operands', whose dims are those of the kernel's inputs."""
    shapes = [each.shape for each in types[:num_inputs] if isinstance(each, TensorType)]
    try:
        found = result_shapes(kernel, shapes)
    except LoweringError as error:
        raise ShapeError(f"{error}\n  at {reporter.site or call_site()}") from error
    kinds = [TensorType(shape, each.dtype) for each, shape in zip(kernel.outputs, found, strict=True)]
    reporter.assign(types[num_inputs], kinds[0] if len(kinds) == 1 else TupleType(tuple(kinds)))
    return True


def _compute(kernel: PrimFunc, binding: Binding, operands: Sequence[OperandTensors]) -> tuple[Tensor, ...]:
    """The op attribute "compute" of a kernel's op."""
    return tensors_of(kernel, [each for each in operands if isinstance(each, Tensor)])


PrimFunc.__call__ = call_kernel
