"""Prints digests of what the generator makes, in a process whose memory is laid out as it happens to be.

    python -m tests.opgen.generated_texts SEED [OP...]

`SEED` chooses how garbage is collected and what is allocated beforehand.  The output is JSON: the digest of each file
(of the ops, or of all), that of every message of an error on the way, and the addresses in any of them.
"""

from __future__ import annotations

import gc
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from opgen.analyse import check_project
from opgen.emit.outputs import render_op, render_project
from opgen.model import CheckedOp
from opgen.project import find_project
from opgen.render import Renderer
from opgen_runtime.base.errors import OpgenError
from tests.library import PACKAGES, ROOT, declarations, library

ADDRESS: Final = re.compile(r"0x[0-9a-f]{6,}")


def main() -> None:
    chooser = random.Random(int(sys.argv[1]))
    kept = _disturb(chooser)
    messages: list[str] = []
    OpgenError.__init__ = lambda self, *texts: messages.append(str(texts))  # type: ignore[method-assign]
    texts = dict(_of_ops(sys.argv[2:]) if len(sys.argv) > 2 else _of_all())
    found = [address for text in (*texts.values(), *messages) for address in ADDRESS.findall(text)]
    digests = {name: _digest(text) for name, text in texts.items()}
    print(json.dumps({"files": digests, "messages": _digest("\0".join(messages)), "addresses": found}))
    del kept


def _disturb(chooser: random.Random) -> list[object]:
    """Another layout of memory, and another way to collect garbage; what is returned must live on."""
    kept: list[object] = [bytearray(chooser.randrange(1, 5_000)) for _ in range(chooser.randrange(20_000))]
    chooser.shuffle(kept)
    del kept[len(kept) // 2 :]
    match chooser.randrange(4):
        case 0:
            gc.disable()
        case 1:
            gc.set_threshold(chooser.randrange(30, 300), 2, 2)
        case 2:
            gc.freeze()
    return kept


def _of_ops(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files of some ops, each checked by itself."""
    project, renderer = find_project(ROOT), Renderer()
    wanted = set(names)
    for declared in declarations():
        if declared.name in wanted:
            (op,), _ = check_project([declared.source], PACKAGES, library=declared.others)
            for output in render_op(project, renderer, op):
                yield output.path.name, output.text


def _of_all() -> Iterator[tuple[str, str]]:
    """Every generated file of the repository."""
    project = find_project(ROOT)
    ops, _ = check_project(library(), PACKAGES)
    checked: list[CheckedOp] = sorted(ops, key=lambda op: op.name)
    for output in render_project(project, Renderer(), checked):
        yield output.path.name, output.text


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    main()
