"""Small programs of TVM's documentation and tests, in its spelling; what differs stands beside each.

programs.py     what a program is
expressions.py  tensor expressions
lowering.py     schedules, and what they are lowered to
graphs.py       programs of operators
passes.py       passes
registries.py   registries and types
"""

from __future__ import annotations

from . import expressions, graphs, lowering, passes, registries
from .programs import PROGRAMS

__all__ = ["PROGRAMS", "expressions", "graphs", "lowering", "main", "passes", "registries"]


def main(arguments: list[str]) -> None:
    """Runs all programs."""
    for each in PROGRAMS:
        each.run()
        print(each.name, f"  # there: {each.there}" if "-v" in arguments and each.there else "", sep="")
    print(f"{len(PROGRAMS)} programs")
