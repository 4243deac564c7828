"""The adapters, by families; importing this registers all of them."""

from . import (
    elementwise,
    indexing,
    linear_algebra,
    losses,
    masked,
    networks,
    products,
    promotion,
    reductions,
    shapes,
)

__all__ = [
    "elementwise",
    "indexing",
    "linear_algebra",
    "losses",
    "masked",
    "networks",
    "products",
    "promotion",
    "reductions",
    "shapes",
]

promotion.promote()
