"""The types of a call's results, from the names that its binding has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....base.arith import Analyzer, post_order
from ....base.arith.expr import Any as unknown_dim
from ....base.arith.expr import Binary, Const, Dim, Expr, Shape, Var
from ....base.arith.expr import dim as symbolic_dim
from ....base.errors import DTypeError, ShapeError, UndecidedError
from ....base.vocabulary import DTYPES, DType
from ..rules import Output, Spread, Static, needs_of
from ..shapes import shape_text
from ..signature import Signature
from ..type import TensorType
from .frame import Frame, RuleFailedError
from .patterns import entry_text

Reader = Callable[[Frame], Any]
DynamicAxes = tuple[tuple[int, str], ...]  # axis of a result and the data-dependent dim that it is


class OutputPlan:
    """One declared output, compiled."""

    def __init__(self, signature: Signature, output: Output) -> None:
        self.output = output
        self.dynamic = signature.dynamic
        self.shape, self.shape_needs = _shape_reader(signature, output)
        self.dtype, dtype_needs = _dtype_reader(output)
        own = {output.index, *signature.dynamic}
        self.needs = frozenset((*self.shape_needs, *dtype_needs)) - own
        if output.variadic is not None:
            self.needs |= frozenset(needs_of(output.variadic))

    def types(
        self, frame: Frame, bounds: Mapping[str, Dim]
    ) -> tuple[list[TensorType], list[Shape], list[DynamicAxes]]:
        """The types of the results that this output stands for, their shapes in storage, their data-dependent axes.

        `bounds`: data-dependent dim -> its bound.  Raises ShapeError or DTypeError.
        """
        output, names = self.output, frame.names
        count_of = output.variadic
        if count_of is None:
            one, shape, axes = self._type(frame, bounds)
            return [one], [shape], [axes]
        count = guarded(
            frame, output, lambda: frame.evaluate(count_of, needs_of(count_of), f"how many {output.name}")
        )
        if not isinstance(count, int) or count < 0:
            raise frame.error(
                UndecidedError if isinstance(count, Expr) else ShapeError,
                f"the number of results {output.name!r} must be an int >= 0, found {count}",
            )
        types, shapes, dynamic = [], [], []
        for position in range(count):
            names[output.index] = position
            one, shape, axes = self._type(frame, bounds)
            types.append(one)
            shapes.append(shape)
            dynamic.append(axes)
        names.pop(output.index, None)
        return types, shapes, dynamic

    def _type(self, frame: Frame, bounds: Mapping[str, Dim]) -> tuple[TensorType, Shape, DynamicAxes]:
        output = self.output
        dtype = (
            guarded(frame, output, lambda: self.dtype(frame)) if callable(output.dtype) else self.dtype(frame)
        )
        symbols = {name: symbolic_dim(name) for name in bounds}
        frame.names.update(symbols)
        shape = self.dims(frame)
        try:
            made = TensorType(frame.stored_shape(output, shape) if output.layout else shape, dtype)
        except (ShapeError, DTypeError) as error:
            text = shape_text(shape)
            raise frame.error(
                type(error), f"output {output.name!r} would have shape {text}, {dtype}: {error}"
            ) from None
        if not bounds:
            return made, made.shape, ()
        axes = self._dynamic_axes(frame, made, symbols)
        unknown = {axis for axis, _ in axes}
        dims = tuple(unknown_dim() if axis in unknown else d for axis, d in enumerate(made.shape))
        frame.names.update(bounds)
        stored = TensorType(frame.stored_shape(output, self.dims(frame)), dtype).shape
        for name in bounds:
            del frame.names[name]
        return made.with_shape(dims), stored, axes

    def _dynamic_axes(self, frame: Frame, made: TensorType, symbols: Mapping[str, Var]) -> DynamicAxes:
        names = {symbol: name for name, symbol in symbols.items()}
        found: list[tuple[int, str]] = []
        for axis, extent in enumerate(made.shape):
            if isinstance(extent, Var) and extent in names:
                found.append((axis, names[extent]))
            elif isinstance(extent, Expr):
                inside = next(
                    (node for node in post_order(extent) if isinstance(node, Var) and node in names), None
                )
                if inside is not None:
                    raise frame.error(
                        ShapeError,
                        f"dim {axis} of output {self.output.name!r} is {extent}, computed from the data-dependent dim "
                        f"{inside}; expected a data-dependent dim itself: declare {extent} under `dynamic`",
                    )
        return tuple(found)

    def dims(self, frame: Frame) -> Shape:
        """The canonical shape.  Raises what cannot be told of it."""
        return simplest(self.computed_dims(frame))

    def computed_dims(self, frame: Frame) -> Shape:
        """The canonical shape as the declared expressions give it.  Raises what cannot be told of it."""
        shape = guarded(frame, self.output, lambda: self.shape(frame))
        return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def simplest(shape: Shape) -> Shape:
    """The shape with its computed symbolic dims in their simplest form."""
    return tuple([_simple(d) if isinstance(d, Binary) else d for d in shape])


def _simple(d: Binary) -> Dim:
    """A computed symbolic dim in its simplest form: (n + 2 - 3)//1 + 1 is n, and so equal to other dims n."""
    found = Analyzer().simplify(d)
    return int(found.value) if isinstance(found, Const) else found


