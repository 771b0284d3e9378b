"""The details of rules: of one rule as a tuple, of many as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.file.array_file import IndexFileError


class RuleDetails(NamedTuple):
    """A rule with everything that was said about it."""

    id: Any
    rule: Any  # as it was given: text, or the JSON form
    tags: frozenset[str]
    priority: float


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """An array of Python objects, which the garbage collector does not walk through as a list."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


class RuleColumns:
    """The details of many rules by ordinal; tags and priorities only where rules have any."""

    def __init__(
        self,
        ids: NDArray[Any] | Sequence[str],
        rules: NDArray[Any] | Sequence[Any],
        tags: Mapping[int, frozenset[str]],
        priority: NDArray[np.float64] | None,
        integers: bool = False,
    ) -> None:
        self._ids = ids  # an array, or packed strings that become one when first needed
        self._integers = integers  # whether the packed strings are integers
        self.rules = rules
        self.tags = tags
        self.priority = priority
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
            first += len(ordinals)
        return cls(np.concatenate(ids)[order], object_array(rules)[order], tags, priority)

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
        rules = self.rules
        array = rules if isinstance(rules, np.ndarray) else object_array(rules[:])
        return list(array[ordinals])

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, ordinal: int) -> RuleDetails:
        priority = 0.0 if self.priority is None else float(self.priority[ordinal])
        rule_id = self.ids[ordinal]
        plain = int(rule_id) if self.ids.dtype == np.int64 else rule_id
        tags = self.tags.get(ordinal, frozenset())
        return RuleDetails(plain, self.rules[ordinal], tags, priority)

    def __iter__(self) -> Iterator[RuleDetails]:
        return (self[ordinal] for ordinal in range(len(self)))
