"""Declared ops in torch: values, layouts, attrs, errors, threads, forks, names."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")

import opgen_runtime.bridges.torch as T  # noqa: E402
from opgen_runtime import eager  # noqa: E402
from opgen_runtime.bridges.torch.handler import MOST  # noqa: E402
from opgen_runtime.bridges.torch.tensors import array_of, tensor_of  # noqa: E402


def test_an_op_gives_what_eager_gives_by_every_name():
    x = torch.arange(-6.0, 6.0).reshape(3, 4)
    wanted = eager.axis_abs(x.numpy(), axis=0, indice=1)
    for found in (T.axis_abs(x, axis=0, indice=1), T.axis_abs(x, 0, 1), torch.ops.opgen.axis_abs(x, 0, 1)):
        np.testing.assert_array_equal(found.numpy(), wanted)
    assert repr(T.operator("axis_abs")) == "<torch op opgen::axis_abs, native>"
    assert T.axis_abs.__doc__ == "opgen::axis_abs(Tensor data, int axis=0, int indice=0) -> Tensor"


def test_operands_of_any_layout():
    x = torch.randn(6, 4, 5)
    for view in (x.permute(2, 0, 1), x[::2, 1:], x[:, :, 2], x.new_zeros(()).expand(3, 2), x[:0]):
        assert torch.equal(T.tanh(view), T.tanh(view.contiguous()))
    half = torch.randn(3, 3, dtype=torch.bfloat16)
    assert T.relu(half.t()).dtype is torch.bfloat16
    np.testing.assert_array_equal(array_of(tensor_of(array_of(half), "bfloat16")), array_of(half))


def test_lists_of_tensors_of_any_length():
    parts = [torch.full((1, 2), float(k)) for k in range(300)]
    whole = T.concatenate(parts, axis=0)
    assert torch.equal(whole, torch.cat(parts))
    assert [tuple(each.shape) for each in T.split(whole, 3, axis=0)] == [(100, 2)] * 3


def test_attrs_in_all_forms():
    x = torch.tensor([-3, 5, 2**62])
    assert T.clip(x, a_max=2**62 - 1).tolist() == [-3, 5, 2**62 - 1]
    assert T.cast(x, "float32").dtype is torch.float32
    assert T.cast(x, dtype=torch.int8).tolist() == [-3, 5, 0]


def test_sizes_that_depend_on_data():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    assert T.argwhere(x).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: T.softmax(torch.ones(2, 3), axis=2),
            "opgen::softmax: softmax: attr 'axis' is 2, outside its bounds",
        ),
        (lambda: T.matmul(torch.ones(2, 3), torch.ones(2, 3)), "'b' has 2 as dim 0, expected K = 3"),
        (lambda: T.tanh(torch.ones(2, dtype=torch.int32)), "opgen::tanh: tanh: .*int32"),
        (
            lambda: T.tanh(torch.ones(2, dtype=torch.float8_e4m3fnuz)),
            "element type 26, which no declared op has",
        ),
        (lambda: T.tanh(torch.ones(2, 2).to_sparse()), "opgen::tanh"),
        (lambda: T.concatenate([torch.ones(2), torch.ones(2).to_sparse()]), "opgen::concatenate"),
        (
            lambda: T.argwhere(torch.ones(2, dtype=torch.float8_e4m3fnuz)),
            "a tensor of torch.float8_e4m3fnuz; expected one of",
        ),
        (
            lambda: T.concatenate([torch.ones(2), torch.ones(2, device="meta")]),
            "opgen::concatenate: operands are on cpu and meta; expected all on one device",
        ),
        (
            lambda: T.add(torch.ones(2), torch.ones(2, dtype=torch.float64)),
            "opgen::add: add: argument 'rhs' has dtype float64, but argument 'lhs' has dtype float32",
        ),
        (lambda: T.conv2d(torch.ones(3, 3), torch.ones(1, 1, 1, 1)), "'data' has 2 dims, expected 4 dims"),
        (lambda: T.tanh(), "missing value for argument 'data'"),
        (lambda: T.tanh(torch.ones(2), 3), "expected at most 1 argument"),
        (lambda: T.softmax(torch.ones(2, 2), axis="x"), "'axis'"),
        (lambda: T.softmax(np.ones(3)), "'data'"),
        (lambda: T.operator("sort").overload(torch.ones(2, 2), axis=5), "opgen::sort"),
    ],
)
def test_errors_are_of_torchs_own_type(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_names_that_are_none():
    with pytest.raises(AttributeError, match=r"no op 'sofmax'; did you mean 'softmax'"):
        _ = T.sofmax
    with pytest.raises(AttributeError, match="has no attribute 'sofmax'"):
        _ = torch.ops.opgen.sofmax


def test_many_sizes_take_bounded_memory():
    op = T.operator("log_softmax")
    for n in range(2, 2 * MOST + 20):
        x = torch.randn(n, 3)
        torch.testing.assert_close(T.log_softmax(x, axis=1), torch.log_softmax(x, 1))
    assert len(op.handler.kept) == MOST
    assert not op.handler.passing


FAILING = """
import torch
from opgen_runtime.declaration import statement as _d
import opgen_runtime.bridges.torch as T
from opgen_runtime.bridges.torch.handler import MOST

