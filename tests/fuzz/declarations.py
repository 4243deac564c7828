"""Declarations of the library with a few mistakes: diagnostics or ops, soon, and never anything else.

A case takes one declaration and changes its text (lines, tokens, names, numbers, operators, statements put around
others) or its tree (keys and values deleted, doubled, swapped, nested, taken from other declarations), then checks and
prints it as `opgen generate` does.
"""

from __future__ import annotations

import functools
import random
import re
import time
from collections.abc import Callable
from typing import Any, Final

import yaml

from opgen.analyse import Source, check_project
from opgen.diagnostics import CODES, to_json, to_text
from opgen.render import Renderer
from opgen.views import index_view, op_view, suite_view
from tests.library import PACKAGES, Declared, declarations

COUNT: Final = 20_000
SECONDS: Final = 120.0  # of the wall clock, for a case on a busy machine
_LIMIT: Final = 30.0  # seconds of the process's own time
_ADDRESS: Final = re.compile(r"0x[0-9a-f]{6,}")
_TOKEN: Final = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\*\*|//|[<>=!+*|&^-]=|<<|>>|\s+|.", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_NUMBERS: Final = (
    "0",
    "1",
    "-1",
    "2",
    "7",
    "100000",
    "2147483648",
    "9223372036854775808",
    "0.5",
    "1e30",
    "-0.0",
)
_OPERATORS: Final = (
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "<<",
    ">>",
    "&",
    "|",
    "<",
    "<=",
    "==",
    "!=",
    "and",
    "in",
)
_WORDS: Final = (
    "pass", "_", "None", "True", "range", "len", "tuple", "sum", "max", "for", "if", "else", "not", "lambda", "def",
    "return", "*i", "...", ":", "()", "[0]", ".shape", ".dtype", "inf", "nan", "out", "data", "i", "k", "each",
)  # fmt: skip
_AROUND: Final = (
    "for k in range(3):", "for k in ndindex((2, 3)):", "for k in data:", "for _ in range(2):", "if True:",
    "if data.ndim > 1:", "def f(x):", "while True:", "else:", "for i in (1, 2):",
)  # fmt: skip


@functools.cache
def _renderer() -> Renderer:
    return Renderer()


def mutant(seed: int) -> tuple[Declared, str]:
    """A declaration, and its text with a few mistakes."""
    chooser = random.Random(seed)
    declared = chooser.choice(declarations())
    text = declared.text
    for _ in range(chooser.choice((1, 1, 1, 2, 3))):
        text = _mutated(chooser, text)
    return declared, text


def _mutated(chooser: random.Random, text: str) -> str:
    if chooser.random() < 0.25:
        try:
            tree = yaml.load(text, yaml.CBaseLoader)
            _change_tree(chooser, tree)
            return str(yaml.safe_dump(tree, sort_keys=False, width=1000))
        except (yaml.YAMLError, RecursionError):
            pass  # an earlier change has left no tree
    return chooser.choice(_OF_TEXT)(chooser, text)


def case(seed: int) -> None:
    """Raises AssertionError where a mutant gives neither findings nor ops, or takes too long."""
    declared, text = mutant(seed)
    start = time.process_time()
    ops, found = check_project([Source("opdefs/mutant.yaml", text)], PACKAGES, library=declared.others)
    shown = to_text(found) + to_json(found)
    for op in ops:
        shown += _renderer().python("op.py.j2", {"op": op_view(op, "")}, op.name)
        shown += _renderer().python("suite.py.j2", {"suite": suite_view(op, "myops")}, op.name)
    index_view([(op.name, None) for op in ops], "h")
    spent = time.process_time() - start
    assert spent < _LIMIT, f"{spent:.0f} s of work"
    declares = text.strip() and "abstract" not in text
    assert ops or found or not declares, "neither an op nor a finding"
    for finding in found:
        assert finding.code in CODES, finding
        assert finding.message, finding
        assert finding.place.line >= 1, finding
        assert finding.place.column >= 1, finding
    address = _ADDRESS.search(shown)
    assert address is None or address[0] in text, (
        f"an address: {shown[address.start() - 100 : address.end()]}"
    )


# ------------------------------------------------------------------ changes of the text


def _delete_line(chooser: random.Random, text: str) -> str:
    lines = text.split("\n")
    del lines[chooser.randrange(len(lines))]
    return "\n".join(lines)


