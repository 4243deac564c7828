"""ONNX's node cases through the backend: `python tests/conformance/node_cases.py [PATTERN ...]`.

Every case of the onnx package that `in_scope.txt` lists is run, its outputs compared with the expected ones at
rtol 1e-3, atol 1e-6 (bfloat16 at the rtol of onnx's own runner, what is narrower and strings exactly) and equal
dtypes and shapes.  Cases with random outputs: shape, dtype and distribution.
`left_out.txt` gives the others, each with its reason; `--classify` writes both lists anew.

Exit code 1 if a case is wrong, or fewer than 99% pass.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from opgen_runtime.frontend.onnx import Backend, UnsupportedOperatorError

HERE = Path(__file__).parent
RTOL, ATOL, SHARE = 1e-3, 1e-6, 0.99
RTOL_BFLOAT16 = 2.0**-6  # two steps: onnx.backend.test.runner
LEFT_OUT = {
    "ImageDecoder": "compressed images need decoders of their formats",
    "LabelEncoder": "tables of labels are no program of tensors",
    "TreeEnsemble": "ensembles of trees are no program of tensors",
}
RANDOM = ("test_bernoulli", "test_training_dropout")


@dataclass(frozen=True)
class Outcome:
    """`status`: passed, refused or wrong."""

    name: str
    operator: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    trace: str = ""


def collect() -> list[Any]:
    """All node cases of the installed onnx, expanded functions included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return list({case.name: case for case in collect_testcases(None)}.values())


def why_left_out(case: Any) -> str | None:
    """Why a case is out of scope; None if it is in scope."""
    return next((LEFT_OUT[n.op_type] for n in case.model.graph.node if n.op_type in LEFT_OUT), None)


def check(case: Any) -> Outcome:
    """The outcome of one case."""
    started = time.perf_counter()
    operator = case.model.graph.node[0].op_type if case.model.graph.node else "none"

    def outcome(status: str, reason: str = "", trace: str = "") -> Outcome:
        return Outcome(case.name, operator, status, reason, time.perf_counter() - started, trace)

    try:
        prepared = Backend.prepare(case.model)
        for inputs, expected in case.data_sets:
            found = prepared.run([_value(each) for each in inputs])
            wrong = why_different(found, [_value(each) for each in expected], case.name)
            if wrong is not None:
                return outcome("wrong", wrong)
    except UnsupportedOperatorError as error:
        return outcome("refused", " | ".join(str(node) for node in error.nodes))
    except Exception as error:  # whatever it is, it is the outcome of this case
        return outcome("wrong", f"{type(error).__name__}: {error}".splitlines()[0], traceback.format_exc())
    return outcome("passed")


def _value(given: Any) -> Any:
    if isinstance(given, TensorProto):
        return numpy_helper.to_array(given)
    if isinstance(given, onnx.SequenceProto):
        return numpy_helper.to_list(given)
    if isinstance(given, onnx.OptionalProto):
        return numpy_helper.to_optional(given)
    if isinstance(given, list | tuple):
        return [_value(each) for each in given]
    return given


def why_different(found: Any, expected: Any, name: str) -> str | None:
    """What differs; None if nothing does."""
    if isinstance(expected, list):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            return f"{len(expected)} values expected, found {found!r:.80}"
        return next(
            (d for f, e in zip(found, expected, strict=True) if (d := why_different(f, e, name))), None
        )
    if expected is None:
        return None if found is None else "no value expected"
    expected = np.asarray(expected)
    if found is None:
        return "no value"
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{expected.dtype}{list(expected.shape)} expected, found {found.dtype}{list(found.shape)}"
    if name.startswith(RANDOM):
        return _why_unlikely(found, expected)
    rtol = RTOL
    if expected.dtype.kind == "O":
        return None if np.array_equal(found, expected) else f"{expected!r:.80} expected, found {found!r:.80}"
    if expected.dtype.kind == "V":  # of ml_dtypes, which numpy's isclose does not know
        rtol = RTOL_BFLOAT16 if expected.dtype.name == "bfloat16" else 0.0
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    try:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=ATOL)
    except AssertionError as error:
        return " ".join(line.strip() for line in str(error).splitlines()[3:8] if line.strip())
    return None


