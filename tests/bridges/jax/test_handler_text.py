"""The handler for machines of other families."""

import pytest

from opgen_runtime.base import Target
from opgen_runtime.base.target.families import FAMILIES
from opgen_runtime.codegen import compiled

pytest.importorskip("jax", reason="JAX is an optional extra: pip install opgen[jax]")

from opgen_runtime.bridges.jax.handler_text import handler_text  # what follows needs JAX

SAMPLES = {sample.name: sample for family in FAMILIES for sample in family.samples}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=list(SAMPLES))
def test_it_compiles_for_every_family(sample):
    target = Target(f"llvm -mtriple={sample.name.removesuffix('v')}-linux-gnu {sample.options}")
    assert compiled("jax handler", handler_text(target), target, None, 2)