def _double_line(chooser: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = chooser.randrange(len(lines))
    lines.insert(chooser.randrange(len(lines) + 1), lines[at])
    return "\n".join(lines)


def _swap_lines(chooser: random.Random, text: str) -> str:
    lines = text.split("\n")
    a, b = chooser.randrange(len(lines)), chooser.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _indent_line(chooser: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = chooser.randrange(len(lines))
    lines[at] = f"  {lines[at]}" if chooser.random() < 0.5 else lines[at][2:]
    return "\n".join(lines)


def _put_line_inside(chooser: random.Random, text: str) -> str:
    """A line under a statement that holds others, or such a statement that holds nothing or `pass`."""
    lines = text.split("\n")
    at = chooser.randrange(len(lines))
    line = lines[at]
    indent = line[: len(line) - len(line.lstrip())]
    inside = chooser.choice((f"  {line}", f"{indent}  pass", f"{indent}  x = 1", f"{indent}  z[k] = 1", ""))
    lines[at : at + 1] = [indent + chooser.choice(_AROUND), *([inside] if inside else [])]
    return "\n".join(lines)


def _of_token(change: Callable[[random.Random, list[str], int], None]) -> Callable[[random.Random, str], str]:
    """A change of one token of a text that is not white space."""

    def changed(chooser: random.Random, text: str) -> str:
        tokens = _TOKEN.findall(text)
        real = [k for k, token in enumerate(tokens) if not token.isspace()]
        if real:
            change(chooser, tokens, chooser.choice(real))
        return "".join(tokens)

    return changed


def _delete_token(chooser: random.Random, tokens: list[str], at: int) -> None:
    del tokens[at]


def _double_token(chooser: random.Random, tokens: list[str], at: int) -> None:
    tokens.insert(at, tokens[at] + chooser.choice(("", " ")))


def _swap_tokens(chooser: random.Random, tokens: list[str], at: int) -> None:
    other = chooser.randrange(len(tokens))
    tokens[at], tokens[other] = tokens[other], tokens[at]


def _other_token(chooser: random.Random, tokens: list[str], at: int) -> None:
    """Another of the same kind: a name of the text, a number, an operator; or any word."""
    token = tokens[at]
    if chooser.random() < 0.2:
        tokens[at] = chooser.choice(_WORDS)
    elif _NAME.fullmatch(token):
        tokens[at] = chooser.choice([t for t in tokens if _NAME.fullmatch(t)])
    elif token[0].isdigit():
        tokens[at] = chooser.choice(_NUMBERS)
    else:
        tokens[at] = chooser.choice(_OPERATORS)


def _add_token(chooser: random.Random, tokens: list[str], at: int) -> None:
    tokens.insert(at, f" {chooser.choice((*_WORDS, *_OPERATORS, *_NUMBERS))} ")


def _misspell(chooser: random.Random, tokens: list[str], at: int) -> None:
    tokens[at] += chooser.choice("xs_0")


_OF_TEXT: Final[tuple[Callable[[random.Random, str], str], ...]] = (
    _delete_line, _double_line, _swap_lines, _indent_line, _put_line_inside, _put_line_inside,
    *map(_of_token, (_delete_token, _double_token, _swap_tokens, _other_token, _add_token, _misspell)),
    _of_token(_other_token), _of_token(_other_token),
)  # fmt: skip


# ------------------------------------------------------------------ changes of the tree


def _change_tree(chooser: random.Random, tree: Any) -> None:
    """Change one entry of a mapping or a list somewhere below `tree`."""
    places = [place for place in _places(tree) if place]
    if not places:
        return
    container, key = _entry(chooser, chooser.choice(places))
    other, key_of_other = _entry(chooser, chooser.choice(places))
    match chooser.randrange(7):
        case 0:
            del container[key]
        case 1 if isinstance(container, list):
            container.insert(0, container[key])
        case 2:
            container[key], other[key_of_other] = _copied(other[key_of_other]), _copied(container[key])
        case 3:
            container[key] = chooser.choice(("", None, [], {}, "0", "-1", [[]], {"a": "b"}, "x" * 300))
        case 4:
            container[key] = chooser.choice(([container[key]], {"shape": container[key]}))
        case 5 if isinstance(container, dict):
            container[chooser.choice(("doc", "type", "shape", "dtype", "bounds", "x"))] = container.pop(key)
        case _:
            foreign = yaml.load(chooser.choice(declarations()).text, yaml.CBaseLoader)
            container[key] = foreign.get(key, chooser.choice(list(foreign.values())))


def _places(tree: Any) -> list[Any]:
    """Every mapping and list of a tree."""
    if isinstance(tree, dict):
        return [tree, *[place for value in tree.values() for place in _places(value)]]
    if isinstance(tree, list):
        return [tree, *[place for value in tree for place in _places(value)]]
    return []


def _entry(chooser: random.Random, container: Any) -> tuple[Any, Any]:
    keys = list(container) if isinstance(container, dict) else range(len(container))
    return container, chooser.choice(keys)


def _copied(value: Any) -> Any:
    return yaml.load(yaml.safe_dump(value), yaml.CBaseLoader)
