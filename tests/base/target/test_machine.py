"""Machines: the rows that targets have, those of users, and what depends on their values."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opgen_runtime.base.errors import StrategyError
from opgen_runtime.base.target import GENERIC, Target, machines_file, write_machine
from opgen_runtime.base.target.host import caches
from opgen_runtime.base.target.machine import ROWS, machine_of, measured

X86 = "x86_64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("options", "row"),
    [
        (f"-mtriple={X86} -mcpu=x86-64", "generic-sse2"),
        (f"-mtriple={X86} -mcpu=x86-64-v3", "generic-avx2"),
        (f"-mtriple={X86} -mcpu=x86-64-v4", "generic-avx512"),
        (f"-mtriple={X86} -mcpu=znver3 -mattr=+avx2", "zen3"),
        (f"-mtriple={X86} -mcpu=cascadelake -mattr=+avx512f", "skylake-avx512"),
        (f"-mtriple={X86} -mcpu=sandybridge -mattr=+avx", "generic-avx2"),
        ("-mtriple=aarch64-linux-gnu -mcpu=generic", "generic-neon"),
        ("-mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "neoverse-n1"),
        ("-mtriple=riscv64-linux-gnu -mcpu=generic-rv64", "generic"),
        (f"-mtriple={X86} -mcpu=x86-64-v3 -machine=zen2", "zen2"),
    ],
)
def test_the_row_of_a_target_follows_from_its_cpu_or_is_given(options: str, row: str) -> None:
    target = Target.parse(f"llvm {options}")
    assert target.machine is ROWS[row]
    assert f" -machine={row}" in str(target)
    assert Target.parse(str(target)) == target
    assert pickle.loads(pickle.dumps(target)) == target


def test_the_row_of_the_host_is_one_that_a_target_may_name() -> None:
    host = Target.host()
    assert Target.parse(f"llvm -machine={host.machine.name}") == host


def test_caches_decide_between_rows_of_as_wide_vectors() -> None:
    """CPUs of one name differ, and virtual machines show what they like."""

    def row(cpu: str, lanes: int, **sizes: int) -> str:
        found = {int(name[1]): size << 10 for name, size in sizes.items()}
        return measured(machine_of(X86, cpu, lanes), X86, found).name

    assert row("znver4", 16) == "zen4"  # nothing is known
    assert row("znver4", 16, l1=32, l2=1024) == "zen4"
    assert row("znver4", 16, l1=48, l2=2048) == "sapphirerapids"
    assert row("no-such-cpu", 16, l1=32, l2=1024) == "generic-avx512"
    assert row("no-such-cpu", 8, l1=32, l2=256) == "haswell"
    assert row("no-such-cpu", 8, l1=32, l2=1280) == "generic-avx2"


def test_caches_are_read_where_the_system_tells(tmp_path: Path) -> None:
    for n, (level, kind, size) in enumerate(
        [(1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "2M")]
    ):
        folder = tmp_path / f"index{n}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    (tmp_path / "index3").mkdir()  # without files
    assert caches(tmp_path) == {1: 48 << 10, 2: 2 << 20}
    assert caches(tmp_path / "nowhere") == {}


def test_vectors_are_as_wide_as_the_row_says_and_the_instruction_set_has() -> None:
    wide = Target.parse(f"llvm -mtriple={X86} -mcpu=x86-64-v4")
    assert (wide.vector_bits, wide.vectors.registers) == (512, 32)
    narrow = Target.parse(f"llvm -mtriple={X86} -mcpu=x86-64-v4 -machine=zen3")
    assert (narrow.vector_bits, narrow.vectors.registers) == (256, 16)
    less = Target.parse(f"llvm -mtriple={X86} -mcpu=x86-64-v3 -machine=zen4")
    assert (less.vector_bits, less.vectors.registers) == (256, 16)
    assert replace(wide, machine=replace(wide.machine, registers=20)).vectors.registers == 20


def test_a_machine_that_there_is_not() -> None:
    with pytest.raises(StrategyError) as caught:
        Target.parse("llvm -machine=zen44")
    assert (
        "target 'llvm -machine=zen44': -machine=zen44: there is no such machine; expected one of generic, "
        in str(caught.value)
    )
    assert "did you mean 'zen4'" in str(caught.value)


# ------------------------------------------------------------------ rows of users


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "machines.json"
    monkeypatch.setenv("OPGEN_MACHINES", str(path))
    return path


def write(file: Path, machines: Any, **other: Any) -> None:
    file.write_text(json.dumps({"format": "opgen machines", "version": 1, "machines": machines, **other}))


def test_users_have_rows_of_their_own(file: Path) -> None:
    write(file, {"mine": {"like": "zen4", "l2": 1 << 19, "cycles": {"fetch": 40}}})
    mine = Target.parse("llvm -machine=mine")
    assert mine.machine.l2 == 1 << 19
    assert mine.machine.l1 == ROWS["zen4"].l1
    assert mine.machine.cycles == {**ROWS["zen4"].cycles, "fetch": 40.0}
    assert Target.parse(str(mine)) == mine == pickle.loads(pickle.dumps(mine))
    write(file, {"mine": {"like": "zen4", "l2": 1 << 18}})
    os.utime(file, ns=(1, 1))
    assert Target.parse("llvm -machine=mine").machine.l2 == 1 << 18  # the file is read again
    with pytest.raises(
        StrategyError, match=r"no such machine; expected one of .*, mine; did you mean 'mine'"
    ):
        Target.parse("llvm -machine=mime")


@pytest.mark.parametrize(
    ("machines", "said"),
    [
        ([], r'"machines" is \[\], expected rows by name'),
        ({"zen4": {"like": "zen4"}}, "machine zen4: expected a name of letters, .*none of the table"),
        ({"a b": {"like": "zen4"}}, "machine a b: expected a name of letters"),
        ({"mine": {}}, 'machine mine: it is {}, expected "like", a row of the table, and values'),
        ({"mine": {"like": "zen"}}, "machine mine: \"like\" is 'zen': there is no such machine; expected one of "),
        ({"mine": {"like": "zen4", "l4": 3}}, "machine mine: there is no entry 'l4'; expected some of l1, l2, llc, "),
        ({"mine": {"like": "zen4", "l1": "32K"}}, "machine mine: l1 is '32K', expected a whole number of at least "),
        ({"mine": {"like": "zen4", "line": 48}}, "machine mine: line is 48, expected a power of 2"),
        ({"mine": {"like": "zen4", "cycles": 3}}, "machine mine: cycles is 3, expected costs by name"),
        ({"mine": {"like": "zen4", "cycles": {"pac": 3}}}, "machine mine: there is no cost 'pac'; .*mean 'pack'"),
        ({"mine": {"like": "zen4", "cycles": {"pack": 0}}}, "machine mine: cost pack is 0, expected a number above 0"),
    ],
)  # fmt: skip
def test_damaged_rows_are_refused(file: Path, machines: Any, said: str) -> None:
    write(file, machines)
    with pytest.raises(StrategyError, match=rf"machines .*machines.json \(OPGEN_MACHINES\): {said}"):
        Target.parse("llvm -machine=mine")


def test_files_that_hold_no_machines_are_refused(file: Path) -> None:
    for text, said in (
        ("{", "it is no JSON"),
        ("{}", "it is no such file, which has"),
    ):
        file.write_text(text)
        with pytest.raises(StrategyError, match=said):
            Target.parse("llvm -machine=mine")
    write(file, {}, version=2)
    with pytest.raises(StrategyError, match="version 2, expected 1"):
        Target.parse("llvm -machine=mine")
    file.unlink()
    with pytest.raises(StrategyError, match="No such file"):
        Target.parse("llvm -machine=mine")
    assert Target.parse("llvm -machine=zen4").machine.name == "zen4"  # the table needs no file


def test_what_no_schedule_could_go_by_is_refused_in_python_too() -> None:
    for name, value in (
        ("l1", 0),
        ("registers", 4),
        ("lanes", 12),
        ("max_stride", True),
        ("cycles", {"pack": 6.0}),
    ):
        with pytest.raises(StrategyError, match="machine zen4: "):
            replace(ROWS["zen4"], **{name: value})


def test_code_runs_where_its_row_is_not_known() -> None:
    """As a program that was saved under a row of its user's."""
    text = str(replace(Target.host(), machine=replace(Target.host().machine, name="mine")))
    with pytest.raises(StrategyError, match="no such machine"):
        Target.parse(text)
    assert Target.of_code(text) == Target.host()


