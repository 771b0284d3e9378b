"""Many rules as they were given: in lists, with tags and priorities only where rules have any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.match.parts.rule_columns import RuleColumns, RuleDetails, object_array
from matchwood.tables.rule_data import NO_DATA


class GivenRules(NamedTuple):
    """Rules by position; a million of them are four lists and dicts instead of a million tuples."""

    ids: list[Any]
    rules: list[Any]  # texts, or other forms of rules
    tags: dict[int, frozenset[str]]  # of positions
    priorities: dict[int, float]
    data: dict[int, str]  # JSON texts

    @classmethod
    def of(cls, details: Iterable[RuleDetails]) -> GivenRules:
        """Rules that are given one by one."""
        given = cls([], [], {}, {}, {})
        for position, (rule_id, rule, tags, priority, data) in enumerate(details):
            given.ids.append(rule_id)
            given.rules.append(rule)
            if tags:
                given.tags[position] = tags
            if priority:
                given.priorities[position] = priority
            if data:
                given.data[position] = data
        return given

    @classmethod
    def of_pairs(cls, pairs: Iterable[Any]) -> GivenRules:
        """Rules that are pairs of id and rule."""
        given = cls([], [], {}, {}, {})
        ids, rules = given.ids, given.rules
        for pair in pairs:
            try:
                rule_id, rule = pair
            except (TypeError, ValueError):
                raise TypeError(f"rules are pairs of id and rule, found {pair!r}") from None
            ids.append(rule_id)
            rules.append(rule)
        return given

    def chosen(self, positions: Sequence[int]) -> GivenRules:
        """Some of the rules."""
        return GivenRules(
            [self.ids[i] for i in positions],
            [self.rules[i] for i in positions],
            {new: self.tags[i] for new, i in enumerate(positions) if i in self.tags},
            {new: self.priorities[i] for new, i in enumerate(positions) if i in self.priorities},
            {new: self.data[i] for new, i in enumerate(positions) if i in self.data},
        )

    def distinct(self) -> GivenRules:
        """The last rule of each id, where that id was first."""
        if len(set(self.ids)) == len(self.ids):
            return self
        last = {rule_id: position for position, rule_id in enumerate(self.ids)}
        return self.chosen(list(last.values()))

    def details(self, position: int) -> RuleDetails:
        """One of the rules with everything that was said about it."""
        return RuleDetails(
            self.ids[position],
            self.rules[position],
            self.tags.get(position, frozenset()),
            self.priorities.get(position, 0.0),
            self.data.get(position, NO_DATA),
        )

    def columns(self, order: NDArray[np.int64]) -> RuleColumns:
        """These rules by ordinal, where the rule of ordinal i is the one at order[i]."""
        integers = bool(self.ids) and isinstance(self.ids[0], int)
        try:
            ids = np.array(self.ids, np.int64) if integers else object_array(self.ids)
        except OverflowError:
            ids = object_array(self.ids)
        ordinal = np.empty(len(self.ids), np.int64)
        ordinal[order] = np.arange(len(order))
        given = np.zeros(len(self.ids), np.bool_)  # the rest was refused
        given[order] = True
        tags = {int(ordinal[i]): tags for i, tags in self.tags.items() if given[i]}
        priority = None
        if self.priorities:
            priority = np.zeros(len(self.ids))
            priority[list(self.priorities)] = list(self.priorities.values())
            priority = priority[order]
        data = None
        if self.data:
            data = np.full(len(self.ids), NO_DATA, object)
            data[list(self.data)] = list(self.data.values())
            data = data[order]
        rules = object_array(self.rules)[order]
        return RuleColumns(ids[order], rules, tags, priority, data=data)
