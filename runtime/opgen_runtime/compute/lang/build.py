"""From a declared compute function to tensor expressions, for given operand types and attrs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from ...base import arith
from ...base.arith.expr import Binary, Expr, Shape, Var
from ...base.errors import LanguageError
from ...base.vocabulary import INDEX, INT64, DType
from ...operator import (
    Binding,
    Signature,
    canonical_indices,
    parse_layout,
    stored_indices,
    to_canonical,
)
from ..te.proved import Proved
from ..te.tensor import Compute, IterVar, Read, Tensor
from ..te.values import Body, Values, body_of, reads_of, under
from ..te.widen import widen
from .facts import facts_of_read
from .failures import Failure, Failures, Poisoned
from .indexing import static_shape
from .scans import resolve
from .scope import Scope, entered
from .separate import SeparateCalls
from .tensors import Defined, Operand, Surroundings
from .updates import Recorder, UpdateOf
from .weak import Value

ComputeFunction = Callable[..., None]


class ComputeDeclaration(Protocol):
    """What `build` needs of an op's declaration."""

    @property
    def signature(self) -> Signature: ...

    @property
    def compute(self) -> ComputeFunction | None: ...


class Pending(Protocol):
    """A call of another op, which is expanded where it is first read, or at the end."""

    def expand(self) -> object: ...


Given = Sequence[tuple[Defined, tuple[str, str] | None]]
"""The results of one declaration in order, each with its layout."""


@dataclass(slots=True)
class Builder:
    """The tensors of one compute function while it runs, with those of the ops that it calls."""

    around: Surroundings
    recorder: Recorder
    calls: list[Pending] = field(default_factory=list)  # of other ops; grows while they are expanded
    together: list[tuple[Defined, ...]] = field(default_factory=list)  # made row by row
    separate: SeparateCalls | None = None
    values: Values = field(init=False)

    def __post_init__(self) -> None:
        self.values = Values(self._body)

    @property
    def defined(self) -> list[Defined]:
        return self.around.defined

    def facts(self, index: Expr) -> Iterator[tuple[Expr, ...]]:
        """What the tensors' definitions say of the values that `index` reads, more and more of it."""
        if not arith.holds(index, Read):
            return
        counts = tuple(fact for read, where in reads_of(index) for fact in self._counted(read, where))
        spans = (*self.values.spans(index), *counts)
        if spans:
            yield spans
        equations = self.values.equations(index)
        if equations:
            yield (*spans, *equations)

    def _counted(self, read: Read, where: Expr | None) -> Iterator[Expr]:
        handle = self._relied_on(read.tensor)
        recurrence = None if handle is None else handle.recurrence(read.tensor)
        if recurrence is not None:
            yield from (under(where, fact) for fact in facts_of_read(read, recurrence))

    def _body(self, tensor: Tensor) -> Body | None:
        return None if self._relied_on(tensor) is None else body_of(tensor)

    def _relied_on(self, tensor: Tensor) -> Defined | None:
        """The handle whose elements are what `tensor` says: from now on it may not be updated."""
        handle = next((h for h in self.defined if h.holds(tensor)), None)
        if handle is None or handle.updated:
            return None
        handle.relied_on = True
        return handle

    def tensor(self, name: str, shape: Value, dtype: DType | None = None) -> Defined:
        made = Defined(name, static_shape(shape), dtype, self.around)
        self.defined.append(made)
        return made

    @contextmanager
    def static(self) -> Iterator[None]:
        """Outside every definition and update, wherever the builder stands."""
        with self.recorder.outermost(), entered(self.around.template.apart()):
            yield

    def expand(self) -> None:
        """Expand the calls of other ops that nothing has read."""
        for call in self.calls:
            call.expand()

    def close(self) -> None:
        """Cut what holds it together, now that its tensors are made: else each build leaves a heap that Python's search
        for circles must walk.
        """
        for handle in self.defined:
            handle.definitions = []
        self.recorder.frames.clear()
        self.around.template.values = None
        self.values = Values()
        for held in (self.around.defined, self.around.built, self.calls, self.together):
            held.clear()


_BUILDER: ContextVar[Builder] = ContextVar("opgen_builder")


def current_builder() -> Builder:
    """The builder of the compute function that runs.  Raises LanguageError where none does."""
    try:
        return _BUILDER.get()
    except LookupError:
        raise LanguageError(
            "compute functions run only inside opgen_runtime.compute.lang.build", "stage"
        ) from None


def tensor(name: str, shape: Value) -> Defined:
    """An intermediate tensor of the given shape; `define` says what it holds."""
    return current_builder().tensor(name, shape)


def loop(source: Value, name: str = "u") -> Iterator[Value]:
    """The loop of an update: `for u in loop(ndindex(shape)):`; the loop IR and messages call its axis `name`."""
    return current_builder().recorder.loop(source, name)


