"""What machine code assumes of CPython and numpy is verified, one by one, and what does not hold is named."""

from __future__ import annotations

import sys
from dataclasses import fields

import numpy as np
import pytest

from opgen_runtime.run.compile.native import layouts

# What a wrong value of each number breaks: a part of the sentence that names it.
SAID = {
    "COUNT_OFFSET": "references are counted in 32 bits at byte",
    "TYPE_OFFSET": "the type of an object is at byte",
    "TUPLE_SIZE_OFFSET": "the size of a tuple is at byte",
    "TUPLE_ITEMS_OFFSET": "the items of a tuple begin at byte",
    "METHOD_FLAGS_OFFSET": "METH_FASTCALL is",
    "DATA_OFFSET": "the data of an array are at byte",
    "RANK_OFFSET": "the rank of an array is at byte",
    "DTYPE_OFFSET": "the dtype of an array is at byte",
    "FLAGS_OFFSET": "the flags of an array are at byte",
    "CONTIGUOUS_ALIGNED": "the flags of an array are at byte",
    "WRITEABLE": "the flag of arrays that may be written to is",
    "FASTCALL": "METH_FASTCALL is",
    "HAVE_VECTORCALL": "Py_TPFLAGS_HAVE_VECTORCALL is",
    "ARRAY_TYPE": "of numpy's table of functions is the type of arrays",
}


def test_all_hold_here() -> None:
    assert layouts.verify() == layouts.WHY_NOT_NATIVE == ""


@pytest.mark.parametrize(("name", "said"), SAID.items())
def test_a_wrong_number_is_told(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step = {"HAVE_VECTORCALL": 1 << 11, "CONTIGUOUS_ALIGNED": 2, "WRITEABLE": 1}.get(name, 8)
    monkeypatch.setattr(layouts, name, getattr(layouts, name) + step)
    found = layouts.verify()
    assert found.startswith("it is not so that ")
    assert said in found
    assert found.endswith(f"in cpython {sys.version.split()[0]} with numpy {np.__version__}")


def test_every_assumption_is_told_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none is tried behind one that does not hold: it may look at other memory."""
    everything = layouts.ASSUMPTIONS
    for number, broken in enumerate(everything):

        def never() -> bool:
            raise AssertionError

        rest = [layouts.Assumption(each.what, each.source, never) for each in everything[number + 1 :]]
        wrong = layouts.Assumption(broken.what, broken.source, lambda: False)
        monkeypatch.setattr(layouts, "ASSUMPTIONS", (*everything[:number], wrong, *rest))
        assert layouts.verify().startswith(f"it is not so that {broken.what} ({broken.source}) in ")


def test_numpy_functions_are_looked_up_once_a_process_has_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(getattr(layouts.numpy_functions(), each.name) for each in fields(layouts.Layouts))
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        monkeypatch.setitem(sys.modules, name, None)
    assert layouts.numpy_functions() == layouts.Layouts(0, 0, 0)
    assert "is the type of arrays" in layouts.verify()
