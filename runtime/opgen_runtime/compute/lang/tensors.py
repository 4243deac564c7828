"""Tensors as a compute function sees them: inputs that are read, outputs and intermediates that are
defined."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ...base import arith
from ...base.arith.expr import Dim, Expr, Shape, Var
from ...base.errors import DTypeError, LanguageError
from ...base.vocabulary import FLOAT64, INDEX, INT64, DType, dataclass
from ..te.tensor import Compute, IterVar, Placeholder, Read, Tensor, tensors_read
from .conditions import join
from .facts import Recurrence, recurrence_of
from .failures import Failures, Poisoned
from .scope import Scope, bound, current, entered
from .weak import Value, Weak, as_expr, as_index, describe, kind_of, settle


class _Marker:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


FREE: Final = _Marker("FREE")  # in `at`: a fresh index
REST: Final = _Marker("REST")  # in `at`: the fresh indices that a starred name takes

Position = Value  # a static int, an Expr of dims, FREE or REST


def checked_indices(name: str, shape: Shape, key: Value) -> tuple[Expr, ...]:
    """The indices of an access, rank checked and proved in bounds.

    Raises LanguageError (code "rank") or AccessError.
    """
    entries = key if isinstance(key, tuple) else (key,)
    if len(entries) != len(shape):
        raise LanguageError(f"{name} has {len(shape)} dims, but is read with {len(entries)} indices", "rank")
    scope = current()
    indices: list[Expr] = []
    extents = scope.extents
    for position, (entry, extent) in enumerate(zip(entries, shape, strict=True)):
        if type(entry) is Var and entry.dtype is INDEX:  # as `prove_access` comes out for most
            own = extents.get(entry)
            if own is not None and (
                own is extent or (type(own) is int and type(extent) is int and own <= extent)
            ):
                indices.append(entry)
                continue
        index = as_index(entry, f"index {position} of {name}")
        scope.prove_access(name, position, index, extent)
        indices.append(index)
    return tuple(indices)


class Operand:
    """An input.  `shape` is canonical; `storage` maps canonical indices to those of the stored tensor."""

    __slots__ = ("dtype", "name", "shape", "storage", "tensor")

    def __init__(
        self,
        tensor: Tensor,
        name: str,
        shape: Shape | None = None,
        storage: Callable[[tuple[Expr, ...]], tuple[Expr, ...]] | None = None,
    ) -> None:
        self.tensor = tensor
        self.name = name
        self.shape = tensor.shape if shape is None else shape
        self.dtype = tensor.dtype
        self.storage = storage

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, key: Value) -> Expr:
        indices = checked_indices(self.name, self.shape, key)
        return Read(self.dtype, self.tensor, indices if self.storage is None else self.storage(indices))


@dataclass(frozen=True, slots=True)
class Definition:
    """One `name[...] = e`: the lambda of the fresh indices, and the positions that are fixed."""

    body: Callable[..., Value]
    at: tuple[Position, ...] | None


Record = Callable[["Defined", Value, str, Value], None]  # takes an update: target, key, operation, value


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the tensors of one compute function share."""

    template: Scope  # what holds at every definition
    record: Record
    defined: list[Defined]  # all of them; grows while they are built
    built: list[Defined]  # in the order in which they were finished
    failures: Failures | None = None  # collects what fails; None: raise


class CyclicDtype(Exception):
    """Internal: the dtype of a tensor is asked for while its definition is being built."""

    def __init__(self, handle: Defined) -> None:
        super().__init__(handle.name)
        self.handle = handle


