"""A sample of events: their attributes and families, and whether rules are ever defined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from matchwood.language.errors import EventError, RuleError
from matchwood.language.evaluation import as_family, evaluate
from matchwood.language.events import Event
from matchwood.language.tree import IsNull, Node, attributes_in, walk
from matchwood.language.values import NULL, Family, Value
from matchwood.schema import Schema
from matchwood.schema.errors import nearest
from matchwood.schema.rule_check import expected_families
from matchwood.tables import BadRow, EventRow

# Events of a sample; every rule may be evaluated on each of them.
MAX_EVENTS = 1_000


@dataclass
class Sample:
    """The first events of a table, and what was seen in them."""

    events: list[Event] = field(default_factory=list)
    families: dict[str, dict[str, int]] = field(default_factory=dict)  # attribute → family → events
    always_null: set[str] = field(default_factory=set)
    bad: list[BadRow] = field(default_factory=list)
    capped: bool = False
    _defined: dict[tuple[str, Family], int] = field(default_factory=dict)
    _near: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[EventRow | BadRow], limit: int = MAX_EVENTS) -> Sample:
        """The first `limit` events that can be read."""
        sample = cls()
        for row in rows:
            if len(sample.events) == limit:
                sample.capped = True
                break
            if isinstance(row, BadRow):
                sample.bad.append(row)
                continue
            try:
                sample._add(Event(row.event))
            except EventError as error:
                sample.bad.append(BadRow(row.file, row.line, str(error)))
        return sample

    def _add(self, event: Event) -> None:
        seen = {name: list(_families(event, name)) for name in event.raw}
        self.events.append(event)
        for name, families in seen.items():
            if event[name] != NULL:
                self.always_null.discard(name)
            elif name not in self.families:
                self.always_null.add(name)
            counts = self.families.setdefault(name, {})
            for family in families:
                counts[family] = counts.get(family, 0) + 1

    # What rules ask for

    def unknown(self, tree: Node) -> Iterator[tuple[str, str]]:
        """The attributes of a rule that no event has, each with the reason for a warning."""
        for name in sorted(attributes_in(tree)):
            if name not in self.families:
                if name not in self._near:
                    self._near[name] = nearest(name, self.families)
                yield name, f"no event of the sample has {name!r}{self._near[name]}"
            elif name in self.always_null:
                yield name, f"{name!r} is null in every event of the sample"

    def misfits(self, tree: Node) -> Iterator[tuple[str, Family, str]]:
        """The attributes whose values are all of another family than the rule needs."""
        reported: set[tuple[str, Family]] = set()
        for node in walk(tree):
            for name, family in expected_families(node):
                families = self.families.get(name)
                if not families or (name, family) in reported or self._holds(name, family):
                    continue
                reported.add((name, family))
                sample_families = " or ".join(f"a {other}" for other in sorted(families))
                reads = family is Family.TIME and Family.STRING in families
                unread = " that does not read as one" if reads else ""
                asked = f"{name!r} is asked for as a {family}"
                yield name, family, f"{asked}, in the sample it is {sample_families}{unread}"

    def _holds(self, name: str, family: Family) -> bool:
        """Whether some value of the attribute, alone or in a list, is of the family."""
        if family is not Family.TIME:
            return family in self.families[name]
        for event in self.events:
            seen = event[name]
            values = (seen,) if isinstance(seen, Value) else seen
            if any(as_family(value, family) is not None for value in values):
                return True
        return False

    def defined(self, name: str, family: Family) -> int:
        """The events for which a predicate of the family is defined, one bit per event."""
        known = self._defined.get((name, family))
        if known is None:
            known = 0
            for index, event in enumerate(self.events):
                if _is_defined(event, name, family):
                    known |= 1 << index
            self._defined[name, family] = known
        return known

    def never_defined(self, tree: Node, schema: Schema | None) -> bool:
        """Whether the rule is undefined for every event of the sample.

        False too if the rule cannot be evaluated here, because it calls a registered operator.
        """
        surely = (1 << len(self.events)) - 1  # events for which all predicates are defined
        for node in walk(tree):
            if node.operands or isinstance(node, IsNull):
                continue
            asked = list(expected_families(node))
            if not asked or getattr(node, "name", "") == "in_network":
                surely = 0
                break
            surely &= self.defined(*asked[0])
            if not surely:
                break
        if surely or not self.events:
            return False
        try:
            return all(evaluate(tree, event, schema=schema) is None for event in self.events)
        except (RuleError, EventError):
            return False


def _families(event: Event, name: str) -> Iterator[str]:
    """The families of a value, or of the values of a list; none for null."""
    seen = event[name]
    for value in (seen,) if isinstance(seen, Value) else seen:
        if value.family is not None:
            yield str(value.family)
        elif value.value is not None:
            yield "value of no family"


def _is_defined(event: Event, name: str, family: Family) -> bool:
    seen = event[name]
    return not isinstance(seen, Value) or as_family(seen, family) is not None
