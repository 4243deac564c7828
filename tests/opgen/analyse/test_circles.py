"""What checking leaves behind: nothing that Python's search for circles of garbage would have to walk."""

from __future__ import annotations

import gc
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from opgen.analyse import check_project

REFUSED = """\
op: window_sum
doc: Sums of windows.
dtypes: {T: float}
inputs: {x: {shape: "N, M", dtype: T}, w: {shape: K, dtype: T}}
attrs:
  axis: {type: int, default: 1, bounds: -x.ndim <= axis < x.ndim}
  step: {type: int, default: 1, bounds: 0 < step <= M}
let: |
  size = (M - K) // step + 1
  last = (N, M)[axis]
type_relation: {require: [{require: K <= M, error: the window is wider than the rows}]}
outputs: {out: {shape: "N, size", dtype: T}}
compute: |
  scaled[i, j]: (N, M) = x[i, j] * 2
  out[i, j] = sum(scaled[i, j * step + k] * w[k] for k in range(K))
tests: [{x: "float32[3, 9]", w: "float32[4]"}, {x: "float32[2, 5]", w: "float32[2]", step: 2}]
"""
SCAN = """\
op: running
doc: A running sum, and what is added to a bin.
inputs: {x: {shape: N, dtype: float}, b: {shape: N, dtype: int32}}
outputs: {out: {shape: N, dtype: x.dtype}, bins: {shape: 4, dtype: x.dtype}}
compute: |
  out[0] = x[0]
  out[i] = out[i - 1] + x[i]
  bins[k] = 0
  for i in range(N):
      bins[clip(b[i], 0, 3)] += out[i]
tests: [{x: "float32[5]", b: "int32[5]"}]
"""
FAILING = """\
op: turned
doc: The axes in another order, which says nothing of too few axes.
dtypes: {T: float}
inputs: {x: {dtype: T}, y: {shape: N, dtype: T}}
attrs: {axes: {type: ints, default: [1, 0]}}
let: first = x.shape[axes[0]]
type_relation: {require: [{require: len(axes) == x.ndim, error: one axis each}, N == first]}
outputs: {out: {shape: "tuple(x.shape[axis] for axis in axes)", dtype: T}}
compute: |
  place = tuple(axes.index(d) for d in range(x.ndim))
  out[*i] = x[*tuple(i[p] for p in place)]
reference: out = np.transpose(x, axes)
tests: [{x: "float32[3, 9]", y: "float32[9]"}]
"""
HOLDERS = ("frame", "traceback", "Trials", "Assembler", "Builder", "Defined", "Context", "Frame")


def left_behind(text: str) -> Counter[str]:
    """The classes of what only a search for circles would free after a declaration is checked a second time."""
    check_project({"one.yaml": text})  # fills what is kept for the process
    gc.collect()
    gc.disable()
    ops, found = check_project({"one.yaml": text})
    assert (found, len(ops)) == ([], 1)
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    return Counter(type(each).__name__ for each in gc.garbage)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        pytest.param(REFUSED, 60, id="refused cases"),  # the class of its attrs
        pytest.param(SCAN, 500, id="scans and updates"),  # a scan and its states hold each other
        pytest.param(FAILING, 60, id="failed evaluations"),
    ],
)
def test_checking_an_op_leaves_few_circles(text: str, most: int) -> None:
    """In a new process: in one whose bounded tables are full, what is evicted from them is garbage, too."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        kinds = process.submit(left_behind, text).result()
    assert sum(kinds.values()) <= most, kinds.most_common(12)
    assert not {kind: kinds[kind] for kind in HOLDERS if kinds[kind]}