# ------------------------------------------------------------------ keys


def test_keys_of_kernels_have_the_values_of_a_machine_and_not_its_name() -> None:
    target = Target.parse("llvm -machine=zen4")
    renamed = replace(target, machine=replace(target.machine, name="mine"))
    assert renamed.kernel_key == target.kernel_key != str(target)
    whole = {name: int(cost) if cost == int(cost) else cost for name, cost in target.machine.cycles.items()}
    same = replace(target, machine=replace(target.machine, cycles=whole))
    assert same.kernel_key == target.kernel_key
    keys = {target.kernel_key}
    entries = ("l1", "l2", "llc", "line", "page", "lanes", "registers", "max_stride", "gather_bits")
    for name in entries:
        keys.add(replace(target, machine=replace(target.machine, **{name: 8192})).kernel_key)
    for cost in target.machine.cycles:
        cycles = {**target.machine.cycles, cost: 7.5}
        keys.add(replace(target, machine=replace(target.machine, cycles=cycles)).kernel_key)
    assert len(keys) == 1 + len(entries) + len(target.machine.cycles)


def test_tuning_keys_have_the_instruction_set_and_the_row() -> None:
    """A record of a text without a row is for the row that the CPU has."""
    text = f"llvm -mtriple={X86} -mcpu=znver4 -mattr=+avx2,-avx512f -keys=cpu -num-threads=2"
    assert Target.tuning_key_of(text) == Target.parse(f"{text} -machine=zen4").tuning_key
    assert (
        Target.tuning_key_of(text)
        == Target.parse(text.replace("znver4", "x86-64") + " -machine=zen4").tuning_key
    )
    assert Target.tuning_key_of(text) == Target.tuning_key_of(
        text.replace("+avx2,-avx512f", "-avx512vl,+avx2")
    )
    others = [f"{text} -machine=zen3", text.replace("+avx2", "+avx2,+fma"), text.replace("=2", "=1")]
    assert Target.tuning_key_of(text) not in [Target.tuning_key_of(each) for each in others]
    assert Target.tuning_key_of("no target") == "no target"


