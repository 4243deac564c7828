"""What is known of ranks beforehand spares trials, and changes no answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opgen_runtime import ops
from opgen_runtime.ir import Call, Var
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType, attrs_read, infer_unknown
from opgen_runtime.operator.types.inference import backward
from opgen_runtime.operator.types.inference.rank_pruning import RankPruning
from opgen_runtime.operator.types.inference.trial import Trial


def v(name: str, *shape: int, dtype: str = "float32") -> Var:
    return Var(name, TensorType(shape, dtype))


I = "int64"  # noqa: E741
CALLS: dict[str, Callable[[], Call]] = {
    "add": lambda: ops.add(v("a", 2, 1, 4), v("b", 3, 1)),
    "where": lambda: ops.where(v("c", 3, 1, dtype="bool"), v("a", 2, 1, 4), v("b", 4)),
    "concatenate": lambda: ops.concatenate([v("a", 2, 3), v("b", 2, 5)], axis=1),
    "conv2d": lambda: ops.conv2d(v("d", 1, 8, 9, 9), v("w", 4, 8, 3, 3), kernel_size=(3, 3), channels=4),
    "conv2d NHWC": lambda: ops.conv2d(
        v("d", 1, 9, 9, 8), v("w", 3, 3, 8, 4), kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO"
    ),
    "dense": lambda: ops.dense(v("d", 2, 3, 8), v("w", 5, 8)),
    "l2_normalize": lambda: ops.l2_normalize(v("d", 2, 3, 4), eps=2.0, axis=(0, -1)),
    "layer_norm": lambda: ops.layer_norm(v("d", 2, 8), v("g", 8), v("b", 8)),
    "quantised_conv": lambda: ops.quantised_conv(
        v("d", 1, 2, 6, 5, dtype="uint8"),
        v("w", 3, 2, 3, 3, dtype="int8"),
        v("z", dtype="uint8"),
        v("y", 1, dtype="int8"),
    ),
    "reshape_like": lambda: ops.reshape_like(v("a", 2, 6), v("b", 3, 4)),
    "scatter_elements": lambda: ops.scatter_elements(v("d", 3, 4), v("i", 2, 4, dtype=I), v("u", 2, 4)),
    "take": lambda: ops.take(v("d", 3, 4, 5), v("i", 2, 2, dtype=I), axis=1),
    "transpose": lambda: ops.transpose(v("d", 2, 3, 4), axes=(2, 0, 1)),
    "topk": lambda: ops.topk(v("d", 2, 9), k=3),
}


def followed(call: Call) -> list[dict[int, object]]:
    """What follows of each operand, and of all."""
    types = [arg.checked_type for arg in call.args]
    assert isinstance(call.op, Op)
    (relation,) = call.op.op_type.constraints
    positions = range(len(types))
    return [
        dict(infer_unknown(relation.function, call.op.name, types, call.checked_type, call.attrs, unknown))
        for unknown in [*((k,) for k in positions), positions]
    ]


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    backward._answers.clear()


@pytest.mark.parametrize("name", CALLS)
def test_what_follows_with_every_rank_tried_follows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = CALLS[name]()
    found = followed(call)
    monkeypatch.setattr(RankPruning, "possible", lambda self, choices: choices)
    monkeypatch.setattr(RankPruning, "refuses", lambda self, ranks: False)
    monkeypatch.setattr(RankPruning, "results", lambda self, ranks: ())
    backward._answers.clear()
    for one, exhaustive in zip(found, followed(call), strict=True):
        assert one.items() >= exhaustive.items()
        for position, type_ in one.items():
            assert type_ == call.args[position].checked_type


@pytest.mark.parametrize("name", CALLS)
def test_what_follows_of_all_follows_of_each_alone(name: str) -> None:
    """The generator asks for all at once only where something follows alone."""
    *alone, together = followed(CALLS[name]())
    assert {position: alone[position].get(position) for position in together} == together


def trials(monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """The trials that are made from now on."""
    tried: list[Trial] = []
    whole = Trial.run
    monkeypatch.setattr(Trial, "run", lambda self, results=(): (tried.append(self), whole(self, results))[1])
    return tried


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_tried_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when a relation that could say a dtype alone is run again, nor for a call like another one."""
    tried = trials(monkeypatch)
    found = followed(CALLS[name]())
    made = [(tuple(each.groups), str([list(map(str, shape)) for shape in each.shapes])) for each in tried]
    assert len(made) == len(set(made))
    tried.clear()
    assert followed(CALLS[name]()) == found
    assert not tried


def test_few_of_the_ranks_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 9 ranks for each of three operands, at most one combination in eight is more than looked at."""
    tried = trials(monkeypatch)
    followed(CALLS["add"]())
    assert len(tried) <= 20
    tried.clear()
    followed(CALLS["take"]())
    assert len(tried) <= 24
    tried.clear()
    followed(CALLS["scatter_elements"]())
    assert len(tried) <= 160, backward._MAX_AXES


def test_ranks_that_a_requirement_compares_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an image and filters with any number of spatial axes, those of equal numbers alone; and once."""
    call = CALLS["quantised_conv"]()
    types = [arg.checked_type for arg in call.args]
    assert isinstance(call.op, Op)
    (relation,) = call.op.op_type.constraints
    tried = trials(monkeypatch)
    infer_unknown(relation.function, call.op.name, types, call.checked_type, call.attrs, range(len(types)))
    assert len(tried) <= 2


def test_what_no_type_depends_on_is_no_reason_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = trials(monkeypatch)
    followed(ops.leaky_relu(v("d", 2, 3), alpha=0.25))
    assert tried
    tried.clear()
    followed(ops.leaky_relu(v("d", 2, 3), alpha=0.5))
    assert not tried
    for axes in ((2, 0, 1), (1, 0, 2)):  # the shape of the result does
        tried.clear()
        followed(ops.transpose(v("d", 2, 3, 4), axes=axes))
        assert tried


@pytest.mark.parametrize(
    ("call", "read"),
    [
        (ops.leaky_relu(v("d", 2), alpha=0.5), ()),
        (ops.transpose(v("d", 2, 3), axes=(1, 0)), ("axes",)),
        (ops.take(v("d", 3, 4), v("i", 2, dtype=I), axis=1), ("axis",)),
        (
            ops.avg_pool2d(v("d", 1, 8, 9, 9), pool_size=(3, 3), count_include_pad=True),
            ("pool_size", "strides", "dilation", "padding", "ceil_mode", "layout"),
        ),
    ],
    ids=lambda value: value.op.name if isinstance(value, Call) else "",
)
def test_the_attrs_that_types_depend_on(call: Call, read: tuple[str, ...]) -> None:
    assert isinstance(call.op, Op)
    (relation,) = call.op.op_type.constraints
    assert call.attrs is not None
    assert set(attrs_read(relation.function.args[0], call.attrs.keys())) == set(read)  # type: ignore[attr-defined]  # a partial


def test_where_nothing_follows_that_is_seen_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three operands that broadcast: after the first ranks that can be, others that share none with them are tried."""
    tried = trials(monkeypatch)
    call = ops.where(v("c", 2, 1, 3, dtype="bool"), v("a", 2, 1, 3), v("b", 2, 1, 3))
    assert followed(call)[-1] == {}
    assert len(tried) <= 9
