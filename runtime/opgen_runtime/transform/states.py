"""Parameters that grow, as whole buffers: what is appended to them is written behind what they hold.

    fn (%past: [2, n, 4], %x: [2, m, 4]) {            fn (%past: [2, c, 4], %x: [2, m, 4], %length: [n]) {
      %0 = concatenate((%past, %x), axis=1)    -->      %0 = put_slice(%past, %x, axis=1, start=n)
      (sum(%0), %0)                                     (sum(strided_slice(%0, end=n + m, axes=[1])), %0)
    }                                                 }

Whoever runs the program gives the buffer of the result the memory of the parameter's.  Elements of the parameter are
read before `n` and written from there on, so that no order of the calls lets a read see what is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.arith import Const, closure, free_vars
from ..base.arith import Expr as Scalar
from ..base.arith import Var as DimVar
from ..base.arith.closures import Closure
from ..base.errors import PassError
from ..base.vocabulary import dataclass
from ..ir import Call, Expr, Function, Tuple, Var
from ..ir.visitor import MixedModeMutator
from ..operator import Op, TensorType, dim
from . import build


@dataclass(frozen=True, slots=True)
class Growing:
    """A parameter that grows, by its position, and the result that it has become, by its position."""

    param: int
    result: int


@dataclass(frozen=True, slots=True)
class Grown:
    """What becomes of a parameter: the axis along which it grows, its length before, and after.

    `teller`: the parameter, by its position, whose length is that of the parameter that was added for `length`.
    """

    param: int
    result: int
    axis: int
    length: DimVar
    end: Scalar
    teller: int


@dataclass(frozen=True, slots=True)
class Buffered:
    """A function on whole buffers.

    `tellers`: for each parameter that was added, the one whose length it tells, by its position.  `ends`: the lengths
    of all that grows after a call, for the extents of the parameters at `dims`, (position, axis), then the lengths.
    """

    function: Function
    grown: tuple[Grown, ...]
    tellers: tuple[int, ...]
    dims: tuple[tuple[int, int], ...]
    ends: Closure


def is_appended(past: Var, present: Expr) -> bool:
    """Whether a value is a parameter with one other tensor behind it."""
    return build.concatenated(present, past) is not None


def with_buffers(function: Function, growing: Sequence[Growing], capacity: int) -> Buffered:
    """The typed function on buffers of any capacity, to be scheduled for `capacity`; see the module's text.

    Raises PassError where a result is not the concatenation of its parameter, of open length, and one other tensor.
    """
    results = list(function.body.fields) if isinstance(function.body, Tuple) else [function.body]
    params = list(function.params)
    tellers: dict[DimVar, int] = {}
    capacities: dict[DimVar, DimVar] = {}
    pasts: dict[Var, Expr] = {}
    presents: dict[int, _Appended] = {}
    grown: list[Grown] = []
    for each in growing:
        past, present = function.params[each.param], results[each.result]
        axis, length, end = _appended(past, present)
        if id(present) in presents or past in pasts:
            raise PassError(f"%{past.name_hint} grows into one result, which no other parameter grows into")
        if length not in capacities:
            capacities[length] = dim(f"{length.name}_capacity", capacity)
            tellers[length] = each.param
            params.append(Var(f"{length.name}_length", TensorType((length,), "uint8")))
        kind = past.checked_type
        assert isinstance(kind, TensorType)
        shape = (*kind.shape[:axis], capacities[length], *kind.shape[axis + 1 :])
        buffer = Var(past.name_hint, TensorType(shape, kind.dtype))
        params[each.param] = buffer
        pasts[past] = build.first(buffer, axis, length)
        presents[id(present)] = _Appended(buffer, axis, length, end)
        grown.append(Grown(each.param, each.result, axis, length, end, tellers[length]))
    rewriter = _Buffers(pasts, presents)
    made = [rewriter.rewrite(result) for result in results]
    for each in growing:
        made[each.result] = rewriter.written[id(results[each.result])]
    body = Tuple(tuple(made)) if isinstance(function.body, Tuple) else made[0]
    new = Function(tuple(params), body, attrs=function.attrs)
    ends = [each.end for each in grown]
    needed = dict.fromkeys([var for end in ends for var in free_vars(end) if var not in tellers])
    dims = tuple([_place(function, var) for var in needed])
    return Buffered(new, tuple(grown), tuple(tellers.values()), dims, closure(ends, [*needed, *tellers]))


def _place(function: Function, var: DimVar) -> tuple[int, int]:
    """Which parameter has a dim, and at which axis.  Raises PassError where none has."""
    for k, param in enumerate(function.params):
        kind = param.checked_type
        for axis, extent in enumerate(kind.shape if isinstance(kind, TensorType) else ()):
            if extent is var:
                return k, axis
    raise PassError(f"no parameter has the dim {var.name} itself, by which another grows")


@dataclass(frozen=True, slots=True)
class _Appended:
    buffer: Var
    axis: int
    length: DimVar
    end: Scalar


class _Buffers(MixedModeMutator):
    """Puts what is appended into the buffers; `written`: the buffers then, by the ids of what they stand for."""

    def __init__(self, pasts: dict[Var, Expr], presents: dict[int, _Appended]) -> None:
        super().__init__()
        self.pasts = pasts
        self.presents = presents
        self.written: dict[int, Expr] = {}

    def rewrite_var(self, pre: Var, post: Expr) -> Expr:
        return self.pasts.get(pre, post)

    def rewrite_call(self, pre: Call, post: Expr) -> Expr:
        found = self.presents.get(id(pre))
        if found is None:
            return post
        assert isinstance(post, Call)
        parts = post.args[0]
        assert isinstance(parts, Tuple)
        put = build.put_slice(found.buffer, parts.fields[1], found.axis, found.length)
        self.written[id(pre)] = put
        return build.first(put, found.axis, found.end)


def _appended(past: Var, present: Expr) -> tuple[int, DimVar, Scalar]:
    """The axis along which a result is a parameter with more behind it, the parameter's length, and the result's.

    Raises PassError where it is not.
    """
    name = f"%{past.name_hint}"
    kind = past.checked_type
    if not isinstance(kind, TensorType):
        raise PassError(f"{name} grows, and is no tensor: {kind}")
    axis = build.concatenated(present, past)
    if axis is None:
        what = present.op.name if isinstance(present, Call) and isinstance(present.op, Op) else str(present)
        raise PassError(
            f"{name} grows into a result that must be concatenate(({name}, more), axis), and is {what:.80}"
        )
    length = kind.shape[axis]
    if not isinstance(length, DimVar) or isinstance(length, Const):
        raise PassError(f"{name}: {kind} grows along axis {axis}, whose extent must be an open dim")
    if sum([length == each for each in kind.shape]) > 1:
        raise PassError(f"{name}: {kind} grows along axis {axis}, whose dim is that of another axis too")
    joined = present.checked_type
    assert isinstance(joined, TensorType)
    end = joined.shape[axis]
    assert isinstance(end, Scalar)
    return axis, length, end
