"""onnxruntime in a process of its own, which may crash: `outputs_of`."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

_SECONDS = 60.0


def outputs_of(model: bytes, inputs: list[Any]) -> list[Any] | None:
    """The outputs of a model; None where onnxruntime refuses it, crashes or takes too long."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=pickle.dumps((model, inputs)),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else pickle.loads(done.stdout)


def main() -> None:
    import onnxruntime

    model, inputs = pickle.load(sys.stdin.buffer)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    outputs = session.run(None, dict(zip(names, inputs, strict=True)))
    sys.stdout.buffer.write(pickle.dumps(outputs))


if __name__ == "__main__":
    main()