class Defined:
    """An output or an intermediate.  Its tensor is built when it is first read, or at the end."""

    def __init__(self, name: str, shape: Shape, dtype: DType | None, around: Surroundings) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.declared = dtype is not None
        self.definitions: list[Definition] = []
        self.updated = False
        self.put_dtype: DType | None = None  # of what updates store; a tensor of literals takes it
        self._literals = ""  # the kind of a tensor that only literals are stored in, and no update
        self._as: dict[DType, Defined] = {}  # such a tensor in the dtypes of those that read it
        self.relied_on = False  # what its definitions say was used in a proof: no update may change it
        self.recursive: Tensor | None = None  # stands for the tensor inside its own definition
        self._around = around
        self._tensor: Tensor | None = None
        self._active = False
        self._probing = False
        self.poisoned = False  # it failed, and that has been noted

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_defined(self) -> bool:
        """Whether anything says what its elements are."""
        return bool(self.definitions)

    def define(self, body: Callable[..., Value], at: tuple[Position, ...] | None = None) -> None:
        """`name[fresh indices] = body`; `at` gives the fixed positions among FREE and REST."""
        self.definitions.append(Definition(body, at))

    def put(self, key: Value, op: str, value: Value) -> None:
        """`name[key] op value` inside a loop of an update; op is one of `updates.PUT_OPERATIONS`."""
        self._around.record(self, key, op, value)

    def __getitem__(self, key: Value) -> Value:
        rows = current().rows
        if rows is not None and self in rows:
            return rows[self][key]
        indices = checked_indices(self.name, self.shape, key)
        if self._probing:
            return Weak("unknown", lambda dtype: arith.literal(False if dtype.is_bool else 0, dtype))
        if not self._active:
            tensor = self.tensor()
            if not self._literals:
                return Read(tensor.dtype, tensor, indices)
            self.relied_on = True
            return Weak(self._literals, partial(self._read_as, indices))
        if self.dtype is None:
            raise CyclicDtype(self)
        if self.recursive is None:
            self.recursive = Tensor(self.name, self.shape, self.dtype, Placeholder())
        return Read(self.dtype, self.recursive, indices)

    def _read_as(self, indices: tuple[Expr, ...], dtype: DType) -> Expr:
        """An element of a tensor of literals, in the dtype of what it meets."""
        stored = _stored(dtype)
        handle = self if stored == self.dtype else self._as.get(stored)
        if handle is None:
            handle = self._as[stored] = Defined(self.name, self.shape, stored, self._around)
            handle.definitions = self.definitions
            self._around.defined.append(handle)
        read = Read(stored, handle.tensor(), indices)
        return read if dtype == stored else arith.cast(read, dtype)

    def inferred_dtype(self) -> DType:
        """The dtype of the elements, for which the tensor is built.  Raises LanguageError in the midst of that."""
        if self._active:
            raise LanguageError(f"{self.name} is made of what an op gives for {self.name} itself", "cyclic")
        return self.tensor().dtype

    def tensor(self) -> Tensor:
        """The tensor before its updates, built at the first call.  Raises Poisoned where failures are collected."""
        failures = self._around.failures
        if failures is None:
            return self._made()
        if not self.poisoned:
            line = self.definitions[0].body.__code__.co_firstlineno if self.definitions else 0
            _, made = failures.attempt(self._made, self.name, line)
            self.poisoned = not made
        if self.poisoned:
            raise Poisoned(self.name)
        return self._made()

    def _made(self) -> Tensor:
        if self._tensor is None:
            self._active = True
            try:
                self._tensor = self._build()
            except CyclicDtype as cycle:
                if cycle.handle is not self:
                    raise
                self.dtype = self._probe()
                self._tensor = self._build()
            finally:
                self._active = False
            self._around.built.append(self)
        return self._tensor

    def is_read_by(self, expr: Expr) -> bool:
        """Whether an expression reads the tensor, as it is before its updates."""
        return self._tensor is not None and self._tensor in tensors_read(expr)

    def holds(self, tensor: Tensor) -> bool:
        """Whether `tensor` is this one, complete and before its updates."""
        return self._tensor is tensor and not self._active

    def recurrence(self, tensor: Tensor) -> Recurrence | None:
        """The recurrence that defines `tensor`, if that is this tensor and it is one."""
        if self.recursive is None or not isinstance(tensor.op, Compute):
            return None
        return recurrence_of(tensor.op.axes, tensor.op.body, self.recursive)

    def _probe(self) -> DType:
        """The dtype that the acyclic parts of the definition give.

        What is built on the way has seen a stand-in without a dtype, and is forgotten.
        """
        before = len(self._around.built)
        self._probing = True
        try:
            value = self._value(self._axes(), dead=True)
        finally:
            self._probing = False
        for handle in self._around.built[before:]:
            handle._forget()
        del self._around.built[before:]
        if isinstance(value, Weak) and value.kind == "unknown":
            return INT64
        return _stored(settle(value).dtype)

    def _forget(self) -> None:
        """Take back what was built, with what stood for it in other dtypes."""
        for copy in self._as.values():
            self._around.defined.remove(copy)
        self._tensor, self._literals, self._as = None, "", {}
        self.dtype = self.dtype if self.declared else None

    def _build(self) -> Tensor:
        axes = self._axes()
        value = self._value(axes)
        if self.poisoned:
            raise Poisoned(self.name)
        if self.dtype is not None:
            body = self._matched(value, self.dtype)
        else:
            if not isinstance(value, Expr) and not self.updated:
                self._literals = kind_of(value)
            own = FLOAT64 if self._literals == "float" else None
            body = settle(value, self.put_dtype if self.updated else own)
            body = arith.cast(body, INT64) if body.dtype == INDEX else body
            self.dtype = body.dtype
        return Tensor(self.name, self.shape, self.dtype, Compute(axes, body))

    def _matched(self, value: Value, dtype: DType) -> Expr:
        """The body as the declared dtype; indices may be stored to any signed int, elements of tensors may not."""
        body = as_expr(value, dtype)
        if body.dtype == dtype:
            return body
        if body.dtype == INDEX and dtype.kind == "i":
            return arith.cast(body, dtype)
        raise DTypeError(
            f"{self.name} is {'declared' if self.declared else 'of dtype'} {dtype}, but this expression gives "
            f"{body.dtype}; use cast(..., {dtype})"
        )

    def _axes(self) -> tuple[IterVar, ...]:
        """One axis a dim, named as in the first definition where that names it."""
        names = [f"i{position}" for position in range(self.ndim)]
        if self.definitions and self.definitions[0].at is None:
            code = self.definitions[0].body.__code__
            alone, after = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
            free = self.ndim - after
            if code.co_flags & 0x04 and free >= 0:
                spread = [f"{code.co_varnames[after]}{position}" for position in range(free)]
                names = [*code.co_varnames[:alone], *spread, *code.co_varnames[alone:after]]
            elif free == 0:
                names = list(code.co_varnames[:alone])
        return tuple(IterVar(Var(INDEX, n), extent) for n, extent in zip(names, self.shape, strict=True))

    def _value(self, axes: tuple[IterVar, ...], dead: bool = False) -> Value:
        if not self.definitions:
            raise LanguageError(f"{self.name} is never defined", "undefined")
        scope = self._around.template.apart(int(dead), elements=True)
        with entered(scope), bound(axes):
            return self._first_that_covers(axes, self.definitions)

    def _first_that_covers(self, axes: tuple[IterVar, ...], definitions: list[Definition]) -> Value:
        """The select over the definitions, each taking what earlier ones left."""
        if not definitions:
            raise LanguageError(
                f"some positions of {self.name} are not covered by any definition", "uncovered"
            )
        definition, rest = definitions[0], definitions[1:]
        scope = current()
        value_of, fixed = self._bound(axes, definition)
        guards: list[Expr] = []
        for axis, position in fixed:
            covers = _covers(position, axis.extent)
            if covers is False:
                return self._first_that_covers(axes, rest)
            if covers is None:
                guards.append(arith.eq(axis.var, position))
        if not guards:
            return self._attempted(value_of)
        condition = guards[0]
        for guard in guards[1:]:
            condition = arith.logical_and(condition, guard)
        scope.guards.append(condition)
        value = self._attempted(value_of)
        scope.guards.pop()
        if self._is_covered(condition):
            return value
        left = [arith.logical_not(condition), *_beside(fixed)]
        scope.guards.extend(left)
        others = self._first_that_covers(axes, rest)
        del scope.guards[len(scope.guards) - len(left) :]
        return join(condition, value, others)

    def _attempted(self, value_of: Callable[[], Value]) -> Value:
        """The value of one definition; where failures are collected, one that fails does not hide the next."""
        failures = self._around.failures
        if failures is None:
            return value_of()
        value, made = failures.attempt(value_of, self.name)
        self.poisoned |= not made
        return value

    def _is_covered(self, condition: Expr) -> bool:
        with current().analysis() as analyzer:
            return analyzer.prove(condition)

    def _bound(
        self, axes: tuple[IterVar, ...], definition: Definition
    ) -> tuple[Callable[[], Value], list[tuple[IterVar, Value]]]:
        """The definition's lambda with its indices, and the (axis, position) pairs that are fixed."""
        at = definition.at if definition.at is not None else _positions(definition.body, self.ndim)
        free = self.ndim - sum(p is not REST for p in at)
        if free < 0 or (free > 0 and REST not in at):
            raise LanguageError(
                f"{self.name} has {self.ndim} dims, but is defined with {len(at)} indices", "rank"
            )
        arguments: list[Value] = []
        fixed: list[tuple[IterVar, Value]] = []
        position = 0
        for entry in at:
            if entry is REST:
                arguments.extend(axes[k].var for k in range(position, position + free))
                position += free
                continue
            if entry is FREE:
                arguments.append(axes[position].var)
            else:
                fixed.append((axes[position], entry))
            position += 1
        return applied(definition.body, arguments), fixed


