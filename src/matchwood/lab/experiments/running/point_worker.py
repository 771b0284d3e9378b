"""A process that measures points, and is killed when one takes too much time or memory.

    python -m matchwood.lab.experiments.running.point_worker

It reads a point and a budget as a line of JSON and writes the figures as another. It stays, with
its kernels loaded and the last workload made, until its input ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from select import select
from typing import Any

from matchwood.lab.bench.machine import core_times, waited
from matchwood.lab.bench.processes import status
from matchwood.lab.experiments.running.points import Budget, Point

# The outcomes of a point.
MEASURED, OVER, LATE, FAILED, REFUSED, WRONG = (
    "measured",
    "over budget",
    "out of time",
    "failed",
    "unsupported",
    "wrong",
)

# Seconds between two looks at the memory and time of the process.
LOOK = 0.05

# Seconds of processor time to make a workload and compile kernels, which is not part of a point.
STARTING = 240


class Worker:
    """The process; it is started when needed, and again after it was killed."""

    COMMAND = (sys.executable, "-m", "matchwood.lab.experiments.running.point_worker")

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def measure(self, point: Point, budget: Budget) -> dict[str, Any]:
        """The figures of a point, with its `status`, or why it has none."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        asked = json.dumps({"point": asdict(point), "budget": asdict(budget)}) + "\n"
        process.stdin.write(asked.encode())
        limit: float = STARTING
        started = processor_time(process.pid)
        before: int | None = None
        while True:
            ready, _, _ = select([process.stdout], [], [], LOOK)
            if ready:
                line = process.stdout.readline()
                if not line:
                    code = process.wait()
                    self._process = None
                    return {"status": OVER if code == -9 else FAILED, "reason": f"exit {code}"}
                message = json.loads(line)
                if message != "begun":
                    return dict(message)
                before, limit = resident(process.pid), budget.seconds
                started = processor_time(process.pid)
            memory = resident(process.pid)
            if memory - (before or 0) > budget.bytes:
                return self._given_up(OVER, f"more than {budget.gib:g} GiB")
            if processor_time(process.pid) - started > limit:
                return self._given_up(LATE, f"more than {limit:g} s")

    def _start(self) -> subprocess.Popen[bytes]:
        # Nothing is buffered: of two lines that come at once, `select` would not see the second.
        return subprocess.Popen(
            self.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def _given_up(self, status: str, reason: str) -> dict[str, Any]:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.end()
        return {"status": status, "reason": reason}

    def end(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass
            self._process.stdout.close()
            self._process.wait()
            self._process = None


def processor_time(process: int) -> float:
    """The processor time of a process in seconds; wall time where that is unknown."""
    _, numbers = status(process)
    if not numbers:
        return time.monotonic()
    return sum(map(int, numbers[11:13])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> int:
    """The resident memory of a process in bytes; 0 where that is unknown."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure the points that come in on standard input."""
    from matchwood.lab.experiments.running.answer_check import Wrong
    from matchwood.lab.experiments.running.measuring import Bench
    from matchwood.lab.papers.shared.protocol import OverBudget, Unsupported

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # so that other output does not come between the lines
    bench = Bench(begun=lambda: print('"begun"', file=out, flush=True))
    for line in sys.stdin:
        asked = json.loads(line)
        point, budget = Point(**asked["point"]), Budget(**asked["budget"])
        begun = core_times()
        try:
            figures = {"status": MEASURED, **bench.measure(point, budget)}
        except (OverBudget, MemoryError) as error:
            figures = {"status": OVER, "reason": str(error)}
        except Wrong as error:
            figures = {"status": WRONG, "reason": str(error)}
        except Unsupported as error:
            figures = {"status": REFUSED, "reason": str(error)}
        except Exception as error:
            figures = {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
        figures["waited_for_a_core"] = waited(begun)
        print(json.dumps(figures), file=out, flush=True)


if __name__ == "__main__":
    main()
