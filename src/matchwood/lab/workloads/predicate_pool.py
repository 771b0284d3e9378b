"""Predicates over integer attributes, by number: what predicate i is depends on the seed alone."""

from dataclasses import dataclass

import numpy as np

from matchwood.kernels.array_types import FloatArray, Int64Array
from matchwood.lab.workloads.drawing import below, mixed, uniform, zipf

# The text of each comparison; its position is the number of the operator.
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")

# The numbers of the other operators, which follow those of the comparisons.
IN, NOT_IN, BETWEEN = range(6, 9)

# The share of the pool that is comparisons. An attribute has only six comparisons per value, so
# they fill the hottest ranks, where a tenth of the entries has two fifths of the uses; lists and
# ranges are the rest.
COMPARISON_RANKS = 0.10

# The most values of `in` and `not in`; the fewest are two.
MOST_VALUES = 5

# The shares of `in` and `not in` among lists and ranges, as ABE-Gen has them.
MIXED = (1 / 3, 1 / 3)


@dataclass(frozen=True)
class PredicatePool:
    """Predicates by number."""

    key: int
    size: int
    attributes: int
    attribute_alpha: float
    cardinality: int
    lists: tuple[float, float] = MIXED
    widths: tuple[float, float] = (0.2, 0.7)  # the part of the values that `between` covers

    def all(self) -> "DrawnPredicates":
        return self.some(np.arange(self.size))

    def some(self, numbers: Int64Array) -> "DrawnPredicates":
        cardinality, top = self.cardinality, self.cardinality - 1
        drawn = [uniform(self.key, numbers, slot) for slot in range(4 + MOST_VALUES)]
        attributes = zipf(drawn[0], self.attributes, self.attribute_alpha)
        comparisons = numbers < round(self.size * COMPARISON_RANKS)
        others = np.searchsorted(np.cumsum(self.lists), drawn[1], side="right")
        operators = np.where(comparisons, below(drawn[1], IN), IN + others)
        values = np.full((len(numbers), MOST_VALUES), -1)
        values[:, 0] = below(drawn[2], cardinality)
        # `<` and `>=` never get 0, and `<=` and `>` never the highest value: such predicates would
        # be always true or always false.
        for bounded, shift in (((2, 5), 1), ((3, 4), 0)):
            rows = np.isin(operators, bounded)
            values[rows, 0] = below(drawn[2][rows], max(1, top)) + shift
        rows = operators == BETWEEN
        narrowest, widest = self.widths
        widths = (narrowest + drawn[3][rows] * (widest - narrowest)) * cardinality
        spans = np.clip(np.rint(widths).astype(np.int64) - 1, 0, top)
        values[rows, 0] = below(drawn[2][rows], top - spans + 1)
        values[rows, 1] = values[rows, 0] + spans
        rows = (operators == IN) | (operators == NOT_IN)
        values[rows] = _value_lists(drawn[3][rows], np.array(drawn[4:]).T[rows], cardinality)
        return DrawnPredicates(attributes, operators, values)


@dataclass(frozen=True)
class DrawnPredicates:
    """Predicates as columns; `values` is padded with -1 on the right."""

    attributes: Int64Array
    operators: Int64Array
    values: Int64Array

    def texts(self) -> list[str]:
        texts = []
        columns = (self.attributes.tolist(), self.operators.tolist(), self.values.tolist())
        for attribute, operator, values in zip(*columns, strict=True):
            if operator < IN:
                texts.append(f"a{attribute} {COMPARISONS[operator]} {values[0]}")
            elif operator == BETWEEN:
                texts.append(f"a{attribute} between {values[0]} and {values[1]}")
            else:
                listed = ", ".join([str(value) for value in values if value >= 0])
                texts.append(f"a{attribute} {'in' if operator == IN else 'not in'} ({listed})")
        return texts

    def identities(self) -> Int64Array:
        """A hash per predicate, equal for equal attributes, operators and values."""
        hashed = mixed(self.attributes * 9 + self.operators)
        for column in self.values.T:
            hashed = mixed(hashed + column)
        return hashed


def _value_lists(length: FloatArray, drawn: FloatArray, cardinality: int) -> Int64Array:
    """Rows of two to five ascending distinct values, padded with -1 on the right."""
    most = min(MOST_VALUES, cardinality)
    fewest = min(2, most)
    counts = (fewest + below(length, most - fewest + 1))[:, None]
    places = np.arange(MOST_VALUES)
    # Ascending numbers, the j-th raised by j, are distinct; room for that is left at the top.
    values = below(drawn, cardinality - counts + 1)
    values[places >= counts] = cardinality
    values.sort(axis=1)
    return np.where(places < counts, values + places, -1)
