"""Models with states: the values are those of onnxruntime, which copies; nothing is compiled after the first token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import ModelProto, parser  # noqa: E402

import opgen_runtime as rt  # noqa: E402
from benchmarks.decoders import GPT2, LLAMA, Shape, gpt2, llama  # noqa: E402
from opgen_runtime.base.errors import ExecutorError  # noqa: E402
from opgen_runtime.codegen.objects import compile as objects  # noqa: E402
from opgen_runtime.frontend.onnx import ModelError, prepare  # noqa: E402

SMALL = replace(GPT2, layers=2, hidden=16, heads=4, key_heads=4, inner=24, vocabulary=11, positions=64)
MODELS: dict[str, tuple[Callable[[Shape], ModelProto], Shape]] = {
    "gpt2": (gpt2, SMALL),
    "llama": (llama, replace(SMALL, key_heads=LLAMA.key_heads // 2)),
}


def states_of(model: ModelProto) -> dict[str, str]:
    pasts, presents = ([each.name for each in part][1:] for part in (model.graph.input, model.graph.output))
    return dict(zip(pasts, presents, strict=True))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [1, 3])
def test_tokens_one_by_one(name: str, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    make, shape = MODELS[name]
    model = make(shape)
    names = [each.name for each in model.graph.input]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    program = prepare(model, states=states_of(model))
    random = np.random.default_rng(batch)
    past = [np.zeros((batch, shape.key_heads, 0, shape.head), np.float32)] * (2 * shape.layers)
    held: list[Any] = [rt.State.of(array, 2, 24) for array in past]
    emitted: list[int] = []
    emit = objects.emit_object
    monkeypatch.setattr(objects, "emit_object", lambda *given: emitted.append(0) or emit(*given))
    compiled = 0
    for step in range(16):
        ids = random.integers(0, shape.vocabulary, (batch, 9 if step == 0 else 1))  # the prompt first
        logits, *again = program([ids, *held])
        wanted, *past = session.run(None, dict(zip(names, [ids, *past], strict=True)))
        assert all([a is b for a, b in zip(again, held, strict=True)])
        np.testing.assert_allclose(logits, wanted, rtol=1e-3, atol=1e-4)
        compiled = len(emitted) if step == 0 else compiled
    assert len(emitted) == compiled
    for state, array in zip(held, past, strict=True):
        np.testing.assert_allclose(state.value, array, rtol=1e-3, atol=1e-4)
    with pytest.raises(ExecutorError, match="has no room: its length would be 25"):
        program(
            {
                "ids": random.integers(0, shape.vocabulary, (batch, 1)),
                **dict(zip(names[1:], held, strict=True)),
            }
        )
    held[0].reset()
    with pytest.raises(ExecutorError, match="they have one dim"):
        program([ids, *held])
    assert ":, :, past:] = " in program.explain()


def joined(body: str) -> ModelProto:
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[b, n] x, float[b, p] past) => (float[b, q] y, float[b, q] present) {{ {body} }}"""
    made = parser.parse_model(text)
    onnx.checker.check_model(made)
    return made


def test_names_and_outputs_that_are_no_states_are_refused() -> None:
    model = joined("present = Concat <axis = 1> (past, x)  y = Exp (present)")
    x, state = np.ones((2, 1), np.float32), rt.State((2,), 1, 4)
    for states, why in (
        ({"pas": "present"}, "no input 'pas'; did you mean 'past'"),
        ({"past": "now"}, "no output 'now'"),
    ):
        with pytest.raises(ModelError, match=why):
            prepare(model, states=states)
    program = prepare(model, states={"past": "present"})
    with pytest.raises(ModelError, match="input 'past' grows: expected a State, found ndarray"):
        program([x, x])
    with pytest.raises(ModelError, match=r"2 inputs \(x, past\), found 1"):
        program([x])
    y, present = program([x, state])
    assert present is state
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)
    with pytest.raises(ExecutorError, match=r"grows along axis 1, found .*axis=0"):
        program([x, rt.State((1,), 0, 4)])
    for body in (
        "present = Concat <axis = 1> (x, past)  y = Exp (present)",
        "present = Concat <axis = 1> (past, x, x)  y = Exp (present)",
        "y = Concat <axis = 1> (past, x)  present = Exp (y)",
    ):
        with pytest.raises(
            ModelError, match=r"%past grows into a result that must be concatenate\(\(%past, more\)"
        ):
            prepare(joined(body), states={"past": "present"})([x, rt.State((2,), 1, 4)])


def test_a_model_of_closed_dims_has_no_states() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2, 1] x, float[2, 3] past) => (float[2, 4] present) { present = Concat <axis = 1> (past, x) }"""
    with pytest.raises(
        ModelError, match="needs a program for all sizes, and all dims of its inputs are known"
    ):
        prepare(parser.parse_model(text), states={"past": "present"})
