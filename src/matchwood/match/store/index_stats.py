"""Figures of the rules and of the index of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from matchwood.language.tree.subjects import named
from matchwood.match.parts.part import Part


@dataclass(frozen=True)
class Stats:
    """Figures of an index, as `Matcher.stats` returns them."""

    rules: int
    segments: int
    pending: int
    attributes: int
    predicates: int
    nodes: int
    sharing: float  # operands of all nodes and rules per distinct predicate or node
    levels: int
    bytes: int
    bytes_per_rule: float

    @classmethod
    def of(cls, parts: Sequence[Part], pending: int, rules: int) -> Stats:
        """The figures of some parts, with so many pending rules, and so many rules in all."""
        segments = [part.segment for part in parts]
        predicates = sum(s.packed.atoms for s in segments)
        nodes = sum(s.nodes for s in segments)
        uses = sum(len(s.tree.records) - s.nodes for s in segments) + rules
        size = sum(part.bytes for part in parts)
        attributes = {name for s in segments for slot in s.slots for name in named(slot.attribute)}
        return cls(
            rules,
            len(segments),
            pending,
            len(attributes),
            predicates,
            nodes,
            round(uses / max(1, predicates + nodes), 2),
            max((len(s.tree.levels) for s in segments), default=1),
            size,
            round(size / max(1, rules), 1),
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)

    def __str__(self) -> str:
        width = max(len(name) for name in self.to_dict())
        return "\n".join(f"{name:{width}}  {value:,}" for name, value in self.to_dict().items())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
