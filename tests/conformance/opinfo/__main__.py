"""PyTorch's own samples of its operators, its OpInfo, beside this project: `python -m tests.conformance.opinfo`.

Needs PyTorch and `expecttest`.  An adapter of each operator renames, reorders and fills defaults.  For each dtype it
prints how many samples pass, are refused, are wrong or fail with a foreign error, and how many differ by a convention,
with its reason; by operator with `--verbose`.
`--gradients` compares the gradients of a weighted sum of the results, in float64 by default.
Exit code 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from . import rows
from .adapter import ADAPTERS
from .outcome import CONVENTION, FOREIGN, PASSED, REFUSED, WRONG, Outcome, tried, tried_gradient
from .scope import convention, why_outside

__all__ = ["main", "rows"]

_DTYPES = ("float32", "int64", "float16", "bfloat16", "complex64")


def samples(
    info: Any, dtype: torch.dtype, count: int, gradients: bool = False
) -> Iterator[tuple[Any, Callable[..., Any]]]:
    """At most `count` of PyTorch's samples of an operator, from all over them, each with what runs it there."""
    torch.manual_seed(0)
    found = list(info.sample_inputs("cpu", dtype, requires_grad=gradients))
    for sample in found[:: max(1, -(-len(found) // count))]:
        yield sample, lambda sample=sample: info(sample.input, *sample.args, **sample.kwargs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line says; how many dtypes had wrong results, at most 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="operators, all of them by default")
    parser.add_argument("--dtypes", nargs="+", help=f"by default {' '.join(_DTYPES)}, of gradients float64")
    parser.add_argument("--gradients", action="store_true", help="compare gradients instead of values")
    parser.add_argument("--part", default="1/1", help="2/5: the second of each five operators")
    parser.add_argument("--count", type=int, default=20, help="of the samples of an operator, at most")
    parser.add_argument(
        "--verbose", action="store_true", help="what did not pass, by operator, with a first reason"
    )
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    wrong = False
    part, parts = map(int, options.part.split("/"))
    attempt = tried_gradient if options.gradients else tried
    for dtype in options.dtypes or (("float64",) if options.gradients else _DTYPES):
        counts: Counter[str] = Counter()
        reasons: dict[str, list[tuple[str, Outcome]]] = defaultdict(list)
        for info in op_db[part - 1 :: parts]:
            chosen = info.name in options.names if options.names else why_outside(info.name) is None
            if not chosen or getattr(torch, dtype) not in info.supported_dtypes("cpu"):
                continue
            if options.gradients and not info.supports_autograd:
                continue
            label = f"{info.name}{f'[{info.variant_test_name}]' if info.variant_test_name else ''}"
            for sample, theirs in samples(info, getattr(torch, dtype), options.count, options.gradients):
                outcome = attempt(label if label in ADAPTERS else info.name, sample, theirs)
                if outcome is None:
                    continue
                reason = convention(info.name, outcome.results, options.gradients)
                if outcome.status == WRONG and reason is not None:
                    outcome = Outcome(CONVENTION, reason)
                counts[outcome.status] += 1
                if outcome.status != PASSED:
                    reasons[label].append((outcome.status, outcome))
        total = counts.total()
        share = 100 * counts[PASSED] / total if total else 0.0
        print(
            f"{dtype}: {total} samples, {counts[PASSED]} pass ({share:.1f} %), {counts[REFUSED]} refused, "
            f"{counts[WRONG]} wrong, {counts[FOREIGN]} foreign, {counts[CONVENTION]} by a convention",
            flush=True,
        )
        for label, found in sorted(reasons.items(), key=lambda item: -len(item[1])):
            if not options.verbose and all(status == REFUSED for status, _ in found):
                continue
            for status in (WRONG, FOREIGN, CONVENTION, REFUSED):
                of = [outcome for at, outcome in found if at == status]
                if of and (options.verbose or status != REFUSED):
                    print(f"    {status:10}{len(of):5}  {label}: {of[0].reason}")
        wrong |= counts[WRONG] > 0
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
