"""What tests of exported models share: onnxruntime, our own program of a model, and the program itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Timer
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime.frontend import onnx as frontend

SECONDS: Final = 30.0
"""What a model of a test may take in onnxruntime."""


def run_within(session: Any, feeds: Mapping[str, np.ndarray], seconds: float = SECONDS) -> list[np.ndarray]:
    """What a session gives.  Raises TimeoutError where it takes longer, as a loop that was exported wrongly may."""
    import onnxruntime

    options = onnxruntime.RunOptions()
    options.log_severity_level = 4
    timer = Timer(seconds, lambda: setattr(options, "terminate", True))
    timer.start()
    try:
        return [np.asarray(each) for each in session.run(None, feeds, options)]
    except Exception as error:
        if not options.terminate:
            raise
        raise TimeoutError(f"onnxruntime takes more than {seconds} s") from error
    finally:
        timer.cancel()


def by_onnxruntime(model: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    """The results of a model of ONNX's operators alone."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    feeds = {value.name: array for value, array in zip(model.graph.input, arrays, strict=True)}
    return run_within(session, feeds)


def built(program: Any, params: dict[str, np.ndarray], *arrays: np.ndarray) -> list[np.ndarray]:
    """The results of a program of ours."""
    found = rt.build(program, params).run(list(arrays))
    return list(found) if isinstance(found, tuple | list) else [found]


def assert_equal_everywhere(
    program: Any, params: dict[str, np.ndarray], model: Any, *arrays: np.ndarray, exact: bool = False
) -> None:
    """onnxruntime, and the model imported again, give what the program gives: within 1e-5; the latter to the bit."""
    wanted = built(program, params, *arrays)
    assert_close(by_onnxruntime(model, *arrays), wanted)
    again = frontend.run(model, list(arrays))
    if exact:
        assert [each.tobytes() for each in again] == [each.tobytes() for each in wanted]
    assert_close(again, wanted)


def assert_close(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
