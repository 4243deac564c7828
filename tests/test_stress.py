"""One short round of each stress campaign; `scripts/stress` has the long ones."""

from __future__ import annotations

import platform
import threading

import pytest

from opgen_runtime.base.lru_cache import LRUCache
from tests.campaign import Tally
from tests.stress import cache, entry, memory
from tests.stress._process import fresh


def test_odd_arrays() -> None:
    assert entry.problems(0, calls=100) == []


@pytest.mark.parametrize("campaign", ["threads", "buffers", "unloading"])
def test_campaign_in_a_process(campaign: str) -> None:
    assert fresh(f"tests.stress.{campaign}", 0) == []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the address space of x86-64")
@pytest.mark.parametrize("where", ["whole", "scattered"])
def test_thousand_objects_in_memory(where: str) -> None:
    assert fresh("tests.stress.loads", 0, 1000, where) == []


def test_memory_of_compiled_code_stays_once_small_caches_are_full() -> None:
    assert memory.run(600, 0, count=240) == Tally(480, [])


def test_six_processes_over_one_cache() -> None:
    assert cache.round_of(0) == (7, [])


def test_a_bounded_memory_that_threads_share() -> None:
    kept: LRUCache[int] = LRUCache(3)
    wrong: list[object] = []

    def use(number: int) -> None:
        for k in range(3000):
            try:
                key = (number + k) % 7
                if kept.get(key) not in (None, key) or kept.put(key, key) != key or len(kept) > 4:
                    wrong.append(key)
            except Exception as error:  # any is a failure
                wrong.append(error)

    users = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert wrong == []
    assert len(kept) == 3
