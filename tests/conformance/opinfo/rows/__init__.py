"""The adapters, by families; importing this registers all of them."""

from . import elementwise, indexing, linear_algebra, losses, masked, networks, products, reductions, shapes

__all__ = [
    "elementwise",
    "indexing",
    "linear_algebra",
    "losses",
    "masked",
    "networks",
    "products",
    "reductions",
    "shapes",
]