def guard(condition: Value) -> AbstractContextManager[None]:
    """The `if` of an update: `with guard(condition):`."""
    return current_builder().recorder.guard(condition)


OperandTensors = Tensor | tuple[Tensor, ...] | None


def build(
    declaration: ComputeDeclaration,
    binding: Binding,
    operands: Sequence[OperandTensors],
    unproved: list[str] | None = None,
    failures: Failures | None = None,
    proved: Proved | None = None,
    trusted: bool = False,
    separate: SeparateCalls | None = None,
) -> tuple[Tensor, ...]:
    """Run a declared compute function on `operands` (one entry an input: a tensor, None, or a tuple if
    variadic).

    Gives the output tensors in order, then one rank-0 int64 tensor for each data-dependent dim (`dynamic`),
    whose outputs have the bound's extent there.

    `binding` is what `bind` gave for the operands' types.  Accesses that cannot be proved in
    bounds raise AccessError; with `unproved`, those that symbolic dims leave open are described there
    instead. Raises LanguageError and DTypeError for a compute that breaks the language's rules; with `failures`
    what can be told from one another is noted there, and Poisoned is raised if there is any.  `proved` keeps what
    was proved of accesses from one build to the next; `trusted` takes every access to be in bounds.
    `separate` says which calls of other ops are not expanded, and has them when this is done.
    """
    if declaration.compute is None:
        raise LanguageError("the op has no compute expression", "compute")
    template = Scope(unproved=unproved, assumptions=_facts(binding), proved=proved, trusted=trusted)
    recorder = Recorder()
    builder = Builder(Surroundings(template, recorder.put, [], [], failures), recorder, separate=separate)
    template.values = builder.facts
    names = dict(binding.names)
    for declared, operand in zip(declaration.signature.inputs, operands, strict=True):
        names[declared.name] = _handles(declared.name, operand, declared.layout, names)
    run, outputs, counts = prepare(declaration, binding, builder, names)
    token = _BUILDER.set(builder)
    try:
        with builder.static():
            if failures is None:
                run()
            else:
                _collect(run, builder, failures)
            tensors = _finish(builder)
    finally:
        _BUILDER.reset(token)
        builder.close()
    given = [
        t
        for operand in operands
        for t in (operand if isinstance(operand, tuple) else (operand,))
        if t is not None
    ]
    made = [*(handle for handle, _ in outputs), *counts]
    apart = [] if separate is None else list(separate.handles())
    stored = widen([tensors[handle] for handle in (*made, *apart)], given)
    if separate is not None:
        separate.finish(stored[len(made) :])
    results = [_stored(each, layout, names) for each, (_, layout) in zip(stored, outputs, strict=False)]
    return (*results, *stored[len(outputs) : len(made)])


def prepare(
    declaration: ComputeDeclaration, binding: Binding, builder: Builder, names: dict[str, Value]
) -> tuple[Callable[[], None], Given, Sequence[Defined]]:
    """A compute function with its arguments, its results and data-dependent dims; `names` hold the operands."""
    assert declaration.compute is not None
    outputs = _outputs(declaration.signature, binding, builder, names)
    counts = [builder.tensor(name, (), INT64) for name in declaration.signature.dynamic]
    names.update({handle.name: handle for handle in counts})
    code = declaration.compute.__code__
    wanted = code.co_varnames[: code.co_argcount]
    return partial(declaration.compute, **{name: names[name] for name in wanted}), outputs, counts


def find_failures(
    declaration: ComputeDeclaration,
    binding: Binding,
    operands: Sequence[OperandTensors],
    kinds: tuple[type[Exception], ...],
) -> list[Failure]:
    """The errors of `kinds` that `build` would raise, one for each definition that fails by itself."""
    failures = Failures(kinds)
    try:
        build(declaration, binding, operands, failures=failures)
    except Poisoned:
        pass
    except kinds as error:
        failures.found.append(Failure(error))
    return failures.found


def _collect(run: Callable[[], None], builder: Builder, failures: Failures) -> None:
    """Note what fails in a compute function.  Raises Poisoned if that is anything."""
    _, complete = failures.attempt(run)
    for call in builder.calls:
        complete &= failures.attempt(call.expand)[1]
    for handle in builder.defined:
        if handle.is_defined:
            failures.attempt(handle.tensor)
    sound = {
        handle: handle.tensor() for handle in builder.defined if handle.is_defined and not handle.poisoned
    }
    failures.attempt(partial(_resolved, sound, {}, builder.together))
    if not complete:  # some definitions may not have been reached
        failures.found[:] = [f for f in failures.found if getattr(f.error, "code", "") != "uncovered"]
    if failures.found or not all(handle.is_defined for handle in builder.defined):
        raise Poisoned


