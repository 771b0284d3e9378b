"""Follows the rules of a database that another process writes.

The rules are those of the latest snapshot on disk, which is memory-mapped, and all changes since,
which are read from the database by version. A change is applied such that every answer is that of
one version that was live (see `live_rules`); of several versions in between, only the last is.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from matchwood.index.file.array_file import IndexFileError
from matchwood.kernels.readiness import kernels_ready
from matchwood.language.errors import RuleError
from matchwood.language.named_lists import LiveLists
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.matcher import Matcher
from matchwood.schema import Schema
from matchwood.service.rules.live_rules import LiveRules
from matchwood.service.rules.rule_changes import (
    CurrentVersions,
    RuleChanges,
    changes_since,
    current_versions,
    one_moment,
    schema_form,
)
from matchwood.service.rules.stored_lists import ListFacts, read_list, stored_lists
from matchwood.service.rules.timed_matching import LONG_RULE, Suspension
from matchwood.service.rules.written_rules import details_or_none
from matchwood.service.settings import Settings

log = logging.getLogger("matchwood.service")
# Changed rules from which on they are built; fewer are pending for a moment, and evaluated.
MANY_RULES = 16


class RuleFollower:
    """Keeps `live` at the version of the database. One thread at a time may call it."""

    def __init__(self, engine: Engine, settings: Settings, **made_with: Any) -> None:
        self._engine = engine
        self._folder: Path = settings.data
        self._made_with = {**made_with, "schema": None, "lists": LiveLists()}
        self.live = LiveRules(settings.limits, self._made_with)
        self.live.suspend = self._suspend
        self.schema: Schema | None = None
        self._schema_version = -1
        self._lists: dict[str, ListFacts] = {}
        self._lists_version = 0
        self._database = 0
        self._mapped = -1  # the version of the snapshot that is mapped
        self._is_loaded = False
        self._following = threading.Lock()
        self.suspended: set[str] = set()  # rules that this process does not match any more
        self.latest_version = 0
        self._current_at = time.monotonic()

    @property
    def lag_seconds(self) -> float:
        """Seconds since this process is known to have had the latest version."""
        return time.monotonic() - self._current_at

    def follow(self) -> None:
        """Read what has changed, if anything has."""
        with self._following:
            asked = time.monotonic()
            with one_moment(self._engine) as connection:
                now = current_versions(connection)
                self.latest_version, self._database = now.rules, now.database
                if self._is_loaded and self._is_at(now):
                    self._current_at = asked
                    return
                self._read_lists(connection, now)
                is_new = not self._is_loaded or now.schema != self._schema_version
                start = self._start(connection, now) if is_new else None
                self._resume_changed(connection)
                version = self.live.state.version if start is None else start[0]
                if is_new and start is None:
                    changes = changes_since(connection, None)
                else:
                    changes = changes_since(connection, version)
            if start is not None and not changes.whole:
                self._swap(start[1], changes)
                self._mapped = start[0]
            else:
                self._apply(changes)
            self._schema_version, self._lists_version = now.schema, now.lists
            self._is_loaded = True
            self._current_at = asked

    def _start(self, connection: Connection, now: CurrentVersions) -> tuple[int, Matcher] | None:
        """The rules to start from, under a schema that is new here; None if there are none."""
        form = schema_form(connection, now.schema)
        self.schema = None if form is None else Schema.from_dict(json.loads(form))
        self._made_with["schema"] = self.schema
        return self._newest_snapshot(now.rules)

    def _read_lists(self, connection: Connection, now: CurrentVersions) -> None:
        """The lists from which new matchers are made; those that are live follow with the rules."""
        if now.lists == self._lists_version:
            return
        stored, known = stored_lists(connection), self._made_with["lists"]
        self._made_with["lists"] = LiveLists(
            (name, known[name] if self._lists.get(name) == of else read_list(connection, name))
            for name, of in stored.items()
        )
        self._lists = stored

    def _is_at(self, now: CurrentVersions) -> bool:
        mine = (self.live.state.version, self._schema_version, self._lists_version)
        return mine == (now.rules, now.schema, now.lists)

    # Applying changes

    def _apply(self, changes: RuleChanges) -> None:
        if changes.whole:
            self._swap(Matcher(**self._made_with), changes)
            return
        with self.live.change(changes.version) as matcher:
            lists, newest = matcher.store.lists, self._made_with["lists"]
            lists.update(newest)
            self._change(matcher, changes)
            lists.become(newest)  # without those that no rule names any more

    def _swap(self, matcher: Matcher, changes: RuleChanges) -> None:
        """Use another matcher, once it has the changes."""
        self._change(matcher, changes)
        self.live.replace(changes.version, matcher, without=self.suspended)

    def _resume_changed(self, connection: Connection) -> None:
        """Match rules again that were suspended here, and set since."""
        if self.suspended:
            newer = changes_since(connection, self.live.state.version)
            self.suspended.difference_update(newer.gone, (rule.id for rule in newer.rules))

    def _change(self, matcher: Matcher, changes: RuleChanges) -> None:
        matcher.remove(changes.gone)
        few = len(changes.rules) < MANY_RULES
        if few and all(len(rule.rule) < LONG_RULE for rule in changes.rules):
            for rule in changes.rules:
                try:
                    matcher.store.add(rule)
                except RuleError as error:
                    self._refused(matcher, rule, error)
            return
        known = {rule.id: rule for rule in changes.rules}
        for rule_id, reason in matcher.store.update_texts(changes.rules, "collect"):
            self._refused(matcher, known[str(rule_id)], reason)

    def _refused(self, matcher: Matcher, rule: RuleDetails, error: RuleError) -> None:
        matcher.remove([rule.id])  # it must not answer for the one that replaced it
        extra = {"rule": rule.id, "error": str(error)}
        log.error("a rule is not matched: this process cannot read it", extra=extra)

    def _suspend(self, suspensions: list[Suspension]) -> None:
        """Match some rules no more in this process, until they are changed."""
        with self.live.change() as matcher:
            for rule_id, _ in suspensions:
                if details_or_none(matcher, rule_id) is not None:
                    matcher.remove([rule_id])
                    self.suspended.add(rule_id)

    # Snapshots on disk, which the processes of a machine share

    def _snapshots(self) -> list[tuple[int, Path]]:
        """Those of this database: the version of each and its file, latest first."""
        prefix = f"rules-{self._database:x}-"
        found = []
        for path in self._folder.glob(f"{prefix}*.mw"):
            if (version := path.stem.removeprefix(prefix)).isdecimal():
                found.append((int(version), path))
        return sorted(found, reverse=True)

    def _newest_snapshot(self, most: int) -> tuple[int, Matcher] | None:
        """The latest readable snapshot up to a version, mapped."""
        for version, path in self._snapshots() if kernels_ready() else []:
            if version <= most:
                try:
                    return version, Matcher.load(path, **self._made_with)
                except (IndexFileError, RuleError, OSError) as error:
                    extra = {"path": str(path), "error": str(error)}
                    log.warning("a snapshot cannot be used", extra=extra)
        return None

    def save(self) -> None:
        """Write a snapshot, unless there is one, and delete older ones."""
        version, matcher = self.live.state.version, self.live.state.matcher
        known = self._snapshots()
        if not self._database or not len(matcher) or matcher.store.holds_back():
            return
        if not known or known[0][0] < version:
            version, snapshot = self.live.frozen()
            snapshot.save(self._folder / f"rules-{self._database:x}-{version}.mw")
        for _, old in self._snapshots()[2:]:
            old.unlink(missing_ok=True)

    def map_newest(self) -> None:
        """Use the newest snapshot, whose memory is shared, instead of what was built since."""
        with self._following:
            known = self._snapshots()
            if not self._is_loaded or not known or known[0][0] <= self._mapped:
                return
            start = self._newest_snapshot(self.live.state.version)
            if start is None or start[0] <= self._mapped:
                return
            with one_moment(self._engine) as connection:
                same_schema = current_versions(connection).schema == self._schema_version
                changes = changes_since(connection, start[0])
                self._resume_changed(connection)
            if same_schema and not changes.whole:
                self._swap(start[1], changes)
                self._mapped = start[0]
