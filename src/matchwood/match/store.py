"""Where a matcher keeps its rules: immutable parts, and a few that are pending.

A reader takes the current snapshot, a tuple of parts, and never waits; a writer makes a new one
under the lock. Rules that were just added are pending, and evaluated one by one, until a thread
in the background makes a part of them. It also merges parts of like size; what went meanwhile is
gone from the result as well.
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
from matchwood.index.file import IndexFileError
from matchwood.index.segment import Built, build
from matchwood.index.statistics import Statistics
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies
from matchwood.match.merging import build_elsewhere
from matchwood.match.parts import (
    EMPTY,
    Columns,
    Context,
    Details,
    Part,
    Pending,
    Snapshot,
    check_calls,
    check_orders,
)
from matchwood.operators.deciding import Decider
from matchwood.operators.places import available

Id = str | int
Longs = NDArray[np.int64]

MAX_PENDING = 16  # more of them are made a part, in the background
MOST_PENDING = 64  # with more the background is behind: a writer makes a part of them itself
MOST_TEXT = 1 << 16  # nor does it leave more characters of them to be evaluated one by one
PATIENCE = 0.02  # seconds that events may take with pending rules; many builds are shorter
WORTH_BUILDING = 256  # evaluations that take about as long as a build
MAX_PARTS = 4
FACTOR = 4  # a part is merged with smaller ones when it is less than this many times their sum
ELSEWHERE = 50_000  # rules whose merge is worth a process of its own
PAUSE = 1.0  # seconds until merging is tried again after it failed; twice as long each time
LONGEST_PAUSE = 60.0
_ORDINALS = 1 << 40
_AT_ONCE = 10_000  # entries that are changed before another thread may run

_log = logging.getLogger("matchwood.match")


class Store:
    """Rules by id, in parts; `Matcher` is what people see of it."""

    def __init__(
        self,
        statistics: Statistics | None,
        operators: Any,
        schema: Hierarchies | None,
    ) -> None:
        self._lock = threading.RLock()
        self._snapshot = EMPTY
        self._known: dict[Id, int] | None = {}
        self._next = 1
        self._merging: threading.Thread | None = None
        self._failures = 0  # of merges, one after the other
        self._resume = 0.0  # the time before which none is tried
        self._most_pending = MOST_PENDING
        self._unreadable: set[int] = set()  # numbers of parts that no merge can read
        self._for_batches: tuple[Any, Part] | None = None  # pending rules, and a part of them
        self.statistics = statistics
        self.operators = available(operators)
        self.schema = schema
        self.decider = Decider(self.operators, schema)
        renew_in_children(self)

    def after_fork(self) -> None:
        """Go on from the snapshot, which is always whole, without the thread that merges."""
        self.decider.schema = self.schema
        if is_left_held(self._lock):
            self._lock = threading.RLock()
            self._known = None  # it may be half changed
            parts = self._snapshot.parts
            if any(part.context[1] is not self.schema for part in parts):
                parts = tuple(part.asking(self._context()) for part in parts)
                self._snapshot = Snapshot(parts, self._snapshot.pending)
        self._merging = None

    @property
    def _where(self) -> dict[Id, int]:
        """Id → number of its part << 40 | ordinal, 0 for pending; made when first needed.

        Whoever goes through it, or relies on what it says, has the lock.
        """
        known = self._known
        if known is None:
            with self._lock:
                known = self._known
                if known is None:
                    known = {}
                    for part in self._snapshot.parts:
                        _locate(part, known)
                    known.update((pending.details.id, 0) for pending in self._snapshot.pending)
                    self._known = known
        return known

    def _strings(self) -> bool | None:
        """Whether ids are strings; None where there are none."""
        with self._lock:
            known = next(iter(self._where), None)
        return None if known is None else isinstance(known, str)

    @property
    def calls_operators(self) -> bool:
        """Whether a rule calls an operator, and so may bind variables."""
        snapshot = self._snapshot
        pending = any(one.costly is not None for one in snapshot.pending)
        return pending or any(part.has_costly for part in snapshot.parts)

    def _details(self, rule_id: Id) -> Details:
        with self._lock:  # where a rule is and the snapshot that it is in change together
            number, ordinal = divmod(self._where[rule_id], _ORDINALS)
            snapshot = self._snapshot
        if number == 0:
            return next(p.details for p in snapshot.pending if p.details.id == rule_id)
        part = next(part for part in snapshot.parts if part.number == number)
        return part.details[ordinal]

    def use_schema(self, schema: Hierarchies | None) -> None:
        """Answer by another schema; a RuleError, and no change, where a rule forbids it."""
        try:
            self._check_asked(schema)
        except RuleError:
            self.compact()  # it may be a rule that is gone
            self._check_asked(schema)
        with self._lock:
            self._check_asked(schema)  # also of what came meanwhile
            self.schema = self.decider.schema = schema
            self._for_batches = None
            snapshot = self._snapshot
            parts = tuple(part.asking(self._context()) for part in snapshot.parts)
            self._snapshot = Snapshot(parts, snapshot.pending)

    def _check_asked(self, schema: Hierarchies | None) -> None:
        snapshot = self._snapshot
        asked = [node for part in snapshot.parts for node in part.segment.opaque]
        for node in (*asked, *(pending.tree for pending in snapshot.pending)):
            check_calls(node, self.operators, schema)
        for part in snapshot.parts:
            check_orders(part, schema)

    def _context(self) -> Context:
        return self.operators, self.schema

    def _part(self, built: Built, given: Sequence[Details]) -> Part:
        details = Columns.of([given[i] for i in built.order.tolist()])
        return Part(built.segment, details, self._context()).prepare()

    # What follows runs under the lock

    def _numbered(self, part: Part) -> Part:
        if part.context[1] is not self.schema:  # which changed while the part was made
            part = part.asking(self._context())
        self._next += 1
        return part.numbered(self._next - 1)

    def _with(self, part: Part, snapshot: Snapshot) -> Snapshot:
        part = self._numbered(part)
        _locate(part, self._where)
        return Snapshot(in_order([*snapshot.parts, part]), snapshot.pending)

    def _without(self, ids: Sequence[Id], snapshot: Snapshot) -> Snapshot:
        gone: dict[int, list[int]] = {}
        pending: set[Id] = set()
        for rule_id in ids:
            number, ordinal = divmod(self._where[rule_id], _ORDINALS)
            if number:
                gone.setdefault(number, []).append(ordinal)
            else:
                pending.add(rule_id)
        parts = tuple(
            part.without(gone[part.number]) if part.number in gone else part
            for part in snapshot.parts
        )
        kept = tuple(p for p in snapshot.pending if p.details.id not in pending)
        return Snapshot(tuple(p for p in parts if p.live), kept)

    def _restore(self, part: Part, dead: Longs) -> None:
        """Take up a part as it was; rules that are dead in it may live in another part."""
        part = self._numbered(part.without(dead.tolist()) if len(dead) else part)
        _locate(part, self._where)
        self._snapshot = Snapshot(in_order([*self._snapshot.parts, part]), self._snapshot.pending)

    def _tidy(self) -> None:
        """See to it that there are few pending rules and few parts."""
        pending = self._snapshot.pending
        long = sum(len(p.details.rule) for p in pending) > MOST_TEXT
        if len(pending) > self._most_pending or (long and self._most_pending == MOST_PENDING):
            try:
                self._flush()
                self._most_pending = MOST_PENDING
            except Exception as error:
                self._most_pending = 2 * len(self._snapshot.pending)
                self._put_off(error)
        busy = self._is_behind(self._snapshot.pending) or self._to_merge()
        if busy and self._merging is None and time.monotonic() >= self._resume:
            thread = threading.Thread(target=self._keep_up, daemon=True)
            try:
                thread.start()  # it cannot end before we let go of the lock
            except RuntimeError as error:  # the machine, or an interpreter that ends, has no more
                self._put_off(error)
            else:
                self._merging = thread

    def _is_behind(self, pending: Sequence[Pending]) -> bool:
        """Whether so many rules are pending, or events took so long with them, as to build."""
        too_long = bool(pending) and self.decider.waited > PATIENCE
        return too_long or len(pending) > MAX_PENDING

    def _flush(self) -> None:
        """Make a part of the pending rules, now."""
        snapshot = self._snapshot
        if snapshot.pending:
            built = whole(build([p.tree for p in snapshot.pending], self.statistics))
            part = self._part(built, [p.details for p in snapshot.pending])
            self._snapshot = self._with(part, Snapshot(snapshot.parts, ()))
            self.decider.waited = 0.0

    def _to_merge(self) -> list[Part]:
        """The smallest parts, with those that are not much larger than all of them together."""
        parts = self._snapshot.parts
        if self._unreadable:
            parts = tuple(part for part in parts if part.number not in self._unreadable)
        if len(parts) <= MAX_PARTS:
            return [p for p in parts if p.live < len(p.details) // 2][:1]
        chosen = list(parts[MAX_PARTS - 1 :])
        for part in reversed(parts[: MAX_PARTS - 1]):
            if part.live >= FACTOR * sum(p.live for p in chosen):
                break
            chosen.append(part)
        return chosen

    def _replace(self, part: Part, parts: Sequence[Part], pending: Sequence[Pending]) -> None:
        """Put a part, less what went meanwhile, in the place of what it was made of."""
        numbers = {old.number for old in parts}
        taken = {id(one) for one in pending}
        part = self._numbered(part)
        if self._known is not None and part.live:
            _locate(part, self._known)
        others = [old for old in self._snapshot.parts if old.number not in numbers]
        left = tuple(one for one in self._snapshot.pending if id(one) not in taken)
        self._snapshot = Snapshot(in_order([*others, part]), left)

    def _forget_calls(self) -> None:
        """Have the calls of rules that are gone forgotten, once they are many."""
        snapshot = self._snapshot
        known = [part.known_costly for part in snapshot.parts]
        tables = [costly.table for costly in known if costly is not None]
        tables += [one.costly.source.table for one in snapshot.pending if one.costly is not None]
        self.decider.tidy(tables)

    # What follows runs without it

    def _keep_up(self) -> None:
        """The thread in the background: until there is nothing to do."""
        try:
            while True:
                with self._lock:
                    pending, chosen = self._snapshot.pending, self._to_merge()
                    behind = self._is_behind(pending)
                    if not behind and not chosen:
                        self._merging = None
                        return
                if behind:
                    self._gather(pending)
                else:
                    self._merge(chosen)
                self._failures = 0
        except BaseException as error:  # whatever it is, rules are as they were
            with self._lock:
                self._merging = None
                self._put_off(error)

    def _put_off(self, error: BaseException) -> None:
        pause = min(PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 30)
        self._resume = time.monotonic() + pause
        _log.warning(
            "merging rules failed and is tried again in %g s; all rules are there, "
            "and matching them takes longer",
            pause,
            exc_info=error,
        )

    def _leave(self, part: Part, error: Exception) -> None:
        """Merge a part no more: its file is not as it was written, or says what it likes."""
        with self._lock:
            self._unreadable.add(part.number)
        _log.error("a segment of %d rules is left as it is: %s", part.live, error)

    def _hurry(self) -> None:
        """After events took long with pending rules: have them built, and wait for nobody."""
        slow = self.decider.waited > PATIENCE and self._snapshot.pending
        if slow and self._lock.acquire(blocking=False):
            try:
                self._tidy()
            finally:
                self._lock.release()

    def _settled(self, events: int | None) -> Snapshot:
        """A snapshot for so many events (None: nobody knows), with no rules pending if they are
        worth a build: the reader makes a part of them, which serves until they change."""
        snapshot = self._snapshot
        pending = snapshot.pending
        if not pending or (events is not None and events * len(pending) < WORTH_BUILDING):
            return snapshot
        known = self._for_batches
        if known is not None and known[0] is pending:
            return Snapshot((*snapshot.parts, known[1]), ())
        try:
            built = whole(build([one.tree for one in pending], self.statistics))
        except Exception as error:
            _log.warning("pending rules cannot be built and are evaluated", exc_info=error)
            return snapshot
        part = self._part(built, [one.details for one in pending])
        self._for_batches = pending, part
        return Snapshot((*snapshot.parts, part), ())

    def _gather(self, pending: Sequence[Pending]) -> None:
        """Make a part of rules that are pending."""
        built = whole(build([one.tree for one in pending], self.statistics))
        part = self._part(built, [one.details for one in pending])
        with self._lock:
            still = {id(one) for one in self._snapshot.pending}
            gone = [n for n, i in enumerate(built.order.tolist()) if id(pending[i]) not in still]
            self._replace(part.without(gone) if gone else part, (), pending)
            self.decider.waited = 0.0

    def _merge(self, chosen: Sequence[Part]) -> None:
        live = [part.live_ordinals() for part in chosen]
        rules: list[Any] = []
        for part, some in zip(chosen, live, strict=True):
            try:
                _ = part.details.ids
                rules += part.rules(some)
            except IndexFileError as error:
                return self._leave(part, error)
        built = None
        if len(rules) >= ELSEWHERE:
            built = build_elsewhere(rules, self.statistics)
        if built is None:
            built = build(rules, self.statistics)
        if built.refused:
            place, refusal = built.refused[0]
            ends = np.cumsum([len(some) for some in live])
            return self._leave(chosen[int(np.searchsorted(ends, place, side="right"))], refusal)
        columns = Columns.joined([part.details for part in chosen], live, rules, built.order)
        part = Part(built.segment, columns, self._context()).prepare()
        with self._lock:
            now = {part.number: part for part in self._snapshot.parts}
            gone = [
                now[part.number].gone(some) if part.number in now else np.ones(len(some), np.bool_)
                for part, some in zip(chosen, live, strict=True)
            ]
            dead = np.flatnonzero(np.concatenate(gone)[built.order])
            self._replace(part.without(dead) if len(dead) else part, chosen, ())
            self._forget_calls()

    def compact(self) -> None:
        """Merge all rules into one part, now."""
        self.join()
        with self._lock:
            snapshot = self._snapshot
            if (
                len(snapshot.parts) > 1
                or snapshot.pending
                or any(part.live < len(part.details) for part in snapshot.parts)
            ):
                details = list(snapshot.details())
                built = whole(build([one.rule for one in details], self.statistics))
                self._snapshot = self._with(self._part(built, details), EMPTY)
                self._forget_calls()

    def join(self) -> None:
        """Wait for the merges that are under way, and those that follow from them."""
        while (thread := self._merging) is not None:
            thread.join()


def whole(built: Built) -> Built:
    """What was built, of all the rules that were given."""
    if built.refused:
        raise built.refused[0][1]
    return built


def _locate(part: Part, known: dict[Id, int]) -> None:
    """Note where the rules of a part are, some at a time: readers are not to wait for all."""
    ordinals = part.live_ordinals()
    first = part.number * _ORDINALS
    for low in range(0, len(ordinals), _AT_ONCE):
        some = ordinals[low : low + _AT_ONCE]
        known.update(zip(part.details.ids[some].tolist(), (first + some).tolist(), strict=True))


def in_order(parts: list[Part]) -> tuple[Part, ...]:
    """Largest first; none without rules."""
    return tuple(sorted((p for p in parts if p.live), key=lambda part: -len(part.details)))
