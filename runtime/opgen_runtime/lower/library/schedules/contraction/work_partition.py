"""Work partitioning: the work of a contraction in equal parts for threads.

Panels of columns are packed by the thread that needs them, and lie in its cache then.  Where their number does not
suit that of the threads, the rows are split into blocks, too, each of which packs its panel again; or all is
packed first, by all threads, and each fetches what others have packed.
"""

from __future__ import annotations

from .....base import Target
from .....base.arith import Expr
from ...heuristics import TASK_LOSS


def blocks_of(panels: int, last: float, tiles: int | Expr, rows: int, target: Target) -> int | None:
    """Into how many equal blocks the tiles of rows are split, each for one panel; None where all is packed first.

    `last`: what the last panel takes, of a whole one.  Rows of a symbolic number are one block.
    """
    threads, cycles = target.num_threads, target.machine.cycles
    counts = [n for n in range(1, tiles + 1) if tiles % n == 0] if isinstance(tiles, int) else [1]

    def time(n: int) -> float:
        """Cycles of a step of all rows over a vector of columns, where each of `n` blocks packs it."""
        imbalance = load_imbalance(panels, last, n, threads) + TASK_LOSS.value * threads / (panels * n)
        return imbalance * (rows + n * cycles["pack"])

    best = min(counts, key=time)
    return best if time(best) < rows + cycles["pack"] + cycles["fetch"] else None


def load_imbalance(panels: int, last: float, blocks: int, threads: int) -> float:
    """The load imbalance: how much longer the busiest thread takes than if all did the same: 1 is even.

    Who is free takes the next one: `blocks` for each panel, those of the last panel take the part `last` of the others.
    """
    each, more = divmod((panels - 1) * blocks, threads)
    loads = [float(each + (k < more)) for k in range(threads)]
    for _ in range(blocks):
        first = min(range(threads), key=loads.__getitem__)
        loads[first] += last
    return max(loads) * threads / sum(loads)
