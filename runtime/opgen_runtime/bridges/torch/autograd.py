"""Reverse and forward mode of a registered op: its kernel at torch's key Autograd.

Backward is one op, `<op>_vjp`, and forward mode one, `<op>_jvp`; both are registered like any other, so that they have
derivatives themselves.  Results that the adjoints read are saved, not computed again.  The kernel serves eager tensors,
tracing, and one level of torch.func's transforms at a time, as torch's own derivatives do; what has no gradient raises
when it is asked for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final, Protocol

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from ...base.errors import OpgenError
from ...base.lru_cache import LRUCache
from ...base.vocabulary import dataclass
from ..programs import Program
from .fake import types_of
from .schema import Schema

_below: Final = torch._C._AutoDispatchBelowAutograd
_are_transforms_active: Final[Callable[[], bool]] = torch._C._are_functorch_transforms_active
_any_requires_grad: Final[Callable[..., bool]] = torch._C._any_requires_grad
_reads: Final[LRUCache[tuple[bool, ...]]] = LRUCache(4096)


class Differentiable(Protocol):
    """What the kernel must know of a registered op."""

    program: Program
    schema: Schema
    overload: Any

    @property
    def vjp(self) -> Differentiable: ...

    @property
    def jvp(self) -> Differentiable: ...


@dataclass(frozen=True, slots=True)
class Site:
    """One call under differentiation.

    `keys`: of the dispatcher, above which the call goes on; None where it begins there.  `form`: of each operand the
    number of its tensors, None for one that is absent, -1 for one that is not in a list.  `attrs`: in torch's form, in
    the order of the schema.
    """

    keys: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    form: tuple[int | None, ...]
    attrs: tuple[Any, ...]

    def operands(self, leaves: Sequence[torch.Tensor]) -> list[Any]:
        rest = iter(leaves)
        return [
            None if count is None else next(rest) if count < 0 else [next(rest) for _ in range(count)]
            for count in self.form
        ]


def is_plain() -> bool:
    """Whether neither a transform of torch.func nor forward mode is under way."""
    return forward_ad._current_level < 0 and not _are_transforms_active()


def differentiated(op: Differentiable) -> Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]:
    """What calls the op as a node of torch's graphs, `(keys, args, kwargs)`."""
    function, schema = _function(op), op.schema
    gives_several, count = op.program.gives_several, len(op.program.operands)
    is_simple = all(operand.kind == "one" for operand in op.program.operands)
    simple_form = (-1,) * count

    def call(keys: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        bound = schema.bound(args, kwargs)
        if is_simple:
            form: tuple[int | None, ...] = simple_form
            flat = bound[:count]
        else:
            form, flat = _flattened(bound[:count])
        site = Site(keys, args, kwargs, form, tuple(bound[count:]))
        with enable_single_level_autograd_function() if _are_transforms_active() else nullcontext():
            found = function.apply(site, *flat)
        return list(found) if gives_several else found[0] if len(found) == 1 else found

    return call


def autograd_kernel(op: Differentiable) -> Callable[..., Any]:
    """The kernel of an op at the key Autograd, registered `with_keyset`."""
    differentiate, redispatch = differentiated(op), op.overload.redispatch
    after = torch._C._after_autograd_keyset

    def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled() and _any_requires_grad(*args, **kwargs):
            return differentiate(keyset & after, args, kwargs)
        if forward_ad._current_level >= 0 and _has_tangent(args, kwargs):
            return differentiate(keyset & after, args, kwargs)
        with _below():
            return redispatch(keyset & after, *args, **kwargs)

    return kernel


def _function(op: Differentiable) -> Any:
    """The node of torch's graphs."""
    overload, gives_several = op.overload, op.program.gives_several

    def forward(ctx: Any, site: Site, *flat: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with _grad_modes(), _below():
            if site.keys is None:
                made = overload(*site.args, **site.kwargs)
            else:
                made = overload.redispatch(site.keys, *site.args, **site.kwargs)
        results = tuple(made) if isinstance(made, list | tuple) else (made,)
        ctx.set_materialize_grads(False)
        ctx.site = site
        ctx.floats = floats = [each.is_floating_point() for each in results]
        if not all(floats):
            ctx.mark_non_differentiable(*[each for each in results if not each.is_floating_point()])
        if gives_several:
            ctx.results = [(each.shape, each.dtype, each.device) for each in results]
        ctx.kept = kept = _kept(op, site, flat, len(results))
        ctx.save_for_backward(*flat, *[each for each, is_kept in zip(results, kept, strict=True) if is_kept])
        if forward_ad._current_level >= 0:
            ctx.save_for_forward(*flat)
        return results

    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        site, needs = ctx.site, ctx.needs_input_grad[1:]
        saved = ctx.saved_tensors
        flat, rest = saved[: len(needs)], iter(saved[len(needs) :])
        wrt = [k for k, needed in enumerate(needs) if needed and flat[k].is_floating_point()]
        found: list[torch.Tensor | None] = [None] * len(needs)
        if wrt and any([each is not None for each in cotangents]):
            held: Sequence[Any] = [next(rest) if is_kept else None for is_kept in ctx.kept]
            given: Sequence[Any] = cotangents
            if gives_several:
                held = _grouped(op.program, held, None)
                given = _grouped(op.program, cotangents, ctx.results)
            adjoints = _derivative(op.vjp, *site.operands(flat), *held, *given, attrs=site.attrs, wrt=wrt)
            for k, adjoint in zip(wrt, adjoints, strict=True):
                found[k] = adjoint
        return (None, *found)

    def jvp(ctx: Any, _: object, *tangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        flat = ctx.saved_tensors[: len(tangents)]
        wrt = [k for k, each in enumerate(tangents) if each is not None]
        given = [each for each in tangents if each is not None]
        found = iter(_derivative(op.jvp, *ctx.site.operands(flat), given, attrs=ctx.site.attrs, wrt=wrt))
        return tuple([next(found) if is_float else None for is_float in ctx.floats])

    parts: dict[str, Callable[..., Any]] = {"forward": forward, "backward": backward, "jvp": jvp}
    return type(
        f"{op.program.name}_opgen",
        (_SingleLevelFunction,),
        {name: staticmethod(part) for name, part in parts.items()},
    )


def _derivative(derivative: Differentiable, *operands: Any, attrs: Sequence[Any], wrt: list[int]) -> Any:
    """A call of a vjp or a jvp, whose schema has the base's attrs in their order, and `wrt` among them."""
    args = (*operands, *attrs)
    at = derivative.schema.wrt_position
    args = (*args[:at], wrt, *args[at:])
    if torch.is_grad_enabled() or not is_plain():
        return derivative.overload(*args)
    with _below():  # nobody wants its derivative
        return derivative.overload(*args)


@contextmanager
def _transparent() -> Iterator[None]:
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        yield


def _grad_modes() -> Any:
    """A node's forward runs without gradients; the levels below a transform's record theirs themselves."""
    return _transparent() if _are_transforms_active() else nullcontext()


def _flattened(operands: Sequence[Any]) -> tuple[tuple[int | None, ...], list[torch.Tensor]]:
    """The form of operands, and their leaves."""
    form: list[int | None] = []
    flat: list[torch.Tensor] = []
    for each in operands:
        if isinstance(each, list | tuple):
            form.append(len(each))
            flat.extend(each)
        else:
            form.append(None if each is None else -1)
            flat.extend(() if each is None else (each,))
    return tuple(form), flat


def _has_tangent(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a tensor among the arguments is dual."""
    for each in (*args, *kwargs.values()):
        for item in each if isinstance(each, list | tuple) else (each,):
            if isinstance(item, torch.Tensor) and forward_ad.unpack_dual(item).tangent is not None:
                return True
    return False


def _grouped(
    program: Program, tensors: Sequence[torch.Tensor | None], zeros: Sequence[Any] | None
) -> list[Any]:
    """One argument a declared result; of several all or none, with zeros in the place of what is not there."""
    spare = len(tensors) - len(program.outputs) + 1
    rest = list(enumerate(tensors))
    found: list[Any] = []
    for output in program.outputs:
        if output.kind != "several":
            found.append(rest.pop(0)[1])
            continue
        own, rest = rest[:spare], rest[spare:]
        missing = [each is None for _, each in own]
        if all(missing) or (zeros is None and any(missing)):
            found.append([])
            continue
        found.append([_or_zeros(each, zeros[k] if zeros else None) for k, each in own])
    return found


def _or_zeros(tensor: torch.Tensor | None, like: Any) -> torch.Tensor:
    if tensor is not None:
        return tensor
    shape, dtype, device = like
    return torch.zeros(shape, dtype=dtype, device=device)


def _kept(op: Differentiable, site: Site, flat: Sequence[torch.Tensor], count: int) -> tuple[bool, ...]:
    """Which results the adjoints of all float operands read; what it finds for one size of the operands serves all."""
    attrs = tuple([tuple(each) if isinstance(each, list) else each for each in site.attrs])
    key = (op.program, site.form, tuple([(leaf.dtype, leaf.ndim) for leaf in flat]), attrs)
    found = _reads.get(key)
    if found is None:
        found = _reads.put(key, _read(op, site, flat, count))
    return found if len(found) == count else (False,) * count  # the sizes of operands say how many there are


def _read(op: Differentiable, site: Site, flat: Sequence[torch.Tensor], count: int) -> tuple[bool, ...]:
    operands = [tuple(each) if isinstance(each, list) else each for each in site.operands(flat)]
    wrt = tuple([k for k, leaf in enumerate(flat) if leaf.is_floating_point()])
    try:
        values = op.schema.values(dict(zip(op.schema.attr_names, site.attrs, strict=True)))
        return op.program.vjp.reads(types_of(operands, _likely), values | {op.program.vjp.wrt: wrt})
    except OpgenError:
        return (False,) * count  # the backward says what is wrong


def _likely(extent: Any) -> int:
    """The extent, of a symbol the value that it has where it is traced."""
    if not isinstance(extent, torch.SymInt):
        return int(extent)
    hint = extent.node.hint
    return 2 if hint is None else int(hint)
