"""What is known of rules, as columns beside their ids, for those who want it with matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule
from matchwood.match.parts.rule_columns import RuleDetails

# The columns that may be asked for, with their types; data is JSON text.
FACTS = {
    "rule": pa.string(),
    "tags": pa.list_(pa.string()),
    "priority": pa.float64(),
    "data": pa.string(),
}


def check_facts(names: Iterable[str]) -> tuple[str, ...]:
    """The names of columns about rules; a ValueError if there is no such column."""
    if isinstance(names, str):
        raise TypeError(f"rule_columns is a list of names, found the string {names!r}")
    chosen = tuple(names)
    for name in chosen:
        if name not in FACTS:
            raise ValueError(f"rule_columns: expected {', '.join(FACTS)}, found {name!r}")
    if len(set(chosen)) < len(chosen):
        raise ValueError("rule_columns: a name is listed twice")
    return chosen


def facts_of(
    parts: Sequence[Part], pending: Sequence[PendingRule], names: Sequence[str]
) -> dict[str, Any]:
    """By name: an Arrow array of what is known of each rule, in the order of `ids_of`."""
    found: dict[str, Any] = {}
    for name in names:
        arrays = [_of_part(part, name) for part in parts]
        if pending or not arrays:
            arrays.append(fact_array((rule.details for rule in pending), name))
        found[name] = pa.concat_arrays(arrays)
    return found


class FactColumns:
    """Columns about rules that go with the matches of one snapshot."""

    def __init__(self, snapshot: Any, names: Iterable[str]) -> None:
        self.names = check_facts(names)
        self._columns = facts_of(snapshot.parts, snapshot.pending, self.names)

    def added(self, matches: Any) -> Any:
        """A record batch or a table of matches with these columns."""
        for name, values in self._columns.items():
            rule_id = matches.column("rule_id")
            if isinstance(rule_id, pa.ChunkedArray):
                taken = [values.take(chunk.indices) for chunk in rule_id.chunks]
                column = pa.chunked_array(taken, values.type)
            else:
                column = values.take(rule_id.indices)
            matches = matches.append_column(name, column)
        return matches


def fact_array(details: Iterable[RuleDetails], name: str) -> Any:
    """What is known of some rules as an Arrow array."""
    return pa.array([_fact(one, name) for one in details], FACTS[name])


def _of_part(part: Part, name: str) -> Any:
    details, kind = part.details, FACTS[name]
    every = np.arange(len(details))
    if name == "rule":
        return pa.array([str(rule) for rule in details.rules_at(every)], kind)
    if name == "data":
        return pa.array([text or None for text in details.data_at(every)], kind)
    if name == "priority":
        own = details.priority
        return pa.array(np.zeros(len(details)) if own is None else own, kind)
    tags = details.tags
    return pa.array([sorted(tags.get(ordinal, ())) for ordinal in range(len(details))], kind)


def _fact(details: RuleDetails, name: str) -> Any:
    if name == "tags":
        return sorted(details.tags)
    if name == "data":
        return details.data_text or None
    return getattr(details, name)
