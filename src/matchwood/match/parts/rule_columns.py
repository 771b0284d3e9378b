"""The details of rules: of one rule as a tuple, of many as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.file.array_file import IndexFileError
from matchwood.tables.rule_data import NO_DATA, data_of


class RuleDetails(NamedTuple):
    """A rule with everything that was said about it."""

    id: Any
    rule: Any  # as it was given: text, or the JSON form
    tags: frozenset[str]
    priority: float
    data_text: str = NO_DATA  # as JSON

    @property
    def data(self) -> Any:
        """What the rule carries, any JSON; None if it carries nothing."""
        return data_of(self.data_text)


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """An array of Python objects, which the garbage collector does not walk through as a list."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


class RuleColumns:
    """The details of many rules by ordinal; tags, priorities and data only where rules have any."""

    def __init__(
        self,
        ids: NDArray[Any] | Sequence[str],
        rules: NDArray[Any] | Sequence[Any],
        tags: Mapping[int, frozenset[str]],
        priority: NDArray[np.float64] | None,
        integers: bool = False,
        data: Sequence[str] | NDArray[Any] | None = None,
    ) -> None:
        self._ids = ids  # an array, or packed strings that become one when first needed
        self._integers = integers  # whether the packed strings are integers
        self.rules = rules
        self.tags = tags
        self.priority = priority
        self.data = data  # JSON texts, NO_DATA for rules without any; None if no rule has any
        self._arrow_ids: Any = None

    @classmethod
    def joined(
        cls,
        columns: Sequence[RuleColumns],
        chosen: Sequence[NDArray[np.int64]],
        rules: Sequence[Any],
        order: NDArray[np.int64],
    ) -> RuleColumns:
        """Some rules of each of several columns, concatenated and then put into an order."""
        ids = [column.ids[ordinals] for column, ordinals in zip(columns, chosen, strict=True)]
        new_ordinal = np.empty(len(order), np.int64)
        new_ordinal[order] = np.arange(len(order))
        tags: dict[int, frozenset[str]] = {}
        priority: NDArray[np.float64] | None = None
        data: NDArray[Any] | None = None
        first = 0
        for column, ordinals in zip(columns, chosen, strict=True):
            if column.tags:
                for i, ordinal in enumerate(ordinals.tolist(), first):
                    if ordinal in column.tags:
                        tags[int(new_ordinal[i])] = column.tags[ordinal]
            if column.priority is not None:
                if priority is None:
                    priority = np.zeros(len(order))
                priority[new_ordinal[first : first + len(ordinals)]] = column.priority[ordinals]
            if column.data is not None:
                if data is None:
                    data = np.full(len(order), NO_DATA, object)
                data[new_ordinal[first : first + len(ordinals)]] = column.data_at(ordinals)
            first += len(ordinals)
        texts = object_array(rules)[order]
        return cls(np.concatenate(ids)[order], texts, tags, priority, data=data)

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of all rules; those of a file are unpacked when they are first needed."""
        if not isinstance(self._ids, np.ndarray):
            strings = self._ids[:]
            ids: Sequence[Any] = strings
            if self._integers:
                try:
                    ids = [int(text) for text in strings]
                except ValueError:
                    raise IndexFileError("holds an id that is no integer") from None
            self._ids = np.array(ids, object)
        return self._ids

    @property
    def arrow_ids(self) -> Any:
        """The ids as an Arrow array, made once: every batch of matches refers to them."""
        if self._arrow_ids is None:
            import pyarrow as pa

            self._arrow_ids = pa.array(self.ids)
        return self._arrow_ids

    def rules_at(self, ordinals: NDArray[Any]) -> list[Any]:
        """The rules with these ordinals, as they were given."""
        return list(_at(self.rules, ordinals))

    def data_at(self, ordinals: NDArray[Any]) -> list[str]:
        """The data of the rules with these ordinals, as JSON texts."""
        if self.data is None:
            return [NO_DATA] * len(ordinals)
        return list(_at(self.data, ordinals))

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, ordinal: int) -> RuleDetails:
        priority = 0.0 if self.priority is None else float(self.priority[ordinal])
        rule_id = self.ids[ordinal]
        plain = int(rule_id) if self.ids.dtype == np.int64 else rule_id
        tags = self.tags.get(ordinal, frozenset())
        data = NO_DATA if self.data is None else self.data[ordinal]
        return RuleDetails(plain, self.rules[ordinal], tags, priority, data)

    def __iter__(self) -> Iterator[RuleDetails]:
        return (self[ordinal] for ordinal in range(len(self)))


def _at(values: Sequence[Any] | NDArray[Any], ordinals: NDArray[Any]) -> NDArray[Any]:
    array = values if isinstance(values, np.ndarray) else object_array(values[:])
    chosen: NDArray[Any] = array[ordinals]
    return chosen
