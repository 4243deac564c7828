"""`with Target(...)`: what nothing else says a target for is compiled for it."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import opgen_runtime as rt
from opgen_runtime import ops, te
from opgen_runtime.base import Target
from opgen_runtime.base.errors import StrategyError

ONE, TWO = Target("llvm -num-threads=1"), Target("llvm -num-threads=2")


def test_a_text_is_a_target() -> None:
    assert Target("llvm") == Target.host()
    assert Target("llvm -num-threads=3") == Target.parse("llvm -num-threads=3") == replace(ONE, num_threads=3)
    assert pickle.loads(pickle.dumps(ONE)) == ONE
    with pytest.raises(StrategyError, match="unknown kind 'cuda'"):
        Target("cuda")


def test_the_innermost_holds_and_ends() -> None:
    assert Target.current() == Target.host()
    with ONE as entered:
        assert entered is ONE
        with TWO:
            assert Target.current() is TWO
        assert Target.current() is ONE
        with pytest.raises(KeyError), TWO:
            raise KeyError
        assert Target.current() is ONE
    assert Target.current() == Target.host()


def test_what_asks_for_it() -> None:
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i] + 1.0, name="y")
    a = rt.var("a", shape=(3,))
    with ONE:
        assert rt.build(te.create_schedule(y), [x, y]).target == str(ONE)
        assert rt.build(te.create_schedule(y), [x, y], target=TWO).target == str(TWO)
        assert rt.PassContext().target is ONE
        assert rt.PassContext().for_target(TWO).target is TWO
        executor = rt.create_executor("graph")
        assert isinstance(executor, rt.executor.GraphExecutor)
        assert executor.target is ONE
        built = rt.build(rt.Function((a,), ops.exp(a)))
    assert str(ONE) in str(vars(built))
    assert rt.PassContext().target == Target.host()
