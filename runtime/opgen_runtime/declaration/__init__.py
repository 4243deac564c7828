"""Declared ops: what generated modules state, and what makes it known to the rest.

declaration.py   OpDeclaration and StrategyEntry: the statement
declare.py       declare(...): registration; call(...): what wrappers do
contract.py      running a compute for one call, held to its binding
evaluate.py      the tensors of one call, and its value by numpy
compute.py       the op attribute "compute": binding and operand tensors -> output tensors
index.py         the index of a generated package, and finding ops by name
"""

from .compute import Compute, OperandTensors, compute_of
from .contract import compute_call
from .declaration import OpDeclaration, StrategyEntry
from .declare import call, declare
from .evaluate import Arrays, CallTensors, array_type, call_tensors, evaluate_call

__all__ = [
    "Arrays",
    "CallTensors",
    "Compute",
    "OpDeclaration",
    "OperandTensors",
    "StrategyEntry",
    "array_type",
    "call",
    "call_tensors",
    "compute_call",
    "compute_of",
    "declare",
    "evaluate_call",
]