def _positions(body: Callable[..., Value], ndim: int) -> tuple[Position, ...]:
    """The positions of a definition whose indices are all fresh, from its lambda's parameters."""
    code = body.__code__
    count = code.co_argcount
    keyword_only = code.co_kwonlyargcount
    if code.co_flags & 0x04:
        return (*(FREE,) * count, REST, *(FREE,) * keyword_only)
    return (FREE,) * count


def applied(body: Callable[..., Value], arguments: list[Value]) -> Callable[[], Value]:
    """Lambdas take a starred name last: indices after it (`a, *i, b`) arrive as keyword-only parameters."""
    code = body.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    split = len(arguments) - len(names)
    return partial(body, *arguments[:split], **dict(zip(names, arguments[split:], strict=True)))


def _covers(position: Value, extent: Dim) -> bool | None:
    """True: the position is the whole dim; False: it is outside; None: it is one of several."""
    if not isinstance(position, (int, Expr)) or isinstance(position, bool):
        raise LanguageError(f"a fixed index must be a static int, found {describe(position)}", "stage")
    if isinstance(position, int) and isinstance(extent, int):
        if not 0 <= position < extent:
            return False
        return True if extent == 1 else None
    return None


def _beside(fixed: list[tuple[IterVar, Value]]) -> list[Expr]:
    """Facts that follow where the one fixed position (the first or the last) is left out."""
    if len(fixed) != 1:
        return []
    axis, position = fixed[0]
    if position == 0 and isinstance(position, int):
        return [arith.ge(axis.var, 1)]
    if isinstance(position, int) and isinstance(axis.extent, int) and position == axis.extent - 1:
        return [arith.lt(axis.var, position)]
    return []


def _stored(dtype: DType) -> DType:
    return INT64 if dtype == INDEX else dtype
