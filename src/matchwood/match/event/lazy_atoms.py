"""Atoms that are evaluated on demand: comparisons of attributes, calls, and what stays whole.

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
from matchwood.language.aliases import Aliases
from matchwood.language.bindings import Truth
from matchwood.language.evaluation import TRUTHS, Hierarchies, Operator, evaluate
from matchwood.language.events import Event
from matchwood.language.named_lists import NamedLists, ValueList
from matchwood.language.predicate_truth import known_list
from matchwood.language.tree import Elements, InList, Node, TruthTest
from matchwood.match.event.element_index import ElementIndexes, KnownElements, MatcherOf
from matchwood.match.event.event_kernels import match_again, match_codes
from matchwood.match.event.literal_kernels import (
    FALSE_SEEN,
    REQUESTED,
    TRUE_SEEN,
    UNDEFINED_SEEN,
    WAITING,
    pack_state,
)
from matchwood.match.event.thread_scratch import ThreadScratch

# Whether the lazy atom of this number is true of an event.
LazyTruth = Callable[[int], Truth]

# What the state of a lazy atom is for each truth.
STATE = {True: TRUE_SEEN, False: FALSE_SEEN, None: UNDEFINED_SEEN}

# The truth that a state stands for.
TRUTH = {state: truth for truth, state in STATE.items()}


class LazyAtoms:
    """The atoms of a segment that are evaluated on demand."""

    def __init__(
        self,
        segment: Segment,
        operators: Mapping[str, Operator],
        schema: Hierarchies | None,
        lists: NamedLists | None,
        aliases: Aliases | None,
        matcher_of: MatcherOf,
    ) -> None:
        self._segment = segment
        self._numbers = np.array(segment.lazy)
        self._operators = operators
        self._schema = schema
        self._lists = lists
        self.aliases = aliases
        asked = map(_asked, (segment.opaque[number] for number in segment.lazy))
        self.elements = ElementIndexes(
            [node for node in asked if isinstance(node, Elements)], matcher_of
        )

    def node(self, number: int) -> Node:
        """The predicate of an atom, by its number among the opaque atoms."""
        return self._segment.opaque[number]

    def nodes(self) -> list[Node]:
        """The predicates of all of these atoms."""
        return [self._segment.opaque[number] for number in self._segment.lazy]

    def list_of(self, node: InList) -> ValueList:
        """The values that the list has now which a predicate names."""
        return known_list(node.name, self._lists)

    def evaluate(self, node: Node, seen: Event, known: KnownElements) -> Truth:
        """Whether a predicate is true of an event, of whose elements `known` says something."""
        asked = _asked(node)
        if isinstance(asked, Elements):
            path = asked.attribute
            if path not in known:
                known[path] = self.elements.answers(path, seen)
            truth = TRUTH[int(self.elements.state(asked, known[path]))]
            if isinstance(node, TruthTest):
                return (truth is TRUTHS[node.truth]) is not node.negated
            return truth
        return evaluate(
            node, seen, operators=self._operators, schema=self._schema, lists=self._lists
        )

    def truth(self, event: Mapping[str, object] | Event) -> LazyTruth:
        """What says whether an atom is true of an event, which is read when one is asked for."""
        seen = event if isinstance(event, Event) else None
        known: KnownElements = {}

        def truth(number: int) -> Truth:
            nonlocal seen
            if seen is None:
                seen = Event(event, self.aliases)
            return self.evaluate(self.node(number), seen, known)

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
        arrays, epoch = scratch.arrays, scratch.epoch
        count = int(match_codes(view.places, *event, hits, keep, epoch))
        while truth is not None:
            asked = self._numbers[arrays.opaque[self._numbers] == pack_state(epoch, REQUESTED)]
            if not len(asked):
                break
            for number in asked.tolist():
                arrays.opaque[number] = pack_state(epoch, STATE[truth(number)])
            waiting = np.unique(arrays.wait[: arrays.counts[WAITING]])
            count = int(match_again(view.places, *event, waiting, keep, epoch))
        return count


def _asked(node: Node) -> Node:
    """What a test of truth of one predicate is about, or else the node itself."""
    return node.operands[0] if isinstance(node, TruthTest) else node