def _why_unlikely(found: np.ndarray, expected: np.ndarray) -> str | None:
    """The mean within five standard errors of the expected one."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    error = np.sqrt((a.var() + b.var()) / max(a.size, 1)) + 1e-12
    if a.size > 1 and abs(a.mean() - b.mean()) > 5 * error + 1e-6:
        return f"mean {a.mean():.3g} is unlikely where {b.mean():.3g} is expected"
    return None


def listed(file: str) -> list[str]:
    """The names of a list, without comments and reasons."""
    lines = (HERE / file).read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def classify(cases: Iterable[Any]) -> None:
    """Writes the lists of cases in scope and left out."""
    inside, outside = [], []
    for case in cases:
        reason = why_left_out(case)
        inside.append(case.name) if reason is None else outside.append(f"{case.name}  {reason}")
    head = f"# of onnx {onnx.__version__}; python tests/conformance/node_cases.py --classify"
    (HERE / "in_scope.txt").write_text(
        "\n".join(
            [
                f"# Node cases that are run: {len(inside)}",
                head,
                *sorted(inside),
            ]
        )
        + "\n"
    )
    (HERE / "left_out.txt").write_text(
        "\n".join([f"# Node cases that are not run, and why: {len(outside)}", head, *sorted(outside)]) + "\n"
    )


def chosen(cases: Iterable[Any], names: Iterable[str], patterns: list[str]) -> Iterator[Any]:
    wanted = set(names)
    for case in cases:
        if case.name in wanted and (not patterns or any(fnmatch.fnmatch(case.name, p) for p in patterns)):
            yield case


def report(outcomes: list[Outcome], verbose: bool) -> int:
    """Prints what became of the cases; the exit code."""
    counts = Counter(outcome.status for outcome in outcomes)
    for status in ("refused", "wrong"):
        for outcome in outcomes:
            if outcome.status == status:
                print(f"{status}: {outcome.name}: {outcome.reason}")
                if verbose and outcome.trace:
                    print(outcome.trace)
    total = max(len(outcomes), 1)
    print(f"{total} cases: " + ", ".join(f"{counts[s]} {s}" for s in ("passed", "refused", "wrong")))
    print(f"{counts['passed'] / total:.1%} pass, in {sum(o.seconds for o in outcomes):.0f} s")
    return int(counts["wrong"] > 0 or counts["passed"] < SHARE * total)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, with * (default: all)")
    parser.add_argument(
        "--list", type=Path, help="a file of names instead of in_scope.txt (last word of a line)"
    )
    parser.add_argument("--classify", action="store_true", help="write in_scope.txt and left_out.txt")
    parser.add_argument("--left-out", action="store_true", help="run the cases that are left out, too")
    parser.add_argument("--trace", action="store_true", help="tracebacks of errors")
    parser.add_argument(
        "--slow", type=float, default=0.0, metavar="SECONDS", help="name cases slower than this"
    )
    options = parser.parse_args()
    cases = collect()
    if options.classify:
        classify(cases)
        return 0
    names = listed("in_scope.txt") + (listed("left_out.txt") if options.left_out else [])
    if options.list:
        names = [line.split()[-1] for line in options.list.read_text().splitlines() if line.strip()]
    outcomes = []
    for case in chosen(cases, names, options.patterns):
        outcomes.append(check(case))
        if options.slow and outcomes[-1].seconds > options.slow:
            print(f"{outcomes[-1].seconds:.1f} s: {case.name}", flush=True)
    return report(outcomes, options.trace)


if __name__ == "__main__":
    sys.exit(main())
