"""Compiled kernels travel from the driver to the executors, as segments do.

Executors with the same processor and versions as the driver then compile nothing. On another
machine, one process compiles for all workers (`kernels.readiness`).
"""

from __future__ import annotations

import logging
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from matchwood.kernels.kernel_archive import use_archive, write_archive
from matchwood.kernels.kernel_folder import (
    ENTRY,
    environment,
    environment_folder,
    is_complete,
    kernel_of,
    listed_entries,
)
from matchwood.kernels.readiness import kernels_ready, wait_for_kernels
from matchwood.spark.session import is_connect, is_shipped, ship

# Tasks that say which kernels their machines have, where Spark does not say how many run at once.
_TASKS = 8

_log = logging.getLogger("matchwood.kernels")

# Names of the archives that this process, a worker, has taken in.
_used: set[str] = set()


def ship_kernels(spark: SparkSession) -> str | None:
    """Send the kernels that the driver has compiled to the executors; the name of the file.

    None if they are not compiled here: they are from now on, in the background.
    """
    folder = environment_folder()
    if folder is None or not kernels_ready() or not is_complete(folder):
        return None
    entries = "\n".join(sorted(listed_entries(folder) or ()))
    digest = sha256(f"{environment()}\n{entries}".encode()).hexdigest()[:32]
    with tempfile.TemporaryDirectory(prefix="matchwood-") as temporary:
        path = Path(temporary, f"matchwood-kernels-{digest}.zip")
        if not is_shipped(spark, path.name):
            try:
                write_archive(path)
            except (OSError, ValueError) as error:  # executors compile then
                _log.warning("kernels are not sent to the executors: %s", error)
                return None
        return ship(spark, path)


def use_shipped(name: str | None) -> int:
    """On an executor: take in the kernels that the driver sent, once; how many were new here."""
    if name is None or name in _used:
        return 0
    _used.add(name)
    folder = environment_folder()
    if folder is None or is_complete(folder):
        return 0
    from pyspark import SparkFiles

    try:
        return use_archive(SparkFiles.get(name)).added
    except (OSError, ValueError) as error:
        _log.warning("the kernels of the driver cannot be used: %s", error)
        return 0


@dataclass(frozen=True)
class KernelCounts:
    """Which kernels the machines of a run had to compile, and which were there or sent.

    The numbers are those of all machines together, and the names those of any of them.

    >>> print(KernelCounts(machines=2, compiled=61, loaded=61))
    61 loaded, 61 compiled, on 2 machines
    """

    machines: int = 0
    compiled: int = 0
    loaded: int = 0
    compiled_names: tuple[str, ...] = ()
    loaded_names: tuple[str, ...] = ()

    def __str__(self) -> str:
        machines = "1 machine" if self.machines == 1 else f"{self.machines:,} machines"
        return f"{self.loaded:,} loaded, {self.compiled:,} compiled, on {machines}"


class ReadyKernels(NamedTuple):
    """The names of the kernels that a machine had to compile, and of those that it had."""

    compiled: list[str]
    loaded: list[str]


def count_kernels(spark: SparkSession, name: str | None) -> KernelCounts:
    """Make kernels ready on the executors, and say what that took; each machine counts once."""
    tasks = _TASKS if is_connect(spark) else spark.sparkContext.defaultParallelism
    asked = spark.range(0, tasks, 1, tasks).mapInArrow(
        _counting(name), "machine string, compiled array<string>, loaded array<string>"
    )
    by_machine: dict[str, ReadyKernels] = {}
    for row in asked.collect():
        # A worker that comes later finds what an earlier one has waited for.
        ready = ReadyKernels(row.compiled, row.loaded)
        known = by_machine.setdefault(row.machine, ready)
        if len(ready.compiled) > len(known.compiled):
            by_machine[row.machine] = ready
    found = by_machine.values()
    return KernelCounts(
        len(by_machine),
        sum(len(ready.compiled) for ready in found),
        sum(len(ready.loaded) for ready in found),
        tuple(sorted({name for ready in found for name in ready.compiled})),
        tuple(sorted({name for ready in found for name in ready.loaded})),
    )


def _counting(name: str | None) -> Callable[[Any], Iterator[Any]]:
    """A task that makes kernels ready, and says which were compiled meanwhile."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:
            ready = make_ready(name)
            names = [pa.array([each], pa.list_(pa.string())) for each in ready]
            columns = [pa.array([socket.gethostname()]), *names]
            yield pa.record_batch(columns, ["machine", "compiled", "loaded"])

    return run


def make_ready(name: str | None) -> ReadyKernels:
    """Take in what was sent and wait for the rest: what was compiled, and what not."""
    folder = environment_folder()
    if folder is None:
        return ReadyKernels([], [])
    use_shipped(name)
    before = {path.name for path in folder.glob(f"*{ENTRY}")}
    wait_for_kernels()
    needed = listed_entries(folder) or []
    return ReadyKernels(
        [kernel_of(entry) for entry in needed if entry not in before],
        [kernel_of(entry) for entry in needed if entry in before],
    )
