"""Work units on the workers of a Dask cluster, for `--scheduler ADDRESS`, or in a pool of this machine.

A unit is an argument of a function of a module.  On a worker each has a process of its own; a worker needs the same
opgen and libraries, and sees files of the project where they are here.  Units of a worker that dies are done by
another one.  Needs the extra `dask`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from ..generation.generator import generator_digest, runtime_digest
from .apart import Apart, ApartError
from .console import err
from .failure import Failure

_SECONDS: Final = 10.0  # until a scheduler answers, and has a worker
_RETRIES: Final = 1  # of a unit that raises; one whose worker dies is tried as often as the cluster says

Unit = TypeVar("Unit")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Pool:
    """What does units, `count` of them at a time; `submit` begins one."""

    count: int
    submit: Callable[[Callable[[Any], Any], Any], Future[Any]]

    def each(
        self, function: Callable[[Unit], Result], units: Sequence[Unit], order: Sequence[int] = ()
    ) -> Iterator[tuple[int, Result]]:
        """The number of each unit and what the function gives of it, as they are done; a terminal shows how many are.

        `order`: in which they are begun.  What the function raises is raised; what is not begun then is not done.
        """
        futures = {self.submit(function, units[number]): number for number in order or range(len(units))}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                _show(f"{done}/{len(units)}")
                yield futures[future], future.result()
        finally:
            _show("")
            for future in futures:
                future.cancel()


@contextmanager
def threads(count: int) -> Iterator[Pool]:
    """Threads of this process, for units that have processes of their own anyway."""
    with ThreadPoolExecutor(count) as executor:
        yield Pool(count, executor.submit)


@contextmanager
def cluster(address: str, paths: Sequence[str] = (), modules: Sequence[str] = ()) -> Iterator[Pool]:
    """The workers of the cluster whose scheduler has this address; the body ends before it does.

    `paths`: for imports of a unit's process.  `modules`: what it imports first, such as those that declare ops.

    Raises Failure without the extra, where no scheduler answers, one has no workers or those have another opgen, and
    for a cluster that goes away in the body, or a unit that raises or ends its workers.
    """
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise Failure("--scheduler needs the package distributed: pip install 'opgen[dask]'") from None
    try:
        client = Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise Failure(f"--scheduler {address}: no scheduler answers: {error}") from None
    with client:
        _check_workers(client, address)
        executor = client.get_executor(pure=False, retries=_RETRIES)

        def submit(function: Callable[[Any], Any], unit: Any) -> Future[Any]:
            return cast(Future[Any], executor.submit(Apart.run, Apart.of(function, unit, paths, modules)))

        try:
            yield Pool(sum(client.nthreads().values()), submit)
        except CancelledError:
            raise Failure(f"--scheduler {address}: the cluster went away before all was done") from None
        except (ApartError, KilledWorker) as error:
            raise Failure(f"--scheduler {address}: {error}") from None


def version() -> str:
    """A digest of all that decides what units give."""
    return generator_digest() + runtime_digest(["."])


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError:
        raise Failure(f"--scheduler {address}: there are no workers") from None
    own = version()
    for worker, found in sorted(client.run(version, on_error="return").items()):
        if isinstance(found, Exception):
            raise Failure(f"--scheduler {address}: worker {worker} has no opgen: {found}")
        if found != own:
            raise Failure(
                f"--scheduler {address}: worker {worker} has another version of opgen, Python, jinja2, numpy, pydantic "
                f"or PyYAML than this process"
            )


def _show(text: str) -> None:
    if err.is_terminal:
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()
