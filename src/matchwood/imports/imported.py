"""What an importer yields: a rule, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ImportedRule:
    """A rule in the language of matchwood, and where it came from."""

    id: str
    rule: str
    source: str  # the file, and the place in it where that helps
    title: str = ""
    tags: tuple[str, ...] = ()
    priority: float = 0.0
    data: dict[str, Any] = field(default_factory=dict)  # what else the source says of the rule
    # Of which events it may answer otherwise than the original, as names of `EVENT_KINDS`.
    differs: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """The rule as a row of a table of rules; what it does not have is left out."""
        row: dict[str, Any] = {"id": self.id, "rule": self.rule}
        if self.tags:
            row["tags"] = list(self.tags)
        if self.priority:
            row["priority"] = self.priority
        if self.title:
            row["title"] = self.title
        return row | {"source": self.source} | self.data


@dataclass(frozen=True)
class NotImported:
    """A rule, or a file, that was not imported."""

    source: str  # the file, and the place in it
    reason: str  # what was found, and why it cannot be said exactly
    id: str = ""

    def __str__(self) -> str:
        return f"{self.source}: {f'rule {self.id!r}: ' if self.id else ''}{self.reason}"


class Inexpressible(ValueError):
    """A part of a rule that cannot be said exactly; `place` is the path to it in its document."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" if self.place else self.reason
