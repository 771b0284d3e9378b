"""Rules by id: set, replaced, looked up and taken out, one by one or many at once.

Every change is one new snapshot, made under the lock; what goes over all rules goes over the
snapshot that it found, whatever is changed meanwhile.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    MutableMapping,
    Sequence,
    ValuesView,
)
from typing import Any

from matchwood.index.segment import Built, build
from matchwood.language.errors import RuleError
from matchwood.language.text import parse
from matchwood.language.tree import Node
from matchwood.match.given import check_ids, details_of, priority_of, several, tag_set, text_of
from matchwood.match.parts import (
    EMPTY,
    Details,
    Pending,
    Snapshot,
    check_calls,
    may_compare_otherwise,
)
from matchwood.match.store import Id, Store
from matchwood.schema import Schema

Progress = Callable[[int, int], None]


class RuleMapping(Store, MutableMapping[Any, Any]):
    """A store as a mapping of ids to rules."""

    enforced: Schema | None = None  # what rules and events are held to

    def __len__(self) -> int:
        return self._snapshot.rules

    def __iter__(self) -> Iterator[Id]:
        with self._lock:
            return iter(list(self._where))

    def items(self) -> ItemsView[Any, Any]:
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        return _Values(self)

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

    def pop(self, *arguments: Any) -> Any:
        with self._lock:
            return super().pop(*arguments)

    def popitem(self) -> tuple[Any, Any]:
        with self._lock:
            return super().popitem()

    def setdefault(self, *arguments: Any) -> Any:
        with self._lock:
            return super().setdefault(*arguments)

    def remove(self, ids: Iterable[Id]) -> int:
        """Take many rules out at once, and say how many were there; for one there is `del`."""
        given = several(ids)
        with self._lock:
            known = [rule_id for rule_id in given if rule_id in self._where]
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
            self._unreadable = set()

    def add(
        self, rule_id: Id, rule: object, *, tags: Iterable[str] = (), priority: float = 0
    ) -> None:
        """Set a rule, with tags to select it by and a priority; a bad rule changes nothing."""
        check_ids([rule_id], self._strings())
        tree = parse(rule)
        self._check_calls(tree, rule if isinstance(rule, str) else None)
        details = Details(rule_id, text_of(rule), tag_set(tags), priority_of(priority))
        with self._lock:
            check_ids([rule_id], self._strings())  # another thread may have been the first
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
        if isinstance(rules, RuleMapping):
            given = list(rules._snapshot.details())
        else:
            given = list(details_of(rules))
        check_ids([one.id for one in given], self._strings())
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
            check_ids([one.id for one in given[:1]], self._strings())
            replaced = [i for i in part.details.ids.tolist() if i in self._where]
            snapshot = self._without(replaced, self._snapshot) if replaced else self._snapshot
            self._snapshot = self._with(part, snapshot)
            self._tidy()
        return refused

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


class _Items(ItemsView[Any, Any]):
    """Ids and rules of one moment."""

    _mapping: RuleMapping

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return ((one.id, parse(one.rule)) for one in self._mapping._snapshot.details())


class _Values(ValuesView[Any]):
    """The rules of one moment."""

    _mapping: RuleMapping

    def __iter__(self) -> Iterator[Any]:
        return (parse(one.rule) for one in self._mapping._snapshot.details())
