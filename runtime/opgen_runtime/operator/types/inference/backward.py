"""Unknown operands, from the other operands, the attrs and the result, by binding the call forwards.

An operand that is not known is tried with each rank that it may have, its extents being symbols.  Binding such a
call refuses the ranks that cannot be, and records what it assumes of the symbols: `channels == O`, `C == I * groups`,
however the declaration writes it.  With the extents of the result these are equations; what they determine of an
operand, whatever the rank, holds of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final

from ....base.arith.expr import Shape
from ....base.errors import DTypeError
from ....base.lru_cache import LRUCache
from ....base.vocabulary import DType
from ..binding.plan import Plan
from ..binding.steps import allowed_dtypes
from ..relation import TypeReporter
from ..rules import Input, Output
from ..signature import Signature
from ..type import IncompleteType, TensorType, TupleType, Type
from .rank_pruning import RankPruning, reading_of
from .trial import Known, RefusedError, Trial, Unknown

_MAX_AXES: Final = 8  # that an operand of any rank is tried with
_MAX_TRIALS: Final = 1000  # of the ranks of several operands

Shapes = Sequence[tuple[Any, ...] | None]
"""Of each unknown tensor, or None where it does not follow."""

# What was found out.  A relation that could say a dtype alone is run again with it, and would try all that it tried.
_answers: Final[LRUCache[Shapes]] = LRUCache(1024)


def infer_backwards(
    signature: Signature,
    groups: Sequence[Any],
    attrs: Any,
    result: Type,
    reporter: TypeReporter,
    plan: Plan,
) -> tuple[Any, ...]:
    """The operands, with those that could be inferred filled in and assigned; what is known in part is reported.

    Raises like `Signature.bind`, where no operands could be those of the call.
    """
    results = _results(signature, result, reporter)
    unknown = _unknown_tensors(signature, groups, results, reporter)
    if unknown is None:
        return tuple(groups)
    trials = _Trials(signature, groups, attrs, results, reporter, plan, unknown)
    for one, shape in zip(unknown, trials.answer(), strict=True):
        if shape is not None and one.dtype is not None:
            groups = one.filled(groups, TensorType(shape, one.dtype))
            reporter.assign(one.target, TensorType(shape, one.dtype))
        elif shape is not None or one.dtype is not None:
            reporter.narrow(one.target, shape, one.dtype)
    return tuple(groups)


@dataclass
class _Trials:
    """The ranks of the unknown operands, tried one after the other."""

    signature: Signature
    groups: Sequence[Any]
    attrs: Any
    results: Sequence[tuple[Output, Known]]
    reporter: TypeReporter
    plan: Plan
    unknown: Sequence[Unknown]

    def answer(self) -> Shapes:
        """What `run` gives, found once for calls that differ in nothing that trials see."""
        key = self._key()
        return _answers.get(key) or _answers.put(key, self.run())

    def _key(self) -> Hashable:
        """All that the trials see of a call: by whom and where it is made stands in their errors alone."""
        return (
            self.plan,
            self.plan.read(self.attrs),
            tuple(map(_seen, self.groups)),
            tuple([known.shape for _, known in self.results]),
            tuple([(self._told(one), one.dtype is None, one.trial_dtype) for one in self.unknown]),
        )

    def _told(self, one: Unknown) -> Shape | None:
        """What a trial knows of a shape beforehand: of a scalar's, which a pattern may demand, all there is."""
        return () if tuple(self._choices(one)) == (0,) else one.known.shape

    def run(self) -> Shapes:
        """The shape of each unknown tensor, or None: what all trials that are not refused agree on."""
        agreed, _ = self._agreed(self._pruning())
        if agreed is None:  # every trial has its say in why
            agreed, refused = self._agreed(None)
        if agreed is None:
            is_guess = any([one.dtype is None for one in self.unknown])
            if not (is_guess and any([isinstance(each.error, DTypeError) for each in refused])):
                _raise_the_telling(refused)
            return [None] * len(self.unknown)
        return agreed

    def _agreed(
        self, pruning: RankPruning | None
    ) -> tuple[list[tuple[Any, ...] | None] | None, list[RefusedError]]:
        """What all trials agree on, None where all are refused; and the refusals of those that were made.

        After the first that is not refused come those whose ranks are most unlike its own: where nothing follows, they
        show it soonest.
        """
        agreed: list[tuple[Any, ...] | None] | None = None
        refused: list[RefusedError] = []
        untried = self._ranks(pruning)
        while (ranks := next(untried, None)) is not None:
            if pruning is not None and pruning.refuses(ranks):
                continue
            try:
                shapes = self._trial(ranks).run(() if pruning is None else pruning.results(ranks))
            except RefusedError as error:
                refused.append(error.alone())
                if pruning is not None and error.by is not None:
                    pruning.learn(ranks, error.by)
                continue
            if agreed is None:
                untried = iter(sorted(untried, key=partial(_alike, ranks, shapes)))
            agreed = shapes if agreed is None else _common(agreed, shapes)
            if not any(shape is not None for shape in agreed):
                break
        return agreed, refused

    def _pruning(self) -> RankPruning:
        """What can be said of ranks before they are tried."""
        results = [
            (self.plan.output(output), known.shape)
            for output, known in self.results
            if known.shape is not None and output.layout is None and output.variadic is None
        ]
        return RankPruning(
            reading_of(self.signature, self.plan),
            [one.declared.name for one in self.unknown],
            [] if self.signature.dynamic else results,
            lambda ranks: self._trial(ranks).frame(),
            self._alike(),
        )

    def _alike(self) -> Hashable | None:
        """Equal for calls whose ranks say the same of the shapes of results; None where a known operand has its say."""
        if self._any_operand_known() or any([one.known.shape is not None for one in self.unknown]):
            return None
        unknown = tuple([(one.position, one.element, one.trial_dtype) for one in self.unknown])
        return self.plan, self.plan.read(self.attrs), unknown

    def _trial(self, ranks: Sequence[int]) -> Trial:
        return Trial(
            self.signature,
            self.groups,
            self.attrs,
            self.results,
            self.reporter,
            self.plan,
            self.unknown,
            ranks,
        )

    def _ranks(self, pruning: RankPruning | None) -> Iterator[tuple[int, ...]]:
        choices = [self._choices(one) for one in self.unknown]
        if prod(map(len, choices)) > _MAX_TRIALS:
            return iter(())
        return product(*(choices if pruning is None else pruning.possible(choices)))

    def _choices(self, one: Unknown) -> Sequence[int]:
        """The ranks of the stored shape."""
        declared = one.declared
        if one.known.shape is not None:
            return (len(one.known.shape),)
        if declared.layout is not None:
            return (one.layout_rank(self.attrs),)
        pattern = self.plan.patterns.get(declared.name)
        if pattern is not None and not pattern.many and not pattern.lone_equation:
            return (pattern.fixed,)
        least = 0 if pattern is None or pattern.lone_equation else pattern.fixed
        return range(least, _MAX_AXES + 1) if self._anything_known() else ()

    def _anything_known(self) -> bool:
        """Whether there is something that could refuse a rank."""
        return any(known.shape is not None for _, known in self.results) or self._any_operand_known()

    def _any_operand_known(self) -> bool:
        tensors = (t for g in self.groups for t in (g if isinstance(g, tuple) else (g,)))
        return any(type(t) is TensorType for t in tensors)


