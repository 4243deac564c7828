"""How the pool cuts loops: every iteration once, in chunks that get smaller, whose shares are even."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen_runtime.codegen.objects import threads
from tests.lower.library.work_partition import chunks, span_of

_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = threads.num_threads()
    yield
    threads.set_num_threads(before)


def cut(count: int, grain: int, limit: int) -> list[tuple[int, int]]:
    """The chunks that the pool makes."""
    threads.set_num_threads(limit)
    spans: list[tuple[int, int]] = []
    body = _BODY(lambda closure, begin, end: spans.append((begin, end)))
    address = threads.symbols()["opgen_parallel_for"]
    ctypes.CFUNCTYPE(None, _BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)(
        body, None, count, grain
    )
    return sorted(spans)


def test_chunks_get_smaller() -> None:
    assert cut(25, 1, 2) == [
        (0, 3), (3, 6), (6, 9), (9, 13),
        (13, 14), (14, 16), (16, 17), (17, 19),
        (19, 20), (20, 21), (21, 22), (22, 23), (23, 24), (24, 25),
    ]  # fmt: skip
    assert cut(7, 1, 2) == [(k, k + 1) for k in range(7)]
    assert cut(10, 5, 2) == [(0, 5), (5, 10)]
    assert cut(5, 5, 2) == [(0, 5)]


@given(st.integers(1, 5000), st.integers(1, 60), st.integers(1, 5))
def test_chunks_cover_a_loop_and_are_worth_a_thread(count: int, grain: int, limit: int) -> None:
    found = cut(count, grain, limit)
    assert found == chunks(count, grain, limit)
    assert [end for _, end in found] == [begin for begin, _ in found[1:]] + [count]
    assert found[0][0] == 0
    assert all(end - begin >= min(grain, count) for begin, end in found[:-1])
    assert found[-1][1] > found[-1][0]


@given(st.integers(1, 5000), st.integers(2, 16))
def test_shares_of_equal_iterations_are_even(count: int, limit: int) -> None:
    """The busiest thread has at most two of the last chunks more than the others, for what is rounded."""
    last = max(end - begin for begin, end in chunks(count, 1, limit)[-2 * limit :])
    assert span_of([1] * count, 1, limit) <= count / limit + 2 * last


@given(st.lists(st.integers(1, 20), min_size=1, max_size=400), st.integers(2, 16))
def test_shares_of_uneven_iterations_are_even(costs: list[int], limit: int) -> None:
    """The busiest thread has at most one chunk more than an equal share: none is idle while there is one."""
    most = max(sum(costs[begin:end]) for begin, end in chunks(len(costs), 1, limit))
    assert span_of(costs, 1, limit) <= sum(costs) / limit + most
