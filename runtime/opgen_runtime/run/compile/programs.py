"""A program through the table PROGRAM (pipeline.py): as a whole, or cut into sections at sizes that depend on data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ...base.contract import raise_defect, verifying
from ...base.errors import OpgenError
from ...ir import IRModule
from ...transform import PassContext
from .pipeline import PROGRAM, after, check_hooks, texts_of, upto
from .program.program_records import Asked, Closed, Cut, Linked, Sections, Specialised
from .stage import Stage


def through_program(
    record: Any, stages: Sequence[Stage[Any, Any]] = PROGRAM, name: str = "@main"
) -> Iterator[tuple[Stage[Any, Any], Any]]:
    """Each stage with the record after it, users' hooks included; `name`: what the program is called.

    Where "cut" finds sections, each goes through the stages after it by itself.
    """
    context: PassContext = record.context if isinstance(record, Asked) else record.closed.context
    is_checked = verifying()
    for stage in stages:
        for watch in context.instruments:
            watch.run_before_stage(name, stage.name)
        record = stage.run(record)
        for contract in stage.contracts if is_checked else ():  # what users give is checked where they do
            for thing in record.things():
                contract.verify(thing, f"{name}, after {stage.name}")
        hook = context.hooks.get(stage.name)
        if hook is not None and stage.hooked is not None:
            record = stage.hooked(record, stage.name, hook, stage.contracts[0])
        for watch in context.instruments:
            watch.run_after_stage(name, stage.name, partial(texts_of, stage, record))
        yield stage, record


def compile_program(asked: Asked) -> Linked | Sections:
    """A program through PROGRAM; in sections where each of them is native code.

    Raises what the passes, the compilation of kernels and the kernels that prepare raise; PassError for a hook after no
    stage that takes one.
    """
    check_hooks(asked.context)
    *_, (_, cut) = through_program(asked, upto("cut", PROGRAM))
    found = _sections(cut) if cut.sections else None
    if found is None:
        *_, (_, found) = through_program(cut, after("cut", PROGRAM))
    assert isinstance(found, Linked | Sections)
    return found


def _sections(cut: Cut) -> Sections | None:
    """The sections of a program, each linked; None where the program as a whole says why one is no native code."""
    linked: list[Linked] = []
    try:
        for number, section in enumerate(cut.sections):
            part = Cut(Closed(IRModule.from_expr(section.function), cut.closed.target, cut.closed.context))
            *_, (_, made) = through_program(part, after("cut", PROGRAM), f"@main, section {number}")
            if made.whole is None:
                return None
            linked.append(made)
    except OpgenError as error:  # an op that needs to know a size
        raise_defect(error)
        return None
    return Sections(cut, tuple(linked))


def specialised(asked: Asked) -> Specialised:
    """The segments of a program as a whole, and what their kernels are to be compiled from."""
    *_, (_, found) = through_program(asked, upto("specialise", PROGRAM))
    assert isinstance(found, Specialised)
    return found
