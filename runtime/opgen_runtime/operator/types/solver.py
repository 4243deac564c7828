"""The type solver: union-find over types, and a work queue of relations that are not resolved yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...base.arith import eq
from ...base.arith.expr import Dim, Shape
from ...base.errors import DTypeError, OpgenError, ShapeError, TypeInferenceError
from ...base.vocabulary import DType
from .relation import Assumption, FuncType, RelationFunction, TypeRelation
from .shapes import certainly_different, dim_text, prefer, shape_text
from .type import IncompleteType, TensorType, TupleType, Type


@dataclass(eq=False, slots=True)
class _Constraint:
    """A relation in the queue. `waits`: it is listed at the unknown types that it read."""

    relation: RelationFunction
    types: tuple[Type, ...]
    num_inputs: int
    attrs: Any
    op_name: str
    site: object | None
    queued: bool = True
    resolved: bool = False


@dataclass(eq=False, slots=True)
class TypeSolver:
    """Infers types by unification and by running relations until nothing changes.

        solver = TypeSolver()
        out = solver.fresh("out")
        solver.add_relation(partial(relate, signature), (data, weight, out), 2, attrs, op_name="dense")
        solver.solve()
        solver.resolve(out)

    Symbolic dims are not solved for: two different ones that meet are assumed equal, which is recorded in
    `assumptions`; an unknown dim `?` takes the other's value.
    """

    assumptions: list[Assumption] = field(default_factory=list)
    _bound: dict[IncompleteType, Type] = field(default_factory=dict)
    _constraints: list[_Constraint] = field(default_factory=list)
    _queue: deque[_Constraint] = field(default_factory=deque)
    _waiting: dict[IncompleteType, list[_Constraint]] = field(default_factory=dict)
    _parts: dict[IncompleteType, tuple[Shape | None, DType | None]] = field(default_factory=dict)
    op_name: str = ""
    site: object | None = None

    def fresh(self, name: str = "") -> IncompleteType:
        """A new unknown type."""
        return IncompleteType(name)

    def add_relation(
        self,
        relation: RelationFunction,
        types: Sequence[Type],
        num_inputs: int,
        attrs: Any = None,
        *,
        op_name: str = "",
        site: object | None = None,
    ) -> None:
        """Queues a relation; `op_name` and `site` are for its messages."""
        constraint = _Constraint(relation, tuple(types), num_inputs, attrs, op_name, site)
        self._constraints.append(constraint)
        self._queue.append(constraint)

    def add_constraint(self, constraint: TypeRelation, attrs: Any = None, site: object | None = None) -> None:
        """Queues a constraint of an instantiated `FuncType`."""
        given = constraint.attrs if attrs is None else attrs
        self.add_relation(
            constraint.function,
            constraint.args,
            constraint.num_inputs,
            given,
            op_name=constraint.name,
            site=site,
        )

    def solve(self) -> bool:
        """Runs relations until nothing changes; True if all are resolved. Raises what the relations raise."""
        while self._queue:
            constraint = self._queue.popleft()
            constraint.queued = False
            if constraint.resolved:
                continue
            types = [self.resolve(t) for t in constraint.types]
            self.op_name, self.site = constraint.op_name, constraint.site
            # listed before it runs, so that what it assigns itself wakes it again
            for t in types:
                for unknown in _unknowns(t):
                    self._waiting.setdefault(unknown, []).append(constraint)
            constraint.resolved = constraint.relation(types, constraint.num_inputs, constraint.attrs, self)
        return all(constraint.resolved for constraint in self._constraints)

    def unresolved(self) -> list[str]:
        """What is still open, as text: one line a relation."""
        return [
            f"{c.op_name}({', '.join(self._text(t) for t in c.types)})" + (f" at {c.site}" if c.site else "")
            for c in self._constraints
            if not c.resolved
        ]

    def _text(self, t: Type) -> str:
        shape, dtype = self.known(t)
        part = (
            f" of shape {shape_text(shape)}"
            if shape is not None
            else f" of dtype {dtype}"
            if dtype is not None
            else ""
        )
        return f"{self.resolve(t)!r}{part}"

    # the reporter

    def assign(self, target: Type, value: Type) -> None:
        """Makes two types one. Raises TypeInferenceError where they cannot be, naming the op and its place."""
        self.unify(target, value)

    def assume(self, assumption: Assumption) -> None:
        self.assumptions.append(assumption)

    def known(self, target: Type) -> tuple[Shape | None, DType | None]:
        """The shape and the dtype of an unknown tensor, as far as `narrow` has told them."""
        found = self.find(target)
        return self._parts.get(found, (None, None)) if isinstance(found, IncompleteType) else (None, None)

    def narrow(self, target: Type, shape: Shape | None, dtype: DType | None) -> None:
        """Tells a part of an unknown tensor type; what is told first stays, and later relations are checked with it."""
        unknown = self.find(target)
        if not isinstance(unknown, IncompleteType):
            return  # what told more has been checked by the relation that tells less
        before = self.known(unknown)
        known_shape = before[0] if shape is None else shape
        known_dtype = before[1] if dtype is None else dtype
        if known_shape is not None and known_dtype is not None:
            self._bind(unknown, TensorType(known_shape, known_dtype))
        elif (known_shape is None, known_dtype is None) != (before[0] is None, before[1] is None):
            self._parts[unknown] = known_shape, known_dtype
            self._wake(self._waiting.get(unknown, ()))

    # union-find

    def find(self, t: Type) -> Type:
        """The representative: what an unknown type is bound to, else the type itself."""
        root = t
        while isinstance(root, IncompleteType) and root in self._bound:
            root = self._bound[root]
        while isinstance(t, IncompleteType) and t is not root:  # path compression
            following = self._bound[t]
            self._bound[t] = root
            t = following
        return root

    def resolve(self, t: Type) -> Type:
        """The type with every unknown part that has been found filled in."""
        t = self.find(t)
        if isinstance(t, TupleType):
            return TupleType(tuple(self.resolve(f) for f in t.fields))
        if isinstance(t, FuncType):
            return FuncType(
                tuple(self.resolve(p) for p in t.params), self.resolve(t.ret), t.type_params, t.constraints
            )
        return t

    def unify(self, a: Type, b: Type) -> Type:
        """Makes two types one and returns it. Raises TypeInferenceError, ShapeError or DTypeError."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return a
        if isinstance(a, IncompleteType):
            return self._bind(a, b)
        if isinstance(b, IncompleteType):
            return self._bind(b, a)
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            return self._unify_tensors(a, b)
        if isinstance(a, TupleType) and isinstance(b, TupleType):
            if len(a.fields) != len(b.fields):
                raise self._error(TypeInferenceError, a, b, f"{len(a.fields)} fields against {len(b.fields)}")
            return TupleType(tuple(self.unify(x, y) for x, y in zip(a.fields, b.fields, strict=True)))
        if isinstance(a, FuncType) and isinstance(b, FuncType):
            return self._unify_functions(a, b)
        if a != b:
            raise self._error(TypeInferenceError, a, b, "they are of different kinds")
        return a

    def _bind(self, unknown: IncompleteType, value: Type) -> Type:
        if any(part is unknown for part in _unknowns(self.resolve(value))):
            if value is unknown:
                return unknown
            raise self._error(
                TypeInferenceError, unknown, self.resolve(value), "the type would contain itself"
            )
        self._bound[unknown] = value
        waiting = self._waiting.pop(unknown, [])
        if isinstance(value, IncompleteType):
            self._waiting.setdefault(value, []).extend(waiting)
            part = self._parts.get(unknown)
            if part is not None:
                self.narrow(value, *part)
        self._wake(waiting)
        return value

    def _wake(self, waiting: Sequence[_Constraint]) -> None:
        for constraint in waiting:
            if not constraint.queued and not constraint.resolved:
                constraint.queued = True
                self._queue.append(constraint)

    def _unify_tensors(self, a: TensorType, b: TensorType) -> TensorType:
        if a.dtype is not b.dtype:
            raise self._error(DTypeError, a, b, f"dtype {a.dtype} against {b.dtype}")
        if len(a.shape) != len(b.shape):
            raise self._error(ShapeError, a, b, f"{len(a.shape)} dims against {len(b.shape)}")
        if a == b:
            return a
        different = [
            f"dim {k}: {dim_text(x)} against {dim_text(y)}"
            for k, (x, y) in enumerate(zip(a.shape, b.shape, strict=True))
            if certainly_different(x, y)
        ]
        if different:
            raise self._error(ShapeError, a, b, "; ".join(different))
        return TensorType([self._unify_dims(x, y) for x, y in zip(a.shape, b.shape, strict=True)], a.dtype)

    def _unify_dims(self, x: Dim, y: Dim) -> Dim:
        if isinstance(x, int) and isinstance(y, int):
            return x
        chosen = prefer(x, y)
        if x is not y and "?" not in (dim_text(x), dim_text(y)):
            self.assumptions.append(Assumption(f"{self.op_name}: {dim_text(x)} == {dim_text(y)}", eq(x, y)))
        return chosen

    def _unify_functions(self, a: FuncType, b: FuncType) -> FuncType:
        if len(a.params) != len(b.params) or len(a.type_params) != len(b.type_params):
            raise self._error(TypeInferenceError, a, b, "different numbers of parameters")
        if b.type_params:
            b = b.instantiate(a.type_params)
        params = tuple(self.unify(x, y) for x, y in zip(a.params, b.params, strict=True))
        return FuncType(params, self.unify(a.ret, b.ret), a.type_params, a.constraints)

    def _error(self, kind: type[OpgenError], a: Type, b: Type, why: str) -> OpgenError:
        prefix = f"{self.op_name}: " if self.op_name else ""
        place = f"\n  at {self.site}" if self.site is not None else ""
        return kind(f"{prefix}cannot unify {a} with {b}: {why}{place}")


def _unknowns(t: Type) -> list[IncompleteType]:
    if isinstance(t, IncompleteType):
        return [t]
    if isinstance(t, TupleType):
        return [unknown for f in t.fields for unknown in _unknowns(f)]
    if isinstance(t, FuncType):
        return [unknown for part in (*t.params, t.ret) for unknown in _unknowns(part)]
    return []
