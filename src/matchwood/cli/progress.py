"""The progress of long work."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any


class ProgressMeter:
    """Shows progress on standard error: a bar on a terminal, lines in a log."""

    FIRST = 1.0  # seconds until the bar is shown on a terminal
    AGAIN = 10.0  # seconds between lines in a log

    def __init__(self, unit: str, every: int = 256) -> None:
        self.unit = unit
        self.every = every  # how many steps between two looks at the clock
        self.bar: Any = None
        self.person = sys.stderr.isatty()
        self.due = monotonic() + (self.FIRST if self.person else self.AGAIN)

    def __enter__(self) -> ProgressMeter:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def seen(self, count: int) -> None:
        """Report how many steps are done; call it after each one."""
        if count % self.every or monotonic() < self.due:
            return
        if not self.person:
            print(f"{count:,} {self.unit} so far", file=sys.stderr)
            self.due = monotonic() + self.AGAIN
            return
        if self.bar is None:
            self.bar = _bar(self.unit)
        self.bar.update(self.bar.task_ids[0], completed=count)
        self.due = monotonic() + 0.1


class CompilingMeter:
    """Says on standard error that kernels are being compiled, and how many are done."""

    AGAIN = 5.0  # seconds between lines in a log

    def __init__(self) -> None:
        self.due = 0.0

    def __call__(self, done: int, total: int) -> None:
        if 0 < total <= done:
            if self.due and sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr, flush=True)
            return
        said = "compiling kernels, once on this machine"
        said += f": {done} of {total}" if total else ", for about half a minute"
        if sys.stderr.isatty():
            self.due = 1.0
            print(f"\r\033[K{said}", end="", file=sys.stderr, flush=True)
        elif monotonic() >= self.due:
            self.due = monotonic() + self.AGAIN
            print(said, file=sys.stderr, flush=True)


def _bar(unit: str) -> Any:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    count = TextColumn("{task.completed:,.0f} " + unit)
    console = Console(stderr=True)
    bar = Progress(SpinnerColumn(), count, TimeElapsedColumn(), console=console, transient=True)
    bar.add_task(unit, total=None)
    bar.start()
    return bar
