"""What does not fit is refused in words of ours, which say what was expected and what was found."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("onnx")

from opgen_runtime.frontend import onnx as frontend
from tests.conformance.node_cases import collect
from tests.fuzz import refusals
from tests.fuzz.models import _value

CASES = {case.name: case for case in collect()}


@pytest.mark.parametrize(
    "name",
    [
        "test_attention_3d_attn_mask", "test_compress_0", "test_convtranspose_autopad_same", "test_det_2d",
        "test_equal_string", "test_group_normalization_example", "test_gru_seq_length", "test_lstm_with_peepholes",
        "test_maxpool_with_argmax_2d_precomputed_strides", "test_nonmaxsuppression_center_point_box_format",
        "test_resize_tf_crop_and_resize", "test_scan9_sum", "test_simple_rnn_bidirectional", "test_squeeze",
        "test_split_to_sequence_1", "test_stft_with_window", "test_tensorscatter",
    ],
)  # fmt: skip
def test_every_rank_of_every_input(name: str) -> None:
    """Each input without axes, with one axis of some extents, with one more, and without elements."""
    case = CASES[name]
    inputs = [_value(each) for each in case.data_sets[0][0]]
    wrong = []
    for what, model, given in refusals.variants(case.model, inputs):
        if re.match(r"input \d of shape (\(\d?,?\)|\(0, .*|\(1, 1.*)", what):
            reason = refusals.why_foreign(model, given)
            wrong.extend([f"{what}: {reason}"] if reason else [])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("test_attention_3d_attn_mask", "input 3 of shape ()",
         "Attention: a tensor of shape [], expected 1 to 4 axes"),
        ("test_convtranspose_output_shape", "node 0 output_shape shorter",
         "ConvTranspose: output_shape [8], expected an extent for each of 2 spatial axes"),
        ("test_equal_string", "input 0 of shape (3,)", "Equal: the shapes [3], [2] do not broadcast"),
        ("test_gru_defaults", "input 1 of shape ()",
         "GRU: the input 'w' has the shape [], expected [1, 15, 2]"),
        ("test_reshape_allowzero_reordered", "input 1 with 4611686018427387904 at 0",
         "Reshape: an array of shape [4611686018427387904, 4, 0], whose extents are beyond what an address counts"),
        ("test_split_to_sequence_1", "input 1 with 0 at 0",
         "SplitToSequence: split is 0, expected the length of each part, or one of at least 1"),
        ("test_squeeze", "input 0 of shape ()", "Squeeze: axis 0 of a tensor of rank 0"),
        ("test_stft_with_window", "input 2 of shape ()", "STFT: a tensor of shape [], expected 1 axes"),
    ],
)  # fmt: skip
def test_messages(name: str, version: str, message: str) -> None:
    case = CASES[name]
    inputs = [_value(each) for each in case.data_sets[0][0]]
    ((model, given),) = [
        (model, given) for what, model, given in refusals.variants(case.model, inputs) if what == version
    ]
    with pytest.raises(frontend.ModelError) as caught:
        frontend.prepare(model)(given)
    assert str(caught.value).endswith(f": {message}")


def test_a_crop_of_any_rank() -> None:
    """The numbers of a region are counted, whatever axes they lie along."""
    case = CASES["test_resize_tf_crop_and_resize"]
    x, roi, sizes = [_value(each) for each in case.data_sets[0][0]]
    (model,) = [
        m
        for what, m, _ in refusals.variants(case.model, [x, roi, sizes])
        if what == "input 1 of shape (1, 8)"
    ]
    (expected,), (found,) = (frontend.prepare(model)([x, r, sizes]) for r in (roi, roi[None]))
    np.testing.assert_array_equal(found, expected)
