"""The current snapshot of a matcher, and the thread that keeps its parts few.

A reader takes the current snapshot and never waits; a writer makes a new one under the lock. Rules
that were just added are pending, and evaluated one by one, until a thread in the background builds
a part of them. The same thread merges parts of similar size; rules that were removed while it
worked are removed from its result as well.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held, renew_in_children
from matchwood.index.build.segment import Built, build
from matchwood.index.build.statistics import Statistics
from matchwood.index.file.array_file import IndexFileError
from matchwood.kernels.readiness import kernels_ready
from matchwood.language.aliases import Aliases
from matchwood.language.evaluation import Hierarchies
from matchwood.language.named_lists import LiveLists
from matchwood.match.parts.context import Context
from matchwood.match.parts.given_rules import GivenRules
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import BuiltPending, PendingRule
from matchwood.match.parts.rule_columns import RuleColumns
from matchwood.match.store.merge_process import build_elsewhere
from matchwood.match.store.snapshot import Snapshot
from matchwood.operators.deciding import Decider
from matchwood.operators.geo import available

Id = str | int

# Pending rules above which the background thread builds a part of them.
MAX_PENDING = 16

# Pending rules above which the background thread is behind, and a writer builds the part itself.
MOST_PENDING = 64

# Characters of pending rules above which a writer builds the part itself.
MOST_PENDING_TEXT = 1 << 16

# Seconds that events may spend on pending rules before these are built; many builds take less.
PENDING_SECONDS = 0.02

# Evaluations of a pending rule that take about as long as building it.
WORTH_BUILDING = 256

# Rules up to which none is built while kernels are being compiled.
FEW_RULES = 500

# Parts above which some are merged.
MAX_PARTS = 4

# A part is merged with smaller ones if it has fewer than this many times their rules.
MERGE_FACTOR = 4

# Rules from which on a merge runs in a process of its own.
OWN_PROCESS_RULES = 50_000

# Seconds until a merge that failed is tried again; doubled after each failure.
FIRST_PAUSE = 1.0

# Seconds that the pause between failed merges grows to.
LONGEST_PAUSE = 60.0

# Where a rule is, in one number: | number of its part | ordinal in it: 40 bits |.
_ORDINALS = 1 << 40

# Where a rule is that is pending; parts are numbered from 1 on.
PENDING_RULE = 0

# Entries of the map of rules that are changed before another thread may run.
_AT_ONCE = 10_000

_log = logging.getLogger("matchwood.match")


class PartStore:
    """Rules in parts, the current snapshot of them, and merges in the background.

    `lock` guards every change. `snapshot` is replaced under it and may be read at any time.
    """

    def __init__(
        self,
        statistics: Statistics | None,
        operators: Any,
        schema: Hierarchies | None,
        aliases: Aliases | None = None,
        lists: LiveLists | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.build_threads: int | None = None  # of builds that a caller waits for; None: all cores
        self.statistics = statistics
        self.operators = available(operators)
        self.schema = schema
        # Rules look them up here at every event; several stores may have the same ones.
        self.lists = LiveLists() if lists is None else lists
        self.aliases = aliases
        self.decider = Decider(self.operators, schema, self.lists, aliases)
        self.snapshot = Snapshot((), (), self.decider)
        self._known: dict[Id, int] | None = {}
        self._next_number = 1  # of the next part
        self._merging: threading.Thread | None = None
        self._failures = 0  # merges that failed in succession
        self._resume = 0.0  # the time (monotonic) before which no merge is tried
        self._most_pending = MOST_PENDING
        self._unreadable: set[int] = set()  # numbers of parts that no merge can read
        # Pending rules, and a part of them.
        self._for_batches: tuple[Sequence[PendingRule], BuiltPending] | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        """Continue from the snapshot, which is always consistent, without the merging thread."""
        self.decider.schema = self.schema
        if is_left_held(self.lock):
            self.lock = threading.RLock()
            self._known = None  # it may be half changed
            parts = self.snapshot.parts
            if any(part.context.schema is not self.schema for part in parts):
                parts = tuple(part.asking(self._context()) for part in parts)
                self._publish(parts, self.snapshot.pending)
        self._merging = None

    @property
    def where(self) -> dict[Id, int]:
        """Where each rule is: see `pack_location`; PENDING_RULE if it is pending.

        Made when first needed. Whoever iterates over it, or relies on it, holds the lock.
        """
        known = self._known
        if known is None:
            with self.lock:
                known = self._known
                if known is None:
                    known = {}
                    for part in self.snapshot.parts:
                        _locate(part, known)
                    known.update((rule.details.id, PENDING_RULE) for rule in self.snapshot.pending)
                    self._known = known
        return known

    def adopt(self, snapshot: Snapshot) -> None:
        """Start from the rules of a snapshot, such as one that was loaded."""
        with self.lock:
            parts = [self._numbered(part) for part in snapshot.parts]
            self._publish(tuple(part for part in parts if part.live), snapshot.pending)
            self._known = None

    def _context(self) -> Context:
        return Context(self.operators, self.schema, self.lists, self.aliases)

    def _part(self, built: Built, given: GivenRules) -> Part:
        return Part(built.segment, given.columns(built.order), self._context()).prepare()

    def _part_of_pending(self, pending: Sequence[PendingRule]) -> tuple[Part, Built]:
        built = complete(build([rule.tree for rule in pending], self.statistics))
        return self._part(built, GivenRules.of(rule.details for rule in pending)), built

    # The following methods run under the lock

    def _publish(self, parts: tuple[Part, ...], pending: tuple[PendingRule, ...]) -> None:
        self.snapshot = Snapshot(parts, pending, self.decider)

    def _numbered(self, part: Part) -> Part:
        if part.context.schema is not self.schema:  # the schema changed while the part was made
            part = part.asking(self._context())
        self._next_number += 1
        return part.numbered(self._next_number - 1)

    def _with(self, part: Part, snapshot: Snapshot) -> Snapshot:
        part = self._numbered(part)
        _locate(part, self.where)
        return Snapshot(largest_first([*snapshot.parts, part]), snapshot.pending, self.decider)

    def _without(self, ids: Sequence[Id], snapshot: Snapshot) -> Snapshot:
        removed: dict[int, list[int]] = {}
        pending: set[Id] = set()
        for rule_id in ids:
            location = self.where[rule_id]
            if location != PENDING_RULE:
                number, ordinal = unpack_location(location)
                removed.setdefault(number, []).append(ordinal)
            else:
                pending.add(rule_id)
        parts = tuple(
            part.without(removed[part.number]) if part.number in removed else part
            for part in snapshot.parts
        )
        kept = tuple(rule for rule in snapshot.pending if rule.details.id not in pending)
        return Snapshot(tuple(part for part in parts if part.live), kept, self.decider)

    def _tidy(self) -> None:
        """Keep pending rules and parts few."""
        pending = self.snapshot.pending
        long = sum(len(rule.details.rule) for rule in pending) > MOST_PENDING_TEXT
        too_many = len(pending) > self._most_pending
        if (too_many or (long and self._most_pending == MOST_PENDING)) and kernels_ready():
            try:
                self.flush()
                self._most_pending = MOST_PENDING
            except Exception as error:
                self._most_pending = 2 * len(self.snapshot.pending)
                self._put_off(error)
        busy = self._is_behind(self.snapshot.pending) or self._to_merge()
        if busy and self._merging is None and time.monotonic() >= self._resume:
            thread = threading.Thread(target=self._keep_up, daemon=True)
            try:
                thread.start()  # it cannot end before the lock is released
            except RuntimeError as error:  # no more threads, or the interpreter is ending
                self._put_off(error)
            else:
                self._merging = thread

    def _is_behind(self, pending: Sequence[PendingRule]) -> bool:
        """Whether pending rules are so many, or cost events so much time, that they are built."""
        if self.holds_back():
            return False
        too_long = bool(pending) and self.decider.waited > PENDING_SECONDS
        return too_long or len(pending) > MAX_PENDING

    def holds_back(self, more: int = 0) -> bool:
        """Whether pending rules, and so many more, are not built, since kernels are not compiled.

        Until they are, few rules are evaluated. More rules are built, which waits for kernels.
        """
        return 0 < len(self.snapshot.pending) + more <= FEW_RULES and not kernels_ready()

    def flush(self) -> None:
        """Build a part of the pending rules now."""
        with self.lock:
            snapshot = self.snapshot
            if snapshot.pending:
                part, _ = self._part_of_pending(snapshot.pending)
                self.snapshot = self._with(part, Snapshot(snapshot.parts, (), self.decider))
                self.decider.waited = 0.0

    def _to_merge(self) -> list[Part]:
        """The smallest parts, with those that are not much larger than all of them together."""
        parts = self.snapshot.parts
        if self._unreadable:
            parts = tuple(part for part in parts if part.number not in self._unreadable)
        if len(parts) <= MAX_PARTS:
            return [part for part in parts if part.live < len(part.details) // 2][:1]
        chosen = list(parts[MAX_PARTS - 1 :])
        for part in reversed(parts[: MAX_PARTS - 1]):
            if part.live >= MERGE_FACTOR * sum(other.live for other in chosen):
                break
            chosen.append(part)
        return chosen

    def _replace(self, part: Part, parts: Sequence[Part], pending: Sequence[PendingRule]) -> None:
        """Put a part in the place of the parts, or of the pending rules, that it was made of."""
        numbers = {old.number for old in parts}
        taken = {id(rule) for rule in pending}
        part = self._numbered(part)
        if self._known is not None and part.live:
            _locate(part, self._known)
        others = [old for old in self.snapshot.parts if old.number not in numbers]
        left = tuple(rule for rule in self.snapshot.pending if id(rule) not in taken)
        self._publish(largest_first([*others, part]), left)

    def _forget_calls(self) -> None:
        """Forget the calls of rules that were removed, once they are many."""
        snapshot = self.snapshot
        known = [part.known_operator_rules for part in snapshot.parts]
        tables = [rules.table for rules in known if rules is not None]
        tables += [rule.calls.source.table for rule in snapshot.pending if rule.calls is not None]
        self.decider.tidy(tables)

    # The following methods run without the lock

    def _keep_up(self) -> None:
        """The background thread: build and merge until there is nothing to do."""
        try:
            while True:
                with self.lock:
                    pending, chosen = self.snapshot.pending, self._to_merge()
                    behind = self._is_behind(pending)
                    if not behind and not chosen:
                        self._merging = None
                        return
                if behind:
                    self._gather(pending)
                else:
                    self._merge(chosen)
                self._failures = 0
        except BaseException as error:  # whatever it is, the rules are as they were
            with self.lock:
                self._merging = None
                self._put_off(error)

    def _put_off(self, error: BaseException) -> None:
        pause = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 30)
        self._resume = time.monotonic() + pause
        _log.warning(
            "merging rules failed and is tried again in %g s; all rules are there, "
            "and matching them takes longer",
            pause,
            exc_info=error,
        )

    def _leave(self, part: Part, error: Exception) -> None:
        """Never merge this part again: its file is damaged, or holds rules that cannot be read."""
        with self.lock:
            self._unreadable.add(part.number)
        _log.error("a segment of %d rules is left as it is: %s", part.live, error)

    def hurry(self) -> None:
        """Start building pending rules if events have spent too long on them; never waits."""
        slow = self.decider.waited > PENDING_SECONDS and self.snapshot.pending
        if slow and not self.holds_back() and self.lock.acquire(blocking=False):
            try:
                self._tidy()
            finally:
                self.lock.release()

    def settled(self, events: int | None) -> Snapshot:
        """A snapshot for matching so many events (None: an unknown number).

        If the events are worth a build, the pending rules are in a part of this snapshot. While
        kernels are being compiled, few rules are evaluated until kernels are there, which then take
        over between two slices of the events.
        """
        snapshot = self.snapshot
        pending = snapshot.pending
        if not pending or (events is not None and events * len(pending) < WORTH_BUILDING):
            return snapshot
        if not self.holds_back():
            return self._built(snapshot)
        return Snapshot(
            snapshot.parts,
            pending,
            self.decider,
            lambda: self._part_for_batches(pending) if kernels_ready() else None,
        )

    def built(self) -> Snapshot:
        """A snapshot in which all rules are built, if they can be, whatever that takes."""
        return self._built(self.snapshot)

    def _built(self, snapshot: Snapshot) -> Snapshot:
        if not snapshot.pending:
            return snapshot
        found = self._part_for_batches(snapshot.pending)
        if found is None:
            return snapshot
        return Snapshot((*snapshot.parts, found.part), (), self.decider)

    def _part_for_batches(self, pending: Sequence[PendingRule]) -> BuiltPending | None:
        """A part of pending rules, which is used again until they change."""
        known = self._for_batches
        if known is not None and known[0] is pending:
            return known[1]
        try:
            part, built = self._part_of_pending(pending)
        except Exception as error:
            _log.warning("pending rules cannot be built and are evaluated", exc_info=error)
            return None
        with self.lock:
            if part.context.schema is not self.schema:  # it changed while the part was made
                part = part.asking(self._context())
            found = BuiltPending(part, built.order.astype(np.int32))
            self._for_batches = pending, found
        return found

    def _gather(self, pending: Sequence[PendingRule]) -> None:
        """Build a part of pending rules."""
        part, built = self._part_of_pending(pending)
        with self.lock:
            still = {id(rule) for rule in self.snapshot.pending}
            removed = [n for n, i in enumerate(built.order.tolist()) if id(pending[i]) not in still]
            self._replace(part.without(removed) if removed else part, (), pending)
            self.decider.waited = 0.0

    def _merge(self, chosen: Sequence[Part]) -> None:
        live = [part.live_ordinals() for part in chosen]
        rules: list[Any] = []
        for part, ordinals in zip(chosen, live, strict=True):
            try:
                _ = part.details.ids
                rules += part.rules(ordinals)
            except IndexFileError as error:
                return self._leave(part, error)
        built = None
        if len(rules) >= OWN_PROCESS_RULES:
            built = build_elsewhere(rules, self.statistics)
        if built is None:
            built = build(rules, self.statistics, threads=1)  # beside whoever matches
        if built.refused:
            index, refusal = built.refused[0]
            ends = np.cumsum([len(ordinals) for ordinals in live])
            return self._leave(chosen[int(np.searchsorted(ends, index, side="right"))], refusal)
        columns = RuleColumns.joined([part.details for part in chosen], live, rules, built.order)
        merged = Part(built.segment, columns, self._context()).prepare()
        with self.lock:
            now = {part.number: part for part in self.snapshot.parts}
            removed = [
                now[part.number].gone(ordinals)
                if part.number in now
                else np.ones(len(ordinals), np.bool_)
                for part, ordinals in zip(chosen, live, strict=True)
            ]
            dead = np.flatnonzero(np.concatenate(removed)[built.order])
            self._replace(merged.without(dead) if len(dead) else merged, chosen, ())
            self._forget_calls()

    def compact(self) -> None:
        """Merge all rules into one part now."""
        self.join()
        with self.lock:
            snapshot = self.snapshot
            if (
                len(snapshot.parts) > 1
                or snapshot.pending
                or any(part.live < len(part.details) for part in snapshot.parts)
            ):
                given = GivenRules.of(snapshot.details())
                part = self._part(
                    complete(build(given.rules, self.statistics, threads=self.build_threads)), given
                )
                self.snapshot = self._with(part, Snapshot((), (), self.decider))
                self._forget_calls()

    def join(self) -> None:
        """Wait for the merges that are running, and for those that follow from them."""
        while (thread := self._merging) is not None:
            thread.join()


def complete(built: Built) -> Built:
    """A build that refused no rule; raises the error of the first one that it refused."""
    if built.refused:
        raise built.refused[0][1]
    return built


def pack_location(part: int, ordinals: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where rules of a part are, each as one number.

    >>> unpack_location(pack_location(3, np.array([5]))[0])
    (3, 5)
    """
    return part * _ORDINALS + ordinals.astype(np.int64)


def unpack_location(location: int) -> tuple[int, int]:
    """The number of a rule's part, and the rule's ordinal in it."""
    return divmod(int(location), _ORDINALS)


def _locate(part: Part, known: dict[Id, int]) -> None:
    """Note where the rules of a part are, some at a time, so that readers do not wait for all."""
    ordinals = part.live_ordinals()
    for low in range(0, len(ordinals), _AT_ONCE):
        some = ordinals[low : low + _AT_ONCE]
        locations = pack_location(part.number, some).tolist()
        known.update(zip(part.details.ids[some].tolist(), locations, strict=True))


def largest_first(parts: list[Part]) -> tuple[Part, ...]:
    """The parts that have rules, largest first."""
    return tuple(sorted((p for p in parts if p.live), key=lambda part: -len(part.details)))
