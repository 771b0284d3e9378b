"""A sample of events: their attributes and families, and whether rules are ever defined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from matchwood.check.alternatives import misfits_without_alternative
from matchwood.language.aliases import Aliases
from matchwood.language.bindings import Truth
from matchwood.language.errors import EventError, RuleError
from matchwood.language.evaluation import asking, evaluate, truth_of
from matchwood.language.events import Event
from matchwood.language.joins import joined
from matchwood.language.named_lists import NamedLists
from matchwood.language.predicate_truth import as_family
from matchwood.language.tree import (
    And,
    AtLeast,
    Constant,
    IsNull,
    Node,
    Or,
    TruthTest,
    attributes_in,
    fold,
)
from matchwood.language.values import NULL, Family, Value
from matchwood.rewrite.meaning import Bits, joined_bits
from matchwood.schema import Schema
from matchwood.schema.errors import nearest
from matchwood.schema.rule_check import expected_families
from matchwood.tables import BadRow, EventRow

# Events of a sample; every rule may be evaluated on each of them.
MAX_EVENTS = 1_000

# Events on which a rule is tried as a whole: most rules are defined for one of the first.
MAX_TRIED = 8


@dataclass
class Sample:
    """The first events of a table, and what was seen in them."""

    events: list[Event] = field(default_factory=list)
    families: dict[str, dict[str, int]] = field(default_factory=dict)  # attribute → family → events
    always_null: set[str] = field(default_factory=set)
    bad: list[BadRow] = field(default_factory=list)
    capped: bool = False
    _defined: dict[tuple[str, Family], int] = field(default_factory=dict)
    _answers: list[Callable[[Node, Sequence[Truth]], Truth]] = field(default_factory=list)
    _near: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: Iterable[EventRow | BadRow],
        limit: int = MAX_EVENTS,
        aliases: Aliases | None = None,
    ) -> Sample:
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
                sample._add(Event(row.event, aliases))
            except EventError as error:
                sample.bad.append(BadRow(row.file, row.line, str(error)))
        return sample

    def _add(self, event: Event) -> None:
        names = dict.fromkeys(event.raw)
        if event.aliases is not None:
            names |= {a: None for name in event.raw for a in event.aliases.attributes_of(name)}
        seen = {name: list(_families(event, name)) for name in names}
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
        for name, family in misfits_without_alternative(tree, self._holds):
            families = self.families.get(name)
            if not families:
                continue
            sample_families = " or ".join(f"a {other}" for other in sorted(families))
            reads = family is Family.TIME and Family.STRING in families
            unread = " that does not read as one" if reads else ""
            asked = f"{name!r} is asked for as a {family}"
            yield name, family, f"{asked}, in the sample it is {sample_families}{unread}"

    def _holds(self, name: str, family: Family) -> bool:
        """Whether some value of the attribute, alone or in a list, is of the family."""
        if name not in self.families:
            return False
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

    def never_defined(
        self, tree: Node, schema: Schema | None, lists: NamedLists | None = None
    ) -> bool:
        """Whether the rule is undefined for every event of the sample.

        False too if the rule cannot be evaluated here, because it calls a registered operator or
        names a list that is not given.
        """
        surely, possibly = fold(tree, self._bounds)
        if surely or not self.events:
            return False
        likely = (event for index, event in enumerate(self.events) if possibly >> index & 1)
        try:
            for event in islice(likely, MAX_TRIED):
                if evaluate(tree, event, schema=schema, lists=lists) is not None:
                    return False
            true, false = self._truths(joined(tree), schema, lists)
        except (RuleError, EventError):
            return False
        return not true | false

    def _truths(self, tree: Node, schema: Schema | None, lists: NamedLists | None) -> Bits:
        """The events for which a rule is true, and those for which it is false.

        Predicates are evaluated one by one, each on those events only that may define it.
        """
        everywhere = (1 << len(self.events)) - 1
        if not self._answers:
            self._answers = [truth_of(e, asking(e, {}), schema, lists) for e in self.events]

        def truths(node: Node, operands: Sequence[Bits]) -> Bits:
            if operands:
                return joined_bits(node, operands, everywhere)
            _, possibly = self._bounds(node, ())
            true = false = 0
            while possibly:
                last = possibly & -possibly
                truth = self._answers[last.bit_length() - 1](node, ())
                true |= last if truth is True else 0
                false |= last if truth is False else 0
                possibly ^= last
            return true, false

        return fold(tree, truths)

    def _bounds(self, node: Node, operands: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The events for which a node is surely defined, and those for which it may be.

        So that few rules are evaluated, and on few events: of logs of many kinds, hardly any event
        has the attributes of a rule.
        """
        everywhere = (1 << len(self.events)) - 1
        if isinstance(node, IsNull | TruthTest | Constant):
            return everywhere, everywhere
        if not operands:
            asked = list(expected_families(node))
            if not asked:
                return 0, everywhere
            defined = self.defined(*asked[0])
            return (0 if getattr(node, "name", "") == "in_network" else defined), defined
        surely, possibly = everywhere, 0 if isinstance(node, And | Or | AtLeast) else everywhere
        for sure, possible in operands:
            surely &= sure
            if isinstance(node, And | Or | AtLeast):
                possibly |= possible
            else:
                possibly &= possible
        return surely, possibly


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
