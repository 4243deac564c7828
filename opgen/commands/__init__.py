"""The command line.  Each command is a module of its own, imported when it is used.

Exit codes: 0, all is well; 1, the work found something wrong (errors in declarations, stale files, failing
suites); 2, the command could not be carried out as asked (no project, a name that exists, a file in the way).
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from ..project import ProjectError
from .failure import Failure

_ALLOCATIONS: Final = 1_000_000  # objects more, between two searches for garbage: some 100 MB

# Command -> module and what it does, in the order of the help text.
_COMMANDS: Final = {
    "init": ("init", "Make a new project."),
    "add-op": ("add_op", "Write a declaration to start from, and generate."),
    "add-rewrite": ("add_rewrite", "Write a rewrite to start from, and generate."),
    "generate": ("generate", "Regenerate what changed declarations touch."),
    "check": ("check", "Report stale, missing, orphaned and hand-edited files as a diff."),
    "test": ("test", "Run the generated suites."),
    "list": ("list", "List the ops of the project, or its externs."),
    "show": ("show", "Show one op: declaration, derived facts, documentation, generated files."),
    "explain": ("explain", "Print every stage of one call: declaration to assembly."),
    "explain-error": ("explain_error", "Say what an error means, with an example and how it is mended."),
    "where": ("where", "Find the declaration that a line of a generated file comes from."),
    "diff": ("diff", "Say which changes between two versions break callers."),
    "schema": ("schema", "Print the JSON Schema of the declaration language."),
    "build": ("build", "Compile an ONNX model into one file."),
    "export-ort": ("export_ort", "Compile ops into a library of custom ops of onnxruntime."),
    "export": ("export", "Write a program as an ONNX model."),
    "tune": ("tune", "Search the schedules' parameters for a model or an op, by timing."),
    "run": ("run", "Run an ONNX model, a file that was built, or one op."),
    "inspect": ("inspect", "Show what an ONNX model is made of, or the passes."),
}


class _Commands(click.Group):
    """Imports a command's module when it is named; turns our errors into messages."""

    def main(self, *args: Any, **keywords: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(
                    errors="backslashreplace"
                )  # a terminal without the character shows its code
        # What a command imports and makes lives to its end: to look for garbage there, and once more at the exit,
        # is a fifth of a short command.
        atexit.unregister(gc.freeze)
        atexit.register(gc.freeze)
        before = gc.get_threshold()
        gc.set_threshold(_ALLOCATIONS)
        try:
            return super().main(*args, **keywords)
        finally:
            gc.set_threshold(*before)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, summary = _COMMANDS[name]
        command = import_module(f"{__name__}.{module}").command
        assert isinstance(command, click.Command)
        command.short_help = summary
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])

    def _main_shell_completion(self, *args: Any, **keywords: Any) -> None:
        """As click does it, with bash's words quoted."""
        if os.environ.get("_OPGEN_COMPLETE", "").startswith("bash"):
            from .bash import quote_completions

            quote_completions()
        super()._main_shell_completion(*args, **keywords)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click does it, without importing the commands."""
        found = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in _COMMANDS:
            near = get_close_matches(name, _COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(_COMMANDS)}"
            raise click.UsageError(f"no command {name!r}; {hint}", context)
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except ProjectError as error:
            raise Failure(str(error)) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of our output has left: click ends without a word
            _forget_output()
            raise Failure(str(error)) from None


def program() -> None:
    """The program `opgen`: what a command leaves is not searched for garbage, since its process ends with it."""
    gc.set_threshold(_ALLOCATIONS)
    main()


def _forget_output() -> None:
    """Where output cannot be written (a full disk), leave nothing in the buffer that fails again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(package_name="opgen", prog_name="opgen")
def main() -> None:
    """Declare a tensor operator once, in YAML; generate everything else; run it.

    \b
      opgen init myops              make a project
      opgen add-op axis_abs         write a declaration to start from (and generate)
      opgen generate                regenerate what changed declarations touch
      opgen test                    run the generated suites
      opgen explain axis_abs --shape 4,4    every stage, down to assembly
      opgen run model.onnx --input x=x.npy  an ONNX model through the declared ops
    """
