"""Atoms that are evaluated on demand: comparisons of attributes, and calls.

Kernels note which of them rules still depend on. These are evaluated, and the nodes that waited
for them are woken again, until no atom is asked for any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.array_view import ArrayView
from matchwood.language.bindings import Truth
from matchwood.language.evaluation import Hierarchies, Operator, evaluate
from matchwood.language.events import Event
from matchwood.language.tree import Node
from matchwood.match.event.cell_kernels import candidates
from matchwood.match.event.literal_kernels import (
    CALLS_BEFORE,
    FALSE_SEEN,
    GROUPS_FOUND,
    REQUESTED,
    TRUE_SEEN,
    UNDEFINED_SEEN,
    WAITING,
    EventIndex,
    EventScratch,
    pack_state,
)
from matchwood.match.event.push_kernels import expand, match_one
from matchwood.match.event.thread_scratch import ThreadScratch

_NO_HITS: Int32Array = np.empty(0, np.int32)

# Whether the lazy atom of this number is true of an event.
LazyTruth = Callable[[int], Truth]

# What the state of a lazy atom is for each truth.
STATE = {True: TRUE_SEEN, False: FALSE_SEEN, None: UNDEFINED_SEEN}


class LazyAtoms:
    """The atoms of a segment that are evaluated on demand."""

    def __init__(
        self, segment: Segment, operators: Mapping[str, Operator], schema: Hierarchies | None
    ) -> None:
        self._segment = segment
        self._numbers = np.array(segment.lazy)
        self._operators = operators
        self._schema = schema

    def node(self, number: int) -> Node:
        """The predicate of an atom, by its number among the opaque atoms."""
        return self._segment.opaque[number]

    def evaluate(self, node: Node, seen: Event) -> Truth:
        """Whether a predicate is true of an event."""
        return evaluate(node, seen, operators=self._operators, schema=self._schema)

    def truth(self, event: Mapping[str, object] | Event) -> LazyTruth:
        """What says whether an atom is true of an event, which is read when one is asked for."""
        seen = event if isinstance(event, Event) else None

        def truth(number: int) -> Truth:
            nonlocal seen
            if seen is None:
                seen = Event(event)
            return self.evaluate(self.node(number), seen)

        return truth

    def match(
        self,
        scratch: ThreadScratch,
        view: ArrayView,
        event: tuple[Int32Array, Int32Array, Int32Array, Int32Array],
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        """Match an event by pushing, and evaluate what rules depend on; how many rules are true."""
        tree = self._segment.tree
        index, _, cells, arrays, output, _ = view.tuples
        arrays.counts[CALLS_BEFORE] = 0
        waiting = output.candidates[:0]
        if len(cells.branches):
            slots, codes, _, _ = event
            left = candidates(cells, slots, codes, arrays.codes, output.candidates)
            waiting = output.candidates[:left]
        match_one(index, arrays, *event, hits, waiting, scratch.epoch)
        if truth is not None:
            self._settle(index, arrays, event, truth, scratch.epoch)
        groups = arrays.out[: arrays.counts[GROUPS_FOUND]]
        return int(expand(groups, tree.group_start, tree.always, keep, scratch.rules))

    def _settle(
        self,
        index: EventIndex,
        arrays: EventScratch,
        event: tuple[Int32Array, ...],
        truth: LazyTruth,
        epoch: int,
    ) -> None:
        """Evaluate the atoms that rules still depend on, until none is asked for."""
        while True:
            asked = self._numbers[arrays.opaque[self._numbers] == pack_state(epoch, REQUESTED)]
            if not len(asked):
                return
            for number in asked.tolist():
                arrays.opaque[number] = pack_state(epoch, STATE[truth(number)])
            waiting = np.unique(arrays.wait[: arrays.counts[WAITING]])
            arrays.counts[CALLS_BEFORE] = 1
            match_one(index, arrays, *event, _NO_HITS, waiting, epoch)
