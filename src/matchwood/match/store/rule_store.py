"""Rules by id: added, replaced, looked up and removed, one by one or many at once.

Every change publishes one new snapshot. Whatever goes over all rules goes over one snapshot, and
does not see what is changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matchwood.index.build.rule_programs import Progress
from matchwood.index.build.segment import Built, build
from matchwood.index.build.statistics import Statistics
from matchwood.language import parse
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies
from matchwood.language.tree import Node
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule
from matchwood.match.parts.rule_checks import check_calls, may_compare_otherwise
from matchwood.match.parts.rule_columns import RuleColumns, RuleDetails
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
    ) -> None:
        super().__init__(statistics, operators, schema)
        if enforce and not isinstance(schema, Schema):
            raise TypeError(f"enforce needs a Schema, found {type(schema).__name__}")
        self.enforced = schema if enforce and isinstance(schema, Schema) else None

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
        self, rules: Iterable[RuleDetails], errors: str, progress: Progress | None = None
    ) -> RefusedRules:
        """Set many rules, each a text or a tree; of rules with the same id the last one counts.

        With errors="raise" a bad rule raises, and nothing is changed. With errors="collect" the
        good rules are set, and the bad ones are returned with their errors.
        """
        if errors not in ("raise", "collect"):
            raise ValueError(f"errors must be 'raise' or 'collect', found {errors!r}")
        details = list(rules)
        check_ids([rule_details.id for rule_details in details], self._ids_are_strings())
        refused: RefusedRules = []
        texts = []
        for rule_details in {rule_details.id: rule_details for rule_details in details}.values():
            if isinstance(rule_details.rule, str):
                texts.append(rule_details)
                continue
            try:
                texts.append(rule_details._replace(rule=text_of(rule_details.rule)))
            except RuleError as error:
                if errors == "raise":
                    raise
                refused.append((rule_details.id, error))
        return refused + self.update_texts(texts, errors, progress)

    def update_texts(
        self, details: list[RuleDetails], errors: str, progress: Progress | None = None
    ) -> RefusedRules:
        """`update` for rules that are texts and have distinct ids of the right type."""
        if details and self.holds_back(len(details)):
            return self._update_pending(details, errors)
        built = build([rule_details.rule for rule_details in details], self.statistics, progress)
        refused = [(details[index].id, error) for index, error in built.refused]
        if refused and errors == "raise":
            raise refused[0][1]
        bad = self._unanswerable(built, details)
        if bad and errors == "raise":
            raise bad[0][1]
        if bad:
            ids = {rule_id for rule_id, _ in bad}
            rest = [rule_details for rule_details in details if rule_details.id not in ids]
            return [*bad, *self.update_texts(rest, errors, progress)]
        part = self._part(built, details)
        with self.lock:
            check_ids([rule_details.id for rule_details in details[:1]], self._ids_are_strings())
            replaced = [i for i in part.details.ids.tolist() if i in self.where]
            snapshot = self._without(replaced, self.snapshot) if replaced else self.snapshot
            self.snapshot = self._with(part, snapshot)
            self._tidy()
        return refused

    def _update_pending(self, details: Sequence[RuleDetails], errors: str) -> RefusedRules:
        """`update_texts` without building anything: all rules are pending afterwards."""
        refused: RefusedRules = []
        bad: RefusedRules = []
        pending: list[PendingRule] = []
        for rule_details in details:
            try:
                tree = parse(rule_details.rule)
            except RuleError as error:
                refused.append((rule_details.id, error))
                continue
            try:
                self._check_rule(tree, rule_details.rule)
            except RuleError as error:
                bad.append((rule_details.id, error))
            else:
                pending.append(PendingRule.of(tree, rule_details))
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
        check_calls(tree, self.operators, self.schema, text)
        if self.enforced is not None:
            self.enforced.admit(tree)

    def _unanswerable(self, built: Built, details: Sequence[RuleDetails]) -> RefusedRules:
        """The rules that nothing could answer.

        An enforced schema checks every rule as it was written. Otherwise, if all calls that the
        index decides can be answered, only those rules are checked that call operators or may
        name an attribute whose order the schema defines.
        """
        numbers: Iterable[int] = range(len(details))
        if self.enforced is None:
            try:
                for node in built.segment.opaque:
                    self._check_rule(node)
            except RuleError:
                pass
            else:
                odd = may_compare_otherwise(
                    [rule_details.rule for rule_details in details], self.schema
                )
                numbers = sorted({*built.costly, *odd})
        bad: RefusedRules = []
        for number in numbers:
            rule = details[number].rule
            try:
                tree = built.costly[number] if number in built.costly else parse(rule)
                self._check_rule(tree, rule if isinstance(rule, str) else None)
            except RuleError as error:
                bad.append((details[number].id, error))
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
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RuleStore:
        """A store like the one whose `state` this is."""
        store = cls(state["statistics"], state["operators"], state["schema"], state["enforce"])
        for segment, details, dead in state["parts"]:
            part = Part(segment, RuleColumns.of(details), store._context())
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
