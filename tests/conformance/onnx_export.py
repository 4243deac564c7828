"""Every op as a model of ONNX: `python -m tests.conformance.onnx_export [OP ...]`.

The first two declared cases of each op are exported.  What is written in ONNX's operators alone is run by onnxruntime
and compared with the op: by onnx's own evaluator where onnxruntime has no kernel for a dtype, in float32 where it has
one for that alone.  What is a node of the domain `opgen` is imported again, to the same program.  Printed are how many
go which way, and each case that was refused or is wrong, with `--list` each op that is a node of its own domain.  Exit
code 1 if a case is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    NotImplemented,
    RuntimeException,
)

import opgen_runtime as rt
from opgen_runtime import ir
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DType, is_float_array
from opgen_runtime.frontend import onnx as frontend
from opgen_runtime.frontend.onnx.exporter import OPSET
from opgen_runtime.operator import Op, TupleType
from opgen_runtime.testing.cases import Case, case_call
from opgen_runtime.testing.data import Spec, ordinary
from tests.frontend.onnx.exporter.run_models import run_within
from tests.gradients import suites
from tests.vmaps import leaves_of

CASES = 2
TOLERANCE = 1e-5
EVALUATOR = "onnx's evaluator"
WITHOUT_KERNEL = ("NOT_IMPLEMENTED", "is invalid", "not supported")
NO_DOUBLE = "does not support double"
OUTSIDE = ("out of data bounds", "invalid indice", "invalid index")
"""What onnxruntime says of positions outside a tensor, which the ops leave out."""


def arrays_of(op: Op, case: Case) -> list[np.ndarray]:
    """The operands of a case, in line."""
    specs: Sequence[Spec] = leaves_of(op, case)
    return [ordinary(spec, f"{case} {k}") for k, spec in enumerate(specs)]


def flat(results: Any) -> list[np.ndarray]:
    """Results of any executor as arrays."""
    if isinstance(results, tuple | list):
        return [each for result in results for each in flat(result)]
    return [np.asarray(results.numpy() if hasattr(results, "numpy") else results)]


def evaluated(function: ir.Function, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results by the interpreter."""
    free = set(ir.free_vars(function.body))
    bindings = {var: array for var, array in zip(function.params, arrays, strict=True) if var in free}
    return flat(rt.create_executor("debug").evaluate(function.body, bindings))


def run_standard(model: onnx.ModelProto, arrays: Sequence[np.ndarray]) -> tuple[str, list[np.ndarray]]:
    """The results of a model of ONNX's operators, and who ran it."""
    feeds = {value.name: array for value, array in zip(model.graph.input, arrays, strict=True)}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return "onnxruntime", run_within(session, feeds)
    except (NotImplemented, InvalidGraph, InvalidArgument, Fail) as error:
        if not any(words in str(error) for words in WITHOUT_KERNEL):
            raise
    with np.errstate(all="ignore"):
        return EVALUATOR, [np.asarray(each) for each in ReferenceEvaluator(model).run(None, feeds)]


def why_apart(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> str | None:
    """How results differ; None where they are within the tolerance: 1e-5, of narrow floats four of their steps."""
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {k} is {one.dtype}{list(one.shape)}, expected {other.dtype}{list(other.shape)}"
        if not is_float_array(one.dtype):
            if not np.array_equal(one, other):
                return f"result {k} differs in {np.count_nonzero(one != other)} of {one.size} elements"
            continue
        narrow = DType(one.dtype.name).float_format
        assert narrow is not None
        bound = max(TOLERANCE, 4 * narrow.epsilon)
        a, b = one.astype(np.float64), other.astype(np.float64)
        scale = float(np.max(np.abs(b), initial=1.0, where=np.isfinite(b)))
        same = np.isclose(a, b, rtol=bound, atol=bound * scale, equal_nan=True)
        if not same.all():
            return f"result {k} differs: {a[~same][0]}, expected {b[~same][0]}"
    return None


def narrowed(case: Case) -> Case:
    """The same case in float32."""

    def narrow(spec: Any) -> Any:
        return (
            tuple(map(narrow, spec))
            if isinstance(spec, tuple)
            else spec and spec.replace("float64", "float32")
        )

    return replace(case, inputs={name: narrow(spec) for name, spec in case.inputs.items()})


def check(op: Op, case: Case, opset: int) -> str:
    """Exports a case and says which way it went.  Raises AssertionError where it is wrong."""
    call, variables = case_call(op, case)
    several = isinstance(call.checked_type, TupleType)
    function = ir.Function(tuple(variables), ir.Tuple(tuple(call)) if several else call)
    arrays = arrays_of(op, case)
    model = frontend.export(function, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    module, weights = frontend.load(model)
    again = module["main"]
    if any(node.domain for node in model.graph.node):
        assert ir.structural_equal(again, function), f"imported again it is\n{module}"
        return "own"
    wanted = evaluated(function, arrays)
    try:
        who, found = run_standard(model, arrays)
    except (Fail, InvalidArgument) as error:
        if not any(words in str(error) for words in OUTSIDE):
            raise
        return "outside"
    except RuntimeException as error:
        if NO_DOUBLE not in str(error):
            raise
        return check(op, narrowed(case), opset)
    reason = why_apart(found, wanted)
    assert reason is None, f"{who}: {reason}"
    reason = why_apart(evaluated(again, [*arrays, *weights.values()]), wanted)
    assert reason is None, f"imported again: {reason}"
    return who


def main(names: Sequence[str], listed: bool, opset: int) -> int:
    ways: Counter[str] = Counter()
    ops: dict[str, set[str]] = {}
    wrong = 0
    for suite in suites(names):
        for case in suite.declared_cases[:CASES]:
            try:
                way = check(suite.op, case, opset)
            except OpgenError as error:
                way = "refused"
                print(f"{suite.op.name}: {case}: refused: {error}", flush=True)
            except Exception as error:  # each kind is a case that is wrong
                way = "wrong"
                wrong += 1
                print(f"{suite.op.name}: {case}: wrong: {type(error).__name__}: {error}"[:400], flush=True)
            ways[way] += 1
            ops.setdefault(way, set()).add(suite.op.name)
    own = sorted(ops.get("own", ()))
    if listed:
        print("nodes of the domain opgen:", ", ".join(own))
    run, by_onnx, outside = ways["onnxruntime"], ways[EVALUATOR], ways["outside"]
    print(
        f"{sum(ways.values())} cases: {run + by_onnx + outside} in ONNX's operators ({run} run by onnxruntime, "
        f"{by_onnx} by onnx's evaluator, {outside} not run, as onnxruntime takes no positions outside), {ways['own']} "
        f"as nodes of the domain opgen ({len(own)} ops), {ways['refused']} refused, {wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ops", nargs="*", metavar="OP")
    parser.add_argument("--list", action="store_true", help="the ops that are nodes of their own domain")
    parser.add_argument("--opset", type=int, default=OPSET)
    given = parser.parse_args()
    sys.exit(main(given.ops, given.list, given.opset))
