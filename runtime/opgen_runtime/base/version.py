"""The version of the package, which files that are saved hold: asking the installed metadata for it takes long."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
