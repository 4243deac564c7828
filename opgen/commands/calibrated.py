"""`opgen tune --calibrate NAME`: costs of this machine as a row of the user's file."""

from __future__ import annotations

from opgen_runtime.base import Target, machines_file, write_machine
from opgen_runtime.run.compile.tuning.calibration import calibrate

from .console import out, table
from .failure import Failure


def calibrated(name: str, target: Target, seconds: float) -> None:
    """Measure for about so many seconds, write the row `name`, which is like that of the target, and print both.

    Raises what `write_machine` raises, and CodegenError.
    """
    path = machines_file()
    if path is None:
        raise Failure("there is no place for rows of machines: OPGEN_MACHINES names a file")
    like = Target.of_code(str(target)).machine
    made, cycles = write_machine(path, name, like.name, lambda: calibrate(target, seconds))
    rows = [(each, f"{like.cycles[each]:g}", f"{made.cycles[each]:g}") for each in cycles]
    table([("cost", like.name, name), *rows])
    out.print(f"{path}: -machine={name}")