def _seen(group: Any) -> Hashable:
    """An operand as trials see it: a dim that is no int equals itself alone; of an unknown type, that it is one."""
    if isinstance(group, tuple):
        return tuple(map(_seen, group))
    return (group.shape, group.dtype) if type(group) is TensorType else group is None


def _alike(ranks: Sequence[int], shapes: Shapes, others: Sequence[int]) -> int:
    """How many of the operands whose shapes were found have the same rank among `others`."""
    return sum([a == b for a, b, shape in zip(ranks, others, shapes, strict=True) if shape is not None])


def _common(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [
        x if x is not None and y is not None and TensorType(x) == TensorType(y) else None
        for x, y in zip(a, b, strict=True)
    ]


def _raise_the_telling(refused: Sequence[RefusedError]) -> None:
    """Raises the reason, if it is one, of all trials or of those that came as far as the result."""
    by_result = [error for error in refused if error.at_result]
    for errors in (refused, by_result):
        kinds = {
            str(error.error) if not isinstance(error.error, DTypeError) else DTypeError for error in errors
        }
        if len(kinds) == 1:  # a dtype is wrong whatever the rank is
            raise errors[0].error.with_traceback(None) from None


def _unknown_tensors(
    signature: Signature,
    groups: Sequence[Any],
    results: Sequence[tuple[Output, Known]],
    reporter: TypeReporter,
) -> list[Unknown] | None:
    """The tensors that are not known; None where even their number is not."""
    dtypes = _dtypes(signature, groups, results, reporter)
    found: list[Unknown] = []
    for position, (declared, group) in enumerate(zip(signature.inputs, groups, strict=True)):
        if isinstance(group, IncompleteType) and declared.variadic:
            return None
        for element, t in enumerate(group) if isinstance(group, tuple) else ((None, group),):
            if isinstance(t, IncompleteType):
                known = Known(*reporter.known(t))
                dtype = known.dtype or _input_dtype(signature, declared, dtypes, results)
                found.append(Unknown(position, element, declared, t, known, dtype))
    for one in found:  # what a result says of one operand holds of all whose dtype is the same variable
        variable = one.declared.dtype
        if isinstance(variable, str) and variable in signature.dtypes:
            if one.dtype is not None:
                dtypes.setdefault(variable, one.dtype)
            one.dtype = dtypes.get(variable)
    stand_in = next((t.dtype for t in groups if type(t) is TensorType), None)
    for one in found:
        one.choose_dtype(signature, dtypes, stand_in)
    return found


def _dtypes(
    signature: Signature,
    groups: Sequence[Any],
    results: Sequence[tuple[Output, Known]],
    reporter: TypeReporter,
) -> dict[str, DType]:
    """The dtype variables that known operands or results give. Raises DTypeError where a result's cannot be."""
    given: dict[str, DType] = {}
    for declared, group in zip(signature.inputs, groups, strict=True):
        for t in group if isinstance(group, tuple) else (group,):
            dtype = t.dtype if type(t) is TensorType else reporter.known(t)[1] if t is not None else None
            if declared.dtype in signature.dtypes and dtype is not None:
                given.setdefault(str(declared.dtype), dtype)
    for output, known in results:
        variable = output.dtype
        if not isinstance(variable, str) or variable not in signature.dtypes or known.dtype is None:
            continue
        expected = given.get(variable)
        spec = signature.dtypes[variable]
        if expected is not None and expected is not known.dtype:
            raise _wrong_dtype(reporter, output, known.dtype, f"but {variable} is {expected}")
        if known.dtype not in allowed_dtypes(spec):
            raise _wrong_dtype(reporter, output, known.dtype, f"expected {spec}")
        given[variable] = known.dtype
    return given


def _wrong_dtype(reporter: TypeReporter, output: Output, dtype: DType, expected: str) -> DTypeError:
    place = f"\n  at {reporter.site}" if reporter.site is not None else ""
    return DTypeError(f"{reporter.op_name}: result {output.name!r} has dtype {dtype}, {expected}{place}")


def _input_dtype(
    signature: Signature, declared: Input, dtypes: dict[str, DType], results: Sequence[tuple[Output, Known]]
) -> DType | None:
    spec = declared.dtype
    if isinstance(spec, str) and spec in signature.dtypes:
        if spec in dtypes:
            return dtypes[spec]
        spec = signature.dtypes[spec]
    for output, known in results:
        if output.dtype == f"{declared.name}.dtype" and known.dtype is not None:
            return known.dtype
    allowed = allowed_dtypes(spec)
    return allowed[0] if len(allowed) == 1 else None


def _results(signature: Signature, result: Type, reporter: TypeReporter) -> list[tuple[Output, Known]]:
    """The declared outputs of whose types something is known."""
    if signature.relation is not None:
        return []
    if not signature.returns_tuple:
        fields: tuple[Type, ...] = (result,)
    elif isinstance(result, TupleType) and not any(output.variadic for output in signature.outputs):
        fields = result.fields
    else:
        return []
    if len(fields) != len(signature.outputs):
        return []
    return [(output, Known.of(t, reporter)) for output, t in zip(signature.outputs, fields, strict=True)]
