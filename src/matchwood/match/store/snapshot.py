"""All rules of one moment, and everything that can be asked of them.

`Snapshot` is what the rest of the package uses of the engine: `Matcher` and the service take the
current one of a store, Spark's workers load one from files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matchwood.language.evaluation import Hierarchies
from matchwood.language.events import Event
from matchwood.language.tree.calls import check_operator
from matchwood.match.json.json_matcher import JsonMatcher
from matchwood.match.json.json_text import JsonText, encoded, event_of
from matchwood.match.parts import part_file
from matchwood.match.parts.context import Context
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule, TakingOver
from matchwood.match.parts.rule_checks import check_calls, check_orders
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.search.event_matches import EventMatches
from matchwood.match.search.event_search import match_event, match_json
from matchwood.match.search.near_misses import NearMiss, near_misses
from matchwood.match.store.index_stats import Stats
from matchwood.match.store.rule_input import tag_set
from matchwood.operators.deciding import Decider

if TYPE_CHECKING:
    from matchwood.match.search.arrow_matches import BatchSearch, RuleIds
    from matchwood.match.search.json_search import JsonSearch

FilePath = str | os.PathLike[str]

# Ids that are looked up one by one rather than all at once.
_FEW = 24


class Snapshot:
    """Rules that never change, ready to be matched.

    - `match` finds the rules that are true of one event;
    - `pairs` and `search` find the matches of many events;
    - `ids` and `details` say which rules there are;
    - `save` and `load` write them to a file and map it again.

    Any number of threads may use a snapshot at the same time. Its `decider` is shared with the
    other snapshots of a store: it asks operators, and learns what their calls cost.

    >>> from matchwood import Matcher
    >>> snapshot = Matcher({"adults": "age >= 18"}).store.snapshot
    >>> snapshot.match({"age": 18}).ids()
    ['adults']
    """

    __slots__ = ("__weakref__", "_json_way", "_taking_over", "decider", "parts", "pending")

    def __init__(
        self,
        parts: tuple[Part, ...],
        pending: tuple[PendingRule, ...],
        decider: Decider,
        taking_over: TakingOver | None = None,
    ) -> None:
        self.parts = parts  # in a store: largest first
        self.pending = pending
        self.decider = decider
        self._taking_over = taking_over  # while many events are matched
        self._json_way: tuple[JsonMatcher | None, Any, Any] | None = None

    # Matching

    def match(
        self, event: Mapping[str, object] | Event, wanted: frozenset[str] | None = None
    ) -> EventMatches:
        """The rules that are true of one event, of those with one of the wanted tags."""
        return match_event(self.parts, self.pending, event, wanted, self.decider)

    def match_json(self, text: JsonText, wanted: frozenset[str] | None = None) -> EventMatches:
        """The rules that are true of one event, given as JSON text; see `match`."""
        data = encoded(text)
        matches = None
        if data is not None:
            matches = match_json(self.parts, self.pending, data, wanted)
        return self.match(event_of(text), wanted) if matches is None else matches

    def json_ids(self, text: bytes) -> list[Any] | None:
        """The ids of the rules that are true of JSON text, if there is a short way to them.

        There is one where all rules are in one part, and the scanner reads the text.
        """
        way = self._json_way
        if way is None:
            way = self._json_way = self._find_json_way()
        matcher, keep, ids = way
        ordinals = None if matcher is None else matcher.match(text, keep)
        if not ordinals:
            return ordinals
        if len(ordinals) > _FEW:
            every: list[Any] = ids[ordinals].tolist()
            return every
        return list(map(ids.item, ordinals))

    def _find_json_way(self) -> tuple[JsonMatcher | None, Any, Any]:
        if len(self.parts) != 1 or self.pending:
            return None, None, None
        part = self.parts[0]
        return part.json, part.keep(None), part.details.ids

    def json_search(
        self,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        admit: Callable[[Mapping[str, object]], object] | None = None,
        inspect: Callable[[Mapping[str, object]], object] | None = None,
    ) -> JsonSearch:
        """What matches many JSON texts; see `JsonSearch`."""
        from matchwood.match.search.json_search import JsonSearch

        return JsonSearch(self.search(tags, limit), admit, inspect)

    def search(
        self,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        device: str | None = None,
    ) -> BatchSearch:
        """What matches many events and gives Arrow data; see `BatchSearch`."""
        from matchwood.match.batch.gpu.card import chosen_device
        from matchwood.match.search.arrow_matches import BatchSearch

        wanted = None if tags is None else tag_set(tags)
        chosen = chosen_device(device)
        return BatchSearch(
            self.parts, self.pending, self.decider, wanted, limit, chosen, self._taking_over
        )

    def pairs(
        self,
        events: Any,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        device: str | None = None,
    ) -> Iterator[tuple[int, Iterator[Any]]]:
        """The matches of many events as numbers, slice by slice.

        For each slice: its number of events, and an iterator of pairs of arrays, the numbers of
        events within the slice and the indices of rules in `ids`. With a limit the pairs are in
        the order of events, the highest priority of each first.
        """
        return self.search(tags, limit, device).pairs(events)

    def near_misses(self, event: Mapping[str, object] | Event, n: int) -> list[NearMiss]:
        """The n rules that came nearest to matching an event, with what each lacked."""
        context = _context(self.decider)
        return near_misses(self.parts, self.pending, event, n, context)

    # Rules

    @property
    def rule_count(self) -> int:
        """The number of rules."""
        return sum(part.live for part in self.parts) + len(self.pending)

    @property
    def calls_operators(self) -> bool:
        """Whether a rule calls an operator, and so may bind variables."""
        pending = any(rule.calls is not None for rule in self.pending)
        return pending or any(part.calls_operators for part in self.parts)

    def ids(self) -> RuleIds:
        """The ids of all rules, by the indices that `pairs` gives."""
        from matchwood.match.search.arrow_matches import ids_of

        return ids_of(self.parts, self.pending)

    def priorities(self) -> Any | None:
        """The priorities of all rules, by the same indices; None if no rule has one."""
        from matchwood.match.search.arrow_matches import priorities_of

        if not self.pending and all(part.details.priority is None for part in self.parts):
            return None
        return priorities_of(self.parts, self.pending)

    def details(self) -> Iterator[RuleDetails]:
        """All rules with their ids, tags and priorities, in no promised order."""
        for part in self.parts:
            yield from part.live_details()
        for rule in self.pending:
            yield rule.details

    def stats(self) -> Stats:
        """Figures of the rules and their index."""
        return Stats.of(self.parts, len(self.pending), self.rule_count)

    def check(self, schema: Hierarchies | None) -> None:
        """Raise a RuleError if a rule could not be answered with this schema."""
        for part in self.parts:
            for node in part.segment.opaque:
                check_calls(node, self.decider.operators, schema, self.decider.lists)
            for name in part.segment.operators:
                check_operator(name, self.decider.operators)
        for rule in self.pending:
            check_calls(rule.tree, self.decider.operators, schema, self.decider.lists)
        for part in self.parts:
            check_orders(part, schema)

    # Files

    def save(self, path: FilePath) -> None:
        """Write all rules and their index to one file, in one step; none may be pending."""
        if self.pending:
            raise ValueError(
                f"{len(self.pending)} rules are pending: a file holds built rules only"
            )
        part_file.save(path, self.parts)

    @classmethod
    def load(
        cls,
        paths: Sequence[FilePath],
        decider: Decider,
        *,
        verify: bool = True,
    ) -> Snapshot:
        """The rules of files that `save` wrote, memory-mapped.

        Without `verify` the files are trusted.
        """
        context = _context(decider)
        parts = [part for path in paths for part in part_file.load(path, context, verify)]
        numbered = (part.numbered(number) for number, part in enumerate(parts, 1))
        return cls(tuple(numbered), (), decider)


def _context(decider: Decider) -> Context:
    return Context(decider.operators, decider.schema, decider.lists, decider.aliases)
