"""What of PyTorch's list is no matter of this comparison, and where both mean something else by a name."""

from __future__ import annotations

import fnmatch
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

CONVENTIONS: Final = {
    "nn.functional.local_response_norm": "of an even window the longer half lies behind, as in ONNX, not before",
    **dict.fromkeys(("argsort", "kthvalue", "sort", "topk"), "of equal elements the first comes first"),
}


def why_outside(name: str) -> str | None:
    """Why an operator is not compared; None for the others."""
    for reason, patterns in OUTSIDE.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split()):
            return reason
    return None
