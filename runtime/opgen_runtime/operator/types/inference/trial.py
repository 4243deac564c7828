"""One trial: the unknown operands with given ranks, their extents as symbols, bound like a call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from ....base.arith import dim, eq
from ....base.arith.expr import AnyDim, Dim, Expr, Shape, Var
from ....base.errors import LanguageError, OpgenError, ShapeError, UndecidedError, without_frames
from ....base.lru_cache import LRUCache
from ....base.vocabulary import DType
from ..binding.frame import Frame
from ..binding.outputs import OutputPlan
from ..binding.plan import Plan, run_steps
from ..binding.result import Binding
from ..binding.steps import allowed_dtypes
from ..layout import parse_layout
from ..relation import TypeReporter
from ..rules import Input, Output
from ..shapes import shape_text
from ..signature import Signature
from ..type import IncompleteType, TensorType, Type
from .equations import Extents, NoSolutionError, as_expr

# What a declared expression raises on a symbol where only a number will do: no proof that no number does.
_NEEDS_A_NUMBER = (TypeError, ValueError, AttributeError, OverflowError, LanguageError)


class RefusedError(Exception):
    """No operands of these ranks can be those of the call.

    `at_result`: all but the result would fit.  `by`: the steps or outputs that refuse whatever else is known of the
    extents; None where it is not known which.
    """

    def __init__(self, error: OpgenError, at_result: bool, by: tuple[object, ...] | None = None) -> None:
        super().__init__(str(error))
        self.error, self.at_result, self.by = error, at_result, by

    def alone(self) -> RefusedError:
        """Without the frames that it came through, which hold whoever keeps it."""
        without_frames(self.error)
        return without_frames(self)


_MAX_CACHED: Final = 1024
_first_bindings: Final[LRUCache[tuple[Frame, Binding | None] | RefusedError]] = LRUCache(_MAX_CACHED)


@cache
def _symbol(operand: str, axis: int) -> Var:
    """The extent of an operand's axis in all trials, whose symbols are their own: none is in what they find."""
    return dim(f"{operand}.shape[{axis}]")


@dataclass(frozen=True)
class Known:
    """What is known of a tensor's type: its shape, its dtype, both or neither."""

    shape: Shape | None = None
    dtype: DType | None = None

    @staticmethod
    def of(type_: Type, reporter: TypeReporter) -> Known:
        if isinstance(type_, TensorType):
            return Known(type_.shape, type_.dtype)
        return Known(*reporter.known(type_))


@dataclass
class Unknown:
    """A tensor that is sought: an operand's, or one `element` of a variadic operand."""

    position: int
    element: int | None
    declared: Input
    target: IncompleteType
    known: Known
    dtype: DType | None
    trial_dtype: DType = field(init=False)

    def choose_dtype(self, signature: Signature, variables: dict[str, DType], likely: DType | None) -> None:
        """The dtype that it is tried with: its own where that is known, else one that is allowed."""
        if self.dtype is not None:
            self.trial_dtype = self.dtype
            return
        spec = self.declared.dtype
        variable = spec if isinstance(spec, str) and spec in signature.dtypes else None
        allowed = allowed_dtypes(spec if variable is None else signature.dtypes[variable])
        usual = (d for d in (likely, DType("float32")) if d is not None and d in allowed)
        self.trial_dtype = next(usual, allowed[0])
        if variable is not None:
            self.trial_dtype = variables.setdefault(variable, self.trial_dtype)

    def layout_rank(self, attrs: Any) -> int:
        """The rank of a tensor that an attr gives the layout of."""
        assert self.declared.layout is not None
        attr, canonical = self.declared.layout
        return parse_layout(attrs.as_dict()[attr] or canonical).ndim

    def shape(self, rank: int, attrs: Any) -> list[Dim]:
        """Its shape as stored: extents that are known, and symbols."""
        if self.known.shape is not None:
            return list(self.known.shape)
        where = self.declared.name if self.element is None else f"{self.declared.name}[{self.element}]"
        shape: list[Dim] = [_symbol(where, axis) for axis in range(rank)]
        if self.declared.layout is not None:
            attr, canonical = self.declared.layout
            for axis, part in enumerate(parse_layout(attrs.as_dict()[attr] or canonical).axes):
                if part.factor:
                    shape[axis] = part.factor
        return shape

    def filled(self, groups: Sequence[Any], found: TensorType) -> tuple[Any, ...]:
        """The operands of a call with this tensor's type in its place."""
        group: Any = found
        if self.element is not None:
            before = groups[self.position]
            group = (*before[: self.element], found, *before[self.element + 1 :])
        return (*groups[: self.position], group, *groups[self.position + 1 :])


