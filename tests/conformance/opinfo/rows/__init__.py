"""The adapters, by families; importing this registers all of them."""

from . import elementwise, indexing, losses, networks, products, reductions, shapes

__all__ = ["elementwise", "indexing", "losses", "networks", "products", "reductions", "shapes"]
