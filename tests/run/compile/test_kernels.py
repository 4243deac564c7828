"""compile_segment and Kernel.run."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import CodegenError, ExecutorError
from opgen_runtime.base.target import Target
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline, stage_texts
from opgen_runtime.run.compile.native.pointers import _direct, _documented, address_of


def check(function, inputs, *expected, rtol=1e-5):
    outputs = pipeline.compile_segment(function).run(inputs)
    assert len(outputs) == len(expected)
    for output, wanted in zip(outputs, expected, strict=True):
        assert output.shape == wanted.shape
        assert output.dtype == wanted.dtype
        np.testing.assert_allclose(output, wanted, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (16,), (37, 5), (3, 4, 50)])
def test_a_fused_chain(make, shape):
    function = make.chain(shape)
    inputs = make.arrays(function)
    check(function, inputs, make.chain_reference(*inputs))


def test_several_outputs(make):
    a, b = make.variable("a", (40,)), make.variable("b", (40,))
    total = ops.add(a, b)
    function = ir.Function((a, b), ir.Tuple((ops.tanh(total), total)))
    x, y = make.arrays(function)
    check(function, [x, y], np.tanh(x + y), x + y)


def test_a_reduction_with_an_epilogue(make):
    a = make.variable("a", (9, 33))
    function = ir.Function((a,), ops.tanh(ops.sum(a, axis=[1])))
    (x,) = make.arrays(function)
    check(function, [x], np.tanh(x.sum(axis=1)))


def test_constants_of_one_element_and_of_many(make):
    a = make.variable("a", (4, 6))
    row = np.arange(6, dtype=np.float32)
    body = ops.add(ops.multiply(a, ir.const(2.5, "float32")), ir.Constant(row))
    function = ir.Function((a,), body)
    (x,) = make.arrays(function)
    check(function, [x], x * np.float32(2.5) + row)
    pipeline.forget_kernels()
    check(function, [x], x * np.float32(2.5) + row)  # from the disk


def test_a_body_that_is_a_parameter(make):
    a = make.variable("a", (5,))
    function = ir.Function((a,), a)
    (x,) = make.arrays(function)
    check(function, [x], x)


def test_empty_outputs_compile_nothing(make, cache_directory):
    function = make.chain((0, 4))
    (out,) = pipeline.compile_segment(function).run([np.empty((0, 4), np.float32)] * 3)
    assert out.shape == (0, 4)
    assert not cache_directory.exists()


def test_a_reduction_of_nothing(make):
    a = make.variable("a", (3, 0))
    check(ir.Function((a,), ops.sum(a, axis=[1])), [np.empty((3, 0), np.float32)], np.zeros(3, np.float32))


class TestOperands:
    """What `run` accepts and refuses."""

    def test_any_layout(self, make):
        function = make.chain((6, 8))
        a, b, c = make.arrays(function)
        strided = np.zeros((12, 16), np.float32)[::2, ::2]
        strided[...] = b
        unaligned = np.frombuffer(b"x" + c.tobytes(), np.uint8)[1:].view(np.float32).reshape(6, 8)
        check(function, [np.asfortranarray(a), strided, unaligned], make.chain_reference(a, b, c))
        check(function, [a.astype(">f4"), b, c], make.chain_reference(a, b, c))

    def test_inputs_of_other_libraries(self, make):
        function = make.chain((6, 8))
        a, b, c = make.arrays(function)
        offered = [
            SimpleNamespace(__array_interface__=each.__array_interface__, held=each) for each in (a, b)
        ]
        check(function, [*offered, c], make.chain_reference(a, b, c))
        with pytest.raises(ExecutorError, match="input a is a masked array, whose mask would be lost"):
            pipeline.compile_segment(function).run([np.ma.masked_greater(a, 0), b, c])

    def test_given_outputs(self, make):
        function = make.chain((6, 8))
        inputs = make.arrays(function)
        expected = make.chain_reference(*inputs)
        kernel = pipeline.compile_segment(function)
        out = np.zeros((6, 8), np.float32)
        (found,) = kernel.run(inputs, [out])
        assert found is out
        np.testing.assert_allclose(out, expected, rtol=1e-5)
        strided = np.zeros((6, 16), np.float32)[:, ::2]
        kernel.run(inputs, [strided])
        np.testing.assert_allclose(strided, expected, rtol=1e-5)

    def test_an_output_may_overlap_inputs(self, make):
        function = make.chain((1000,))
        a, b, c = make.arrays(function)
        expected = make.chain_reference(a, b, c)
        buffer = np.empty(1001, np.float32)
        buffer[:1000] = a
        pipeline.compile_segment(function).run([buffer[:1000], b, c], [buffer[1:]])
        np.testing.assert_allclose(buffer[1:], expected, rtol=1e-5)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda x: x[:2], "expected 3 inputs, found 2"),
            (lambda x: [x[0].T, *x[1:]], "input a must be float32[6, 8], found float32[8, 6]"),
            (
                lambda x: [x[0], x[1].astype(np.float64), x[2]],
                "input b must be float32[6, 8], found float64[6, 8]",
            ),
            (lambda x: [x[0], x[1], 3.0], "input c must be an array or a number, found float"),
        ],
    )
    def test_what_does_not_fit_is_named(self, make, change, message):
        function = make.chain((6, 8))
        with pytest.raises(ExecutorError) as caught:
            pipeline.compile_segment(function).run(change(make.arrays(function)))
        assert message in str(caught.value)

    def test_wrong_outputs(self, make):
        function = make.chain((6, 8))
        kernel, inputs = pipeline.compile_segment(function), make.arrays(function)
        read_only = np.zeros((6, 8), np.float32)
        read_only.flags.writeable = False
        for outputs, message in (
            ([], "expected 1 outputs, found 0"),
            ([np.zeros((6, 8))], "output 0 must be float32[6, 8], found float64[6, 8]"),
            ([read_only], "is read-only"),
        ):
            with pytest.raises(ExecutorError) as caught:
                kernel.run(inputs, outputs)
            assert message in str(caught.value)

    def test_several_threads_at_once(self, make):
        function = make.chain((200, 300))
        kernel = pipeline.compile_segment(function)
        inputs = [make.arrays(function, seed) for seed in range(4)]
        wrong: list[int] = []

        def work(position):
            expected = make.chain_reference(*inputs[position])
            for _ in range(20):
                if not np.allclose(kernel.run(inputs[position])[0], expected, rtol=1e-4, atol=1e-5):
                    wrong.append(position)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_addresses_of_arrays():
    base = np.arange(24.0).reshape(4, 6)
    for array in (base, base[1:, ::2], base.T, np.empty(0), np.array(3.0)):
        assert address_of(array) == _documented(array) == _direct(array)


class TestRefusals:
    def test_types_must_be_known_and_static(self):
        a = ir.var("a")
        with pytest.raises(CodegenError, match="a kernel needs tensors of known type"):
            pipeline.compile_segment(ir.Function((a,), a))
        b = ir.var("b", TensorType((dim("n"),), "float32"))
        with pytest.raises(CodegenError, match="its dims must be bound to values"):
            pipeline.compile_segment(ir.Function((b,), ops.tanh(b)))

    def test_control_flow_is_no_segment(self, make):
        c = make.variable("c", (), "bool")
        a = make.variable("a", (3,))
        with pytest.raises(CodegenError, match="If cannot be part of a kernel"):
            pipeline.compile_segment(ir.Function((c, a), ir.If(c, a, a)))

    def test_a_foreign_target_does_not_run_here(self, make):
        with pytest.raises(CodegenError, match="cannot run on this machine"):
            pipeline.compile_segment(make.chain(), "llvm -mtriple=aarch64-linux-gnu -mcpu=generic")


def test_stages_cover_the_way_down(make):
    found = dict(stage_texts.kernel_texts(make.chain(), Target.host()))
    names = list(found)
    assert names[:5] == ["tensor expressions", "strategy", "pattern", "rules", "schedule"]
    assert names[-3:] == ["llvm", "llvm optimised", "assembly"]
    assert {"lower", "storage_flatten", "vectorize_loop", "rewrite_unsafe_select"} <= set(names)
    assert all(found.values())
