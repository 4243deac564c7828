"""How often Python looks for garbage while something is compiled."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import pytest

from opgen_runtime.base.garbage import rare_collections


@pytest.fixture(autouse=True)
def own() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    yield before
    gc.set_threshold(*before)


def test_uses_that_overlap_end_as_the_first_began() -> None:
    first_is_over, second_is_in = threading.Event(), threading.Event()
    seen: list[int] = []

    def second() -> None:
        with rare_collections():
            second_is_in.set()
            first_is_over.wait(10)
            seen.append(gc.get_threshold()[0])

    other = threading.Thread(target=second)
    with rare_collections():
        other.start()
        second_is_in.wait(10)
    first_is_over.set()
    other.join()
    assert seen == [250_000]
    assert gc.get_threshold() == (701, 11, 12)


def test_what_a_user_sets_stands() -> None:
    with rare_collections():
        gc.set_threshold(0)
    assert gc.get_threshold()[0] == 0
    with rare_collections():
        assert gc.get_threshold()[0] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_the_child_of_a_fork_is_in_no_use() -> None:
    with rare_collections():
        child = os.fork()
        if not child:
            os._exit(0 if gc.get_threshold() == (701, 11, 12) else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert gc.get_threshold() == (701, 11, 12)


def test_whoever_searches_more_rarely_is_left_alone() -> None:
    gc.set_threshold(1_000_000, 11, 12)
    with rare_collections():
        assert gc.get_threshold() == (1_000_000, 11, 12)
    assert gc.get_threshold() == (1_000_000, 11, 12)
