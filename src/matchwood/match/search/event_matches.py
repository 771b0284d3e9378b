"""The rules that were found for one event."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.language import parse
from matchwood.language.evaluation import bindings as bindings_of
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.operators.deciding import Decider
from matchwood.operators.open_clauses import Undecided


class EventMatches:
    """The rules that are true of one event, as ordinals of parts; ids are made when asked for."""

    def __init__(self, parts: Sequence[Part], pending: Sequence[PendingRule]) -> None:
        """Nothing is found yet in these parts, and among these pending rules."""
        self._searched = parts, pending
        self._parts: list[tuple[Part, Int32Array]] = []
        self._pending: list[RuleDetails] = []
        self.event: Undecided | None = None  # what operators answered, if any was asked

    def add(self, part: Part, ordinals: Int32Array) -> None:
        """Add rules of a part."""
        if len(ordinals):
            self._parts.append((part, ordinals))

    def add_pending(self, details: RuleDetails) -> None:
        """Add a rule that is in no part."""
        self._pending.append(details)

    def __len__(self) -> int:
        return sum(len(ordinals) for _, ordinals in self._parts) + len(self._pending)

    def ids(self) -> list[Any]:
        """The ids of all rules, in no promised order."""
        found: list[Any] = []
        for part, ordinals in self._parts:
            ids = part.details.ids.take(ordinals).tolist()
            found = found + ids if found else ids
        if self._pending:
            found += [details.id for details in self._pending]
        return found

    def id_array(self, limit: int | None = None, dictionary: bool = False) -> Any:
        """`ids`, or with a limit `best`, as one Arrow array, of which Python sees no value.

        With `dictionary` it refers to the ids of a part, so that none is copied. Copying them would
        give Python's lock away once more, and waiting for it takes longer where threads are many.
        """
        import pyarrow as pa

        if dictionary and limit is None and len(self._parts) == 1 and not self._pending:
            (part, ordinals), *_ = self._parts
            # kernels write no other numbers than those of rules, so none is checked
            return pa.DictionaryArray.from_arrays(
                pa.array(ordinals), part.details.arrow_ids, safe=False
            )
        ids = self._plain_ids(limit)
        return ids.dictionary_encode() if dictionary else ids

    def _plain_ids(self, limit: int | None) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self._id_type()
        if limit is not None:
            return pa.array(self.best(limit), kind)
        arrays = [  # kernels write no other numbers than those of rules, so none is checked
            pc.take(part.details.arrow_ids, pa.array(ordinals), boundscheck=False)
            for part, ordinals in self._parts
        ]
        if self._pending:
            arrays.append(pa.array([details.id for details in self._pending], kind))
        if len(arrays) == 1:
            return arrays[0]
        return pa.concat_arrays(arrays) if arrays else pa.array([], kind)

    def _id_type(self) -> Any:
        """The Arrow type of all ids; that of strings if there is no rule."""
        import pyarrow as pa

        parts, pending = self._searched
        if parts:
            return parts[0].details.arrow_ids.type
        return pa.array([pending[0].details.id]).type if pending else pa.string()

    def rules(self) -> dict[Any, Any]:
        """The rules by id, as they were given."""
        rules = {details.id: details.rule for details in self._pending}
        for part, ordinals in self._parts:
            for ordinal in ordinals.tolist():
                details = part.details[ordinal]
                rules[details.id] = details.rule
        return rules

    def bindings(self, ids: Sequence[Any], decider: Decider) -> dict[Any, list[dict[str, object]]]:
        """For each of these ids the substitutions that satisfy the variables of its rule."""
        event = self.event
        if event is None:
            return {rule_id: [] for rule_id in ids}
        rules = self.rules()
        return {
            rule_id: bindings_of(
                parse(rules[rule_id]), event.seen, ask=decider.asking(event, rule_id)
            )
            for rule_id in ids
        }

    def best(self, limit: int) -> list[Any]:
        """The ids of the rules of highest priority, highest first; only their ids are made."""
        if limit < 0:
            raise ValueError(f"limit must be 0 or more, found {limit}")
        candidates: list[tuple[float, int, Any]] = []
        for part, ordinals in self._parts:
            priority = part.details.priority
            if priority is None:
                chosen = ordinals[:limit]
                values = np.zeros(len(chosen))
            else:
                values = priority[ordinals]
                if len(values) > limit:
                    top = np.argpartition(-values, limit)[:limit]
                    ordinals, values = ordinals[top], values[top]
                chosen = ordinals
            ids = part.details.ids[chosen].tolist()
            candidates.extend(zip((-values).tolist(), range(len(ids)), ids, strict=True))
        candidates.extend((-d.priority, 0, d.id) for d in self._pending)
        best = heapq.nsmallest(limit, candidates, key=lambda c: c[0])
        return [rule_id for _, _, rule_id in best]
