"""Fuzzers: seeded random cases of one kind, each in a child process (see tests/campaign.py)."""

from __future__ import annotations

import sys

from tests.campaign import main

if __name__ == "__main__":
    sys.exit(main("tests.fuzz", __doc__))
