"""Registries: operators, global functions, the object type index.

op.py          Op, its attributes with priorities, lookup with lazy import
objects.py     type keys and indices of node classes
"""

from ...base.functions import (
    Namespace,
    _init_api,
    add_finder,
    get_global_func,
    has_global_func,
    list_global_func_names,
    provide_func,
    register_func,
    remove_global_func,
)
from .objects import (
    TypeInfo,
    class_info,
    is_instance,
    register_class,
    register_type,
    registered_types,
    type_info,
)
from .op import (
    DEFAULT_PLEVEL,
    KERNELS,
    Argument,
    Op,
    has_op,
    list_ops,
    loaded_ops,
    origin_of,
    register_op,
    register_op_attr,
    remove_op,
    set_op_loader,
)

__all__ = [
    "DEFAULT_PLEVEL", "KERNELS", "Argument", "Namespace", "Op", "TypeInfo", "_init_api", "add_finder", "class_info",
    "get_global_func",
    "has_global_func", "has_op", "is_instance", "list_global_func_names", "list_ops", "loaded_ops",
    "origin_of", "provide_func", "register_class", "register_func", "register_op", "register_op_attr", "register_type",
    "registered_types", "remove_global_func", "remove_op", "set_op_loader", "type_info",
]  # fmt: skip
