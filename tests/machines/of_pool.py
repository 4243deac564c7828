"""The thread pool of another machine under load: its own code and what drives it, emulated."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from opgen_runtime.base.target import Target
from opgen_runtime.codegen import compiled, optimise_and_compile
from opgen_runtime.codegen.objects.threads.pool_text import POINTS, pool_text
from tests.campaign import Tally
from tests.codegen.pool_driver import TEXT

from .emulated import Emulated

# Microseconds to sleep at points of the pool's text, each in a program of its own.
_PAUSES: Final[tuple[Mapping[str, int], ...]] = ({}, *[{point: 20} for point in POINTS])
_LOADS: Final = (  # threads, jobs, grain, work, callers, whether the limit changes, whether the pool stops
    (2, 1000, 1, 1, 1, 0, 0),
    (3, 1000, 1, 50, 1, 0, 0),
    (5, 1000, 2, 1, 2, 0, 0),
    (3, 1000, 1, 1, 3, 1, 0),
    (3, 1000, 1, 1, 2, 1, 1),
)
_FEW: Final = 20  # times fewer jobs where something sleeps
_SECONDS: Final = 120.0


def checked(machine: Emulated) -> tuple[Tally, int]:
    """What went wrong with the loads, in pools without and with pauses, and how many pools there were."""
    tally = Tally()
    target = Target.parse(machine.target)
    driver = optimise_and_compile(TEXT, target).object_code
    for pauses in _PAUSES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "driver.o").write_bytes(driver)
            (folder / "pool.o").write_bytes(compiled("thread pool", pool_text(target.triple, pauses), target))
            machine.link(folder / "load", _MAIN, [folder / "driver.o", folder / "pool.o"])
            for threads, jobs, *rest in _LOADS:
                load = (threads, jobs // _FEW if pauses else jobs, *rest)
                done = machine.run(folder / "load", *load, seconds=_SECONDS)
                tally.tried += 1
                if done.returncode or done.stdout != "ok\n":
                    tally.failures.append(f"pauses {pauses}, load {load}: {done.returncode} {done.stdout}")
    return tally, len(_PAUSES)


_MAIN: Final = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void opgen_parallel_for(void *, void *, int64_t, int64_t);
void opgen_pool_limit(int32_t);
void opgen_pool_stop(void);
int64_t drive(void *, int64_t *, const int64_t *, int64_t, int64_t, int64_t, int64_t, int64_t);
static const int64_t sizes[] = {2, 64, 1, 200};
static int64_t jobs, grain, work;
static int left;
static void *call(void *wrong) {
  int64_t counts[201] = {0};
  int64_t right = drive((void *)opgen_parallel_for, counts, sizes, 4, jobs, grain, work, 201);
  if (right != jobs) { *(int *)wrong = 1; printf("job %ld\n", (long)right); }
  __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
  return 0;
}
int main(int count, char **given) {
  if (count != 8) return 9;
  int threads = atoi(given[1]), callers = atoi(given[5]), flips = atoi(given[6]), stops = atoi(given[7]), wrong = 0;
  jobs = atol(given[2]); grain = atol(given[3]); work = atol(given[4]);
  pthread_t all[8];
  opgen_pool_limit(threads);
  left = callers;
  for (int k = 0; k < callers; k++) if (pthread_create(&all[k], 0, call, &wrong)) return 8;
  for (int turn = 1; __atomic_load_n(&left, __ATOMIC_SEQ_CST); turn++) {
    usleep(flips ? 500 : 2000);
    if (stops && turn % 8 == 0) opgen_pool_stop();
    if (flips) opgen_pool_limit(1 + turn * 7 % (threads + 2));
  }
  for (int k = 0; k < callers; k++) pthread_join(all[k], 0);
  opgen_pool_stop();
  if (!wrong) printf("ok\n");
  return wrong;
}
"""
