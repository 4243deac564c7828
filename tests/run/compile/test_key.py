"""The front key, and the caches in memory and on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from opgen_runtime import codegen, ir, ops
from opgen_runtime.base.target import Target
from opgen_runtime.operator.registry import Op, register_op_attr
from opgen_runtime.run import compile as kernels
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel import steps
from opgen_runtime.run.compile.kernel.key import sources_digest

HOST = Target.host()


def test_names_do_not_matter_and_all_else_does(make):
    key = kernels.front_key(make.chain(), HOST)
    a, b, c = (make.variable(name, (37, 5)) for name in "xyz")
    same = ir.Function((a, b, c), ops.multiply(ops.tanh(ops.add(ops.multiply(a, b), c)), ops.sigmoid(a)))
    assert kernels.front_key(same, HOST) == key
    swapped = ir.Function((b, a, c), same.body)
    assert kernels.front_key(swapped, HOST) != key
    assert kernels.front_key(make.chain((5, 37)), HOST) != key
    assert kernels.front_key(make.chain(), Target.parse("llvm -num-threads=7")) != key


def test_machines_of_equal_values_share_kernels_and_others_do_not(make):
    key, machine = kernels.front_key(make.chain(), HOST), HOST.machine
    renamed = replace(HOST, machine=replace(machine, name="mine"))
    assert kernels.front_key(make.chain(), renamed) == key
    for changed in (
        replace(machine, l2=machine.l2 // 2),
        replace(machine, cycles={**machine.cycles, "pack": 5}),
    ):
        assert kernels.front_key(make.chain(), replace(HOST, machine=changed)) != key


def test_constants_count(make):
    a = make.variable("a", (3,))
    keys = {
        kernels.front_key(ir.Function((a,), ops.add(a, ir.const(value, "float32"))), HOST)
        for value in (0.0, -0.0, 1.0)
    }
    assert len(keys) == 3


def test_an_op_whose_strategy_was_replaced_is_not_kept_on_disk(make):
    op = Op.get("tanh")
    assert kernels.front_key(make.chain(), HOST) is not None
    register_op_attr("tanh", "strategy", lambda names: None, plevel=99)
    try:
        assert kernels.front_key(make.chain(), HOST) is None
    finally:
        op.reset_attr("strategy", plevel=99)
    assert kernels.front_key(make.chain(), HOST) is not None


def test_the_second_request_is_the_same_kernel(make):
    assert pipeline.compile_segment(make.chain()) is pipeline.compile_segment(make.chain())


def test_the_disk_spares_compilation(make, cache_directory, monkeypatch):
    function = make.chain()
    inputs = make.arrays(function)
    (first,) = pipeline.compile_segment(function).run(inputs)
    assert len(list(cache_directory.glob("*.o"))) >= 1
    pipeline.forget_kernels()

    def refuse(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(steps, "segment_of", refuse)
    monkeypatch.setattr(codegen, "emit", refuse)
    (second,) = pipeline.compile_segment(function).run(inputs)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_entry_is_compiled_again(make, cache_directory, damage):
    function = make.chain()
    inputs = make.arrays(function)
    (first,) = pipeline.compile_segment(function).run(inputs)
    path = cache_directory / f"{kernels.front_key(function, HOST)}.o"
    content = path.read_bytes()
    path.write_bytes(content[:-9] if damage is None else damage)
    pipeline.forget_kernels()
    (second,) = pipeline.compile_segment(function).run(inputs)
    np.testing.assert_array_equal(first, second)
    assert path.read_bytes() == content


SCRIPT = """
from opgen_runtime import ir, ops
from opgen_runtime.run import compile as kernels
from opgen_runtime.run.compile.kernel import key
from opgen_runtime.base.target import Target
from opgen_runtime.operator.types import TensorType
key._environment = lambda: "sources may be edited meanwhile"
a, b, c = (ir.var(n, TensorType((37, 5), "float32")) for n in "pqr")
body = ops.multiply(ops.tanh(ops.add(ops.multiply(a, b), c)), ops.sigmoid(a))
print(kernels.front_key(ir.Function((a, b, c), body), Target.host()))
"""


def test_another_process_finds_the_same_key():
    def key(seed):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
        run = [sys.executable, "-c", SCRIPT]
        return subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout

    assert key("1") == key("77")


def test_sources_are_digested():
    assert len(sources_digest()) == 32
    assert sources_digest() is sources_digest()
