"""A function of a module, in a process of its own: nothing of earlier runs is there, and a crash is its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any


class ApartError(RuntimeError):
    """The function raised, or its process ended: the text says how."""


@dataclass(frozen=True, slots=True)
class Apart:
    """A call that only its own process unpickles: `paths` for its imports, `modules` that are imported before."""

    paths: tuple[str, ...]
    modules: tuple[str, ...]
    call: bytes

    @staticmethod
    def of(
        function: Callable[[Any], Any], argument: Any, paths: Sequence[str], modules: Sequence[str]
    ) -> Apart:
        """The call of a function with an argument."""
        return Apart(tuple(paths), tuple(modules), pickle.dumps((function, argument)))

    def run(self) -> Any:
        """What the function gives.  Raises ApartError."""
        paths = os.pathsep.join([*self.paths, *filter(None, sys.path)])
        done = subprocess.run(
            [sys.executable, "-m", "opgen.commands.apart"],
            input=pickle.dumps((self.modules, self.call)),
            capture_output=True,
            env={**os.environ, "PYTHONPATH": paths},
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise ApartError(f"the process ended with status {done.returncode}\n{said}".strip())
        is_right, found = pickle.loads(done.stdout)
        if not is_right:
            raise ApartError(found)
        return found


def main() -> None:
    """The process: the call from standard input; what is printed on the way goes to the error stream."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        modules, call = pickle.load(sys.stdin.buffer)
        try:
            for name in modules:
                import_module(name)
            function, argument = pickle.loads(call)
            answer = pickle.dumps((True, function(argument)))
        except Exception:  # whatever it is, it is told where the call was made
            answer = pickle.dumps((False, traceback.format_exc().strip()))
        answers.write(answer)


if __name__ == "__main__":
    main()
