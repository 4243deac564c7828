"""Ops of projects in JAX: two of one name, one whose module is gone; what is imported first; forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridges.projects import run, written

pytest.importorskip("jax", reason="JAX is an optional extra: pip install opgen[jax]")


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    return written(tmp_path, "jax")


def test_two_projects_with_an_op_of_one_name(projects):
    shown = run(
        projects,
        """
        import jax, jax.numpy as jnp, left.jax, right.jax
        both = lambda x: left.jax.scaled(x) + right.jax.scaled(x)
        x = jnp.ones(2)
        print(both(x).tolist(), jax.jit(both)(x).tolist(), jax.grad(lambda x: both(x).sum())(x).tolist())
        """,
    )
    assert shown == "[5.0, 5.0] [5.0, 5.0] [5.0, 5.0]\n"


def test_an_op_goes_on_when_its_module_is_gone(projects):
    shown = run(
        projects,
        """
        import shutil, jax, jax.numpy as jnp, left, left.jax
        scaled = jax.jit(left.jax.scaled)
        scaled(jnp.ones(2))
        for name in [name for name in sys.modules if name.partition(".")[0] == "left"]:
            del sys.modules[name]
        shutil.rmtree(left.__path__[0])
        print(scaled(jnp.ones((3, 2))).sum(), scaled(jnp.ones(2)).sum())
        """,
    )
    assert shown == "12.0 4.0\n"


@pytest.mark.parametrize("first", ["import jax", "import opgen_runtime.eager"])
def test_whatever_is_imported_first(tmp_path, first):
    shown = run(
        tmp_path,
        f"""
        {first}
        import opgen_runtime as rt, numpy as np
        rt.eager.tanh(np.ones(3, "float32"))
        import jax.numpy as jnp, opgen_runtime.bridges.jax as J
        print(J.tanh(jnp.zeros(2)).tolist())
        """,
    )
    assert shown == "[0.0, 0.0]\n"


def test_what_is_compiled_goes_on_in_a_fork(tmp_path):
    shown = run(
        tmp_path,
        """
        import os, jax, jax.numpy as jnp, opgen_runtime.bridges.jax as J
        f, x = jax.jit(lambda x: J.tanh(x)), jnp.zeros(2)
        f(x).block_until_ready()
        child = os.fork()
        if child == 0:
            right = f(x).tolist() == [0.0, 0.0]
            try:
                J.softmax(x, axis=9)
            except TypeError as error:
                os._exit(7 if right and "outside its bounds" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    )
    assert shown == "7\n"
