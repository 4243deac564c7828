"""Every code of a diagnostic with what it means.  `docs/` and `tests/opgen/diagnostics/` hold one example for each."""

from __future__ import annotations

from typing import Final

CODES: Final[dict[str, str]] = {
    # reading
    "encoding": "the file is not UTF-8 text, or holds control characters",
    "yaml": "the text is not YAML",
    "limit": "the text is larger or deeper than any real declaration",
    "tag": "an explicit YAML tag, anchor or alias, which declarations do not use",
    "duplicate-key": "a key is given twice in one mapping",
    "unknown-key": "a key that the language does not have",
    "missing-key": "a key that must be given",
    "wrong-kind": "a mapping, a list or a text where another is expected",
    "bad-value": "a text that the key does not admit",
    "duplicate-op": "two declarations of one op",
    # names
    "bad-name": "a name that is not a lower-case identifier",
    "reserved-name": "a name that belongs to the language or to Python",
    "duplicate-name": "a name is given twice in one declaration, or shadows another",
    "unknown-name": "a name that nothing binds",
    "unbound-dim": "a dim that no input pattern binds",
    # expressions
    "syntax": "text that cannot be parsed",
    "not-in-language": "Python that the compute language does not have",
    "stage": "an element value where a static one is needed",
    "call": "a function called with the wrong arguments",
    "rank": "a wrong number of indices, or of entries of a shape",
    "index": "a bad left side of a definition",
    "op-call": "a call of an op that cannot be expanded where it stands",
    "cyclic": "names that refer to each other without end",
    "unbounded": "a `while` without a greatest number of steps",
    "undefined": "an output or an intermediate that is never defined",
    # values
    "value": "a value of a kind that does not fit",
    "dtype": "element types that do not fit",
    "shape-mismatch": "shapes that do not fit",
    "out-of-bounds": "an access that cannot be proved in bounds",
    "uncovered": "positions of a tensor that no definition covers",
    "update": "an update outside a loop, or one that reads what it updates",
    "bounds": "a default or a test value outside its bounds",
    "pattern-mismatch": "the declared pattern is not the derived one",
    "arity-mismatch": "the declared arity is not that of the inputs",
    "compute": "a compute expression that breaks another rule of the language",
    # other parts
    "extends": "a parent that does not exist, or a cycle of parents",
    "test": "a test that does not fit the declaration",
    "reference": "a statement outside the subset that `reference:` admits",
    "extern": "a `python:` reference that cannot be resolved",
    "strategy": "a strategy entry that names nothing",
}