def test_rows_are_in_buckets_and_generic_ones_as_schedules_were_measured() -> None:
    for row in ROWS.values():
        assert row.l1 in [n << 10 for n in (32, 48, 64)], row
        assert row.l2 in [n << 10 for n in (256, 512, 1024, 2048)], row
        assert row.llc in [n << 20 for n in (8, 16, 32, 64)], row
        if row.name.startswith("generic"):
            assert (row.l1, row.l2, row.llc) == (GENERIC.l1, GENERIC.l2, GENERIC.llc)


# ------------------------------------------------------------------ rows that are measured


def test_rows_lie_beside_the_records_of_tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPGEN_MACHINES", raising=False)
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("OPGEN_TUNED", "")
    assert machines_file() == tmp_path / "machines.json"
    with pytest.raises(StrategyError, match="-machine=mine: there is no such machine"):
        Target.parse("llvm -machine=mine")
    made, cycles = write_machine(tmp_path / "machines.json", "mine", "zen4", lambda: {"latency": 4.25})
    assert (made.name, dict(made.cycles)) == ("mine", {**ROWS["zen4"].cycles, "latency": 4.25})
    assert cycles == {"latency": 4.25}
    assert Target.parse("llvm -machine=mine").machine == made
    monkeypatch.setenv("OPGEN_TUNED", str(tmp_path / "other" / "tuned.json"))
    assert machines_file() == tmp_path / "other" / "machines.json"
    for name, value in (("OPGEN_MACHINES", ""), ("OPGEN_CACHE_DIR", "")):
        monkeypatch.setenv(name, value)
        monkeypatch.setenv("OPGEN_TUNED", "")
        assert machines_file() is None
        monkeypatch.delenv(name)


def test_a_row_is_written_beside_others(file: Path) -> None:
    write(file, {"mine": {"like": "zen4", "l2": 1 << 19}, "old": {"like": "zen3", "cycles": {"pack": 5}}})
    write_machine(file, "old", "zen2", lambda: {"division": 3.5})
    assert json.loads(file.read_text()) == {
        "format": "opgen machines",
        "version": 1,
        "machines": {
            "mine": {"like": "zen4", "l2": 1 << 19},
            "old": {"like": "zen2", "cycles": {"division": 3.5}},
        },
    }


def test_nothing_is_measured_for_a_row_that_cannot_be_written(file: Path) -> None:
    def never() -> dict[str, float]:
        raise AssertionError

    for name, machines, said in (
        ("zen4", {}, "machine zen4: expected a name of letters, .*none of the table"),
        ("mine", {"old": {"like": "zen"}}, "machine old: \"like\" is 'zen'"),
        ("mine", [], '"machines" is'),
    ):
        write(file, machines)
        before = file.read_text()
        with pytest.raises(StrategyError, match=rf"machines .*machines.json \(OPGEN_MACHINES\): {said}"):
            write_machine(file, name, "zen4", never)
        assert file.read_text() == before
    write(file, {})
    with pytest.raises(StrategyError, match=r"machine mine: there is no cost 'latancy'; .*mean 'latency'"):
        write_machine(file, "mine", "zen4", lambda: {"latancy": 4.0})
    assert json.loads(file.read_text())["machines"] == {}
