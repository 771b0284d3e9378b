"""The memory and processor time of a program and its child processes, as Linux reports them."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from matchwood.lab.bench.reporting import Figures

# Seconds between two looks at the memory.
PAUSE = 0.25


class PeakMemory:
    """Samples the memory of all processes for as long as its `with` block runs.

    Memory that processes share is divided among them (PSS), so that the sum counts it once.
    """

    def __init__(self) -> None:
        self._most: dict[str, int] = defaultdict(int)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def figures(self) -> Figures:
        """GiB of the driver, of Java, of the largest worker, and of all at once."""
        return {f"peak_gib_{name}": most / 2**30 for name, most in self._most.items()}

    def _look(self) -> None:
        while not self._end.wait(PAUSE):
            current: dict[str, int] = defaultdict(int)
            for process, name in family(os.getpid()):
                size = bytes_of(process)
                kind = "driver" if process == os.getpid() else name
                current[kind] = max(current[kind], size)
                current["all"] += size
            for kind, size in current.items():
                self._most[kind] = max(self._most[kind], size)


def processor_seconds() -> float:
    """Processor time of this process and its children that still run."""
    return sum(processor_seconds_of(process) for process, _ in family(os.getpid()))


def processor_seconds_of(process: int) -> float:
    """Processor time of one process so far."""
    _, numbers = status(process)
    return sum(map(int, numbers[11:13])) / os.sysconf("SC_CLK_TCK")


def family(root: int) -> Iterator[tuple[int, str]]:
    """A process and its descendants: their ids, each with `java` or `worker`."""
    below: dict[int, list[int]] = defaultdict(list)
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        process = int(folder.name)
        name, numbers = status(process)
        if numbers:
            below[int(numbers[1])].append(process)
            names[process] = "java" if name == "java" else "worker"
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process, names.get(process, "worker")
        waiting += below[process]


def status(process: int) -> tuple[str, list[str]]:
    """The name of a process, and the fields of /proc/…/stat after it; empty if it has ended."""
    try:
        line = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return "", []
    # 123 (name) S 45 …, where the name may have spaces
    name, _, rest = line.partition(" (")[2].rpartition(") ")
    return name, rest.split()


def bytes_of(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    sizes = [int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")]
    return sum(sizes)
