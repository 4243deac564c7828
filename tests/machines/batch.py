"""Many programs as C libraries in one C program, which runs each of them on its data: one link, one emulation.

The data lies in `inputs.bin`, results are written to `outputs.bin`, behind each of them 64 bytes that must stay what
they were.  The program says which call it begins and what it gave, so that a crash has a name; it goes on behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

import opgen_runtime as rt

from .emulated import Emulated

_LINE: Final = 64  # bytes
_UNTOUCHED: Final = 0xA5
Arrays: TypeAlias = "tuple[np.ndarray, ...]"


@dataclass(frozen=True)
class Exported:
    """A program that is compiled for the machine, its calls, and arrays of the types of the results of each."""

    title: str
    program: rt.Executable
    calls: tuple[Arrays, ...]
    results: tuple[Arrays, ...]


def results_there(machine: Emulated, programs: Sequence[Exported], folder: Path) -> list[list[Arrays | str]]:
    """What each call of each program gives on the machine, or what went wrong, in order."""
    objects: dict[str, bytes] = {}
    for number, each in enumerate(programs):
        for path in each.program.export_c(folder / "objects", f"net{number}"):
            if path.suffix == ".o":
                code = path.read_bytes()
                assert objects.setdefault(path.name, code) == code, f"{each.title}: another {path.name}"
    layout = _Layout()
    calls = [
        f"  {layout.call(number, given, wanted)}"
        for number, each in enumerate(programs)
        for given, wanted in zip(each.calls, each.results, strict=True)
    ]
    (folder / "inputs.bin").write_bytes(layout.data())
    source = _MAIN.replace("$PROTOTYPES", "\n".join(map(_prototype, range(len(programs)), programs)))
    source = source.replace("$BYTES", str(max(layout.size, _LINE))).replace("$CALLS", "\n".join(calls))
    program = folder / "programs"
    machine.link(program, source, [folder / "objects" / name for name in objects])
    said = _outcomes(machine, program, len(calls))
    found = np.fromfile(folder / "outputs.bin", np.uint8)
    return layout.results(programs, found, said)


def _prototype(number: int, each: Exported) -> str:
    count = len(each.calls[0]) + len(each.results[0])
    return f"int32_t net{number}({', '.join(['void *'] * count) or 'void'}); void net{number}_release(void);"


def _outcomes(machine: Emulated, program: Path, count: int) -> list[str]:
    """ "ok", or what went wrong, of each call."""
    said: list[str] = []
    while len(said) < count:
        done = machine.run(program, len(said))
        lines = done.stdout.splitlines()
        said += ["ok" if line == "0" else f"gave {line}" for line in lines if line != "begin"]
        if lines and lines[-1] == "begin":
            said.append(f"ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
        elif len(said) < count:
            raise AssertionError(f"{program.name} ended with status {done.returncode}: {done.stderr[-300:]}")
    return said


class _Layout:
    """Where the arrays of all calls lie."""

    def __init__(self) -> None:
        self.inputs: list[np.ndarray] = []
        self.used = 0  # bytes of the inputs
        self.size = 0  # bytes of the results
        self.places: list[list[int]] = []  # of the results of each call

    def call(self, number: int, given: Arrays, wanted: Arrays) -> str:
        """The C text of one call; the second run of it finds what the first has kept."""
        arguments: list[str] = []
        for array in given:
            arguments.append(f"in + {self.used}")
            self.inputs.append(array)
            self.used += _lines(array.nbytes)
        self.places.append([])
        begin = self.size
        for array in wanted:
            arguments.append(f"out + {self.size}")
            self.places[-1].append(self.size)
            self.size += _lines(array.nbytes) + _LINE
        run = f"net{number}({', '.join(arguments)})"
        return f"CALL({run}, net{number}_release(), {begin}, {self.size - begin});"

    def data(self) -> bytes:
        """The inputs, one behind the other."""
        return b"".join(
            [
                np.ascontiguousarray(array).tobytes().ljust(_lines(array.nbytes), b"\0")
                for array in self.inputs
            ]
        )

    def results(
        self, programs: Sequence[Exported], found: np.ndarray, said: Sequence[str]
    ) -> list[list[Arrays | str]]:
        made: list[list[Arrays | str]] = []
        number = 0
        for each in programs:
            made.append([])
            for wanted in each.results:
                places, outcome = self.places[number], said[number]
                number += 1
                arrays = tuple(
                    [
                        found[at : at + like.nbytes].view(like.dtype).reshape(like.shape)
                        for at, like in zip(places, wanted, strict=True)
                    ]
                )
                behind = [
                    found[at + like.nbytes : at + _lines(like.nbytes) + _LINE]
                    for at, like in zip(places, wanted, strict=True)
                ]
                if outcome == "ok" and any([(part != _UNTOUCHED).any() for part in behind]):
                    outcome = "wrote behind a result"
                made[-1].append(arrays if outcome == "ok" else outcome)
        return made


def _lines(size: int) -> int:
    """Bytes in whole lines, at least one."""
    return max(-(-size // _LINE), 1) * _LINE


_MAIN: Final = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
void opgen_pool_limit(int32_t);
void opgen_pool_stop(void);
$PROTOTYPES
static int number, first, file;
static char *in, *out;
#define CALL(run, release, begin, size) \
  if (number++ >= first) { \
    printf("begin\n"); fflush(stdout); \
    int status = run; \
    if (!status) status = run; \
    release; \
    if (pwrite(file, out + begin, size, begin) != size) status = 99; \
    printf("%d\n", status); fflush(stdout); \
  }
int main(int count, char **arguments) {
  struct stat about;
  first = count > 1 ? atoi(arguments[1]) : 0;
  int data = open("inputs.bin", O_RDONLY);
  if (data < 0 || fstat(data, &about)) return 97;
  in = aligned_alloc(64, (about.st_size + 64) / 64 * 64);
  out = aligned_alloc(64, $BYTES);
  for (long at = 0, got; at < about.st_size; at += got)
    if ((got = pread(data, in + at, about.st_size - at, at)) <= 0) return 98;
  memset(out, 0xA5, $BYTES);
  file = open("outputs.bin", O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, $BYTES)) return 96;
  opgen_pool_limit(2);
$CALLS
  opgen_pool_stop();
  return 0;
}
"""
