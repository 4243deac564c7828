"""`opgen tune MODEL.onnx|OP`: the fastest values of the schedules' parameters, found by timing kernels."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.target import Target
from opgen_runtime.ir import Function, IRModule
from opgen_runtime.lower.library.schedules import PARAMETERS
from opgen_runtime.run.compile.kernel.dims import dims_in
from opgen_runtime.run.compile.kernel.lazy_kernel import is_lazy
from opgen_runtime.run.compile.programs import specialised
from opgen_runtime.run.compile.tuning.records import (
    Record,
    read_records,
    records_file,
    with_record,
    write_records,
)
from opgen_runtime.run.compile.tuning.search import Outcome, tune
from opgen_runtime.run.compile.tuning.subject import Subject
from opgen_runtime.run.executor.driver import asked
from opgen_runtime.transform import PassContext

from .calibrated import calibrated
from .completion import OpName
from .console import err, note, out, table
from .example import example_function
from .failure import Failure, Findings
from .lookup import find_op
from .onnx_models import extents, loaded
from .options import of_a_call
from .scheduler import cluster
from .scheduler_option import on_a_cluster

_SECONDS: Final = 60.0
_CALIBRATION_SECONDS: Final = 5.0
_MIN_SECONDS: Final = 3.0  # of one kernel: its process has started then, and has run a few rivals


@click.command()
@click.argument("what", metavar="MODEL.onnx|OP", type=OpName(), required=False)
@of_a_call("what", shapes="Of each operand of OP in order.")
@click.option("--dim", "dims", multiple=True, metavar="NAME=N", help="A dynamic dim of a model; else 1.")
@click.option(
    "--level", type=click.IntRange(0), default=2, show_default=True, help="The level of the passes."
)
@click.option(
    "--target", "target_text", metavar="TARGET", help='Such as "llvm -num-threads=1"; default: this machine.'
)
@click.option(
    "--seconds", type=click.FloatRange(1.0), help="For all kernels together: 60, of --calibrate 5 by default."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Of the order in which parameters are tried."
)
@click.option(
    "--records", metavar="FILE", help="Where the records are; default: OPGEN_TUNED, else beside the cache."
)
@click.option(
    "--calibrate",
    "machine",
    metavar="NAME",
    help="Measure costs of this machine, for -machine=NAME, and end.",
)
@on_a_cluster
@click.option(
    "--list", "listed", is_flag=True, help="Print the parameters, or the records of --records, and end."
)
def command(
    what: str | None,
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    attrs: tuple[str, ...],
    dims: tuple[str, ...],
    level: int,
    target_text: str | None,
    seconds: float | None,
    seed: int,
    records: str | None,
    machine: str | None,
    scheduler: str | None,
    listed: bool,
) -> None:
    """Search the parameters of the schedules of a model's kernels, or of an op, and record what is faster.

    Kernels are compiled and timed in child processes.  Compilation reads the records from then on.  With --scheduler
    several are, on workers that are machines like this one; each record is written as it comes.

    \b
      opgen tune model.onnx --seconds 600
      opgen tune softmax --shape 4096,1024 --target "llvm -num-threads=1"
      opgen tune --list
      opgen tune --calibrate mine
    """
    try:
        path = records_file() if records is None else Path(records)
        if listed:
            _list(None if records is None else path)
            return
        if machine is not None:
            if what is not None:
                raise Failure("--calibrate is of the machine: no model or op is named with it")
            calibrated(machine, _host(target_text), _CALIBRATION_SECONDS if seconds is None else seconds)
            return
        if what is None:
            raise Failure("name a model or an op")
        if path is None:
            raise Failure("there is no cache to put records beside: --records FILE")
        target = _host(target_text)
        known = read_records(path) if path.exists() else ()
        subjects = _subjects(what, shapes, dtypes, attrs, dims, target, level)
        if not subjects:
            raise Findings("there is no kernel of fixed shapes to tune")
        failures: list[str] = []
        for subject, outcome in _tuned(subjects, _SECONDS if seconds is None else seconds, seed, scheduler):
            _say(subject, outcome)
            failures += filter(None, [outcome.failure])
            if outcome.record is not None:
                known = with_record(known, outcome.record)
                write_records(path, known)
    except OpgenError as error:
        raise Findings(str(error)) from None
    if failures:
        raise Findings(f"{len(failures)} of {len(subjects)} kernels could not be timed")
    mine = [each for each in known if each.key[0] == target.tuning_key]
    out.print(f"{path}: {len(mine)} records for this target")


def _host(text: str | None) -> Target:
    """The target, on which kernels can be timed here."""
    target = Target.host() if text is None else Target.parse(text)
    if not target.is_host:
        raise Failure(f"kernels for {target.cpu} on {target.triple} cannot be timed on this machine")
    return target


def _subjects(
    what: str,
    shapes: Sequence[str],
    dtypes: Sequence[str],
    attrs: Sequence[str],
    dims: Sequence[str],
    target: Target,
    level: int,
) -> list[Subject]:
    """The kernels of a model or an op whose shapes are fixed."""
    modules: tuple[str, ...] = ()
    module: IRModule | Function
    params = None
    if what.endswith(".onnx"):
        if shapes or dtypes or attrs:
            raise Failure("--shape, --dtype and --attr are of an op; a model has --dim")
        module, params = loaded(what, extents(dims))
    else:
        if dims:
            raise Failure("--dim is of a model; the extents of an op's operands are given by --shape")
        found = find_op(what)
        module = example_function(found.project, found.op, shapes, dtypes, attrs)
        modules = (f"{found.project.package}._{found.op.name}",)
    program = asked(module, params, target, context=PassContext(opt_level=level))
    segments = specialised(program).segments
    return [
        Subject(function, tuple(sorted(constant)), target, modules)
        for function, constant in zip(segments.functions, segments.constant, strict=True)
        if not is_lazy(function) and not dims_in(function)
    ]


def _tuned(
    subjects: Sequence[Subject], seconds: float, seed: int, scheduler: str | None
) -> Iterator[tuple[Subject, Outcome]]:
    """Each kernel with what its search has found, within its share of the time that is left."""
    if scheduler is not None:
        yield from _tuned_elsewhere(subjects, seconds, seed, scheduler)
        return
    end = time.monotonic() + seconds
    for number, subject in enumerate(subjects):
        left = end - time.monotonic()
        if left <= 0:
            note(f"the time is over: {len(subjects) - number} kernels were not tuned")
            return
        share = min(left, max(_MIN_SECONDS, left / (len(subjects) - number)))
        with _bar(f"{number + 1}/{len(subjects)} {subject}") as progress:
            outcome = tune(subject, share, seed, progress)
        yield subject, outcome


def _tuned_elsewhere(
    subjects: Sequence[Subject], seconds: float, seed: int, scheduler: str
) -> Iterator[tuple[Subject, Outcome]]:
    """Likewise on the workers of a cluster, each kernel as it is done."""
    modules = sorted({name for subject in subjects for name in subject.modules})
    roots = {str(Path(str(sys.modules[name].__file__)).parents[name.count(".")]) for name in modules}
    with cluster(scheduler, sorted(roots), modules) as pool:
        share = max(_MIN_SECONDS, seconds / -(-len(subjects) // pool.count))
        begun = subjects[: pool.count * max(int(seconds / share), 1)]
        if len(begun) < len(subjects):
            note(f"there is no time for {len(subjects) - len(begun)} kernels, which were not tuned")
        for number, outcome in pool.each(_searched, [(subject, share, seed) for subject in begun]):
            yield begun[number], outcome


def _searched(unit: tuple[Subject, float, int]) -> Outcome:
    """What a worker does: a kernel, seconds, and the seed."""
    subject, seconds, seed = unit
    if not subject.target.is_host:
        return Outcome(None, 0, (), f"a worker is no {subject.target.cpu}, but {Target.host().cpu}")
    return tune(subject, seconds, seed)


class _Bar:
    """A line on a terminal that says how much of a kernel's time has passed, and the best ratio yet."""

    _WIDTH: Final = 24

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, share: float, ratio: float) -> None:
        if not err.is_terminal:
            return
        full = round(share * self._WIDTH)
        bar = "#" * full + "." * (self._WIDTH - full)
        sys.stderr.write(f"\r[{bar}] {ratio:5.2f} of the time  {self._name:.60}\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        if err.is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def _bar(name: str) -> Iterator[_Bar]:
    bar = _Bar(name)
    bar(0.0, 1.0)
    try:
        yield bar
    finally:
        bar.clear()


def _say(subject: Subject, outcome: Outcome) -> None:
    out.print(str(subject))
    record = outcome.record
    tried = f"{outcome.raced} schedules tried"
    if outcome.failure:
        note(f"  it cannot be timed: {outcome.failure}")
    elif record is None:
        out.print(f"  {tried}, none is faster than the default")
    else:
        values = ", ".join(f"{name}={value}" for name, value in record.parameters.items())
        ratio = record.default_us / record.tuned_us
        out.print(
            f"  {tried}: {record.default_us:.4g} -> {record.tuned_us:.4g} us ({ratio:.2f} times as fast) with {values}"
        )
    for problem in outcome.problems:
        note(f"  {problem}")


def _list(path: Path | None) -> None:
    """The parameters; or the records of a file."""
    if path is None:
        rows = [(each.name, " ".join(map(str, each.values)), each.doc) for each in PARAMETERS.values()]
        table([("parameter", "values", "what it says"), *rows])
        return
    table([("kernel", "default us", "tuned us", "parameters"), *map(_row, read_records(path))])


def _row(record: Record) -> tuple[str, str, str, str]:
    values = ", ".join(f"{name}={value}" for name, value in record.parameters.items())
    return record.kernel, f"{record.default_us:.4g}", f"{record.tuned_us:.4g}", values
