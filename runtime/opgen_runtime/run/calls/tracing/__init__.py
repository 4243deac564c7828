"""Compiled functions: `jit`, and what the functions compute with while they are traced.

jitted.py       jit and Jitted
gradient.py     grad, value_and_grad, vjp, jvp
batching.py     vmap
rules.py        stop_gradient, custom_vjp
loops.py        while_loop, checkpoint
programs.py     modules and functions of the IR as functions
trees.py        trees of values
arguments.py    arguments: what decides the program, what is given when it runs
tracer.py       Tracer, an array's stand-in, and what it refuses
tracer_methods.py  its operators, methods and numpy's protocols
operands.py     operands in the dtypes of numpy's promotion
ufuncs.py       the table of numpy's ufuncs
functions.py    the table of numpy's functions, filled by
                reductions.py, shaping.py, elements.py, algebra.py,
                rearranging.py, padding.py, selecting.py, statistics.py, quantiles.py, histograms.py, ordered.py,
                without_nan.py, sequences.py, vectors.py, norms.py, linear_algebra.py, transforms.py (made of those)
indexing.py     tensor[...]

What gradients and loops need is imported with their first use: few functions have either.
"""

from typing import TYPE_CHECKING

from ....base.lazy_imports import import_lazily
from . import tracer_methods as tracer_methods
from .jitted import Jitted, jit
from .tracer import Tracer

__all__ = [
    "Jitted", "Tracer", "checkpoint", "custom_vjp", "grad", "jit", "jvp", "stop_gradient", "value_and_grad", "vjp",
    "vmap", "while_loop",
]  # fmt: skip

if TYPE_CHECKING:
    from .batching import vmap
    from .gradient import grad, jvp, value_and_grad, vjp
    from .loops import checkpoint, while_loop
    from .rules import custom_vjp, stop_gradient
else:
    _HOMES = {
        "gradient": ("grad", "jvp", "value_and_grad", "vjp"),
        "loops": ("checkpoint", "while_loop"),
        "rules": ("custom_vjp", "stop_gradient"),
        "batching": ("vmap",),
    }
    __getattr__ = import_lazily(__name__, {name: home for home, names in _HOMES.items() for name in names})
