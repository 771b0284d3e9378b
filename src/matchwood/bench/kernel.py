"""The kernels of a matcher of one part, asked with events that are coded already."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.engine import Matcher
from matchwood.match.batch import Codes, codes_of_rows
from matchwood.match.encode import encode
from matchwood.match.single import ALL
from matchwood.match.ways import SAMPLED, TOLD
from matchwood.workloads.abe_gen import AbeGen

Coded = tuple[Any, ...]
ROUNDS = 8  # of events, after which a matcher is asked to go on as it is


class Kernel:
    """For rules of intervals and events of single values, as ABE-Gen has them."""

    def __init__(self, matcher: Matcher) -> None:
        (self.part,) = matcher._snapshot.parts
        self.single = self.part.matcher

    def coded(self, event: dict[str, int]) -> Coded:
        """An event as the kernel takes it."""
        encoded, _ = encode(event, self.single.coders, self.single.patterned)
        slots = np.array(encoded.slots, np.int32)
        codes = np.array(encoded.codes, np.int32)
        none = np.empty(0, np.int32)
        return (slots, codes, np.zeros(1, np.int32), none, none, None, ALL)

    def match(self, coded: Coded) -> Any:
        """The ordinals of the rules that are true."""
        return self.single.match_codes(*coded)

    def coded_batch(self, events: Sequence[dict[str, int]]) -> Codes:
        """Events as one sweep takes them, at most `EVENTS` of them."""
        return codes_of_rows(list(events), self.part.matcher)[0]

    def sweep(self, codes: Codes) -> None:
        """All pairs of a batch, swept whatever it costs, and dropped."""
        self.part.batch._each.seconds = 1.0  # as if single matches took a second each
        for _ in self.part.batch.pairs(codes, ALL, _no_event):
            pass


def _no_event(_: int) -> Any:
    raise AssertionError("only calls look at an event again")


def warm_up() -> None:
    """Compile, or load from the cache, what matches, before anything is timed."""
    small = AbeGen(rules=2_000, seed=7)
    matcher = Matcher(enumerate(small.texts()))
    events = small.events(200)
    kernel = Kernel(matcher)
    for small_segment in (False, True):
        kernel.single.small = small_segment
        matcher.match(events[0])
    kernel.sweep(kernel.coded_batch(events))
    matcher.match_batch(table_of_events(events))


def let_learn(matcher: Matcher, events: Sequence[dict[str, Any]]) -> None:
    """Match single events until the matcher has chosen between ways to match them."""
    ways = [part.matcher.ways for part in matcher._snapshot.parts]
    for _ in range(ROUNDS):
        for event in islice(cycle(events), SAMPLED * TOLD):
            matcher.match(event)
        decided = [one.settled() for one in ways]
        if all(decided):
            return


def table_of_events(events: Sequence[dict[str, Any]]) -> Any:
    """An Arrow table of a column an attribute."""
    names = sorted(set().union(*events))
    return pa.table({name: [event.get(name) for event in events] for name in names})
