"""Every op in JAX: `python -m tests.bridges.jax_ops [OP ...] [--checks values,gradients,devices]`.

values     all declared cases under `jit`, on ordinary data: equal to `eager`, to the bit
gradients  the first case that has a gradient, in float64, inside its domain: `check_grads` in both modes to order 2,
           and the gradient under `vmap` against one by one
devices    the first case under `vmap`, an element a device of four: no device asks others for what they have

What is printed, and more arguments: `every_op.py`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax.test_util import check_grads

import opgen_runtime.bridges.jax as J
from opgen_runtime import eager
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.testing.gradient import GradientCase, gradient_case
from opgen_runtime.testing.suite import Suite

from .every_op import Checks, NotMeant, main
from .operands import arrays_of, attrs_of

# Of differences, by the bytes of the narrowest result: smaller steps are lost in its digits.
DIFFERENCES = {8: {"eps": 1e-5, "atol": 1e-5, "rtol": 1e-5}, 4: {"eps": 1e-3, "atol": 1e-3, "rtol": 1e-3}}
DEVICES = 4


def listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


def check_values(suite: type[Suite]) -> str:
    function = J.function(suite.op.name)
    for case in suite.declared_cases:
        arrays, attrs = arrays_of(suite, case), attrs_of(suite, case)
        wanted = listed(eager.op(suite.op.name)(*arrays, **attrs))
        compiled = jax.jit(lambda operands, attrs=attrs: function(*operands, **attrs))
        found = listed(compiled(jax.tree.map(jnp.asarray, arrays)))
        assert len(found) == len(wanted), f"{case}: {len(found)} results, expected {len(wanted)}"
        for a, b in zip(map(np.asarray, found), wanted, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{case}: another type than eager's"
            assert a.tobytes() == np.ascontiguousarray(b).tobytes(), f"{case}: other values than eager's"
    return "under jit"


def with_gradient(suite: type[Suite]) -> tuple[GradientCase, list[int]]:
    """The first case that has a gradient, and which of its leaves."""
    for case in suite.declared_cases:
        found = gradient_case(suite.op, case)
        if found is None or found.made.lengths or found.made.binding.dynamic:
            continue
        wrt = [at for name, at in found.operands() if _is_derived(found, name)]
        if wrt:
            return found, wrt
    raise NotMeant("no case has a gradient")


def _is_derived(case: GradientCase, name: str) -> bool:
    try:
        return not case.derived(name).is_zero
    except OpgenError:
        return False


def check_gradients(suite: type[Suite]) -> str:
    case, wrt = with_gradient(suite)
    function = J.function(suite.op.name)
    attrs = {} if case.attrs is None else case.attrs.as_dict()
    form = [len(each) if isinstance(each, tuple) else each for each in case.made.operands]

    def value(*given: Any) -> list[Any]:
        leaves = list(map(jnp.asarray, case.arrays))
        for k, each in zip(wrt, given, strict=True):
            leaves[k] = each
        rest = iter(leaves)
        operands = [
            None
            if part is None
            else [next(rest) for _ in range(part)]
            if isinstance(part, int)
            else next(rest)
            for part in form
        ]
        found = listed(function(*operands, **attrs))
        return [each for each in found if jnp.issubdtype(each.dtype, jnp.floating)]

    points = [jnp.asarray(case.arrays[k]) for k in wrt]
    narrowest = min([each.dtype.itemsize for each in value(*points)])
    check_grads(value, points, order=2, modes=("fwd", "rev"), **DIFFERENCES[narrowest])

    def loss(*given: Any) -> Any:
        return sum([(each.astype(jnp.float64) ** 2).sum() for each in value(*given)])

    gradient = jax.jit(jax.grad(loss, argnums=tuple(range(len(wrt)))))
    rows = [points, [each * 0.999 for each in points]]
    wanted = [jnp.stack(column) for column in zip(*[gradient(*row) for row in rows], strict=True)]
    found = jax.vmap(gradient)(*[jnp.stack(column) for column in zip(*rows, strict=True)])
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    return "in both modes, twice, and for a batch"


def check_devices(suite: type[Suite]) -> str:
    case = suite.declared_cases[0]
    function, attrs = J.function(suite.op.name), attrs_of(suite, case)
    leaves, tree = jax.tree.flatten(arrays_of(suite, case))
    if not leaves:
        raise NotMeant("it has no operands")
    devices = Mesh(np.array(jax.devices()), ("devices",))
    rows = NamedSharding(devices, PartitionSpec("devices"))
    batch = [jax.device_put(np.stack([leaf] * DEVICES), rows) for leaf in leaves]
    mapped = jax.jit(jax.vmap(lambda *leaves: function(*jax.tree.unflatten(tree, leaves), **attrs)))
    text = mapped.lower(*batch).compile().as_text()
    moved = [word for word in ("all-gather", "all-to-all", "collective-permute") if word in text]
    assert not moved, f"{case}: the program has {' and '.join(moved)}"
    return f"on {len(devices.devices)} devices"


def why_refused(error: Exception) -> str:
    """What docs/bridges-jax.md says is not there."""
    return str(error) if isinstance(error, NotImplementedError) else ""


def begin() -> None:
    os.environ["XLA_FLAGS"] = (
        f"--xla_force_host_platform_device_count={DEVICES}"  # read by the first use of JAX
    )
    jax.config.update("jax_enable_x64", True)


CHECKS = Checks(
    {"values": check_values, "gradients": check_gradients, "devices": check_devices}, why_refused, begin
)


if __name__ == "__main__":
    sys.exit(main(CHECKS, __doc__, sys.argv[1:]))
