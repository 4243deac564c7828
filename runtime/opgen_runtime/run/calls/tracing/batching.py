"""`vmap`: a function of arrays for each element of a batch of them, as one program.

    rt.vmap(lambda x, w: x @ w, in_axes=(0, None))(xs, w)      for each x of xs, all at once

The function is traced on one element, and its program made that of the whole batch (`transform/batching.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....base.errors import CallError
from ....ir import Expr, Traced, Tuple, Var
from ....operator import TensorType
from ....transform.batching import Part, batched, with_axis
from ....transform.build import transpose
from ....transform.gradient import written_out
from .jitted import Jitted, jit
from .operands import tensor
from .rules import gradients
from .tracer import Tracer, wrap
from .trees import filled, leaves


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Jitted[..., Any]:
    """A function of the same arguments with one more axis, which gives what `function` gives for each element.

    `in_axes`: along which axis the arguments have their elements, negative ones from the end; None for one that is the
    same for all.  One for all arguments, or a sequence of one an argument, where a tree (tuple, list or dict) stands
    for the leaves of such an argument.  Arguments given by name have axis 0.  `out_axes`: where results have the axis,
    as one or a tree; None for a result that does not depend on the element.

    The result is compiled like a function under `jit`; it may be called in other traced functions, gradients and vmaps,
    and `function` may have all of these.

    Raises CallError where there is no axis, extents differ, or nothing has an axis; PassError for an op that has no
    batched form, naming it.
    """

    @functools.wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _Mapped(function, in_axes, out_axes)(args, kwargs)

    return jit(mapped)


class _Mapped:
    def __init__(self, function: Callable[..., Any], in_axes: Any, out_axes: Any) -> None:
        self.function, self.in_axes, self.out_axes = function, in_axes, out_axes
        self.name = f"vmap of {getattr(function, '__name__', 'the function')}"
        self.given: dict[Var, Expr] = {}
        self.extent: tuple[int, str] | None = None  # and the place of an argument that has it

    def __call__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        axes = self.in_axes
        if isinstance(axes, tuple | list) and len(axes) != len(args):
            raise CallError(f"{self.name}: in_axes has {len(axes)} entries for {len(args)} arguments")
        each = list(axes) if isinstance(axes, tuple | list) else [axes] * len(args)
        rows = [
            self._row(arg, axis, f"argument {k}")
            for k, (arg, axis) in enumerate(zip(args, each, strict=True))
        ]
        named = {name: self._row(arg, 0, f"argument {name!r}") for name, arg in kwargs.items()}
        if self.extent is None:
            raise CallError(
                f"{self.name}: in_axes is {self.in_axes!r}, and no argument has an axis of the batch"
            )
        return self._whole(self.function(*rows, **named), self.extent[0])

    def _row(self, arg: Any, axes: Any, what: str) -> Any:
        """The argument with one element in the place of each batch."""
        flat = zip(leaves(arg), _spread(axes, arg, f"{self.name}: in_axes of {what}"), strict=True)
        return filled(arg, iter([self._element(leaf, axis, f"{what}{at}") for (at, leaf), axis in flat]))

    def _element(self, leaf: Any, axis: int | None, what: str) -> Any:
        if axis is None:
            return leaf
        if isinstance(leaf, bool | int | float | str | None) or (isinstance(leaf, Traced) and leaf.weak):
            raise CallError(f"{self.name}: {what} has no axis {axis}; say None for it in in_axes")
        value = tensor(leaf).expr
        shape = _shape(value)
        if not -len(shape) <= axis < len(shape):
            raise CallError(f"{self.name}: {what} has the shape {list(shape)}, which has no axis {axis}")
        axis %= len(shape)
        if self.extent is None:
            self.extent = shape[axis], what
        elif self.extent[0] != shape[axis]:
            raise CallError(
                f"{self.name}: {what} has {shape[axis]} elements along axis {axis}, "
                f"{self.extent[1]} has {self.extent[0]}"
            )
        type_ = value.checked_type
        assert isinstance(type_, TensorType)
        var = Var(f"x{len(self.given)}", type_.with_shape([*shape[:axis], *shape[axis + 1 :]]))
        self.given[var] = _moved(value, axis, 0)
        return Tracer(var)

    def _whole(self, result: Any, extent: int) -> Any:
        """The result with the axis of the batch where `out_axes` has it."""
        flat = [tensor(leaf) for _, leaf in leaves(result)]
        program = written_out(Tuple(tuple([each.expr for each in flat])), marked=gradients.get() > 0)
        assert isinstance(program, Tuple)
        parts = batched(program.fields, self.given, extent)
        places = [f"the result{at}" for at, _ in leaves(result)]
        axes = _spread(self.out_axes, result, f"{self.name}: out_axes of the result")
        made = [
            wrap(self._placed(part, axis, extent, what))
            for part, axis, what in zip(parts, axes, places, strict=True)
        ]
        return filled(result, iter(made))

    def _placed(self, part: Part, axis: int | None, extent: int, what: str) -> Expr:
        if axis is None:
            if part.has_axis:
                raise CallError(
                    f"{self.name}: out_axes is None for {what}, which differs from element to element"
                )
            return part.expr
        whole = with_axis(part, extent)
        ndim = len(_shape(whole))
        if not -ndim <= axis < ndim:
            raise CallError(f"{self.name}: out_axes is {axis} for {what}, which has {ndim} axes")
        return _moved(whole, 0, axis % ndim)


def _spread(axes: Any, tree: Any, what: str) -> list[int | None]:
    """An axis for each leaf of the tree, of which `axes` is the upper part.  Raises CallError where it is not."""
    return list(_entries(axes, tree, what))


def _entries(axes: Any, tree: Any, what: str) -> Iterator[int | None]:
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        yield from [axes for _ in leaves(tree)]
    elif isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        for name, item in tree.items():
            yield from _entries(axes[name], item, what)
    elif isinstance(axes, tuple | list) and isinstance(tree, tuple | list) and len(axes) == len(tree):
        for entry, item in zip(axes, tree, strict=True):
            yield from _entries(entry, item, what)
    else:
        raise CallError(f"{what} is {axes!r}, expected an int, None, or a tree of them like the value's")


def _moved(value: Expr, source: int, target: int) -> Expr:
    """The value with an axis in another place."""
    if source == target:
        return value
    order = [axis for axis in range(len(_shape(value))) if axis != source]
    order.insert(target, source)
    return transpose(value, order)


def _shape(value: Expr) -> tuple[int, ...]:
    type_ = value.checked_type
    assert isinstance(type_, TensorType)
    return type_.concrete_shape
