"""The kernels of a matcher of one part, called with events that are encoded already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.kernels.readiness import wait_for_kernels
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.match.batch.codes.batch_codes import BatchCodes, codes_of_rows
from matchwood.match.batch.pairs import Pairs
from matchwood.match.event.encode import encode
from matchwood.match.event.event_matcher import ALL
from matchwood.match.event.strategy_choice import MEASURED_EVERY, MEASURES_NEEDED
from matchwood.matcher import Matcher

Coded = tuple[Any, ...]
# How many rounds of events a matcher gets to choose between its strategies.
ROUNDS = 8


class Kernel:
    """For rules over intervals and events without lists, as in ABE-Gen."""

    def __init__(self, matcher: Matcher) -> None:
        (self.part,) = matcher.store.snapshot.parts
        self.single = self.part.matcher

    def coded(self, event: dict[str, int]) -> Coded:
        """An event in the form that the kernel takes."""
        encoded, _ = encode(event, self.single.encoding)
        slots = np.array(encoded.slots, np.int32)
        codes = np.array(encoded.codes, np.int32)
        none = np.empty(0, np.int32)
        return (slots, codes, np.zeros(1, np.int32), none, none, None, ALL)

    def match(self, coded: Coded) -> Any:
        """The ordinals of the rules that are true."""
        return self.single.match_codes(*coded)

    def coded_batch(self, events: Sequence[dict[str, int]]) -> BatchCodes:
        """At most `EVENTS` events, in the form that one sweep takes."""
        return codes_of_rows(list(events), self.part.matcher)[0]

    def sweep(self, codes: BatchCodes) -> int:
        """Sweep a batch, even where single matches would be faster; the number of pairs."""
        return sum(len(numbers) for numbers, _ in self.swept(codes))

    def swept(self, codes: BatchCodes) -> Iterator[Pairs]:
        """The pairs of a sweep; the arrays are used again for the next ones."""
        self.part.batch.force("sweep")
        return self.part.batch.pairs(codes, ALL)


def warm_up() -> None:
    """Compile the kernels of matching, or load them from the cache, before anything is timed.

    While kernels are still being compiled, few rules and calls are decided without them.
    """
    wait_for_kernels()
    small = AbeGen(rules=2_000, seed=7)
    matcher = Matcher(enumerate(small.texts()))
    events = small.events(200)
    kernel = Kernel(matcher)
    for strategy in ("push, large index", "push, small index"):
        kernel.single.force(strategy)
        matcher.match(events[0])
    kernel.sweep(kernel.coded_batch(events))
    matcher.match_batch(table_of_events(events))


def let_learn(matcher: Matcher, events: Sequence[dict[str, Any]]) -> None:
    """Match single events until the matcher has chosen its strategy for them."""
    choices = [part.matcher.choice for part in matcher.store.snapshot.parts]
    for _ in range(ROUNDS):
        for event in islice(cycle(events), MEASURED_EVERY * MEASURES_NEEDED):
            matcher.match(event)
        decided = [choice.settled() for choice in choices]
        if all(decided):
            return


def table_of_events(events: Sequence[dict[str, Any]]) -> Any:
    """An Arrow table with one column per attribute."""
    names = sorted(set().union(*events))
    return pa.table({name: [event.get(name) for event in events] for name in names})
