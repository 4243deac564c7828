"""Tuning: legal values give right results, records are applied or refused, the search finds what is faster."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import ir, ops
from opgen_runtime.base import Target
from opgen_runtime.base.errors import StrategyError
from opgen_runtime.lower.library.schedules import PARAMETERS
from opgen_runtime.operator import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.key import front_key
from opgen_runtime.run.compile.kernel.segments import segments_of
from opgen_runtime.run.compile.tuning import records, search
from opgen_runtime.run.compile.tuning.rival import Stable
from opgen_runtime.run.compile.tuning.subject import Subject

TARGET = Target.parse("llvm -num-threads=2")


def function(make: Any, *shapes: tuple[int, ...], dtypes: Mapping[int, str] | None = None) -> ir.Function:
    kinds = [(dtypes or {}).get(k, "float32") for k in range(len(shapes))]
    params = tuple(
        ir.var(f"p{k}", TensorType(*each)) for k, each in enumerate(zip(shapes, kinds, strict=True))
    )
    made = ir.Function(params, make(*params))
    (segment,) = segments_of(*pipeline.optimise(ir.IRModule.from_expr(made)).functions.values()).functions
    return segment


# Each kind of loops that has parameters.
PROGRAMS = {
    "matmul": function(lambda a, b: ops.matmul(a, b), (37, 40), (40, 50)),
    "matmul of many columns": function(lambda a, b: ops.matmul(a, b), (37, 200), (200, 90)),
    "relu": function(lambda a: ops.relu(a), (333_333,)),
    "distances": function(
        lambda a, b: ops.sum(ops.abs(ops.expand_dims(a, axis=1) - ops.expand_dims(b, axis=0)), axis=2),
        (20, 50),
        (30, 50),
    ),
    "transpose": function(lambda a: ops.transpose(a), (130, 192)),
    "sum of columns": function(lambda a: ops.sum(a, axis=0), (70, 90)),
    "sum of all": function(lambda a: ops.sum(a), (400, 700)),
    "softmax": function(lambda a: ops.softmax(a), (9, 133)),
    "softmax of columns": function(lambda a: ops.softmax(a, axis=0), (33, 133)),
    "matmul of a long sum": function(lambda a, b: ops.matmul(a, b), (37, 2600), (2600, 1100)),
    "windows": function(
        lambda a, w: ops.conv2d(a, w, padding=(1, 1), groups=8), (1, 8, 20, 30), (8, 1, 3, 3)
    ),
    "pool": function(lambda a: ops.max_pool2d(a, pool_size=(3, 3), strides=(1, 1)), (2, 4, 20, 30)),
    "pool of long windows": function(lambda a: ops.avg_pool1d(a, pool_size=(20,), strides=(1,)), (2, 4, 300)),
    "permute": function(lambda a: ops.transpose(a, axes=(2, 1, 0, 3)), (40, 30, 20, 16)),
    "take": function(lambda a, i: ops.take(a, i, axis=0), (120_000, 64), (50,), dtypes={1: "int64"}),
    "gru": function(lambda x, w, r: ops.gru(x, w, r), (3, 8, 32), (768, 32), (768, 256)),
    "search": function(lambda a: ops.topk_by_search(a, k=4), (9, 200)),
}
CONSTANT = {"gru": (1, 2)}  # operands
VALUES = st.fixed_dictionaries({}, optional={n: st.sampled_from(p.values) for n, p in PARAMETERS.items()})


def trace(segment: ir.Function, target: Target, constant: Collection[int] = ()) -> str:
    *_, (_, record) = pipeline.through_kernel(
        pipeline.requested(segment, target, pipeline.PassContext(), constant), pipeline.upto("schedule")
    )
    return str(record.schedule.trace)


@settings(max_examples=12)
@given(st.sampled_from(list(PROGRAMS)), VALUES)
def test_all_legal_values_give_right_results(name: str, values: Mapping[str, int]) -> None:
    stable = Stable(Subject(PROGRAMS[name], CONSTANT.get(name, ()), TARGET))
    for ours, theirs in zip(stable.runs(values)(), stable.runs({})(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_decides_something(name: str) -> None:
    for program, segment in PROGRAMS.items():
        targets = [TARGET.tuned_to({name: value}) for value in PARAMETERS[name].values]
        if len({trace(segment, each, CONSTANT.get(program, ())) for each in targets}) > 1:
            return
    pytest.fail(f"all values of {name} give the same schedules")


def test_targets_are_read_as_they_print() -> None:
    tuned = TARGET.tuned_to({"reduction.rows": 2, "contraction.tile_rows": 4})
    assert str(tuned) == f"{TARGET} -tuned=contraction.tile_rows:4,reduction.rows:2"
    assert Target.parse(str(tuned)) == tuned


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-tuned=contraction.tile_row:4", "no parameter .contraction.tile_row.; did you mean .contraction.tile_rows"),
        ("-tuned=contraction.tile_rows:5", "contraction.tile_rows is 5; expected one of 1, 2, 3, 4, 6, 8, 10, 12"),
        ("-tuned=contraction.tile_rows", "expected parameter:value, a whole number"),
    ],
)  # fmt: skip
def test_targets_that_are_tuned_to_what_there_is_not(text: str, said: str) -> None:
    with pytest.raises(StrategyError, match=said):
        pipeline.compile_segment(PROGRAMS["relu"], f"llvm {text}")


# ------------------------------------------------------------------ records


def record(segment: ir.Function, target: Target = TARGET, **values: int) -> records.Record:
    digest = ir.structural_digest(segment)
    return records.Record("a kernel", str(target), digest, (), values, 2.0, 1.0, ("a.split(i, 2)",))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tuned.json"
    monkeypatch.setenv("OPGEN_TUNED", str(path))
    return path


def test_records_are_read_as_they_are_written(file: Path) -> None:
    made = [record(each, **{"elementwise.vectors": 2}) for each in PROGRAMS.values()]
    records.write_records(file, made)
    assert records.read_records(file) == tuple(made)
    again = record(PROGRAMS["relu"], **{"elementwise.vectors": 8})
    assert records.with_record(made, again) == (*[each for each in made if each.key != again.key], again)


def test_a_record_is_for_its_segment_and_target(file: Path) -> None:
    plain = {name: trace(segment, TARGET) for name, segment in PROGRAMS.items()}
    key = front_key(
        PROGRAMS["relu"], pipeline.requested(PROGRAMS["relu"], TARGET, pipeline.PassContext()).target
    )
    records.write_records(file, [record(PROGRAMS["relu"], **{"elementwise.vectors": 8})])
    tuned = {name: trace(segment, TARGET) for name, segment in PROGRAMS.items()}
    assert [name for name in PROGRAMS if tuned[name] != plain[name]] == ["relu"]
    assert trace(PROGRAMS["relu"], TARGET.tuned_to({"elementwise.vectors": 8})) == tuned["relu"]
    target = pipeline.requested(PROGRAMS["relu"], TARGET, pipeline.PassContext()).target
    assert front_key(PROGRAMS["relu"], target) != key
    other = Target.parse("llvm -num-threads=1")
    assert pipeline.requested(PROGRAMS["relu"], other, pipeline.PassContext()).target == other


def test_a_record_without_a_row_is_for_the_row_of_its_cpu(file: Path) -> None:
    """As records were written before targets had rows; another row has its own."""
    segment, values = PROGRAMS["relu"], {"elementwise.vectors": 8}
    text = str(TARGET).replace(f" -machine={TARGET.machine.name}", "")
    assert text != str(TARGET)
    records.write_records(file, [replace(record(segment, **values), target=text)])
    assert records.tuned(TARGET, segment, "", ()) == TARGET.tuned_to(values)
    again = record(segment, **{"elementwise.vectors": 2})
    assert records.with_record(records.read_records(file), again) == (again,)
    other = Target.parse(f"{text} -machine={'zen2' if TARGET.machine.name != 'zen2' else 'zen3'}")
    assert records.tuned(other, segment, "", ()) is other


def test_no_file_and_an_empty_name_are_no_records(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert records.tuned(TARGET, PROGRAMS["relu"], "", ()) is TARGET
    monkeypatch.setenv("OPGEN_TUNED", "")
    assert records.records_file() is None


def damaged() -> Iterator[tuple[Any, str]]:
    whole = {"format": "opgen tuning records", "version": 1, "records": []}
    good = {
        "kernel": "k", "target": "t", "segment": "s", "constant": [], "parameters": {}, "default_us": 2.0,
        "tuned_us": 1, "trace": [],
    }  # fmt: skip
    yield [], 'it is no such file, which has "format": "opgen tuning records"'
    yield {**whole, "format": "tvm"}, "it is no such file"
    yield {**whole, "version": 2}, "version 2, expected 1; remove it, or tune again: opgen tune"
    yield {**whole, "records": {}}, '"records" is no list'
    yield {**whole, "records": [3]}, "record 1 is 3, expected an object"
    yield {**whole, "records": [good, {**good, "x": 1}]}, r"record 2 \(k\): it has 'x', which no record has"
    for name in good:
        rest = {key: value for key, value in good.items() if key != name}
        yield {**whole, "records": [rest]}, f"it has no '{name}'"
        yield {**whole, "records": [{**good, name: None}]}, f"'{name}' is None, expected "
    for values, said in (
        ({"x": 1}, "no parameter 'x'"),
        ({"reduction.rows": True}, "reduction.rows is True"),
    ):
        yield {**whole, "records": [{**good, "parameters": values}]}, said


@pytest.mark.parametrize(("held", "said"), list(damaged()))
def test_damaged_and_foreign_records_are_refused(file: Path, held: Any, said: str) -> None:
    file.write_text(json.dumps(held))
    with pytest.raises(StrategyError, match=f"tuning records .*tuned.json: .*{said}"):
        pipeline.compile_segment(PROGRAMS["relu"], TARGET)


def test_half_a_file_is_refused(file: Path) -> None:
    records.write_records(file, [record(PROGRAMS["relu"])])
    file.write_text(file.read_text()[:-20])
    with pytest.raises(
        StrategyError, match=r"tuned.json: it is no JSON: .*; remove it, or tune again: opgen tune"
    ):
        pipeline.compile_segment(PROGRAMS["relu"], TARGET)


# ------------------------------------------------------------------ the search


class Planted:
    """A child that answers at once: each parameter of `speeds` has the ratio of its value; a few values fail."""

    problem = ""

    def __init__(self, speeds: Mapping[str, Mapping[int, float]], fails: Mapping[str, int]) -> None:
        self.speeds, self.fails, self.raced = speeds, fails, []  # type: ignore[var-annotated]

    def trace(self, values: Mapping[str, int]) -> tuple[str, ...]:
        return tuple(f"{name} {values[name]}" for name in sorted(self.speeds) if name in values)

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        values = request["race"]
        self.raced.append(self.trace(values))
        if any(values.get(name) == value for name, value in self.fails.items()):
            return {"problem": "the process ended with status -11"}
        ratio = 1.0
        for name, by_value in self.speeds.items():
            ratio *= by_value.get(values.get(name, -1), 1.0)
        return {"default": 10.0, "tuned": 10.0 * ratio}


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_what_is_planted(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    planted = Planted(
        {"reduction.rows": {2: 0.9, 6: 0.5, 8: 0.7},
         "elementwise.vectors": {4: 0.8}, "contraction.tile_rows": {3: 0.99}},
        {"contraction.tile_rows": 12},
    )  # fmt: skip

    @contextmanager
    def child(subject: Subject) -> Iterator[Planted]:
        yield planted

    monkeypatch.setattr(search, "_child", child)
    told: list[tuple[float, float]] = []
    outcome = search.tune(
        Subject(PROGRAMS["matmul"], (), TARGET), 60.0, seed, lambda share, ratio: told.append((share, ratio))
    )
    assert outcome.record is not None
    assert outcome.record.parameters == {"elementwise.vectors": 4, "reduction.rows": 6}
    assert (outcome.record.default_us, outcome.record.tuned_us) == (10.0, 4.0)
    races = planted.raced[:-1]  # the last one is the confirmation
    assert len(set(races)) == len(races) == outcome.raced
    assert any(
        "contraction.tile_rows=12: the process ended with status -11" in each for each in outcome.problems
    )
    assert [ratio for _, ratio in told] == sorted([ratio for _, ratio in told], reverse=True)


@pytest.mark.parametrize(("seconds", "problems"), [(20.0, False), (600.0, True)])
def test_what_the_end_of_a_search_cuts_off_is_no_problem(
    monkeypatch: pytest.MonkeyPatch, seconds: float, problems: bool
) -> None:
    """What a race may take at most, whatever time is left, is."""

    class Late(Planted):
        def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
            return {"problem": f"it took more than {seconds:.0f} s", "late": True}

    @contextmanager
    def child(subject: Subject) -> Iterator[Planted]:
        yield Late({"reduction.rows": {}}, {})

    monkeypatch.setattr(search, "_child", child)
    outcome = search.tune(Subject(PROGRAMS["softmax"], (), TARGET), seconds)
    assert bool(outcome.problems) == problems == bool(outcome.raced)


def test_a_child_that_cannot_import_the_ops_says_what_to_do() -> None:
    subject = Subject(PROGRAMS["relu"], (), TARGET, ("no_such_module",))
    outcome = search.tune(subject, 20.0)
    assert (outcome.record, outcome.raced, outcome.problems) == (None, 0, ())
    assert outcome.failure == (
        "the process ended with status 1: No module named 'no_such_module'; install the project of the ops "
        "(pip install -e .), or put its folder into PYTHONPATH"
    )


def test_a_kernel_is_tuned_in_a_child() -> None:
    outcome = search.tune(Subject(PROGRAMS["softmax"], (), TARGET), 1.0)
    assert outcome.problems == ()
    assert outcome.record is None or outcome.record.tuned_us < outcome.record.default_us