def _facts(binding: Binding) -> tuple[Expr, ...]:
    """What holds of symbolic dims because inference assumed it."""
    return tuple(a.condition for a in binding.undecided if a.condition is not None)


def _handles(
    name: str, operand: OperandTensors, layout: tuple[str, str] | None, names: dict[str, Value]
) -> Value:
    if operand is None:
        return None
    if isinstance(operand, tuple):
        return tuple(Operand(t, f"{name}[{k}]") for k, t in enumerate(operand))
    if layout is None:
        return Operand(operand, name)
    stored, canonical = parse_layout(names[layout[0]]), parse_layout(layout[1])
    shape: Shape = names[name].shape
    return Operand(operand, name, shape, lambda indices: _exprs(stored_indices(indices, stored, canonical)))


def _exprs(indices: Shape) -> tuple[Expr, ...]:
    return tuple(i if isinstance(i, Expr) else arith.const(i, INDEX) for i in indices)


def _outputs(
    signature: Signature, binding: Binding, builder: Builder, names: dict[str, Value]
) -> list[tuple[Defined, tuple[str, str] | None]]:
    """The output handles in order; variadic outputs are tuples of them under their name."""
    made: list[tuple[Defined, tuple[str, str] | None]] = []
    places = zip(binding.outputs, binding.storage or (t.shape for t in binding.outputs), strict=True)
    for output, count in zip(signature.outputs, binding.counts, strict=True):
        handles = []
        for position in range(count):
            found, shape = next(places)
            if output.layout is not None:
                shape = to_canonical(
                    shape, parse_layout(names[output.layout[0]]), parse_layout(output.layout[1])
                )
            label = output.name if output.variadic is None else f"{output.name}{position}"
            handles.append(builder.tensor(label, shape, found.dtype))
            made.append((handles[-1], output.layout))
        names[output.name] = handles[0] if output.variadic is None else tuple(handles)
    return made


def _finish(builder: Builder) -> dict[Defined, Tensor]:
    """Build every tensor, find the scans, apply the updates."""
    builder.expand()
    bases = {handle: handle.tensor() for handle in builder.defined if handle.is_defined or handle.updated}
    for handle in builder.defined:
        if handle not in bases:
            handle.tensor()  # raises: never defined
    return _resolved(bases, builder.recorder.updates(bases), builder.together)


def _resolved(
    bases: dict[Defined, Tensor], updates: Mapping[Tensor, UpdateOf], together: Sequence[tuple[Defined, ...]]
) -> dict[Defined, Tensor]:
    """The tensors with the scans among them, after their updates."""
    stand_ins = {h.recursive: t for h, t in bases.items() if h.recursive is not None}
    groups = [[bases[handle] for handle in group if handle in bases] for group in together]
    made = resolve(list(bases.values()), stand_ins, updates, groups) if stand_ins or updates else {}
    return {h: made.get(t, t) for h, t in bases.items()}


def _stored(made: Tensor, layout: tuple[str, str] | None, names: dict[str, Value]) -> Tensor:
    """The tensor in the layout that its output is stored in."""
    if layout is None or names[layout[0]] == layout[1]:
        return made
    stored, canonical = parse_layout(names[layout[0]]), parse_layout(layout[1])
    extents = {axis.name: extent for axis, extent in zip(canonical.axes, made.shape, strict=True)}
    axes = []
    for axis in stored.axes:
        factor = stored.factor(axis.name)
        extent = axis.factor or (extents[axis.name] if factor == 1 else extents[axis.name] // factor)
        axes.append(
            IterVar(Var(INDEX, axis.name.lower() + (str(axis.factor) if axis.factor else "")), extent)
        )
    indices = _exprs(canonical_indices([axis.var for axis in axes], stored, canonical))
    if isinstance(made.op, Compute):
        values = {old.var: index for old, index in zip(made.op.axes, indices, strict=True)}
        body = _in_blocks(arith.substitute(made.op.body, values), axes)
    else:
        body = Read(made.dtype, made, indices)
    return Tensor(made.name, tuple(a.extent for a in axes), made.dtype, Compute(tuple(axes), body))


def _in_blocks(body: Expr, axes: Sequence[IterVar]) -> Expr:
    """The body with the blocks and the places in them that its axes are: `(c * 32 + c32) // 32` is `c`."""
    known = arith.Analyzer()
    for axis in axes:
        known.bind(axis.var, 0, axis.extent)

    def simpler(node: Expr) -> Expr | None:
        is_place = isinstance(node, Binary) and node.op in ("floordiv", "floormod") and node.dtype is INDEX
        return known.simplify(node) if is_place else None

    return arith.rewrite(body, simpler)
