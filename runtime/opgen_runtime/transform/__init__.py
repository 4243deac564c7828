"""Passes over the graph IR, and what runs them.

info.py             PassInfo, Option: what is known of a pass
calls.py            what is derived of a call: roles of operands, axes, forms
build.py            the calls that passes make
evaluator.py        Evaluator: values of constants
context.py          PassContext, configuration keys
instruments.py      PassInstrument, and instruments for time, text, differences and the contract
infrastructure.py   Pass, Sequential, requirements
pattern.py          patterns of the graph, and passes that are rules over them (matching, rules, written_rules)
declared/           GENERATED: the passes of opdefs/rewrites
define.py           module_pass, function_pass: passes of decorated functions
contract.py         what a pass must give back
infer_type.py       InferType; infer_named.py: from shapes and dtypes of inputs by name
fuse_ops.py         FuseOps
gradient.py         reverse mode: the adjoints of variables (no pass: jit's gradients call it)
loop_gradient.py    reverse mode through loops, with states kept or computed again
loop_steps.py       how many steps a loop takes at most
regions.py          parts of functions that become functions: for patterns and other compilers
naming.py           names for values, in the blocks where they are needed
mac_number.py       how many products a program adds
fold_constant.py    FoldConstant; and so on: one pass a file, named for it
"""

from typing import TYPE_CHECKING

from ..base.lazy_imports import import_lazily
from .annotate_target import AnnotateTarget
from .calls import facts
from .canonicalize_cast import CanonicalizeCast
from .canonicalize_ops import CanonicalizeOps
from .combine_parallel import CombineParallelBatchMatmul, CombineParallelConv2D, CombineParallelDense
from .context import ConfigKey, PassContext, config_keys, register_config
from .convert_layout import AlterOpLayout, ConvertLayout
from .dead_code_elimination import DeadCodeElimination
from .declared import (
    DivToMul,
    FlattenAtrousConv,
    FoldExplicitPadding,
    RecogniseOps,
    SimplifyAlgebra,
    SimplifyExpr,
)
from .decompose_ops import DecomposeOps
from .define import PassMaker, all_passes, function_pass, module_pass
from .defuse_ops import DefuseOps
from .eliminate_common_subexpr import EliminateCommonSubexpr
from .eta_expand import EtaExpand
from .evaluator import Evaluator
from .fast_math import FastMath
from .first_order_gradient import FirstOrderGradient
from .fold_constant import DynamicToStatic, FoldConstant
from .fold_scale_axis import BackwardFoldScaleAxis, FoldScaleAxis, ForwardFoldScaleAxis
from .fold_shift import FoldShift
from .fold_static import FoldStatic
from .fuse_ops import FuseOps, extract_fused_functions, fuse, why_apart
from .infer_named import infer
from .infer_type import InferType, infer_type
from .info import Option, PassInfo
from .infrastructure import FunctionPass, ModulePass, Pass, Sequential, find_pass
from .inline import Inline
from .input_layouts import with_input_layouts
from .integer_products import IntegerProducts
from .lambda_lift import LambdaLift
from .legalize import Legalize
from .lower_external_functions import LowerExternalFunctions
from .mac_number import get_total_mac_number
from .merge_compiler_regions import MergeCompilerRegions
from .merge_composite import MergeComposite
from .partial_evaluate import PartialEvaluate
from .partition_graph import PartitionGraph
from .prune_filter_taps import PruneFilterTaps
from .remove_unused_functions import RemoveUnusedFunctions
from .simplify_inference import SimplifyInference
from .to_a_normal_form import ToANormalForm
from .to_basic_block_normal_form import ToBasicBlockNormalForm, check_basic_block_normal_form
from .to_cps import ToCPS
from .to_graph_normal_form import ToGraphNormalForm
from .to_mixed_precision import ToMixedPrecision
from .un_cps import UnCPS
from .winograd import Winograd

__all__ = [
    "AlterOpLayout", "AnnotateTarget", "BackwardFoldScaleAxis", "CanonicalizeCast", "CanonicalizeOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D", "CombineParallelDense", "ConfigKey", "ConvertLayout", "DeadCodeElimination",
    "DecomposeOps", "DefuseOps", "DiffIR",
    "DivToMul", "DynamicToStatic", "EliminateCommonSubexpr", "EtaExpand", "Evaluator", "FastMath",
    "FirstOrderGradient", "FlattenAtrousConv", "FoldConstant", "FoldExplicitPadding",
    "FoldScaleAxis",
    "FoldShift", "FoldStatic", "ForwardFoldScaleAxis", "FunctionPass", "FuseOps", "InferType", "Inline",
    "IntegerProducts", "LambdaLift", "Legalize", "LowerExternalFunctions", "MergeCompilerRegions", "MergeComposite",
    "ModulePass", "Option", "PartialEvaluate", "PartitionGraph", "Pass", "PassContext", "PassInfo",
    "PassInstrument", "PassMaker", "PassTiming", "PrintIR", "PruneFilterTaps", "RecogniseOps", "RemoveUnusedFunctions",
    "Sequential",
    "SimplifyAlgebra", "SimplifyExpr", "SimplifyInference", "ToANormalForm", "ToBasicBlockNormalForm",
    "ToCPS", "ToGraphNormalForm", "ToMixedPrecision", "UnCPS",
    "VerifyIR",
    "Winograd", "all_passes", "check_basic_block_normal_form", "config_keys", "extract_fused_functions", "facts",
    "find_pass", "function_pass", "fuse", "get_total_mac_number", "infer", "infer_type",
    "module_pass", "register_config", "why_apart", "with_input_layouts",
]  # fmt: skip

if TYPE_CHECKING:
    from .instruments import DiffIR, PassInstrument, PassTiming, PrintIR, VerifyIR
else:
    _INSTRUMENTS = ("DiffIR", "PassInstrument", "PassTiming", "PrintIR", "VerifyIR")
    __getattr__ = import_lazily(__name__, dict.fromkeys(_INSTRUMENTS, "instruments"))
