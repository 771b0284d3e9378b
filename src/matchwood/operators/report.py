"""What operators did: how often they were called, how long they took, and which calls failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from matchwood.forking import is_left_held, renew_in_children
from matchwood.operators.registry import CallFailure

# Kinds of failure that are told apart; beyond it the one not seen for longest is forgotten.
MAX_FAILURES = 100

# Rules that are named with each kind of failure, at most.
MAX_RULES = 5

_log = logging.getLogger("matchwood.operators")


@dataclass
class OperatorFigures:
    """The calls of one operator, the seconds they took, and how many had no answer."""

    operator: str
    calls: int = 0
    seconds: float = 0.0
    failed: int = 0
    timed_out: int = 0


@dataclass
class FailedCalls:
    """Calls that failed in the same way: `kind` is exception, timeout or answer."""

    operator: str
    call: str
    kind: str
    reason: str
    count: int = 0
    rules: list[Any] = field(default_factory=list)  # ids of some rules that asked

    def __str__(self) -> str:
        rules = f" in rule {', '.join(map(str, self.rules))}" if self.rules else ""
        times = "once" if self.count == 1 else f"{self.count:,} times"
        return f"{self.call}{rules}: {self.reason} ({self.kind}, {times})"


class OperatorReport:
    """The calls of one matcher, counted by all its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        renew_in_children(self)
        self._operators: dict[str, OperatorFigures] = {}
        self._failures: dict[tuple[str, str, str], FailedCalls] = {}

    def after_fork(self) -> None:
        if is_left_held(self._lock):
            self._lock = threading.Lock()

    def note(self, operator: str, calls: int, seconds: float) -> None:
        with self._lock:
            figures = self._operators.get(operator)
            if figures is None:
                figures = self._operators[operator] = OperatorFigures(operator)
            figures.calls += calls
            figures.seconds += seconds

    def note_failure(
        self, operator: str, call: str, failure: CallFailure, rules: Sequence[Any]
    ) -> None:
        with self._lock:
            figures = self._operators.setdefault(operator, OperatorFigures(operator))
            figures.failed += failure.kind != "timeout"
            figures.timed_out += failure.kind == "timeout"
            key = (operator, call, failure.kind)
            known = self._failures.pop(key, None)
            first = known is None
            entry = known or FailedCalls(operator, call, failure.kind, failure.reason)
            entry.count += 1
            entry.reason = failure.reason
            for rule in rules:
                if rule not in entry.rules and len(entry.rules) < MAX_RULES:
                    entry.rules.append(rule)
            if len(self._failures) >= MAX_FAILURES:
                del self._failures[next(iter(self._failures))]
            self._failures[key] = entry
        if first:
            _log.warning("operator %s: %s", operator, entry)

    @property
    def operators(self) -> list[OperatorFigures]:
        with self._lock:
            return [OperatorFigures(**asdict(figures)) for figures in self._operators.values()]

    @property
    def failures(self) -> list[FailedCalls]:
        """The failures, the most recent last."""
        with self._lock:
            return [FailedCalls(**asdict(failure)) for failure in self._failures.values()]

    def to_dict(self) -> dict[str, Any]:
        return {
            "operators": [asdict(figures) for figures in self.operators],
            "failures": [asdict(failure) for failure in self.failures],
        }

    def __str__(self) -> str:
        lines = [
            f"{figures.operator}: {figures.calls:,} calls in {figures.seconds:.3f} s, "
            f"{figures.failed:,} failed, {figures.timed_out:,} timed out"
            for figures in self.operators
        ]
        return "\n".join([*lines, *(f"  {failure}" for failure in self.failures)]) or "no calls"

    __repr__ = __str__
