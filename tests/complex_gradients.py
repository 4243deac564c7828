"""Gradients of functions of complex numbers beside those of PyTorch and of JAX, whichever is installed.

    python -m tests.complex_gradients [torch] [jax]

`rt.grad` follows PyTorch's convention, the gradient of Re(z**2) at 1+2j is 2-4j; JAX's is the conjugate.  Each function
of `FUNCTIONS` is weighted to a real number by fixed weights of its result's parts, so that all parts count.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy as np

import opgen_runtime as rt

TOLERANCE: Final = 1e-9
# Functions of the module `m`, a complex vector and a complex matrix; numpy's names are those of jax.numpy, and torch's.
FUNCTIONS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "square": lambda m, z, a: z * z,
    "negative": lambda m, z, a: -z,
    "conj": lambda m, z, a: m.conj(z),
    "real": lambda m, z, a: m.real(z),
    "imag": lambda m, z, a: m.imag(z),
    "abs": lambda m, z, a: m.abs(z),
    "angle": lambda m, z, a: m.angle(z),
    "exp": lambda m, z, a: m.exp(z),
    "log": lambda m, z, a: m.log(z),
    "log10": lambda m, z, a: m.log10(z),
    "sqrt": lambda m, z, a: m.sqrt(z),
    "sin": lambda m, z, a: m.sin(z),
    "cos": lambda m, z, a: m.cos(z),
    "tan": lambda m, z, a: m.tan(z),
    "sinh": lambda m, z, a: m.sinh(z),
    "cosh": lambda m, z, a: m.cosh(z),
    "tanh": lambda m, z, a: m.tanh(z),
    "expm1": lambda m, z, a: m.expm1(z),
    "log1p": lambda m, z, a: m.log1p(z),
    "reciprocal": lambda m, z, a: 1 / z,
    "cube": lambda m, z, a: z**3,
    "inverse square": lambda m, z, a: z**-2,
    "complex power": lambda m, z, a: z ** (0.5 + 1j),
    "exponent": lambda m, z, a: (1 + 2j) ** z,
    "power": lambda m, z, a: z**z,
    "quotient": lambda m, z, a: z / (z * z + 1),
    "times conj": lambda m, z, a: z * m.conj(z),
    "length squared": lambda m, z, a: m.real(z) * m.real(z) + m.imag(z) * m.imag(z),
    "phase": lambda m, z, a: z / m.abs(z),
    "constants": lambda m, z, a: (2 - 1j) * z + 3j,
    "real factor": lambda m, z, a: m.real(z) * z,
    "sum": lambda m, z, a: z.sum(),
    "mean": lambda m, z, a: z.mean(),
    "prod": lambda m, z, a: m.prod(z),
    "cumsum": lambda m, z, a: m.cumsum(z, 0),
    "cumprod": lambda m, z, a: m.cumprod(z, 0),
    "matrix product": lambda m, z, a: a @ z,
    "product with itself": lambda m, z, a: (a * z) @ (a * z),
    "outer product": lambda m, z, a: m.outer(z, m.conj(z)),
    "choice": lambda m, z, a: m.where(m.real(z) > 0, z * z, m.conj(z)),
    "reversed": lambda m, z, a: m.flip(z, (0,)) * z,
    "softmax of lengths": lambda m, z, a: m.exp(m.abs(z)) / m.exp(m.abs(z)).sum(),
    "chain": lambda m, z, a: m.tanh(m.exp(m.sin(z)) * m.conj(z)),
}  # fmt: skip


def operands() -> tuple[np.ndarray, np.ndarray]:
    """A vector of four, off the branch cuts, and a square matrix."""
    random = np.random.default_rng(2)
    z, a = (random.normal(size=shape) + 1j * random.normal(size=shape) for shape in ((4,), (4, 4)))
    return np.asarray(z), np.asarray(a)


def weighted(module: Any, value: Any, weights: Callable[[int], Any]) -> Any:
    """A real number of all parts of a result."""
    flat = value.reshape(-1)
    first, second = weights(1), weights(2)
    if "complex" not in str(value.dtype):
        return (flat * first[: flat.shape[0]]).sum()
    return (module.real(flat) * first[: flat.shape[0]] + module.imag(flat) * second[: flat.shape[0]]).sum()


def _weights(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=16)


def of_ours(name: str) -> np.ndarray:
    """The gradient by `rt.grad`."""
    z, a = operands()
    return np.asarray(rt.grad(lambda x: weighted(np, FUNCTIONS[name](np, x, a), _weights))(z))


def _of_torch(torch: ModuleType, name: str) -> np.ndarray:
    z, a = (torch.tensor(each) for each in operands())
    z.requires_grad_()
    weighted(torch, FUNCTIONS[name](torch, z, a), lambda seed: torch.tensor(_weights(seed))).backward()
    return np.asarray(z.grad.resolve_conj().numpy())


def _of_jax(jax: ModuleType, name: str) -> np.ndarray:
    jax.config.update("jax_enable_x64", True)
    m = importlib.import_module("jax.numpy")
    z, a = (m.asarray(each) for each in operands())
    found = jax.grad(lambda x: weighted(m, FUNCTIONS[name](m, x, a), lambda seed: m.asarray(_weights(seed))))(
        z
    )
    return np.conj(np.asarray(found))


OTHERS: Final[dict[str, Callable[[ModuleType, str], np.ndarray]]] = {"torch": _of_torch, "jax": _of_jax}


def difference(name: str, other: str) -> float:
    """The greatest distance from another framework's gradient, of the greatest element of that."""
    expected = OTHERS[other](importlib.import_module(other), name)
    return float(np.abs(of_ours(name) - expected).max() / np.abs(expected).max())


def main(chosen: list[str]) -> int:
    """Compare with the frameworks that are named, or all that are installed; 1 where one differs, or there is none."""
    frameworks = chosen or [name for name in OTHERS if importlib.util.find_spec(name) is not None]
    wrong = 0
    for other in frameworks:
        far = {name: found for name in FUNCTIONS if not (found := difference(name, other)) <= TOLERANCE}
        wrong += len(far)
        print(f"{other}: {len(FUNCTIONS) - len(far)} of {len(FUNCTIONS)} gradients agree")
        for name, found in far.items():
            print(f"  {name}: {found:.2g}")
    return 0 if frameworks and not wrong else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
