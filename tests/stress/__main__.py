"""Stress: what runs beside something else, run beside something else (see tests/campaign.py)."""

from __future__ import annotations

import sys

from tests.campaign import main

if __name__ == "__main__":
    sys.exit(main("tests.stress", __doc__))
