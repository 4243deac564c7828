"""Views to text: jinja2 in a sandbox, in which an undefined name is an error.

A template prints Python; what it prints is parsed, unused private imports are dropped, and long statements are
laid out.  A mistake in a template is reported at the template's line, with the declaration that was printed.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .formatting import lay_out
from .project import resources


class RenderError(Exception):
    """A template that cannot be rendered, or that prints what is not Python.

    The message names the template's file and line, what is wrong, and the declaration that was printed.
    """


class Renderer:
    """Renders the templates of one project; a project's own template replaces the built-in one."""

    def __init__(self, own_templates: Path | None = None, further: Iterable[Path] = ()) -> None:
        """`further`: folders where templates are looked for that are in neither."""
        own = [] if own_templates is None else [own_templates]
        folders = [*own, resources("templates"), *further]
        self._environment = ImmutableSandboxedEnvironment(
            loader=ChoiceLoader([FileSystemLoader(folder) for folder in folders]),
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def text(self, template: str, values: Mapping[str, object], declaration: str) -> str:
        """What `template` prints.  `declaration` is `file:line` of what it prints, for messages.

        Raises RenderError.
        """
        try:
            return self._environment.get_template(template).render(values)
        except TemplateSyntaxError as error:
            place = f"{error.filename or template}:{error.lineno}"
            raise RenderError(_message(place, error.message or "syntax error", declaration)) from None
        except (TemplateError, SecurityError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise RenderError(_message(_place(error, template), str(error), declaration)) from error

    def python(self, template: str, values: Mapping[str, object], declaration: str) -> str:
        """What `template` prints, as a laid-out Python module.

        Raises RenderError, also where the text is not Python.
        """
        text = self.text(template, values, declaration)
        try:
            return lay_out(text)
        except SyntaxError as error:
            lines = text.splitlines()
            number = error.lineno or 1
            shown = lines[number - 1].strip() if number <= len(lines) else ""
            what = f"prints what is not Python ({error.msg}): {shown[:160]}"
            raise RenderError(_message(self._file(template), what, declaration)) from None

    def _file(self, template: str) -> str:
        return self._environment.get_template(template).filename or template


_TEMPLATE_SUFFIX: Final = ".j2"


def _place(error: BaseException, template: str) -> str:
    """The innermost line of a template that the error passed through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.endswith(_TEMPLATE_SUFFIX):
            return f"{frame.filename}:{frame.lineno}"
    return template


def _message(place: str, what: str, declaration: str) -> str:
    return f"{place}: error[template]: {what}\n  = note: while printing {declaration}"
