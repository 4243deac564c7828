"""Passes over the graph IR, and what runs them.

info.py             PassInfo, Option: what is known of a pass
context.py          PassContext, configuration keys
instruments.py      PassInstrument, and instruments for time, text, differences and the contract
infrastructure.py   Pass, Sequential, requirements
define.py           module_pass, function_pass: passes of decorated functions
contract.py         what a pass must give back
infer_type.py       InferType
post_dominators.py  the dataflow graph and its post-dominators
fuse_ops.py         FuseOps
"""

from .context import ConfigKey, PassContext, config_keys, register_config
from .define import PassMaker, all_passes, function_pass, module_pass
from .fuse_ops import FuseOps, fuse
from .infer_type import InferType, infer_type
from .info import Option, PassInfo
from .infrastructure import FunctionPass, ModulePass, Pass, Sequential, find_pass
from .instruments import DiffIR, PassInstrument, PassTiming, PrintIR, VerifyIR

__all__ = [
    "ConfigKey", "DiffIR", "FunctionPass", "FuseOps", "InferType", "ModulePass", "Option", "Pass", "PassContext",
    "PassInfo", "PassInstrument", "PassMaker", "PassTiming", "PrintIR", "Sequential", "VerifyIR", "all_passes",
    "config_keys", "find_pass", "function_pass", "fuse", "infer_type", "module_pass", "register_config",
]  # fmt: skip
