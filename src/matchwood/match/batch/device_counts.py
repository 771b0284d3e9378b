"""Where this process has matched batches: on its processor, or on which GPU.

A batch is some events, mostly 1,024, against one segment. Who wants to know where some work was
done asks before and after it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from matchwood.forking import is_left_held, renew_in_children
from matchwood.match.batch.gpu.card import CPU


class DeviceCounts:
    """Batches by the name of the device that matched them; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: Counter[str] = Counter()
        renew_in_children(self)

    def after_fork(self) -> None:
        if is_left_held(self._lock):
            self._lock = threading.Lock()

    def add(self, device: str = CPU) -> None:
        """Count a batch that was matched on a device: the processor, or a GPU by its name."""
        with self._lock:
            self._batches[device] += 1

    def now(self) -> Mapping[str, int]:
        """The batches of this process until now."""
        with self._lock:
            return dict(self._batches)

    def since(self, before: Mapping[str, int]) -> dict[str, int]:
        """The batches that were matched since `before` was asked.

        >>> counts = DeviceCounts()
        >>> counts.add()
        >>> before = counts.now()
        >>> counts.add("NVIDIA H200")
        >>> counts.since(before)
        {'NVIDIA H200': 1}
        """
        now = self.now()
        return {name: count for name in now if (count := now[name] - before.get(name, 0))}


# The counts of this process.
device_counts = DeviceCounts()
