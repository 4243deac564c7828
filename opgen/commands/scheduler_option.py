"""--scheduler, by which commands find the workers of a cluster (`scheduler.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def on_a_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the option."""
    return click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Do the work on the workers of a Dask cluster, such as tcp://10.0.0.1:8786.",
    )(command)
