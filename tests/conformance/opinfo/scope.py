"""What of PyTorch's list is no matter of this comparison, and where both mean something else by a name."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Final

OUTSIDE: Final = {
    "it draws numbers": (
        "bernoulli cauchy exponential geometric log_normal multinomial normal uniform rand_like randn randn_like "
        "randint randint_like nn.functional.*dropout* nn.functional.rrelu nn.functional.fractional_max_pool* "
        "svd_lowrank pca_lowrank"
    ),
    "it takes no array, and gives a constant": (
        "arange linspace logspace eye ones zeros full scalar_tensor tril_indices triu_indices signal.windows.* "
        "broadcast_shapes new_ones new_zeros new_full"
    ),
    "it is about memory, not values": (
        "empty* new_empty* as_strided* resize_* resize_as_ item to_sparse sparse.* hash_tensor"
    ),
    "it is PyTorch's own inside": "_* torch.* jiterator_* native_* max_pool2d_with_indices_backward",
}


@dataclass(frozen=True)
class Convention:
    """Why both are right, and of which results that is said, by their positions; None: of each."""

    reason: str
    results: frozenset[int] | None = None


_FIRST = "of equal elements the first comes first, which PyTorch leaves open"
_SIGNS = "of each vector the greatest element is positive; PyTorch leaves signs open"
_WINDOW = Convention("of an even window the longer half lies behind, as in ONNX, not before")
CONVENTIONS: Final = {
    "nn.functional.local_response_norm": _WINDOW,
    "argsort": Convention(_FIRST),
    **dict.fromkeys(("linalg.svd", "svd"), Convention(_SIGNS, frozenset({0, 2}))),
    "linalg.eigh": Convention(_SIGNS, frozenset({1})),
    **dict.fromkeys(("kthvalue", "sort", "topk"), Convention(_FIRST, frozenset({1}))),
}
_TRIANGLE = "the gradient is that of the triangle which is read; PyTorch's has the other one, too"
CONVENTIONS_OF_GRADIENTS: Final = {
    "nn.functional.local_response_norm": _WINDOW,
    "nn.functional.max_unpool1d": Convention(
        "of values that are put into one place the one that stands there has the gradient, in PyTorch all"
    ),
    **dict.fromkeys(("linalg.svd", "svd"), Convention(_SIGNS)),
    **dict.fromkeys(
        (
            "cholesky",
            "cholesky_inverse",
            "linalg.cholesky",
            "linalg.cholesky_ex",
            "linalg.eigh",
            "linalg.eigvalsh",
        ),
        Convention(_TRIANGLE),
    ),
    "cholesky_solve": Convention(_TRIANGLE, frozenset({1})),
    "nn.functional.ctc_loss": Convention("PyTorch's gradient is that of the logits, before log_softmax"),
}


def convention(name: str, results: frozenset[int], gradients: bool) -> str | None:
    """Why these results of an operator, or gradients, differ and are right; None where nothing is said of them."""
    found = (CONVENTIONS_OF_GRADIENTS if gradients else CONVENTIONS).get(name)
    return found.reason if found and (found.results is None or results <= found.results) else None


def why_outside(name: str) -> str | None:
    """Why an operator is not compared; None for the others."""
    for reason, patterns in OUTSIDE.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split()):
            return reason
    return None
