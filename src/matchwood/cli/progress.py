"""How far long work has come."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any


class Watch:
    """How far long work has come, on standard error: a bar for a person, lines for a log."""

    FIRST, AGAIN = 1.0, 10.0  # seconds until the bar shows, and between lines

    def __init__(self, what: str, every: int = 256) -> None:
        self.what = what
        self.every = every  # look at the clock only then
        self.bar: Any = None
        self.person = sys.stderr.isatty()
        self.due = monotonic() + (self.FIRST if self.person else self.AGAIN)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def seen(self, count: int) -> None:
        """Told after each piece of work how many are done."""
        if count % self.every or monotonic() < self.due:
            return
        if not self.person:
            print(f"{count:,} {self.what} so far", file=sys.stderr)
            self.due = monotonic() + self.AGAIN
            return
        if self.bar is None:
            self.bar = _bar(self.what)
        self.bar.update(self.bar.task_ids[0], completed=count)
        self.due = monotonic() + 0.1


def _bar(what: str) -> Any:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    count = TextColumn("{task.completed:,.0f} " + what)
    console = Console(stderr=True)
    bar = Progress(SpinnerColumn(), count, TimeElapsedColumn(), console=console, transient=True)
    bar.add_task(what, total=None)
    bar.start()
    return bar
