"""`Matcher`: a mapping of ids to rules that says which of them are true of an event.

Rules live in a store of immutable parts (`match.store`): whoever matches works on the snapshot
that is there, and waits for nobody.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from matchwood.index.segment import Built, build
from matchwood.index.statistics import Statistics, profile
from matchwood.language.calls import check_operator
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies
from matchwood.language.evaluation import bindings as bindings_of
from matchwood.language.events import Event
from matchwood.language.explanation import Explanation, explain
from matchwood.language.text import parse
from matchwood.language.tree import Node
from matchwood.language.values import is_text
from matchwood.match import stored
from matchwood.match.finding import find
from matchwood.match.given import count_of, details_of, priority_of, tag_set, text_of
from matchwood.match.parts import (
    EMPTY,
    Columns,
    Details,
    Part,
    Pending,
    Snapshot,
    check_calls,
    check_orders,
    may_compare_otherwise,
)
from matchwood.match.results import Matches, Near, Stats, nearest
from matchwood.match.store import Id, Store
from matchwood.operators.report import Report
from matchwood.schema import Schema

Progress = Callable[[int, int], None]


class Matcher(Store, MutableMapping[Any, Any]):
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

    # Rules

    def __len__(self) -> int:
        snapshot = self._snapshot
        return sum(part.live for part in snapshot.parts) + len(snapshot.pending)

    def __iter__(self) -> Iterator[Id]:
        return iter(list(self._where))

    def __contains__(self, rule_id: object) -> bool:
        return rule_id in self._where

    def __getitem__(self, rule_id: Id) -> Node:
        """The rule, as a tree; `str` of it is its text."""
        return parse(self._details(rule_id).rule)

    def __setitem__(self, rule_id: Id, rule: object) -> None:
        self.add(rule_id, rule)

    def __delitem__(self, rule_id: Id) -> None:
        with self._lock:
            if rule_id not in self._where:
                raise KeyError(rule_id)
            self._snapshot = self._without([rule_id], self._snapshot)
            del self._where[rule_id]
            self._tidy()

    def remove(self, ids: Iterable[Id]) -> int:
        """Take many rules out at once, and say how many were there."""
        with self._lock:
            known = [rule_id for rule_id in dict.fromkeys(ids) if rule_id in self._where]
            if known:
                self._snapshot = self._without(known, self._snapshot)
                for rule_id in known:
                    del self._where[rule_id]
                self._tidy()
        return len(known)

    def clear(self) -> None:
        with self._lock:
            self._snapshot = EMPTY
            self._known = {}

    def add(
        self, rule_id: Id, rule: object, *, tags: Iterable[str] = (), priority: float = 0
    ) -> None:
        """Set a rule, with tags to select it by and a priority; a bad rule changes nothing."""
        self._check_ids([rule_id])
        tree = parse(rule)
        self._check_calls(tree, rule if isinstance(rule, str) else None)
        details = Details(rule_id, text_of(rule), tag_set(tags), priority_of(priority))
        with self._lock:
            snapshot = self._snapshot
            if rule_id in self._where:
                snapshot = self._without([rule_id], snapshot)
            pending = (*snapshot.pending, Pending.of(tree, details))
            self._where[rule_id] = 0
            self._snapshot = Snapshot(snapshot.parts, pending)
            self._tidy()

    def update(  # type: ignore[override]
        self,
        rules: Any = (),
        *,
        errors: str = "raise",
        progress: Progress | None = None,
    ) -> list[tuple[Id, RuleError]]:
        """Set many rules: a mapping, pairs, or a table with columns `id` and `rule`.

        A bad rule raises, and nothing is changed; with errors="collect" the good ones are taken
        and the bad ones returned, each with its error.
        """
        if errors not in ("raise", "collect"):
            raise ValueError(f"errors is 'raise' or 'collect', found {errors!r}")
        if isinstance(rules, Matcher):
            given = [rules._details(rule_id) for rule_id in rules]
        else:
            given = list(details_of(rules))
        self._check_ids([one.id for one in given])
        latest = {one.id: one for one in given}
        refused: list[tuple[Id, RuleError]] = []
        kept = []
        for one in latest.values():
            if isinstance(one.rule, str):
                kept.append(one)
                continue
            try:
                kept.append(one._replace(rule=text_of(one.rule)))
            except RuleError as error:
                if errors == "raise":
                    raise
                refused.append((one.id, error))
        return refused + self.update_details(kept, errors, progress)

    def update_details(
        self, given: list[Details], errors: str, progress: Progress | None
    ) -> list[tuple[Id, RuleError]]:
        """`update` with rules that have distinct ids, and tags and priorities of their own."""
        built = build([one.rule for one in given], self.statistics, progress)
        refused = [(given[place].id, error) for place, error in built.refused]
        if refused and errors == "raise":
            raise refused[0][1]
        bad = self._unanswerable(built, given)
        if bad and errors == "raise":
            raise bad[0][1]
        if bad:
            ids = {rule_id for rule_id, _ in bad}
            rest = [one for one in given if one.id not in ids]
            return [*bad, *self.update_details(rest, errors, progress)]
        part = self._part(built, given)
        with self._lock:
            replaced = [i for i in part.details.ids.tolist() if i in self._where]
            snapshot = self._without(replaced, self._snapshot) if replaced else self._snapshot
            self._snapshot = self._with(part, snapshot)
            self._tidy()
        return refused

    def _check_ids(self, ids: Sequence[Any]) -> None:
        """Strings or integers that Arrow can hold, and of the one type of this matcher."""
        strings: bool | None = next((isinstance(known, str) for known in self._where), None)
        for rule_id in ids:
            is_string = isinstance(rule_id, str)
            if not is_string and (isinstance(rule_id, bool) or not isinstance(rule_id, int)):
                raise TypeError(f"an id is a string or an integer, found {type(rule_id).__name__}")
            if strings is None:
                strings = is_string
            if strings != is_string:
                kind = "strings" if strings else "integers"
                raise TypeError(f"the ids of this matcher are {kind}, found {rule_id!r}")
            if is_string and not is_text(rule_id):
                raise ValueError(f"an id is valid Unicode, found {rule_id!r}")
            if not is_string and not -(2**63) <= rule_id < 2**63:
                raise ValueError(f"an integer id has at most 64 bits, found {rule_id}")

    def _check_calls(self, tree: Node, text: str | None = None) -> None:
        check_calls(tree, self.operators, self.schema, text)
        if self.enforced is not None:
            self.enforced.admit(tree)

    def _unanswerable(self, built: Built, given: Sequence[Details]) -> list[tuple[Id, RuleError]]:
        """The rules with calls that nothing could answer.

        Those that the index decides are looked for only if one of their calls is such, or they
        may name what has an order of its own; an enforced schema looks at every rule as it was
        written.
        """
        places: Iterable[int] = range(len(given))
        if self.enforced is None:
            try:
                for node in built.segment.opaque:
                    self._check_calls(node)
            except RuleError:
                pass
            else:
                odd = may_compare_otherwise([one.rule for one in given], self.schema)
                places = sorted({*built.costly, *odd})
        bad = []
        for place in places:
            one = given[place]
            try:
                tree = built.costly[place] if place in built.costly else parse(one.rule)
                self._check_calls(tree, one.rule if isinstance(one.rule, str) else None)
            except RuleError as error:
                bad.append((one.id, error))
        return bad

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
        return {rule_id: self._bindings(rule_id, found) for rule_id in ids} if bindings else ids

    def _bindings(self, rule_id: Id, found: Matches) -> list[dict[str, object]]:
        if found.event is None:
            return []
        ask = self.decider.asking(found.event, rule_id)
        return bindings_of(self[rule_id], found.event.seen, ask=ask)

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

        if self.enforced is not None:
            events = admitted(events, key, self.enforced.admit_event)
        snapshot = self._settled(count_of(events))
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

        if self.enforced is not None:
            events = admitted(events, key, self.enforced.admit_event)
        snapshot = self._settled(count_of(events))
        return match_slices(snapshot, events, key, tags, limit, threads, self.decider)

    # Answers about rules

    def explain(self, rule: object, event: Mapping[str, object]) -> Explanation:
        """The tree of a rule (its id, or a rule) with true, false or undefined at each node."""
        is_id = isinstance(rule, str | int) and not isinstance(rule, bool) and rule in self._where
        tree = self[rule] if is_id else parse(rule)  # type: ignore[index]
        return explain(tree, event, operators=self.operators, schema=self.schema)

    def why_not(self, event: Mapping[str, object], n: int = 5) -> list[Near]:
        """The n rules that came nearest to matching, with what each lacked."""
        return nearest(self._snapshot, event, n, self.operators, self.schema)

    def operator_report(self) -> Report:
        """How often operators were called, how long they took, and which calls failed."""
        return self.decider.report

    def stats(self) -> Stats:
        """Rules, predicates, nodes, sharing, bytes and levels of the index."""
        return Stats.of(self._snapshot, len(self))

    @staticmethod
    def profile(events: Iterable[Mapping[str, object]]) -> Statistics:
        """Statistics of a sample of events, for `Matcher(..., statistics=…)`."""
        return profile(events)

    # Copies and files

    def __getstate__(self) -> dict[str, Any]:
        self.join()
        with self._lock:
            parts = [(part.segment, list(part.details), part.dead) for part in self._snapshot.parts]
            pending = [p.details for p in self._snapshot.pending]
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