def strict(data):
    return _d.call(OP, (data,))

def failing(data):
    raise ValueError(f"{len(data)} elements are too many")

OP = _d.declare(
    strict, _d.Input("data", dtype="float"), _d.Output("out", shape="data.shape", dtype="data.dtype"),
    attrs=None, extern="failing:failing", pattern=_d.OpPattern.OPAQUE, namespace="here",
)
op = T.operator("here.strict")
for n in range(1, MOST + 9):
    try:
        op.public(torch.ones(n))
    except RuntimeError as error:
        said = str(error).splitlines()[0]
    assert said == f"here::strict: the function failing:failing raised ValueError: {n} elements are too many", said
print(len(op.handler.kept) == MOST, op.handler.passing)
"""


def test_calls_that_fail_hold_nothing_that_does_not_stay(tmp_path):
    program = tmp_path / "failing.py"
    program.write_text(FAILING, encoding="utf-8")
    done = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import failing")
    assert (done.returncode, done.stdout.strip()) == (0, "True {}"), done.stderr


def test_threads_meet_new_sizes_at_once():
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            for k in range(125):
                x = torch.randn(1 + (k * 7 + seed) % 40, 1 + k % 25)
                if not torch.allclose(T.sigmoid(x), torch.sigmoid(x), atol=1e-6):
                    wrong.append(tuple(x.shape))
        except RuntimeError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def run(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("first", ["import torch", "import opgen_runtime.eager"])
def test_whatever_is_imported_first(first):
    done = run(
        f"""
        {first}
        import opgen_runtime as rt, numpy as np
        rt.eager.tanh(np.ones(3, "float32"))
        import torch, opgen_runtime.bridges.torch as T
        print(T.tanh(torch.zeros(2)).tolist())
        """
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[0.0, 0.0]"), done.stderr


def test_a_fork_goes_on():
    done = run(
        """
        import os, torch, opgen_runtime.bridges.torch as T
        T.tanh(torch.zeros(2))
        child = os.fork()
        if child == 0:
            try:
                T.tanh(torch.zeros(2, 3)), T.softmax(torch.zeros(3, 3))
                T.softmax(torch.zeros(3, 3), axis=9)
            except RuntimeError as error:
                os._exit(7 if "outside its bounds" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (done.returncode, done.stdout.strip()) == (0, "7"), done.stderr


def test_where_torch_lacks_a_function_calls_go_by_the_way_of_python_and_say_so():
    done = run(
        """
        import warnings, torch
        from opgen_runtime.bridges.torch import handler_text, libtorch
        libtorch.TORCH_FUNCTIONS = (*handler_text.TORCH_FUNCTIONS, "torch_of_the_future")
        import opgen_runtime.bridges.torch as T
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = torch.ones(2, requires_grad=True)
            T.tanh(x).sum().backward()
        said = [str(each.message).partition(": ")[2] for each in caught]
        print(said, T.operator("tanh").why_of_python == said[0], x.grad.shape)
        """
    )
    version = torch.__version__
    reason = f"torch {version} has no torch_of_the_future, as torch 2.13 and later do"
    assert done.stdout.strip() == f"['{reason}'] True torch.Size([2])", done.stderr


def test_tensors_that_are_made_of_ops_are_pickled_and_copied():
    x = T.tanh(torch.ones(2, 2))
    assert torch.equal(pickle.loads(pickle.dumps(x)), x)


def test_complex_tensors():
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert T.multiply(z.conj(), z).tolist() == [5 + 0j, 10 + 0j]
    assert T.imag(z.conj()).tolist() == [-2, 1]
    assert T.cast(z, dtype=torch.complex128).dtype == torch.complex128
