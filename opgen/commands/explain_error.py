"""`opgen explain-error CODE`: what a diagnostic means, an example of it, and how that is mended."""

from __future__ import annotations

import click

from ..analyse import check_project
from ..diagnostics import CODES, did_you_mean, to_text
from ..diagnostics.examples import examples
from .coloured import code as source
from .completion import CodeName
from .console import heading, out
from .failure import Failure


@click.command()
@click.argument("code", required=False, type=CodeName())
def command(code: str | None) -> None:
    """Say what the error CODE means and what to do about it, with a wrong declaration and the mended one.

    CODE stands in brackets in a message: error[out-of-bounds].  Without it all codes are listed.
    """
    if code is None:
        width = max(map(len, CODES)) + 2
        for name, meaning in CODES.items():
            out.print(f"{name:{width}}{meaning}")
        return
    code = code.removeprefix("error[").removesuffix("]")
    if code not in CODES:
        hint = did_you_mean(code, CODES) or "`opgen explain-error` lists them"
        raise Failure(f"no diagnostic has the code {code!r}; {hint}")
    example = examples()[code]
    out.print(f"{code}: {CODES[code]}.\n\n{example.say}")
    if example.bad:
        out.print()
        heading("wrong")
        source(example.bad, "yaml")
        out.print()
        out.print(to_text(check_project({"example.yaml": example.bad})[1]))
        out.print()
        heading("mended")
        source(example.mended, "yaml")
