"""Detections over logs of processes: JSON texts of forty attributes of text, and rules of patterns.

An event names four processes: the one that starts, its parent, the one that it opens, and the one
that asked for it. Each has the ten attributes of `string_rules`. As on most machines, processes
recur: one of five that start was never seen before, and the others are among those that run again
and again. Without `recurring`, no process of any event was seen before.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from random import Random

from matchwood.lab.workloads.string_rules import ATTRIBUTES, StringRules

# What the attributes of each process are prefixed with.
PROCESSES = ("", "parent_process_", "target_", "source_")

# Processes that recur.
RECURRING = 500

# The share of processes that start and were never seen before.
NEW = 0.2

_ATTRIBUTE = re.compile(rf"\b({'|'.join(ATTRIBUTES)})\b(?=,| i?like)")


@dataclass(frozen=True)
class Detections:
    """A seeded workload of detection rules, and of JSON texts of forty strings.

    >>> event = json.loads(Detections(seed=2).json_texts(1)[0])
    >>> len(event), sorted(event)[-1]
    (40, 'user_agent')
    """

    rules: int = 3_000
    seed: int = 1
    recurring: bool = True

    def texts(self) -> list[str]:
        """The rules: half of them are about the process that starts."""
        random = Random(f"detections {self.seed}")
        return [
            _ATTRIBUTE.sub(rf"{random.choices(PROCESSES, (3, 1, 1, 1))[0]}\1", text)
            for text in StringRules(rules=self.rules, seed=self.seed).texts()
        ]

    def events(self, n: int) -> list[dict[str, str]]:
        """Logs as Python values."""
        if not self.recurring:
            unseen = iter(StringRules(seed=self.seed).events(len(PROCESSES) * n))
            return [_joined([next(unseen) for _ in PROCESSES]) for _ in range(n)]
        random = Random(f"processes {self.seed}")
        recurring = StringRules(seed=self.seed + 1).events(RECURRING)
        events = []
        for new in StringRules(seed=self.seed).events(n):
            processes = []
            for prefix in PROCESSES:
                process = recurring[int(RECURRING * random.random() ** 2)]
                if not prefix and random.random() < NEW:
                    process = new
                processes.append(process)
            events.append(_joined(processes))
        return events

    def json_texts(self, n: int) -> list[bytes]:
        """Logs as JSON."""
        return [json.dumps(event).encode() for event in self.events(n)]


def _joined(processes: list[dict[str, str]]) -> dict[str, str]:
    """An event that names these processes."""
    named = zip(PROCESSES, processes, strict=True)
    return {prefix + name: value for prefix, process in named for name, value in process.items()}
