"""Hostile YAML: bombs, tags, merge keys, duplicate keys, depth, sizes, damaged bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .declarations import BENIGN, to_yaml
from .harness import examine, many, watched
from .texts import INJECTIONS

BLOCK = """\
op: h
doc: Text.
inputs: {data: {dtype: float}}
attrs: {axis: {type: int, default: -1, bounds: -data.ndim <= axis < data.ndim}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
let: |
  a = axis % data.ndim
compute: |
  out[*i] = data[*i] + 1 if i[a] == 0 else data[*i]
reference: |
  out = data + 1
tests:
  - {data: "float32[2, 3]", axis: 0}
"""

REFUSED = {
    "alias bomb": (
        "a: &a [x, x]\n" + "".join(f"b{k}: &b{k} [{'*a, ' * 9}*a]\n" for k in range(20)),
        {"tag", "unknown-key", "missing-key"},
    ),
    "alias to itself": ("op: &a [*a]\n", {"tag", "wrong-kind"}),
    "merge key": ("base: &b {doc: x}\n<<: *b\nop: h\n", {"tag", "unknown-key", "missing-key"}),
    "merge key without alias": ("op: h\n<<: {doc: x}\n", {"unknown-key", "missing-key"}),
    "duplicate keys": ("op: h\nop: g\ndoc: x\ndoc: y\n", {"duplicate-key", "missing-key"}),
    "python object": (
        "op: !!python/object/apply:os.system [touch opgen_was_here]\n",
        {"tag", "wrong-kind"},
    ),
    "python name": ("op: h\ndoc: !!python/name:os.system ''\n", {"tag", "missing-key"}),
    "own tag": ("!mine {op: h}\n", {"tag", "missing-key"}),
    "tag directive": ("%TAG ! tag:yaml.org,2002:python/\n---\nop: !object:os.system {}\n", None),
    "set": ("op: h\ninputs: !!set {data, b}\n", None),
    "binary": ("op: h\ndoc: !!binary aGVsbG8=\n", {"tag", "missing-key"}),
    "complex key": ("? [a, b]\n: x\nop: h\n", {"wrong-kind", "missing-key"}),
    "deep lists": ("op: h\ntraits: {a: " + "[" * 5000 + "]" * 5000 + "}\n", {"limit"}),
    "deep mappings": ("{a: " * 5000 + "}" * 5000, {"limit"}),
    "deep blocks": ("".join(" " * k + "a:\n" for k in range(2000)), {"limit"}),
    "deep sequences": ("- " * 3000 + "x\n", {"limit"}),
    "unclosed": ("op: h\ninputs: {" * 300, None),
    "huge list": ("op: h\ntraits: {a: [" + "x, " * 200_000 + "]}\n", {"limit"}),
    "huge mapping": ("op: h\n" + "".join(f"k{k}: v\n" for k in range(60_000)), {"limit"}),
    "many unknown keys": ("op: h\n" + "".join(f"k{k}: v\n" for k in range(900)), {"unknown-key", "missing-key"}),
    "many tests": (BLOCK + '  - {data: "float32[2, 3]", axis: 1}\n' * 900, set()),
    "many documents": ("---\nop: h\n" * 400, {"duplicate-op", "missing-key"}),
    "many inputs": ("op: h\ninputs: {" + ", ".join(f"x{k}: {{}}" for k in range(3000)) + "}\n", None),
    "many errors": ("op: h\ncompute: |\n" + "".join(f"  out[{k}] = x{k}\n" for k in range(900)), None),
    "huge text": (f"op: h\ndoc: {'x' * 3_000_000}\n", None),
    "huge line": (f"op: h {'y' * 1_000_000}: x\n", None),
    "digits": (f"op: h\nsupport_level: {'9' * 1_000_000}\n", {"limit"}),
    "control characters": ("op: h\ndoc: a\x00b\n", {"encoding"}),
    "escape": ("op: h\ndoc: a\x1b[31mb\n", {"encoding"}),
    "lone surrogate": ('op: h\ndoc: "\\ud800"\n', None),
    "byte order marks": ("\ufeffop: h\n\ufeffdoc: x\n", None),
    "next line": ("op: h\x85doc: x\u2028compute: y\u2029", None),
    "tabs": ("op: h\n\tdoc: x\n", {"yaml"}),
    "directives": ("%YAML 9.9\n%FOO bar\n---\nop: h\n", None),
    "nothing": ("", set()),
    "comment": ("# nothing\n", set()),
    "text": ("hello", {"wrong-kind"}),
    "list": ("- op: h\n", {"wrong-kind"}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_documents(name: str) -> None:
    text, codes = REFUSED[name]
    examined = examine(text)
    assert len(examined.ops) == (name == "many tests")
    assert codes is None or examined.codes == codes


@many(250)
@given(st.data())
def test_damaged_text(data: st.DataObject) -> None:
    """Pieces of hostile text put anywhere into a file, and parts taken out."""
    pieces = [text for text in INJECTIONS if len(text) < 2000]
    text = BLOCK
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.sampled_from([0, 0, 1, 3, 10, 40]))
        text = text[:at] + data.draw(st.sampled_from(pieces)) + text[at + gone :]
    examine(text)


@many(50)
@given(st.binary(max_size=200), st.integers(0, len(BLOCK)))
def test_any_bytes(junk: bytes, at: int) -> None:
    """Bytes that are not UTF-8 are refused when a file is read; all others are text."""
    raw = BLOCK.encode()[:at] + junk + BLOCK.encode()[at:]
    examine(raw.decode("utf-8", errors="surrogateescape"))


@many(30)
@given(st.permutations(list(BENIGN)))
def test_the_order_of_keys_does_not_matter(order: list[str]) -> None:
    examined = examine(to_yaml({key: BENIGN[key] for key in order}))
    assert len(examined.ops) == 1


def test_the_watch_sees_what_it_forbids(tmp_path: object) -> None:
    with pytest.raises(AssertionError, match="open"), watched(), open(f"{tmp_path}/x", "w"):
        pass
