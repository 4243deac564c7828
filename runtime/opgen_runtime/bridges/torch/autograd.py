"""Reverse and forward mode of a registered op: its kernel at torch's key Autograd.

Backward is one op, `<op>_vjp`, and forward mode one, `<op>_jvp`; both are registered like any other, so that they have
derivatives themselves.  Results that the adjoints read are saved, not computed again.  The kernel serves eager tensors,
tracing, and one level of torch.func's transforms at a time, as torch's own derivatives do; what has no gradient raises
when it is asked for one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from ...base.errors import OpgenError
from ...run.op_programs.programs import Program
from .fake import likely, types_of
from .schema import Schema
from .tensors import has_gradient

_below: Final = torch._C._AutoDispatchBelowAutograd
_are_transforms_active: Final[Callable[[], bool]] = torch._C._are_functorch_transforms_active
_is_grad_enabled: Final[Callable[[], bool]] = torch.is_grad_enabled
_any_requires_grad: Final[Callable[..., bool]] = torch._C._any_requires_grad
_MOST_KINDS: Final = 1024  # of calls of an op, of which it is remembered what is saved

Form: TypeAlias = tuple[int | None, ...]
"""Of each operand the number of its tensors, None for one that is absent, -1 for one that is not in a list."""


class Differentiable(Protocol):
    """What the kernel must know of a registered op."""

    program: Program
    schema: Schema
    overload: Any

    @property
    def vjp(self) -> Differentiable: ...

    @property
    def jvp(self) -> Differentiable: ...


class Site(NamedTuple):
    """One call under differentiation.

    `keys`: of the dispatcher, above which the call goes on; None where it begins there.  `is_simple`: no operand is a
    list, or absent.  `attrs`: in torch's form, in the order of the schema.
    """

    keys: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    form: Form
    is_simple: bool
    attrs: tuple[Any, ...]

    def operands(self, leaves: Sequence[torch.Tensor]) -> Sequence[Any]:
        return leaves if self.is_simple else _nested(self.form, leaves)


def is_plain() -> bool:
    """Whether neither a transform of torch.func nor forward mode is under way."""
    return forward_ad._current_level < 0 and not _are_transforms_active()


def differentiated(op: Differentiable) -> Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]:
    """What calls the op as a node of torch's graphs, `(keys, args, kwargs)`."""
    apply, schema = _function(op).apply, op.schema
    gives_several, count = op.program.gives_several, len(op.program.operands)
    is_simple = all(operand.kind == "one" for operand in op.program.operands)
    simple_form, parameters = (-1,) * count, len(schema.parameters)

    def call(keys: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        bound = args if len(args) == parameters else schema.bound(args, kwargs)
        if is_simple:
            form: Form = simple_form
            flat = bound[:count]
        else:
            form, flat = _flattened(bound[:count])
        site = Site(keys, args, kwargs, form, is_simple, tuple(bound[count:]))
        if _are_transforms_active():
            with enable_single_level_autograd_function():
                found = apply(site, *flat)
        else:
            found = apply(site, *flat)
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
    plain, redispatch, gives_several = op.overload._op, op.overload.redispatch, op.program.gives_several
    read, nothing = Reads(op), (None,) * len(op.program.outputs)

    def call(site: Site) -> Any:
        with _below():
            if site.keys is None:
                return plain(*site.args, **site.kwargs)
            return redispatch(site.keys, *site.args, **site.kwargs)

    def forward(ctx: Any, site: Site, *flat: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if _are_transforms_active():  # the levels below record their gradients themselves
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                made = call(site)
        else:
            made = call(site)
        results = tuple(made) if isinstance(made, list | tuple) else (made,)
        floats = [has_gradient(each) for each in results]
        ctx.set_materialize_grads(False)
        if False in floats:
            ctx.mark_non_differentiable(*[each for each in results if not has_gradient(each)])
        if gives_several:
            ctx.results = [(each.shape, each.dtype, each.device) for each in results]
        kept = read(site.form, flat, site.attrs, len(results))
        ctx.state = site, floats, kept
        ctx.save_for_backward(*flat, *[each for each, is_kept in zip(results, kept, strict=True) if is_kept])
        if forward_ad._current_level >= 0:
            ctx.save_for_forward(*flat)
        return results

    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        (site, _, kept), needs, saved = ctx.state, ctx.needs_input_grad[1:], ctx.saved_tensors
        flat, rest = saved[: len(needs)], iter(saved[len(needs) :])
        wrt = [k for k, needed in enumerate(needs) if needed]
        found: list[torch.Tensor | None] = [None] * len(needs)
        if wrt and any([each is not None for each in cotangents]):
            held: Sequence[Any] = nothing
            if True in kept:
                held = [next(rest) if is_kept else None for is_kept in kept]
            given: Sequence[Any] = cotangents
            if gives_several:
                held = _grouped(op.program, held if True in kept else [None] * len(kept), None)
                given = _grouped(op.program, cotangents, ctx.results)
            adjoints = derivative(op.vjp, *site.operands(flat), *held, *given, attrs=site.attrs, wrt=wrt)
            for k, adjoint in zip(wrt, adjoints, strict=True):
                found[k] = adjoint
        return (None, *found)

    def jvp(ctx: Any, _: object, *tangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        (site, floats, _), flat = ctx.state, ctx.saved_tensors[: len(tangents)]
        wrt = [k for k, each in enumerate(tangents) if each is not None]
        given = [each for each in tangents if each is not None]
        found = iter(derivative(op.jvp, *site.operands(flat), given, attrs=site.attrs, wrt=wrt))
        return tuple([next(found) if is_float else None for is_float in floats])

    parts: dict[str, Callable[..., Any]] = {"forward": forward, "backward": backward, "jvp": jvp}
    return type(
        f"{op.program.name}_opgen",
        (_SingleLevelFunction,),
        {name: staticmethod(part) for name, part in parts.items()},
    )


def derivative(derivative: Differentiable, *operands: Any, attrs: Sequence[Any], wrt: list[int]) -> Any:
    """A call of a vjp or a jvp, whose schema has the base's attrs in their order, and `wrt` among them."""
    if attrs:
        at = derivative.schema.wrt_position - len(operands)
        args = (*operands, *attrs[:at], wrt, *attrs[at:])
    else:
        args = (*operands, wrt)
    if _is_grad_enabled() or forward_ad._current_level >= 0 or _are_transforms_active():
        return derivative.overload(*args)
    with _below():  # nobody wants its derivative
        return derivative.overload._op(*args)


def _nested(form: Form, leaves: Sequence[torch.Tensor]) -> list[Any]:
    rest = iter(leaves)
    return [
        None if count is None else next(rest) if count < 0 else [next(rest) for _ in range(count)]
        for count in form
    ]


def _flattened(operands: Sequence[Any]) -> tuple[Form, list[torch.Tensor]]:
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


class Reads:
    """Which results of a call the adjoints of all float operands read; what one size of the operands has serves all."""

    def __init__(self, op: Differentiable) -> None:
        self._op = op
        self._known: dict[Hashable, tuple[bool, ...]] = {}  # by the kind of call

    def __call__(
        self, form: Form, flat: Sequence[torch.Tensor], attrs: Sequence[Any], count: int
    ) -> tuple[bool, ...]:
        """Of each of `count` results; `attrs`: in torch's form."""
        key: Hashable = form, tuple([(leaf.dtype, leaf.ndim) for leaf in flat])
        if attrs:
            key = key, tuple([tuple(each) if isinstance(each, list) else each for each in attrs])
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KINDS:
                self._known.clear()
            found = self._known[key] = self._find(form, flat, attrs, count)
        return found if len(found) == count else (False,) * count  # sizes say how many results there are

    def _find(
        self, form: Form, flat: Sequence[torch.Tensor], attrs: Sequence[Any], count: int
    ) -> tuple[bool, ...]:
        schema, vjp = self._op.schema, self._op.program.vjp
        operands = [tuple(each) if isinstance(each, list) else each for each in _nested(form, flat)]
        wrt = tuple([k for k, leaf in enumerate(flat) if has_gradient(leaf)])
        try:
            values = schema.values(dict(zip(schema.attr_names, attrs, strict=True)))
            return vjp.reads(types_of(operands, likely), values | {vjp.wrt: wrt})
        except OpgenError:
            return (False,) * count  # the backward says what is wrong
