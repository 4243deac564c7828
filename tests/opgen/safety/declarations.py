"""A benign declaration that uses every key, as data; writing it with one value replaced makes a hostile one."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, Final

Path = tuple[str | int, ...]

BENIGN: Final[dict[str, Any]] = {
    "op": "soft",
    "doc": "Text about the op.",
    "support_level": "3",
    "since": "1.0",
    "deprecated": "use another",
    "operator": "+",
    "traits": {"role": "text", "nested": {"key": "value"}, "many": ["a", "b"]},
    "dtypes": {"T": "float"},
    "inputs": {
        "data": {"doc": "The input.", "dtype": "T"},
        "bias": {"doc": "Added.", "dtype": "T", "shape": "K"},
    },
    "attrs": {
        "axis": {
            "type": "int",
            "default": "-1",
            "bounds": "-data.ndim <= axis < data.ndim",
            "doc": "An axis.",
        },
        "mode": {"type": "str", "default": "plain", "bounds": "mode in ('plain', 'other')", "doc": "A mode."},
        "label": {"type": "str", "default": "none", "doc": "Free text."},
        "names": {"type": "strs", "default": ["a", "b"], "doc": "Free texts."},
        "scale": {"type": "float", "default": "0.5", "doc": "A factor."},
        "order": {"type": "layout", "default": "NCHW", "doc": "A layout."},
    },
    "type_relation": {
        "require": [{"require": "data.ndim >= 1", "error": "needs an axis"}, {"require": "bias.ndim == 1"}],
    },
    "let": "a = axis % data.ndim\nrest = data.shape[:a] + data.shape[a+1:]\n",
    "outputs": {"out": {"shape": "data.shape", "dtype": "T", "doc": "The result."}},
    "compute": (
        "m[*r]: rest = max(data[*r[:a], k, *r[a:]] for k in range(data.shape[a]))\n"
        "out[*i] = exp(data[*i] - m[*i[:a], *i[a+1:]]) if mode == 'plain' else data[*i] * scale\n"
    ),
    "strategy": [
        {"name": "fast", "schedule": "generic", "target": "llvm", "when": "data.ndim == 2", "plevel": "11"}
    ],
    "reference": (
        "shift = np.exp(data - data.max(axis=axis, keepdims=True))\n"
        "out = shift if mode == 'plain' else (data * scale).astype(data.dtype)\n"
    ),
    "tests": [{"data": "float32[2, 3]", "bias": "float32[4]", "axis": "0", "label": "text"}],
}

# Fields that hold any text at all: whatever stands there, the generated code has the same structure.
FREE: Final[tuple[Path, ...]] = (
    ("doc",), ("since",), ("deprecated",), ("operator",), ("inputs", "data", "doc"), ("inputs", "bias", "doc"),
    ("attrs", "axis", "doc"),
    ("attrs", "label", "default"), ("attrs", "names", "default", 0), ("attrs", "label", "doc"),
    ("type_relation", "require", 0, "error"), ("outputs", "out", "doc"), ("strategy", 0, "name"),
    ("strategy", 0, "target"), ("tests", 0, "label"),
)  # fmt: skip
TRAITS: Final[tuple[Path, ...]] = (("traits", "role"), ("traits", "nested", "key"), ("traits", "many", 0))


def paths(value: Any = BENIGN, path: Path = ()) -> Iterator[Path]:
    """Every text of the declaration."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from paths(item, (*path, number))
    else:
        yield path


def keys(value: Any = BENIGN, path: Path = ()) -> Iterator[Path]:
    """Every key of the declaration."""
    for key, item in value.items() if isinstance(value, dict) else ():
        yield (*path, key)
        yield from keys(item, (*path, key))


def replaced(path: Path, new: Any, declaration: dict[str, Any] = BENIGN) -> dict[str, Any]:
    """The declaration with another value at `path`."""
    made = copy.deepcopy(declaration)
    _at(made, path[:-1])[path[-1]] = new
    return made


def renamed(path: Path, new: str) -> dict[str, Any]:
    """The benign declaration with another key at `path`, in the same place."""
    made = copy.deepcopy(BENIGN)
    mapping = _at(made, path[:-1])
    items = [(new if key == path[-1] else key, value) for key, value in mapping.items()]
    mapping.clear()
    mapping.update(items)
    return made


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def to_yaml(value: Any) -> str:
    """The declaration in JSON's syntax, which is YAML's flow style, with every text quoted."""
    return _SURROGATES.sub(_joined, json.dumps(value, indent=1)) + "\n"


_SURROGATES: Final = re.compile(r"\\u(d[89ab]..)\\u(d[c-f]..)")


def _joined(match: re.Match[str]) -> str:
    """JSON writes a character beyond 16 bits as two; YAML as `\\U........`."""
    high, low = int(match[1], 16) - 0xD800, int(match[2], 16) - 0xDC00
    return f"\\U{0x10000 + (high << 10) + low:08x}"
