"""Operands whose values words ask for: each word means what it says, for every dtype and shape that it suits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from opgen.analyse.signatures.values import normal_operand
from opgen.document.kinds import ValueProblem
from opgen_runtime.base.vocabulary import DTYPES, DType
from opgen_runtime.declaration.operands import WORDS, why_not_words
from opgen_runtime.testing import Spec, ordinary, special
from opgen_runtime.testing.lines import parse_cases

SHAPES = ((4,), (1,), (0,), (2, 5), (3, 3), (2, 4, 4), (0, 3, 3))


def holds(word: str, a: np.ndarray, spec: Spec) -> bool:
    """The definition of each word."""
    wide = a.astype(np.float64) if a.dtype.kind not in "biu" else a.astype(np.int64)
    last = wide.shape[-1]
    rows = wide.reshape(-1, last) if wide.size else wide.reshape(0, last)
    step = np.diff(rows, axis=-1)
    if word == "sorted":
        return bool((step >= 0).all())
    if word == "unique":
        return all(len(set(row.tolist())) == last for row in rows)
    if word == "permutation":
        return all(sorted(row.tolist()) == list(range(last)) for row in rows)
    if word == "one_hot":
        return bool(((rows != 0).sum(-1) == 1).all() and (rows.sum(-1) == 1).all())
    if word == "probabilities":
        return bool((rows > 0).all() and np.allclose(rows.sum(-1), 1, atol=0.05))
    if word == "spd":
        turned = np.swapaxes(wide, -1, -2)
        return np.array_equal(wide, turned) and bool((np.linalg.eigvalsh(wide) > 0.5).all())
    assert word == "offsets"
    assert spec.limits is not None
    ends = [] if last < 2 else [rows[:, 0] == spec.limits[0], rows[:, -1] == spec.limits[1] - 1]
    return bool((step >= 0).all()) and all(bool(end.all()) for end in ends)


@pytest.mark.parametrize("word", WORDS)
def test_each_word_means_what_it_says(word: str) -> None:
    tried = 0
    for dtype, shape, limits in itertools.product(DTYPES, SHAPES, ("", " in 0..8", " in 3..12")):
        spec = Spec.parse(f"{dtype}[{','.join(map(str, shape))}] {word}{limits}")
        if why_not_words(spec.dtype, spec.shape, bool(limits), spec.words) or DType(dtype).bits < 16:
            continue  # a byte of a float has too few numbers for sums
        for values in (ordinary(spec, "a"), special(spec, "a", extremes=True)):
            assert values.shape == shape
            assert values.dtype == spec.dtype.numpy
            assert holds(word, values, spec), f"{spec}: {values}"
            if spec.limits is not None and values.size:
                assert spec.limits[0] <= values.min() <= values.max() < spec.limits[1]
        tried += 1
    assert tried >= 10


def test_sorted_values_are_sometimes_equal_and_unique_ones_never() -> None:
    both = ordinary(Spec.parse("float32[200] sorted in 0..9"), "a")
    assert (np.diff(both) == 0).any()
    assert (np.diff(ordinary(Spec.parse("float32[200] sorted unique in 0..9"), "a")) > 0).all()
    assert (np.diff(ordinary(Spec.parse("int8[100] sorted unique"), "a")) > 0).all()


def test_too_few_values_say_so() -> None:
    with pytest.raises(ValueError, match=r"0\.\.3 has no 5 different integers"):
        ordinary(Spec.parse("int32[5] unique in 0..3"), "a")


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("float64[5] sorted unique in 0..9", "float64[5] sorted unique in 0..9"),
        ("float64[ 5 ]  in 0..9  sorted", "float64[5] sorted in 0..9"),
        ("int64[4] offsets in 0..8", "int64[4] offsets in 0..8"),
        ("float32[2,3,3] spd", "float32[2, 3, 3] spd"),
    ],
)
def test_declarations_suites_and_specs_read_the_same(written: str, normal: str) -> None:
    assert normal_operand(written) == normal
    (case,) = parse_cases("cases", f'x={normal.replace(", ", ",")}, axis=(0, 1), mode="a] sorted"', ["x"])
    text = case.inputs["x"]
    assert isinstance(text, str)
    assert case.attrs == {"axis": (0, 1), "mode": "a] sorted"}
    assert Spec.parse(text) == Spec.parse(written if " in 0..9  sorted" not in written else normal)
    assert Spec.parse(str(Spec.parse(text))) == Spec.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float64[5] sortd", r"`sortd` is no word .*; the words are sorted, unique, "),
        ("float64[5] permutation", "`permutation` is for integers, not for float64"),
        ("int64[5] permutation in 0..5", "`permutation` has its own range; leave `in` out"),
        ("int64[5] offsets", r"`offsets` needs `in low\.\.high`"),
        ("float32[5] spd", r"`spd` needs 2 dims, found \[5\]"),
        ("float32[5, 4] spd", r"`spd` needs a square in the last two dims, found \[5, 4\]"),
        ("bool[] one_hot", r"`one_hot` needs 1 dim, found \[\]"),
        ("float32[4] sorted probabilities", "`sorted` and `probabilities` do not stand together"),
    ],
)
def test_words_that_do_not_suit(text: str, message: str) -> None:
    with pytest.raises(ValueProblem, match=message):
        normal_operand(text)
