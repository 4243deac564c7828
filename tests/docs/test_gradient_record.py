"""The page of how each gradient is computed: every op has its row, and rows are true."""

from __future__ import annotations

import random
import re

from opgen_runtime import ops
from tests.gradients import RECORD, row, suites

_KIND = re.compile(r"`(\w+)`: (\w+)")


def test_the_record_is_that_of_the_ops() -> None:
    rows = [line for line in RECORD.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [line.split("`")[1] for line in rows] == sorted(ops.__all__)
    chosen = random.Random(len(rows)).sample(sorted(ops.__all__), 12)
    again = [*chosen, "softmax", "sort", "unique", "max_pool2d", "floor"]
    assert [row(suite) for suite in suites(again)] == [line for line in rows if line.split("`")[1] in again]


def test_the_pages_of_ops_say_what_the_record_says() -> None:
    """Of operands that the record has; the pages are of more samples."""
    different = {}
    for line in RECORD.read_text(encoding="utf-8").splitlines():
        if not line.startswith("| `"):
            continue
        page = RECORD.parent / "ops" / f"{line.split('`')[1]}.md"
        fact = page.read_text(encoding="utf-8").partition("\n## Gradient\n")[2].partition("\n## ")[0]
        fact = re.sub(r"`(\w+)`: `", r"`\1`: override `", fact)
        for kind in ("gather", "update"):
            fact = fact.replace(f"derived ({kind})", kind)
        said = dict(_KIND.findall(line.split(" | ", 1)[1]))
        found = dict(_KIND.findall(fact.replace("\\_", "_")))
        if not said.items() <= found.items():
            different[page.stem] = (found, said)
    assert not different
