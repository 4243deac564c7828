"""Declared ops: what generated modules state, and what makes it known to the rest.

declaration.py   OpDeclaration and StrategyEntry: the statement
declare.py       declare(...): registration; call(...): what wrappers do
contract.py      running a compute for one call, held to its binding
compute.py       the op attribute "compute": binding and operand tensors -> output tensors
index.py         the index of a generated package, and finding ops by name
"""

from .compute import Compute, OperandTensors, compute_of
from .contract import compute_call
from .declaration import OpDeclaration, StrategyEntry
from .declare import call, declare

__all__ = [
    "Compute",
    "OpDeclaration",
    "OperandTensors",
    "StrategyEntry",
    "call",
    "compute_call",
    "compute_of",
    "declare",
]
