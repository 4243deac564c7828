"""The rules of the scheduler, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ....base import Target
from ....compute.te.tensor import Tensor
from ...schedule import Schedule, create_schedule, simplified_once
from .common.parameters import check_tuned
from .common.plan import inline_cheap
from .common.rule import Rule, Trial, apply_rules
from .contraction.contractions import match_contraction, schedule_contraction
from .contraction.dot_products import dot_row, match_dotted_row
from .convolution.depthwise_by_channels import match_channels, schedule_depthwise_by_channels
from .convolution.depthwise_spatial import match_filter, schedule_filter
from .convolution.gemm_col2im import apply_gemm_col2im, match_scattering
from .convolution.nonaffine_staging import cover_uneven, match_uneven
from .convolution.pooling import match_windows, schedule_pooling
from .convolution.residue_decomposition import decompose_residues, match_residues
from .convolution.weight_gradient import match_correlation, schedule_correlation
from .elementwise import match_elementwise, match_tiles, schedule_whole
from .rows.reductions import match_reduction, reduce_whole
from .rows.rows import match_rows, schedule_rows
from .rows.scans import match_scan, schedule_scan

# What is written otherwise before its loops are made.
REWRITES: Final[tuple[Rule[Any], ...]] = (
    Rule("GEMM and col2im", match_scattering, apply_gemm_col2im),
    Rule("residues", match_residues, decompose_residues),
)

RULES: Final[tuple[Rule[Any], ...]] = (
    Rule("scan", match_scan, schedule_scan),
    Rule("tiled", match_tiles, schedule_whole),
    Rule("gather", match_uneven, cover_uneven),
    Rule("depthwise", match_channels, schedule_depthwise_by_channels),
    Rule("weight gradient", match_correlation, schedule_correlation),
    Rule("dot products of a row", match_dotted_row, dot_row),
    Rule("contraction", match_contraction, schedule_contraction),
    Rule("direct convolution", match_filter, schedule_filter),
    Rule("pool", match_windows, schedule_pooling),
    Rule("rows", match_rows, schedule_rows),
    Rule("reduction", match_reduction, reduce_whole),
    Rule("elementwise", match_elementwise, schedule_whole),
)


def generic(
    outputs: Sequence[Tensor],
    target: Target,
    rules: Sequence[Rule[Any]] = (),
    trials: list[Trial] | None = None,
) -> Schedule:
    """The schedule of any program: cheap stages are inlined, loops made by the first rule that matches a stage.

    `rules`: others, which are tried before REWRITES and RULES.  `trials` gets what each rule said of each
    stage.  Raises StrategyError for a target that is tuned to what there is not.
    """
    check_tuned(target)
    schedule = create_schedule(outputs)
    inline_cheap(schedule, target)
    with simplified_once():
        tried = apply_rules(schedule, target, (*rules, *REWRITES, *RULES))
    if trials is not None:
        trials.extend(tried)
    return schedule
