"""The base of generated suites, run by pytest: which tests there are, and what a failing one shows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from opgen_runtime.testing import Suite
from opgen_runtime.testing.lines import LineError

pytest_plugins = ["pytester"]
SUITE: Final = '''
from opgen_runtime.ops import _clip
from opgen_runtime.testing import Suite


class TestClip(Suite):
    module = _clip
    fields = """
        a_min: optional float, default=None
    """
    cases = """
        data=float32[3], a_min=0.0, a_max=1.0
        data=float32[2,2], a_min=0.0,
            a_max=1.0
    """
    refused = """
        data=float32[3] -> DTypeError
    """

    @staticmethod
    def reference(data, a_min, a_max):
        return data if data.ndim > 1 else data.clip(a_min, a_max)
'''


def test_a_failing_test_shows_file_and_line_of_its_case(pytester: pytest.Pytester) -> None:
    file = pytester.makepyfile(test_clip=SUITE)
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--import-mode=importlib", "-q", str(file))
    text = done.stdout.str()
    assert "test_clip.py:12: data=float32[2,2], a_min=0.0," in text
    assert "test_clip.py:16: data=float32[3] -> DTypeError" in text
    assert "elements are wrong" in text
    assert "test_clip.py:11" not in text  # the case that passes
    assert "FAILED test_clip.py::TestClip::test_values[data=float32[2,2],a_min=0.0,a_max=1.0-debug]" in text
    # two cases in two executors, of which one fails in both; types and gradients; the interface and the refusal fail
    done.assert_outcomes(passed=5, failed=4)


def test_tables_that_are_empty_have_no_tests(pytester: pytest.Pytester) -> None:
    head, _, rest = SUITE.partition("    cases = ")
    file = pytester.makepyfile(test_clip=head + rest[rest.index("    refused") :])
    done = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "--import-mode=importlib", "-q", "--collect-only", str(file)
    )
    shown = [line.rpartition("::")[2] for line in done.stdout.lines if "::" in line]
    assert shown == ["test_interface", "test_refused[data=float32[3]-DTypeError]"]


def test_a_wrong_line_names_the_file_and_the_suite() -> None:
    from opgen_runtime.ops import _clip

    with pytest.raises(LineError) as caught:
        type("TestClip", (Suite,), {"module": _clip, "cases": "data=float31[2]"})
    assert f"{Path(__file__)}: TestClip: `data`: 'float31[2]' is no spec" in str(caught.value)
