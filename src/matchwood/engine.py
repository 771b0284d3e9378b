"""`Matcher`: a mapping of ids to rules that says which of them are true of an event.

Rules live in a store of immutable parts (`match.store`): whoever matches works on the snapshot
that is there, and waits for nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from matchwood.index.statistics import Statistics, profile
from matchwood.language.calls import check_operator
from matchwood.language.evaluation import Hierarchies
from matchwood.language.evaluation import bindings as bindings_of
from matchwood.language.events import Event
from matchwood.language.explanation import Explanation, explain
from matchwood.language.text import parse
from matchwood.match import stored
from matchwood.match.finding import find
from matchwood.match.given import count_of, tag_set
from matchwood.match.mapping import Progress, RuleMapping
from matchwood.match.parts import Columns, Part, Snapshot, check_calls, check_orders
from matchwood.match.results import Matches, Near, Stats, nearest
from matchwood.match.store import Id, Store
from matchwood.operators.report import Report
from matchwood.schema import Schema


class Matcher(RuleMapping):
    """Rules by id, and which of them are true of an event.

    >>> m = Matcher({"adults": "age >= 18", "vip": "tier in ('gold', 'platinum')"})
    >>> m["teens"] = "age between 13 and 19"
    >>> sorted(m.match({"age": 18, "tier": "gold"}))
    ['adults', 'teens', 'vip']
    """

    def __init__(
        self,
        rules: Any = None,
        *,
        statistics: Statistics | None = None,
        operators: Any = None,
        schema: Hierarchies | None = None,
        enforce: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """`enforce` holds rules and events to the schema.

        Otherwise it answers `isa`, and no rule may compare what has an order of its own in it.
        """
        Store.__init__(self, statistics, operators, schema)
        if enforce and not isinstance(schema, Schema):
            raise TypeError(f"there is a Schema to enforce, found {type(schema).__name__}")
        self.enforced = schema if enforce and isinstance(schema, Schema) else None
        if rules is not None:
            self.update(rules, progress=progress)

    # Matching

    def match(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        bindings: bool = False,
    ) -> Any:
        """The ids of the rules that are true of an event, in no promised order.

        `tags`: only rules with one of them; `limit`: those of highest priority, highest first.
        With `bindings` a dict: of each id what satisfies the variables of its rule, a list of
        substitutions, which is empty for a rule that has none.
        """
        found = self._found(event, tags)
        ids = found.ids() if limit is None else found.best(limit)
        return self._bindings(ids, found) if bindings else ids

    def _bindings(self, ids: list[Id], found: Matches) -> dict[Id, list[dict[str, object]]]:
        event = found.event
        if event is None:
            return {rule_id: [] for rule_id in ids}
        rules = found.rules()
        return {
            rule_id: bindings_of(
                parse(rules[rule_id]), event.seen, ask=self.decider.asking(event, rule_id)
            )
            for rule_id in ids
        }

    def count(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> int:
        """How many rules are true of an event."""
        if limit is not None and limit < 0:
            raise ValueError(f"limit is 0 or more, found {limit}")
        found = len(self._found(event, tags))
        return found if limit is None else min(found, limit)

    def _found(self, event: Mapping[str, object], tags: Iterable[str] | None) -> Matches:
        seen: Mapping[str, object] | Event = event
        if self.enforced is not None:
            seen = self.enforced.admit_event(event)
        wanted = None if tags is None else tag_set(tags)
        found = find(self._snapshot, seen, wanted, self.decider)
        self._hurry()
        return found

    def match_batch(
        self,
        events: Any,
        key: str | None = None,
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        threads: int = 1,
    ) -> Any:
        """All matches of many events: a pyarrow Table of `event` (row or key) and `rule_id`.

        Events are an Arrow table or batch, pandas, polars, anything that exports an Arrow stream,
        or an iterable of mappings.
        """
        from matchwood.match.stream import admitted, match_table

        snapshot = self._settled(count_of(events))
        if self.enforced is not None:
            events = admitted(events, key, self.enforced.admit_event)
        found = match_table(snapshot, events, key, tags, limit, threads, self.decider)
        self._hurry()
        return found

    def match_batches(
        self,
        events: Any,
        key: str | None = None,
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        threads: int = 1,
    ) -> Iterator[Any]:
        """`match_batch` in slices: pyarrow RecordBatches, made as they are asked for."""
        from matchwood.match.stream import admitted, match_slices

        snapshot = self._settled(count_of(events))
        if self.enforced is not None:
            events = admitted(events, key, self.enforced.admit_event)
        return match_slices(snapshot, events, key, tags, limit, threads, self.decider)

    # Answers about rules

    def explain(self, rule: object, event: Mapping[str, object]) -> Explanation:
        """The tree of a rule (its id, or a rule) with true, false or undefined at each node."""
        is_id = isinstance(rule, str | int) and not isinstance(rule, bool)
        try:
            tree = self[rule] if is_id else parse(rule)  # type: ignore[index]
        except KeyError:
            tree = parse(rule)
        return explain(tree, event, operators=self.operators, schema=self.schema)

    def why_not(self, event: Mapping[str, object], n: int = 5) -> list[Near]:
        """The n rules that came nearest to matching, with what each lacked."""
        return nearest(self._snapshot, event, n, self.operators, self.schema)

    def operator_report(self) -> Report:
        """How often operators were called, how long they took, and which calls failed."""
        return self.decider.report

    def stats(self) -> Stats:
        """Rules, predicates, nodes, sharing, bytes and levels of the index."""
        snapshot = self._snapshot
        return Stats.of(snapshot, snapshot.rules)

    @staticmethod
    def profile(events: Iterable[Mapping[str, object]]) -> Statistics:
        """Statistics of a sample of events, for `Matcher(..., statistics=…)`."""
        return profile(events)

    # Copies and files

    def __getstate__(self) -> dict[str, Any]:
        self.join()
        snapshot = self._snapshot
        parts = [(part.segment, list(part.details), part.dead) for part in snapshot.parts]
        pending = [p.details for p in snapshot.pending]
        return {
            "parts": parts,
            "pending": pending,
            "statistics": self.statistics,
            "operators": self.operators,
            "schema": self.schema,
            "enforce": self.enforced is not None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            statistics=state["statistics"],
            operators=state["operators"],
            schema=state["schema"],
            enforce=state["enforce"],
        )
        for segment, details, dead in state["parts"]:
            self._restore(Part(segment, Columns.of(details), self._context()), dead)
        for one in state["pending"]:
            self.add(one.id, one.rule, tags=one.tags, priority=one.priority)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all rules and their index to one file, in one step."""
        self.join()
        with self._lock:
            self._flush()
            parts = self._snapshot.parts
        stored.save(path, parts)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        operators: Any = None,
        schema: Hierarchies | None = None,
        enforce: bool = False,
        check: bool = True,
    ) -> Matcher:
        """A matcher from a file that `save` wrote, memory-mapped.

        `check` looks for damage and for indices that lead out of bounds; without it the file is
        trusted. `enforce` holds events and new rules to the schema, not those in the file.
        """
        matcher = cls(operators=operators, schema=schema, enforce=enforce)
        parts = []
        for part in stored.load(path, matcher._context(), check):
            for node in part.segment.opaque:
                check_calls(node, matcher.operators, schema)
            for name in part.segment.operators:
                check_operator(name, matcher.operators)
            check_orders(part, schema)
            parts.append(part.numbered(matcher._next))
            matcher._next += 1
        matcher._snapshot = Snapshot(tuple(part for part in parts if part.live), ())
        matcher._known = None
        return matcher

    def __copy__(self) -> Matcher:
        other = Matcher.__new__(Matcher)
        other.__setstate__(self.__getstate__())
        return other

    def __repr__(self) -> str:
        return f"<Matcher of {len(self):,} rules>"
