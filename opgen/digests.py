"""Digests of what files depend on."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

HALF: Final = 16  # hex digits of one half of the key in a header


def digest(*parts: str) -> str:
    """One digest of several texts."""
    return sha256("\0".join(parts).encode()).hexdigest()


def chain_digest(digests: Sequence[str]) -> str:
    """The digest of a document with its ancestors, from those of each by itself, nearest first."""
    return digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()


def op_key(package: str, namespace: str, name: str, source: str, declared: str) -> str:
    """The key in the headers of an op's files: its declaration with all that it extends, and where it ends up."""
    return digest(declared, package, namespace, name, source)[:HALF]
