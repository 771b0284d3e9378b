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
from typing import Any

from pyspark.sql import SparkSession

from matchwood.kernels.kernel_archive import use_archive, write_archive
from matchwood.kernels.kernel_folder import (
    ENTRY,
    environment,
    environment_folder,
    is_complete,
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
    """How many kernels the machines of a run had to compile, and how many were there or sent.

    >>> print(KernelCounts(machines=2, compiled=61, loaded=61))
    61 loaded, 61 compiled, on 2 machines
    """

    machines: int = 0
    compiled: int = 0
    loaded: int = 0

    def __str__(self) -> str:
        machines = "1 machine" if self.machines == 1 else f"{self.machines:,} machines"
        return f"{self.loaded:,} loaded, {self.compiled:,} compiled, on {machines}"


def count_kernels(spark: SparkSession, name: str | None) -> KernelCounts:
    """Make kernels ready on the executors, and say what that took; each machine counts once."""
    tasks = _TASKS if is_connect(spark) else spark.sparkContext.defaultParallelism
    asked = spark.range(0, tasks, 1, tasks).mapInArrow(
        _counting(name), "machine string, compiled long, loaded long"
    )
    by_machine: dict[str, tuple[int, int]] = {}
    for row in asked.collect():
        # A worker that comes later finds what an earlier one has waited for.
        known = by_machine.get(row.machine, (0, 0))
        by_machine[row.machine] = max(known, (row.compiled, row.loaded))
    return KernelCounts(
        len(by_machine),
        sum(compiled for compiled, _ in by_machine.values()),
        sum(loaded for _, loaded in by_machine.values()),
    )


def _counting(name: str | None) -> Callable[[Any], Iterator[Any]]:
    """A task that makes kernels ready, and says how many were compiled meanwhile."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:
            compiled, loaded = make_ready(name)
            columns = [[socket.gethostname()], [compiled], [loaded]]
            yield pa.record_batch(columns, ["machine", "compiled", "loaded"])

    return run


def make_ready(name: str | None) -> tuple[int, int]:
    """Take in what was sent and wait for the rest: how many were compiled, and how many not."""
    folder = environment_folder()
    if folder is None:
        return 0, 0
    use_shipped(name)
    before = {path.name for path in folder.glob(f"*{ENTRY}")}
    wait_for_kernels()
    needed = listed_entries(folder) or []
    compiled = sum(entry not in before for entry in needed)
    return compiled, len(needed) - compiled
