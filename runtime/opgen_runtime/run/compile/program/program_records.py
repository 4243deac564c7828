"""What the stages of a program hand to one another.

Asked        a module and what it is compiled for    Closed     its main without the parameters that have values; in
Cut          in sections, where sizes depend on data            segments once it is partitioned
Specialised  segments for the dims they can have     Built      a kernel, or two, for each
Prepared     what constants alone decide, computed   Planned    how it runs
Linked       a native function, or none              Sections   of a program that is cut, each linked

`things` of a record are what its contracts are about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from ....base import Target
from ....base.forks import importing
from ....base.vocabulary import dataclass
from ....ir import Function, IRModule, Var
from ....transform import PassContext
from ..kernel.kernel import Kernel
from ..kernel.parts import Parts
from ..kernel.segments import Segments, Site
from .driver import driver_text
from .plan import Donation, Plan, Slots

Texts: TypeAlias = Iterator[tuple[str, str]]
Values: TypeAlias = "Mapping[str, object] | Mapping[Var, object]"


@dataclass(frozen=True, slots=True)
class Asked:
    """A program that is to be compiled: `params` are values of main's parameters, by name or by variable.

    `donations`: the results that take the memory of parameters; those are counted without the ones that have values.
    """

    module: IRModule | Function
    params: Values | None
    target: Target
    context: PassContext
    donations: tuple[Donation, ...] = ()


@dataclass(frozen=True, slots=True)
class Closed:
    """A module whose main takes what calls give alone."""

    module: IRModule
    target: Target
    context: PassContext
    donations: tuple[Donation, ...] = ()

    @property
    def main(self) -> Function:
        return self.module["main"]

    @property
    def closed(self) -> Closed:
        """Itself, as the records after it have it."""
        return self

    def with_functions(self, functions: Mapping[str, Function]) -> Closed:
        """With other functions; itself where they are those that it has."""
        if all([functions[var.name] is own for var, own in self.module.functions.items()]):
            return self
        return replace(self, module=self.module.with_functions(dict(functions)))

    def things(self) -> Iterator[object]:
        if "FuseOps" not in self.context.disabled:  # without it nothing is in segments
            yield self.module


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a program that is cut; it takes values by their number: the inputs, then what earlier sections give."""

    function: Function
    takes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A program with its sections, none where it is whole.

    `result`: the numbers of its values as the result nests them.
    """

    closed: Closed
    sections: tuple[Section, ...] = ()
    result: Slots = ()

    def things(self) -> Iterator[object]:
        if self.sections:
            yield self

    def texts(self) -> Texts:
        if self.sections:
            yield "sections", "\n".join([str(IRModule.from_expr(each.function)) for each in self.sections])


@dataclass(frozen=True, slots=True)
class Specialised:
    """A partitioned program with the functions that its kernels are compiled from, in the order of `segments`.

    `digests`: their structural digests, "" where they are not known.  `is_one`: main only calls one segment.
    """

    closed: Closed
    segments: Segments
    functions: tuple[Function, ...]
    digests: tuple[str, ...]
    is_one: bool

    def things(self) -> Iterator[object]:
        yield self


@dataclass(frozen=True, slots=True)
class Built:
    """A program whose segments are kernels."""

    specialised: Specialised
    parts: tuple[Parts, ...]

    @property
    def closed(self) -> Closed:
        return self.specialised.closed

    def things(self) -> Iterator[object]:
        yield self


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program with what its constants decide; `names`: of the kernels that computed that.

    `sites`: by the ids of the segments' functions.
    """

    built: Built
    sites: Mapping[int, Site]
    names: tuple[str, ...]

    @property
    def closed(self) -> Closed:
        return self.built.closed

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple([part.main for part in self.built.parts])

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple([param.name_hint for param in self.closed.main.params])

    def things(self) -> Iterator[object]:
        yield self

    def texts(self) -> Texts:
        made = {id(array): array for site in self.sites.values() for array in site.precomputed}
        if made:
            size = sum([array.nbytes for array in made.values()])
            yield "prepare", f"{', '.join(self.names)}: {len(made)} values of {size:,} bytes"


@dataclass(frozen=True, slots=True)
class Planned:
    """A program with its plan; `why_not`: why it has none and is interpreted, None of one kernel, which needs none."""

    prepared: Prepared
    plan: Plan | None
    why_not: str | None = None

    @property
    def closed(self) -> Closed:
        return self.prepared.closed

    def things(self) -> Iterator[object]:
        with importing:  # which builds do not wait for
            from .plan_contract import View

        if self.plan is not None:
            yield View(self.plan, self.prepared.kernels)

    def texts(self) -> Texts:
        with importing:
            from .plan_text import memory_line, plan_lines

        if self.plan is not None:
            lines = plan_lines(self.plan, self.prepared.inputs, self.prepared.kernels)
            yield "plan", "\n".join([*lines, memory_line(self.plan)])
        elif self.why_not is not None:
            yield "plan", f"none: {self.why_not}"
        else:
            yield "plan", f"one kernel: {self.prepared.kernels[0].name}"


@dataclass(frozen=True, slots=True)
class Linked:
    """A program as one native function, `whole`, the positions of whose outputs `result` nests; None is interpreted."""

    planned: Planned
    whole: Kernel | None
    result: Slots

    def things(self) -> Iterator[object]:
        if self.whole is not None:
            yield self

    def texts(self) -> Texts:
        plan, prepared = self.planned.plan, self.planned.prepared
        if plan is not None:
            yield "driver", driver_text(plan, prepared.kernels, prepared.closed.target)


@dataclass(frozen=True, slots=True)
class Sections:
    """The sections of a program, each linked, in the order in which they run."""

    cut: Cut
    linked: tuple[Linked, ...]
