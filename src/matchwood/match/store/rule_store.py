"""Rules by id: added, replaced, looked up and removed, one by one or many at once.

Every change publishes one new snapshot. Whatever goes over all rules goes over one snapshot, and
does not see what is changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from matchwood.index.build.rule_programs import Progress
from matchwood.index.build.segment import Built, build
from matchwood.index.build.statistics import Statistics
from matchwood.language import parse
from matchwood.language.aliases import Aliases
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies
from matchwood.language.events import Event
from matchwood.language.named_lists import LiveLists
from matchwood.language.tree import Node
from matchwood.match.parts.given_rules import GivenRules
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule
from matchwood.match.parts.rule_checks import check_calls, may_compare_otherwise
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.store.part_store import PENDING_RULE, Id, PartStore, unpack_location
from matchwood.match.store.rule_input import check_ids, text_of
from matchwood.schema import Schema

RefusedRules = list[tuple[Id, RuleError]]


class RuleStore(PartStore):
    """Rules by id; with `enforced`, rules and events are held to that schema."""

    def __init__(
        self,
        statistics: Statistics | None = None,
        operators: Any = None,
        schema: Hierarchies | None = None,
        enforce: bool = False,
        aliases: Aliases | None = None,
        lists: LiveLists | None = None,
    ) -> None:
        super().__init__(statistics, operators, schema, aliases, lists)
        if enforce and not isinstance(schema, Schema):
            raise TypeError(f"enforce needs a Schema, found {type(schema).__name__}")
        self.enforced = schema if enforce and isinstance(schema, Schema) else None

    def admit(self, event: Mapping[str, object]) -> Event:
        """The event, if it keeps to the enforced schema; an EventError says why it does not."""
        assert self.enforced is not None
        return self.enforced.admit_event(Event(event, self.aliases))

    # Reading

    def ids(self) -> list[Id]:
        """The ids of all rules of one moment."""
        with self.lock:
            return list(self.where)

    def details(self, rule_id: Id) -> RuleDetails:
        """A rule with its tags and priority; raises KeyError if it is not there."""
        with self.lock:  # where a rule is and the snapshot that it is in change together
            location = self.where[rule_id]
            snapshot = self.snapshot
        if location == PENDING_RULE:
            for rule in snapshot.pending:
                if rule.details.id == rule_id:
                    return rule.details
        number, ordinal = unpack_location(location)
        for part in snapshot.parts:
            if part.number == number:
                return part.details[ordinal]
        raise KeyError(rule_id)

    def _ids_are_strings(self) -> bool | None:
        """Whether ids are strings; None if there are no rules."""
        with self.lock:
            for rule_id in self.where:
                return isinstance(rule_id, str)
        return None

    # Changing

    def add(self, details: RuleDetails) -> None:
        """Set one rule, a text or a tree. A bad rule raises, and nothing is changed."""
        rule_id, rule = details.id, details.rule
        check_ids([rule_id], self._ids_are_strings())
        tree = parse(rule)
        self._check_rule(tree, rule if isinstance(rule, str) else None)
        details = details._replace(rule=text_of(rule))
        with self.lock:
            check_ids([rule_id], self._ids_are_strings())  # another thread may have been first
            snapshot = self.snapshot
            if rule_id in self.where:
                snapshot = self._without([rule_id], snapshot)
            pending = (*snapshot.pending, PendingRule.of(tree, details))
            self.where[rule_id] = PENDING_RULE
            self._publish(snapshot.parts, pending)
            self._tidy()

    def remove(self, ids: Sequence[Id]) -> int:
        """Remove the rules with these distinct ids; the number of those that were there."""
        with self.lock:
            known = [rule_id for rule_id in ids if rule_id in self.where]
            if known:
                self.snapshot = self._without(known, self.snapshot)
                for rule_id in known:
                    del self.where[rule_id]
                self._tidy()
        return len(known)

    def clear(self) -> None:
        """Remove all rules."""
        with self.lock:
            self._publish((), ())
            self._known = {}
            self._unreadable = set()

    def update(
        self, rules: GivenRules, errors: str, progress: Progress | None = None
    ) -> RefusedRules:
        """Set many rules, each a text or a tree; of rules with the same id the last one counts.

        With errors="raise" a bad rule raises, and nothing is changed. With errors="collect" the
        good rules are set, and the bad ones are returned with their errors.
        """
        if errors not in ("raise", "collect"):
            raise ValueError(f"errors must be 'raise' or 'collect', found {errors!r}")
        check_ids(rules.ids, self._ids_are_strings())
        rules = rules.distinct()
        refused: RefusedRules = []
        if not set(map(type, rules.rules)) <= {str}:
            rules, refused = _as_texts(rules, errors)
        return refused + self._update_given(rules, errors, progress)

    def update_texts(
        self, details: Iterable[RuleDetails], errors: str, progress: Progress | None = None
    ) -> RefusedRules:
        """`update` for rules that are texts and have distinct ids of the right type."""
        return self._update_given(GivenRules.of(details), errors, progress)

    def _update_given(
        self, given: GivenRules, errors: str, progress: Progress | None = None
    ) -> RefusedRules:
        if given.ids and self.holds_back(len(given.ids)):
            return self._update_pending(given, errors)
        built = build(given.rules, self.statistics, progress, self.build_threads)
        refused = [(given.ids[index], error) for index, error in built.refused]
        if refused and errors == "raise":
            raise refused[0][1]
        bad = self._unanswerable(built, given.rules)
        if bad and errors == "raise":
            raise next(iter(bad.values()))
        if bad:
            rest = given.chosen([i for i in range(len(given.ids)) if i not in bad])
            found = [(given.ids[index], error) for index, error in bad.items()]
            return [*found, *self._update_given(rest, errors, progress)]
        part = self._part(built, given)
        with self.lock:
            check_ids(given.ids[:1], self._ids_are_strings())
            replaced = [i for i in part.details.ids.tolist() if i in self.where]
            snapshot = self._without(replaced, self.snapshot) if replaced else self.snapshot
            self.snapshot = self._with(part, snapshot)
            self._tidy()
        return refused

    def _update_pending(self, given: GivenRules, errors: str) -> RefusedRules:
        """`_update_given` without building anything: all rules are pending afterwards."""
        refused: RefusedRules = []
        bad: RefusedRules = []
        pending: list[PendingRule] = []
        for position, (rule_id, rule) in enumerate(zip(given.ids, given.rules, strict=True)):
            try:
                tree = parse(rule)
            except RuleError as error:
                refused.append((rule_id, error))
                continue
            try:
                self._check_rule(tree, rule)
            except RuleError as error:
                bad.append((rule_id, error))
            else:
                pending.append(PendingRule.of(tree, given.details(position)))
        if errors == "raise" and (refused or bad):
            raise (refused or bad)[0][1]
        with self.lock:
            ids = [rule.details.id for rule in pending]
            check_ids(ids[:1], self._ids_are_strings())
            replaced = [rule_id for rule_id in ids if rule_id in self.where]
            snapshot = self._without(replaced, self.snapshot) if replaced else self.snapshot
            self.where.update(dict.fromkeys(ids, PENDING_RULE))
            self._publish(snapshot.parts, (*snapshot.pending, *pending))
            self._tidy()
        return [*bad, *refused]

    def _check_rule(self, tree: Node, text: str | None = None) -> None:
        check_calls(tree, self.operators, self.schema, self.lists, text)
        if self.enforced is not None:
            self.enforced.admit(tree)

    def _unanswerable(self, built: Built, rules: Sequence[Any]) -> dict[int, RuleError]:
        """The positions of the rules that nothing could answer, and why.

        An enforced schema checks every rule as it was written. Otherwise, if all calls that the
        index decides can be answered, only those rules are checked that call operators or may
        name an attribute whose order the schema defines.
        """
        numbers: Iterable[int] = range(len(rules))
        if self.enforced is None:
            try:
                for node in built.segment.opaque:
                    self._check_rule(node)
            except RuleError:
                pass
            else:
                numbers = sorted({*built.costly, *may_compare_otherwise(rules, self.schema)})
        bad: dict[int, RuleError] = {}
        for number in numbers:
            rule = rules[number]
            try:
                tree = built.costly[number] if number in built.costly else parse(rule)
                self._check_rule(tree, rule if isinstance(rule, str) else None)
            except RuleError as error:
                bad[number] = error
        return bad

    # The schema

    def use_schema(self, schema: Hierarchies | None) -> None:
        """Answer by another schema; raises RuleError, and changes nothing, if a rule forbids it."""
        try:
            self.snapshot.check(schema)
        except RuleError:
            self.compact()  # it may be a rule that was removed
            self.snapshot.check(schema)
        with self.lock:
            self.snapshot.check(schema)  # again, for rules that came meanwhile
            self.schema = self.decider.schema = schema
            self._for_batches = None
            parts = tuple(part.asking(self._context()) for part in self.snapshot.parts)
            self._publish(parts, self.snapshot.pending)

    # Copies and files

    def state(self) -> dict[str, Any]:
        """Everything that a copy in another process needs, after merges have ended."""
        self.join()
        snapshot = self.snapshot
        return {
            "parts": [(part.segment, list(part.details), part.dead) for part in snapshot.parts],
            "pending": [rule.details for rule in snapshot.pending],
            "statistics": self.statistics,
            "operators": self.operators,
            "schema": self.schema,
            "enforce": self.enforced is not None,
            "lists": dict(self.lists),
            "aliases": self.aliases,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RuleStore:
        """A store like the one whose `state` this is."""
        named = ("statistics", "operators", "schema", "enforce", "aliases")
        store = cls(*(state[name] for name in named))
        store.lists.update(state["lists"])
        for segment, details, dead in state["parts"]:
            columns = GivenRules.of(details).columns(np.arange(len(details)))
            part = Part(segment, columns, store._context())
            store._restore(part.without(dead.tolist()) if len(dead) else part)
        for details in state["pending"]:
            store.add(details)
        return store

    def _restore(self, part: Part) -> None:
        """Add a part as it was; rules that are dead in it may be alive in another part."""
        with self.lock:
            self.snapshot = self._with(part, self.snapshot)

    def save(self, path: Any) -> None:
        """Write all rules and their index to one file, in one step."""
        self.join()
        with self.lock:
            self.flush()
            snapshot = self.snapshot
        snapshot.save(path)


def _as_texts(rules: GivenRules, errors: str) -> tuple[GivenRules, RefusedRules]:
    """The rules that can be written as texts, and the others; with errors="raise", these raise."""
    refused: RefusedRules = []
    kept = []
    texts: list[Any] = list(rules.rules)
    for position, rule in enumerate(texts):
        try:
            texts[position] = text_of(rule)
        except RuleError as error:
            if errors == "raise":
                raise
            refused.append((rules.ids[position], error))
        else:
            kept.append(position)
    return rules._replace(rules=texts).chosen(kept), refused
