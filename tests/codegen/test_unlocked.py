"""LLVM in several threads at once: they are inside it together, and give what one thread gives."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from opgen_runtime.base import Target
from opgen_runtime.base.errors import CodegenError
from opgen_runtime.codegen import Pipeline, optimise_and_compile
from opgen_runtime.codegen.llvm import passes, unlocked

TEXT = """
define i32 @f(ptr %at) {{
  %x = load <8 x float>, ptr %at
  %y = fmul <8 x float> %x, splat (float {factor})
  store <8 x float> %y, ptr %at
  ret i32 {factor:.0f}
}}
"""


def code(number: int, pipeline: Pipeline = Pipeline.DIRECT) -> bytes:
    return optimise_and_compile(TEXT.format(factor=float(number)), Target.host(), pipeline).object_code


def test_threads_are_inside_llvm_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [code(number) for number in (1, 2)]
    meeting = threading.Barrier(2, timeout=60)
    machines: list[int] = []

    def run(*arguments: object) -> None:
        if len(machines) < 2:
            machines.append(id(arguments[2]))
            meeting.wait()  # each needs the other to be in its own lane
        unlocked.run_passes(*arguments)

    monkeypatch.setattr(passes, "run_passes", run)
    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(code, (1, 2)))
    assert together == alone
    assert len(set(machines)) == 2, "both had one pass builder"


@pytest.mark.parametrize("pipeline", list(Pipeline))
def test_more_threads_than_lanes_give_what_one_gives(pipeline: Pipeline) -> None:
    count = 2 * unlocked._MAX_COMPILING_THREADS
    alone = [code(number, pipeline) for number in range(count)]
    with ThreadPoolExecutor(count) as threads:
        assert list(threads.map(code, range(count), [pipeline] * count)) == alone


def test_a_lane_is_free_again_after_a_failure() -> None:
    for _ in range(2 * unlocked._MAX_COMPILING_THREADS):
        with pytest.raises(CodegenError, match="LLVM refuses the module"):
            optimise_and_compile("define i32 @f() { ret i64 0 }", Target.host())
    with unlocked.lane() as first, ThreadPoolExecutor(1) as threads:
        assert threads.submit(lambda: id(_machines())).result() != id(first)


def _machines() -> unlocked.Benches:
    with unlocked.lane() as machines:
        return machines
