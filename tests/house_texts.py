"""What the compiler makes of a fixed set of kernels, as texts: the baseline of a rewrite that must not change kernels.

    python -m tests.house --texts DIR [--jobs N] [--ops a,b]     one file for each target and op
    python -m tests.house --compare A B [--renamed MAP]          the first differences; 1 where there are some

A text holds, for each case of a generated suite, and for each kernel of the whole programs below, the trace of the
schedule, loop IR as lowered and after the last phase, and LLVM IR as written.  The targets are pinned, so that the
texts depend on no machine; they are the same to the byte in every process.

MAP holds two words a line, `old new`: what stands in A as the first, where no letter, digit or underscore is beside
it, is read as the second.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from difflib import unified_diff
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from opgen_runtime import ir, ops, tir
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.target import Target
from opgen_runtime.operator import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.records import Emitted, Lowered, Request, Scheduled
from opgen_runtime.run.compile.kernel.segments import segments_of
from opgen_runtime.testing import case_call, suite_of
from opgen_runtime.transform import PassContext
from opgen_runtime.transform.gradient import pull

_MACHINE: Final = "llvm -mtriple=x86_64-unknown-linux-gnu -num-threads=8"
_AVX2: Final = (
    "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+xsave"
)
_AVX512: Final = f"{_AVX2},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
TARGETS: Final = {
    "avx2": f"{_MACHINE} -mcpu=x86-64-v3 -mattr={_AVX2}",
    "avx512": f"{_MACHINE} -mcpu=x86-64-v4 -mattr={_AVX512}",
}
_PROGRAM: Final = "program "  # in front of the name of a whole program, where ops stand beside them
_SHOWN: Final = 8  # files of which differences are printed
_LINES: Final = 20  # of differences of a file


# ------------------------------------------------------------------ whole programs

N, M, K = dim("n"), dim("m"), dim("k")


def _var(name: str, *shape: Any, dtype: str = "float32") -> ir.Var:
    return ir.var(name, TensorType(shape, dtype))


def _constant(*shape: int, dtype: str = "float32") -> ir.Constant:
    """Values that no pass takes for equal ones."""
    count = int(np.prod(shape))
    return ir.Constant((np.arange(count) % 13 - 5).reshape(shape).astype(dtype))


def _dense(rows: Any, depth: int, columns: int) -> ir.Expr:
    """A layer of constant weights."""
    product = ops.dense(_var("x", rows, depth), _constant(columns, depth))
    return ops.relu(ops.bias_add(product, _constant(columns)))


def _attention(heads: Any, length: Any, depth: Any) -> ir.Expr:
    q, k, v = (_var(name, heads, length, depth) for name in "qkv")
    weights = ops.softmax(ops.matmul(q, ops.transpose(k, axes=(0, 2, 1))), axis=-1)
    return ops.matmul(weights, v)


def _conv(
    batch: Any, channels: int, size: Any, filters: int, taps: int = 3, weight: bool = True, **attrs: Any
) -> ir.Expr:
    x = _var("x", batch, channels, size, size)
    shape = (filters, channels // attrs.get("groups", 1), taps, taps)
    product = ops.conv2d(x, _constant(*shape) if weight else _var("w", *shape), **attrs)
    return ops.relu(ops.bias_add(product, _constant(filters)))


def _quantised(rows: Any) -> ir.Expr:
    x, w = ops.cast(_var("x", rows, 96, dtype="uint8"), dtype="int32"), _constant(96, 80, dtype="int8")
    return ops.matmul(ops.subtract(x, _constant(1, dtype="int32")), ops.cast(w, dtype="int32"))


def _adjoints(result: ir.Expr) -> ir.Expr:
    """What follows of a result for all variables."""
    variables = ir.free_vars(result)
    kind = result.checked_type
    assert isinstance(kind, TensorType)
    made = pull([result], [_var("g", *kind.shape, dtype=str(kind.dtype))], variables)
    return ir.Tuple([each for each in made if each is not None])


PROGRAMS: Final[dict[str, Callable[[], ir.Expr]]] = {
    "matmul": lambda: ops.matmul(_var("x", 384, 256), _var("w", 256, 512)),
    "matmul float64": lambda: ops.matmul(
        _var("x", 100, 300, dtype="float64"), _var("w", 300, 130, dtype="float64")
    ),
    "matmul open": lambda: ops.matmul(_var("x", N, K), _var("w", K, M)),
    "matmul batched open": lambda: ops.matmul(_var("x", N, 9, K), _var("w", N, K, M)),
    "matmul row": lambda: ops.matmul(_var("x", 1, 1024), _var("w", 1024, 1000)),
    "matmul gradient": lambda: _adjoints(ops.matmul(_var("x", 128, 96), _var("w", 96, 200))),
    "dense": lambda: _dense(64, 256, 128),
    "dense open": lambda: _dense(N, 256, 128),
    "dense row": lambda: _dense(1, 512, 1000),
    "attention": lambda: _attention(8, 128, 64),
    "attention open": lambda: _attention(N, M, 64),
    "quantised": lambda: _quantised(64),
    "quantised open": lambda: _quantised(N),
    "conv2d": lambda: _conv(1, 64, 28, 64, padding=(1, 1)),
    "conv2d open": lambda: _conv(N, 32, K, 48, padding=(1, 1)),
    "conv2d strides": lambda: _conv(2, 3, 56, 64, 7, strides=(2, 2), padding=(3, 3)),
    "conv2d of ones": lambda: _conv(1, 128, 14, 96, 1),
    "conv2d depthwise": lambda: _conv(1, 96, 28, 96, groups=96, padding=(1, 1)),
    "conv2d depthwise open": lambda: _conv(N, 96, K, 96, groups=96, padding=(1, 1)),
    "conv2d groups": lambda: _conv(1, 64, 14, 64, groups=4, padding=(1, 1)),
    "conv2d gradient": lambda: _adjoints(_conv(2, 16, 20, 24, weight=False, padding=(1, 1))),
    "conv2d gradient open": lambda: _adjoints(_conv(N, 16, 20, 24, weight=False, padding=(1, 1))),
    "conv2d_transpose": lambda: ops.relu(
        ops.conv2d_transpose(_var("x", 1, 32, 14, 14), _constant(32, 16, 4, 4), strides=(2, 2), padding=(1, 1))
    ),
    "max_pool2d": lambda: ops.max_pool2d(_var("x", 1, 64, 56, 56), pool_size=(3, 3), strides=(2, 2)),
    "avg_pool2d open": lambda: ops.avg_pool2d(_var("x", N, 32, K, K), pool_size=(3, 3), padding=(1, 1)),
    "softmax": lambda: ops.softmax(_var("x", 64, 1000), axis=1),
    "softmax open": lambda: ops.softmax(_var("x", N, K), axis=1),
    "softmax gradient": lambda: _adjoints(ops.softmax(_var("x", 64, 1000), axis=1)),
    "layer_norm": lambda: ops.layer_norm(_var("x", 128, 768), _constant(768), _constant(768)),
    "layer_norm open": lambda: ops.layer_norm(_var("x", N, K, 24), _var("g", 24), _var("b", 24)),
    "batch_norm": lambda: ops.batch_norm(_var("x", 2, 32, 28, 28), *[_constant(32) for _ in range(4)])[0],
    "transpose": lambda: ops.transpose(_var("x", 96, 200, 64), axes=(2, 0, 1)),
    "transpose open": lambda: ops.transpose(_var("x", N, K, M), axes=(2, 0, 1)),
    "concatenate open": lambda: ops.concatenate([ops.exp(_var("x", N, 8)), _var("y", M, 8)], axis=0),
    "broadcast open": lambda: ops.add(ops.tanh(_var("x", N, K)), _var("y", M, K)),
    "elementwise": lambda: ops.gelu(ops.multiply(_var("x", 512, 1024), _var("y", 1024))),
    "elementwise float16": lambda: ops.tanh(
        ops.add(_var("x", 512, 257, dtype="float16"), _var("y", 257, dtype="float16"))
    ),
    "large copy": lambda: ops.add(_var("x", 4096, 4096), _constant(1)),
    "sum of columns": lambda: ops.sum(_var("x", 1000, 300), axis=0),
    "sum of all open": lambda: ops.sum(ops.square(_var("x", N, K))),
    "take open": lambda: ops.take(_var("x", N, 64), _var("i", K, dtype="int64"), axis=0),
    "cumsum": lambda: ops.cumsum(_var("x", 64, 1000), axis=1),
    "lrn": lambda: ops.lrn(_var("x", 1, 64, 28, 28)),
}  # fmt: skip


# ------------------------------------------------------------------ texts


def op_texts(name: str, target: str) -> Iterator[tuple[str, str]]:
    """(title, text) of each declared and sampled case of an op."""
    suite = suite_of(importlib.import_module(f"tests.generated.test_{name}"))
    for case in (*suite.declared_cases, *suite.sampled_cases):
        call, variables = case_call(suite.op, case)
        request = Request(ir.Function(tuple(variables), call), Target.parse(target))
        for title, text in request_texts(request):
            yield f"{case}: {title}", text


def program_texts(name: str, target: str) -> Iterator[tuple[str, str]]:
    """(title, text) of each kernel of one of the whole programs."""
    body = PROGRAMS[name]()
    module = pipeline.optimise(
        ir.IRModule.from_expr(ir.Function(tuple(ir.free_vars(body)), body)), PassContext()
    )
    segments = segments_of(*module.functions.values())
    for number, (function, constant) in enumerate(zip(segments.functions, segments.constant, strict=True)):
        request = Request(function, Target.parse(target), constant=constant)
        for title, text in request_texts(request):
            yield f"kernel {number}: {title}", text


def request_texts(request: Request) -> Iterator[tuple[str, str]]:
    """(title, text) of a segment on its way to LLVM IR, and of the part that depends on constants alone.

    What the compiler refuses is a text, too; hand-written functions have none.
    """
    try:
        *_, (_, scheduled) = pipeline.through_kernel(request, pipeline.upto("split"))
        if not isinstance(scheduled, Scheduled):
            return
        parts = [("", scheduled), ("prepare: ", scheduled.precompute)]
        for prefix, part in parts:
            if part is not None:
                versions = [(f" where {each.specialisation}", each.what) for each in part.versions]
                for suffix, each in (("", part), *versions):
                    yield f"{prefix}trace{suffix}", str(each.schedule.trace)
                yield from ((prefix + title, text) for title, text in _lowered(request, part))
    except OpgenError as error:
        yield "refused", f"{type(error).__name__}: {error}"


def _lowered(request: Request, scheduled: Scheduled) -> Iterator[tuple[str, str]]:
    shown = ("lower", tir.PHASES[-1].name, "emit")
    for stage, record in pipeline.through_kernel(request, pipeline.between("split", "emit"), scheduled):
        if stage.name in shown and isinstance(record, Lowered | Emitted):
            yield from pipeline.texts_of(stage, record)


def subjects() -> tuple[str, ...]:
    """What there is a file of: every op with a suite, every program."""
    return (*ops.__all__, *[_PROGRAM + name for name in PROGRAMS])


def subject_text(subject: str, target: str) -> str:
    """All texts of one subject for one of `TARGETS`."""
    made = (
        program_texts(subject.removeprefix(_PROGRAM), TARGETS[target])
        if subject.startswith(_PROGRAM)
        else op_texts(subject, TARGETS[target])
    )
    return "".join([f"==== {title}\n{text.rstrip()}\n\n" for title, text in made])


def _path(folder: Path, subject: str, target: str) -> Path:
    return folder / target / f"{subject.replace(' ', '_')}.txt"


def _write(folder: Path, work: tuple[str, str]) -> None:
    path = _path(folder, *work)
    path.write_text(subject_text(*work), encoding="utf-8")


def _settle(cache: str) -> None:
    """A process of the pool: no record of tuning, no setting of passes and no object from elsewhere."""
    os.environ["OPGEN_CACHE_DIR"] = cache


def write_texts(folder: Path, jobs: int, only: Sequence[str] = ()) -> int:
    """Write the files of all subjects, or of those named, into a folder that is empty or new; gives how many there are.

    Raises ValueError for a subject that there is not, and for a folder that holds something.
    """
    if unknown := set(only) - set(subjects()):
        raise ValueError(f"there is no op or program {', '.join(sorted(unknown))}")
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} holds something; texts are written into an empty folder")
    work = [(subject, target) for subject in only or subjects() for target in TARGETS]
    for target in TARGETS:
        (folder / target).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, context, _settle, (cache,)) as pool:
            return sum(1 for _ in pool.map(partial(_write, folder), work))


# ------------------------------------------------------------------ comparison


def read_renamed(path: Path) -> dict[str, str]:
    """The words of a map of renames. Raises ValueError for a line that is not two words."""
    renamed: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.partition("#")[0].split()
        if len(words) not in (0, 2):
            raise ValueError(f"{path}:{number}: expected `old new`, found {line!r}")
        if words:
            renamed[words[0]] = words[1]
    return renamed


def differences(before: Path, after: Path, renamed: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """(file, first lines of the difference) of each file of two folders that differs, or is in one of them only."""
    words = [rf"(?<!\w){re.escape(old)}(?!\w)" for old in renamed if not old.startswith("*")]
    words += [re.escape(old.strip("*")) for old in renamed if old.startswith("*")]
    known = {old.strip("*"): new.strip("*") for old, new in renamed.items()}
    pattern = re.compile("|".join(words)) if words else None
    files = {path.relative_to(folder) for folder in (before, after) for path in folder.rglob("*.txt")}
    for file in sorted(files):
        one, other = before / file, after / file
        if not (one.exists() and other.exists()):
            yield str(file), [f"only in {before if one.exists() else after}"]
            continue
        text = one.read_text(encoding="utf-8")
        if pattern is not None:
            text = pattern.sub(lambda match: known[match[0]], text)
        now = other.read_text(encoding="utf-8")
        if text != now:
            lines = unified_diff(text.splitlines(), now.splitlines(), str(one), str(other), lineterm="", n=2)
            yield str(file), list(islice(lines, _LINES))


def compare(before: Path, after: Path, renamed: dict[str, str]) -> int:
    """Print what differs between two folders of texts; 1 where something does, or where there is nothing to compare."""
    if not any(before.rglob("*.txt")):
        print(f"{before} holds no texts")
        return 1
    found = list(differences(before, after, renamed))
    for file, lines in found[:_SHOWN]:
        print(f"{file}:")
        print("\n".join(f"  {line}" for line in lines))
    print(f"{len(found)} files differ" if found else "no difference")
    return int(bool(found))
