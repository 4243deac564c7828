"""Programs of JAX in other processes and on several devices."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is an optional extra: pip install opgen[jax]")

WRITE = """
import sys
import jax, jax.numpy as jnp, numpy as np
from jax import export
import opgen_runtime.bridges.jax as J

def f(x):
    return J.softmax(x, axis=1) + jax.grad(lambda y: (J.softmax(y, axis=0) ** 2).sum())(x)

x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)
checks = [export.DisabledSafetyCheck.custom_call(target) for target in J.TARGETS]
made = export.export(jax.jit(f), disabled_checks=checks)(x)
open(sys.argv[1], "wb").write(made.serialize())
np.save(sys.argv[2], f(x))
"""
READ = """
import sys
import jax, numpy as np
from jax import export
import opgen_runtime.bridges.jax as J

J.register()
x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)
found = export.deserialize(open(sys.argv[1], "rb").read()).call(x)
np.testing.assert_array_equal(found, np.load(sys.argv[2]))
"""
DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import opgen_runtime.bridges.jax as J

mesh = Mesh(np.array(jax.devices()), ("d",))
softmax = lambda x: J.softmax(x, axis=-1)
by_parts = hasattr(jax.ffi, "register_ffi_target_as_batch_partitionable")
for f, shape, spec, gathers in [
    (J.relu, (8,), P("d"), False),
    (J.relu, (8, 16), P(None, "d"), False),
    (softmax, (8, 16), P("d", None), False),
    (softmax, (2, 8, 16), P(None, "d", None), False),
    (lambda x: jax.grad(lambda y: (softmax(y) ** 2).sum())(x), (8, 16), P("d", None), False),
    (jax.vmap(softmax), (8, 3, 16), P("d", None, None), False),
    (softmax, (8, 16), P(None, "d"), True),
]:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    parts = jax.device_put(x, NamedSharding(mesh, spec))
    compiled = jax.jit(f).lower(parts).compile()
    assert ("all-gather" in compiled.as_text()) == (gathers or not by_parts), (shape, spec)
    np.testing.assert_allclose(compiled(parts), jax.jit(f)(x), rtol=1e-6)
"""


def run(code: str, *args: str) -> None:
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_an_exported_program_runs_in_another_process(tmp_path: Path) -> None:
    files = str(tmp_path / "program"), str(tmp_path / "value.npy")
    run(WRITE, *files)
    run(READ, *files)


def test_leading_axes_on_several_devices_are_not_gathered() -> None:
    run(DEVICES)
