"""Passes over the graph IR, and what runs them.

context.py          PassContext, configuration keys, instruments
infrastructure.py   Pass, module_pass, function_pass, Sequential, requirements
contract.py         what a pass must give back
infer_type.py       InferType
post_dominators.py  the dataflow graph and its post-dominators
fuse_ops.py         FuseOps
"""

from .context import ConfigKey, PassContext, PassInfo, PassInstrument, config_keys, register_config
from .fuse_ops import FuseOps, fuse
from .infer_type import InferType, infer_type
from .infrastructure import FunctionPass, ModulePass, Pass, Sequential, find_pass, function_pass, module_pass

__all__ = [
    "ConfigKey", "FunctionPass", "FuseOps", "InferType", "ModulePass", "Pass", "PassContext", "PassInfo",
    "PassInstrument", "Sequential", "config_keys", "find_pass", "function_pass", "fuse", "infer_type",
    "module_pass", "register_config",
]  # fmt: skip