def guarded(frame: Frame, output: Output, read: Callable[[], Any]) -> Any:
    """What `read` gives; a failed evaluation becomes the user error that says so."""
    try:
        return read()
    except RuleFailedError as failure:
        error, cause = failure.error, failure.__cause__
    except UndecidedError as failure:
        text = f"the type of output {output.name!r} cannot be told: {failure}"
        error, cause = frame.error(UndecidedError, text), failure
    # The cause is no matter to users.  The failure itself holds the error, and would be held by it in turn.
    error.__context__ = cause
    try:
        raise error from None
    finally:
        del error, cause  # their frames hold this one, which would hold them in turn


def _shape_reader(signature: Signature, output: Output) -> tuple[Reader, tuple[str, ...]]:
    shape = output.shape
    if isinstance(shape, str):
        name = shape.removesuffix(".shape")
        return (lambda frame: frame.names[name].shape), (name,)
    if not isinstance(shape, tuple):
        function, needs = shape, needs_of(shape)
        return (lambda frame: frame.evaluate(function, needs, f"the shape of {output.name!r}")), needs
    readers: list[tuple[Reader, bool]] = []
    all_needs: list[str] = []
    for entry in shape:
        reader, many, needs = _entry_reader(output, entry)
        readers.append((reader, many))
        all_needs.extend(needs)
    if len(readers) == 1 and not readers[0][1]:
        return readers[0][0], tuple(all_needs)  # a lone tuple is the whole shape
    if not any(many for _, many in readers):
        plain = tuple(reader for reader, _ in readers)
        return (lambda frame: tuple([read(frame) for read in plain])), tuple(all_needs)

    def read_all(frame: Frame) -> tuple[Dim, ...]:
        dims: list[Dim] = []
        for read, many in readers:
            if many:
                dims.extend(read(frame))
            else:
                dims.append(read(frame))
        return tuple(dims)

    return read_all, tuple(all_needs)


def _entry_reader(output: Output, entry: Any) -> tuple[Reader, bool, tuple[str, ...]]:
    if isinstance(entry, str):
        name = entry.removeprefix("*")
        return (lambda frame: frame.names[name]), name != entry, (name,)
    if isinstance(entry, (Static, Spread)):
        function, needs = entry.function, needs_of(entry.function)
        what = f"{entry_text(entry)} in the shape of {output.name!r}"
        return (lambda frame: frame.evaluate(function, needs, what)), isinstance(entry, Spread), needs
    return (lambda frame: entry), False, ()


def _dtype_reader(output: Output) -> tuple[Reader, tuple[str, ...]]:
    dtype = output.dtype
    if not isinstance(dtype, str):
        function, needs = dtype, needs_of(dtype)
        return (lambda frame: frame.evaluate(function, needs, f"the dtype of {output.name!r}")), needs
    if dtype in DTYPES:
        constant = DType(dtype)
        return (lambda frame: constant), ()
    if dtype.endswith(".dtype"):
        name = dtype.removesuffix(".dtype")
        return (lambda frame: frame.names[name].dtype), (name,)
    return (lambda frame: frame.names[dtype]), (dtype,)
