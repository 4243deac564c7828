"""Targets: parsing, defaults, vector widths."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from opgen_runtime.base.errors import CodegenError, StrategyError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.codegen import optimise_and_compile


def test_host_is_what_native_means():
    assert Target.parse("llvm") == Target.host()
    assert Target.parse("llvm -mcpu=native") == Target.host()
    assert Target.host().is_host


def test_text_parses_back():
    host = Target.host()
    assert Target.parse(str(host)) == host


def test_keys_given_come_first():
    assert Target.parse("llvm -keys=avx512,cpu").keys == ("avx512", "cpu")
    assert Target.parse("llvm -keys=mine").keys == ("mine", "cpu")


@pytest.mark.parametrize(
    ("features", "bits", "lanes"),
    [("+avx2,+avx", 256, 8), ("+avx,+avx512f", 512, 16), ("-avx,-avx512f,+sse2", 128, 4)],
)
def test_vector_width_follows_from_features(features, bits, lanes):
    target = Target.parse(f"llvm -mcpu=x86-64 -mattr={features}")
    assert (target.vector_bits, target.lanes(DType("float32"))) == (bits, lanes)
    assert target.lanes(DType("bool")) == bits // 8
    assert target.lanes(DType("index")) == bits // 64


def test_a_level_of_x86_implies_its_features():
    target = Target.parse("llvm -mcpu=x86-64-v3 -mtriple=x86_64-unknown-linux-gnu")
    assert target.has("fma")
    assert not target.has("avx512f")


@pytest.mark.parametrize(
    ("features", "fused"), [("+m,+a,+f,+d,+c", True), ("+m,+a,+f,+c", False), ("+m,+a", False)]
)
def test_riscv_fuses_with_its_floats(features, fused):
    """Of both widths: a step in float64 that is not fused has other bits."""
    target = Target.parse(f"llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr={features}")
    assert (target.has_fma, target.vector_bits) == (fused, 128)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cuda", "target 'cuda': unknown kind 'cuda'; expected one of llvm"),
        ("", "target '': unknown kind ''; expected one of llvm"),
        ("llvm -mcpuu=x", "unknown option '-mcpuu=x'; expected one of -mcpu=, -mattr="),
        ("llvm -num-threads=0", "-num-threads=0: expected a whole number of at least 1"),
        ("llvm -num-threads=1025", "expected a whole number of at least 1 and at most 1024"),
        ("llvm -mcpu='x", "No closing quotation"),
        ("llvm -mcpu=foo", "-mcpu=foo: LLVM has no such CPU"),
        ("llvm -mcpu=help", "-mcpu=help: LLVM has no such CPU"),
        ("llvm -mcpu=x86-64-v33", "LLVM has no such CPU; did you mean 'x86-64-v3'"),
        ("llvm -mattr=avx2", "-mattr=avx2: expected features such as +avx2,-avx512f, each with its sign"),
        ("llvm -mattr=+avx2,+avxx", "-mattr=+avxx: LLVM has no such feature; did you mean"),
        ("llvm -mcpu=x86-64 -mattr=-sse2", "LLVM cannot compile for -mcpu=x86-64 -mattr=-sse2: error"),
        ("llvm -mtriple=foo-linux", "-mtriple=foo-linux: LLVM has no such architecture"),
        ("llvm -mattr=-64bit", "LLVM cannot compile for -mcpu=generic -mattr=-64bit"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(StrategyError) as caught:
        Target.parse(text)
    assert message in str(caught.value)


def test_a_target_that_was_not_parsed_is_refused_before_llvm_sees_it():
    made = replace(Target.host(), cpu="no-such-cpu", features="")
    with pytest.raises(CodegenError) as caught:
        optimise_and_compile("define void @f() {\n  ret void\n}\n", made)
    assert "-mcpu=no-such-cpu: LLVM has no such CPU" in str(caught.value)


@pytest.mark.parametrize(
    "triple", ["x86_64-unknown-linux-gnux32", "x86_64-pc-windows-msvc", "i386-linux", "wasm32"]
)
def test_code_of_another_kind_does_not_run_here(triple):
    assert not Target.parse(f"llvm -mtriple={triple}").is_host


def test_the_environment_says_how_many_threads(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setenv("OPGEN_NUM_THREADS", " 12 ")
    assert Target.host().num_threads == 12
    monkeypatch.setenv("OPGEN_NUM_THREADS", "")
    assert Target.host().num_threads == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("given", ["13", "2000000000", "9" * 90])
def test_more_threads_than_four_a_processor_are_cut_with_one_warning(monkeypatch, given):
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setenv("OPGEN_NUM_THREADS", given)
    with pytest.warns(RuntimeWarning) as seen:
        assert Target.host().num_threads == Target.host().num_threads == 12
    assert [str(each.message) for each in seen] == [
        f"OPGEN_NUM_THREADS={given}: 12 threads are used, four for each of 3 processors"
    ]


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "two", "1e3", "\u0663", "1" * 101])
def test_what_is_no_number_of_threads_is_refused(monkeypatch, given):
    monkeypatch.setenv("OPGEN_NUM_THREADS", given)
    with pytest.raises(
        StrategyError, match=r"^OPGEN_NUM_THREADS='.*': expected a whole number of at least 1$"
    ):
        Target.host()
