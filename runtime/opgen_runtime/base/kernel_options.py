"""Options of kernels: what phases do otherwise where a `PassContext` says so.

with rt.PassContext(config={"tir.vectorize.disable": True}):
    rt.build(...)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .vocabulary import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """A row: its name as a configuration key, what holds where nothing is said, and the least of a number."""

    name: str
    default: bool | int
    doc: str
    least: int | None = None


# The phase that an option of True or False decides -> the option; without it the phase changes nothing.
PHASE_OPTIONS: Final[Mapping[str, Option]] = {
    "loop_partition": Option(
        "tir.partition.loops", True, "Loops are split where their guards begin to matter."
    ),
    "partition_selects": Option(
        "tir.partition.selects", True, "Loops are split where choices in them are decided."
    ),
    "partition_tiles": Option(
        "tir.partition.tiles", True, "Tiles that are not full have forms of their own."
    ),
    "partition_masks": Option(
        "tir.partition.masks", True, "Whole vectors have loops beside those under a mask."
    ),
    "storage_rewrite": Option(
        "tir.storage.reuse", True, "Temporaries share memory where their lives do not overlap."
    ),
    "nontemporal_stores": Option("tir.stores.nontemporal", True, "Large results are stored past the caches."),
    "outline_loops": Option(
        "tir.loops.outline", True, "Loops that fill what loops beside them read are functions."
    ),
    "interleave_stores": Option(
        "tir.stores.interleave", True, "Stores between each other's lanes become one."
    ),
    "transpose_loads": Option(
        "tir.loads.transpose", True, "Columns of squares are read as rows, and transposed."
    ),
}
VECTORIZE_DISABLE: Final = Option("tir.vectorize.disable", False, "Vectorized loops become serial ones.")
UNROLL_MAX_STEPS: Final = Option(
    "tir.unroll.max_steps",
    512,
    "The statements that an unrolled loop may become; beyond, it stays a loop.",
    least=0,
)
OPTIONS: Final = {
    option.name: option for option in (*PHASE_OPTIONS.values(), VECTORIZE_DISABLE, UNROLL_MAX_STEPS)
}


@dataclass(frozen=True, slots=True)
class Options:
    """The values of options that are not their defaults, by name, sorted."""

    changed: tuple[tuple[str, bool | int], ...] = ()

    @staticmethod
    def of(config: Mapping[str, object]) -> Options:
        """What the settings of a `PassContext` say of kernels."""
        found = [(name, value) for name, value in config.items() if name in OPTIONS]
        return Options(
            tuple(sorted([(name, value) for name, value in found if value != OPTIONS[name].default]))  # type: ignore[misc]
        )

    def __getitem__(self, option: Option) -> bool | int:
        return dict(self.changed).get(option.name, option.default)


DEFAULTS: Final = Options()