class Trial:
    """A call whose unknown operands have these ranks."""

    def __init__(
        self,
        signature: Signature,
        groups: Sequence[Any],
        attrs: Any,
        results: Sequence[tuple[Output, Known]],
        reporter: TypeReporter,
        plan: Plan,
        unknown: Sequence[Unknown],
        ranks: Sequence[int],
    ) -> None:
        self.signature, self.groups, self.attrs, self.plan = signature, groups, attrs, plan
        self.results, self.reporter, self.unknown = results, reporter, unknown
        self.shapes = [one.shape(rank, attrs) for one, rank in zip(unknown, ranks, strict=True)]
        symbols = [
            d
            for one, shape in zip(unknown, self.shapes, strict=True)
            for d in shape
            if one.known.shape is None
        ]
        self.extents = Extents([d for d in symbols if isinstance(d, Var)])

    def run(self, results: Iterable[tuple[OutputPlan, Shape, Shape]] = ()) -> list[tuple[Dim, ...] | None]:
        """The shapes that are determined; None for the others. Raises RefusedError.

        `results`: what is known of results beforehand: whose, as it follows from the symbols, as it is.
        """
        self._start(results)
        progress = True
        while progress:
            progress = self._solve(self._bind(self.extents))
        self._take_unknown_extents()
        found = []
        for one, shape in zip(self.unknown, self.shapes, strict=True):
            known = all(self.extents.is_known(d) and not self._ambiguous(d) for d in shape) or one.known.shape
            found.append(tuple(self.extents.value(d) for d in shape) if known else None)
        return found

    def _start(self, results: Iterable[tuple[OutputPlan, Shape, Shape]]) -> None:
        """Solve for what the results say: with numbers a call is bound sooner than with symbols."""
        used: list[object] = []
        # Extents of a lone unknown tensor that stand in a result as they are: there is no other that gave way to them.
        self.plain: set[Dim] = set()
        for output, made, known in results:
            used.append(output)
            if len(self.unknown) == 1:
                self.plain.update([d for d in made if isinstance(d, Var)])
            try:
                for d, found in zip(made, known, strict=True):
                    self.extents.equate(d, found)
            except NoSolutionError as error:
                text = f"result {output.output.name!r} cannot be {shape_text(known)}{error}"
                raise RefusedError(ShapeError(text), True, tuple(used)) from None
        self.started, self.by = len(self.extents.found), tuple(used)

    def _blamed(self, *parts: object) -> tuple[object, ...] | None:
        """What an error of these parts is due to, in the first round of a trial."""
        return (*parts, *self.by) if len(self.extents.found) == self.started else None

    def _bind(self, extents: Extents) -> tuple[Frame, Binding | None]:
        """The call bound with what is known of the extents; no binding where that needs the value of a symbol.

        Where nothing is known, of no operand, calls of the same attrs share it.
        """
        key = None if extents.found else self._key()
        if key is None:
            return self._bound(extents)
        kept = _first_bindings.get(key)
        if kept is None:
            try:
                kept = _first_bindings.put(key, self._bound(extents))
            except RefusedError as refusal:
                kept = _first_bindings.put(key, refusal.alone())
        if isinstance(kept, RefusedError):
            raise RefusedError(kept.error, kept.at_result, kept.by)
        return kept

    def _key(self) -> Hashable | None:
        """What a first binding depends on; None where it depends on operands that are known."""
        for group in self.groups:
            for t in group if isinstance(group, tuple) else (group,):
                if t is not None and not isinstance(t, IncompleteType):
                    return None
        if any([one.known.shape is not None for one in self.unknown]):
            return None
        each = [
            (one.position, one.element, tuple(shape), one.trial_dtype)
            for one, shape in zip(self.unknown, self.shapes, strict=True)
        ]
        attrs = self.plan.read(self.attrs)
        return (self.plan, attrs, self.reporter.op_name, self.reporter.site, tuple(each))

    def frame(self) -> Frame:
        """The call, not yet bound.  Raises what a layout raises."""
        return self._frame(self.extents)

    def _frame(self, extents: Extents) -> Frame:
        groups = tuple(self.groups)
        for one, shape in zip(self.unknown, self.shapes, strict=True):
            groups = one.filled(groups, TensorType([extents.value(d) for d in shape], one.trial_dtype))
        site = "" if self.reporter.site is None else self.reporter.site
        return Frame(self.signature, self.reporter.op_name, self.attrs, groups, None, site)

    def _bound(self, extents: Extents) -> tuple[Frame, Binding | None]:
        try:
            frame = self._frame(extents)
        except OpgenError as error:
            raise RefusedError(error, at_result=False) from None
        try:
            if self.signature.relation is not None:
                run_steps(frame, self.plan.steps)
                return frame, None
            return frame, self.plan.run(frame)
        except UndecidedError:
            return frame, None
        except OpgenError as error:
            if isinstance(error.__cause__, _NEEDS_A_NUMBER) or isinstance(error, LanguageError):
                return frame, None
            raise RefusedError(
                error, False, self._blamed(*frame.refusing) if frame.refusing else None
            ) from None

    def _solve(self, bound: tuple[Frame, Binding | None]) -> bool:
        frame, binding = bound
        blamed = self._blamed()
        try:
            progress = self.extents.solve(a.condition for a in frame.undecided if a.condition is not None)
        except NoSolutionError as error:
            raise RefusedError(frame.error(ShapeError, f"there are no such operands{error}"), False) from None
        for output, made, known in self._pairs(binding):
            if len(made) != len(known):
                text = (
                    f"result {output.name!r} has {len(known)} dims, expected {len(made)}: {shape_text(made)}"
                )
                by = None if blamed is None else (self.plan.output(output), *blamed)
                raise RefusedError(frame.error(ShapeError, text), False, by)
            for axis, (d, found) in enumerate(zip(made, known, strict=True)):
                try:
                    progress |= self.extents.equate(d, found)
                except NoSolutionError as error:
                    text = f"result {output.name!r}: dim {axis} = {found} cannot be {self.extents.value(d)}{error}"
                    raise RefusedError(frame.error(ShapeError, text), at_result=True) from None
        return progress

    def _pairs(self, binding: Binding | None) -> Iterable[tuple[Output, Shape, Shape]]:
        """The known results' shapes: as computed, as known."""
        if binding is None or any(output.variadic is not None for output in self.signature.outputs):
            return ()
        made = zip(self.results, binding.outputs, strict=bool(self.results))
        return [
            (output, type_.shape, known.shape) for (output, known), type_ in made if known.shape is not None
        ]

    def _take_unknown_extents(self) -> None:
        """An extent that nothing else says but that a result's unknown one is the same."""
        if not any(isinstance(d, AnyDim) for _, known in self.results for d in known.shape or ()):
            return
        for _, made, known in self._pairs(self._bind(self.extents)[1]):
            for d, found in zip(made, known, strict=True):
                if isinstance(d, Var) and d in self.extents.unknown and isinstance(found, AnyDim):
                    self.extents.found.setdefault(d, found)

    def _ambiguous(self, extent: Dim) -> bool:
        """Whether an extent that was found could as well be 1, which gives way to others where shapes broadcast.

        Not where that asks something of the user's own dims.
        """
        if not isinstance(extent, Var) or self.extents.found.get(extent, 1) == 1 or extent in self.plain:
            return False
        other = Extents(self.extents.unknown)
        other.found = {**self.extents.found, extent: 1}
        try:
            frame, binding = self._bind(other)
            assumed = [a.condition for a in frame.undecided if a.condition is not None]
            for _, made, known in self._pairs(binding):
                if len(made) != len(known):
                    return False
                assumed += [e for d, found in zip(made, known, strict=True) for e in _equations(d, found)]
            other.solve(assumed)
            return binding is not None and not other.any_left(assumed)
        except (RefusedError, NoSolutionError):
            return False


def _equations(d: Dim, found: Dim) -> list[Expr]:
    if isinstance(d, AnyDim) or isinstance(found, AnyDim):
        return []
    if isinstance(d, int) and isinstance(found, int) and d != found:
        raise NoSolutionError
    return [eq(as_expr(d), as_expr(found))]
