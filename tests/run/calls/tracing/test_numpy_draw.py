"""Functions that a seed draws give what numpy gives, or are refused where numpy refuses, in every form of arguments.

`python -m tests.run.calls.tracing.numpy_draw --count 400` runs all of them.
"""

from __future__ import annotations

from fnmatch import fnmatch

import numpy as np
import pytest

import opgen_runtime as rt

from .numpy_draw import differences, draw, why_not_as_numpy
from .numpy_forms import VALUES, forms


def test_drawn_functions() -> None:
    assert differences(draw(seed=11, count=30)) == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("np.float64(0) if isinstance(a, np.ndarray) else a", "float64(2, 3), not float64()"),
        ("v[9] if isinstance(v, np.ndarray) else v", "gives a value where numpy raises IndexError: .*"),
        ("i[:1] if isinstance(i, np.ndarray) else i[:1] + 1", "[[2, 3, 4]], not [[1, 2, 3]]"),
        ("a if isinstance(a, np.ndarray) else (a, a)", "2 results, not 1"),
        ("n.tolist()", "CallError: .*"),
    ],
)
def test_what_differs_is_found(text: str, why: str) -> None:
    assert fnmatch(str(why_not_as_numpy(text)), why.replace("[", "[[]").replace(".*", "*"))


def test_most_functions_have_several_forms() -> None:
    single = [name for name, calls in forms().items() if len(calls) == 1]
    assert len(single) < len(forms()) / 10, single


@pytest.mark.parametrize(
    "name", ["trace", "choose", "compress", "argpartition", "conj", "conjugate", "nonzero"]
)
def test_methods(name: str) -> None:
    arguments = {
        "choose": ([VALUES["a"], VALUES["b"]],),
        "compress": ([True, False], 0),
        "argpartition": (1,),
    }
    x = VALUES["i"] % 2
    given = arguments.get(name, ())
    wanted, found = getattr(x, name)(*given), rt.jit(lambda x: getattr(x, name)(*given))(x)
    np.testing.assert_equal(found, wanted)


def test_real_and_imaginary_parts() -> None:
    real, imag = rt.jit(lambda a: (a.real, a.imag))(VALUES["f"])
    np.testing.assert_array_equal(real, VALUES["f"])
    np.testing.assert_array_equal(imag, np.zeros((2, 3), np.float32))
