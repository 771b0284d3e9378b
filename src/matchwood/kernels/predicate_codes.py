"""What a predicate (an atom) asks of its attribute, as a number that kernels can compare."""

from __future__ import annotations

# The predicates in the order of their numbers.
PREDICATES = ("=", "<", "<=", ">", ">=", "between", "prefix", "in", "null", "opaque")
EQ, LT, LE, GT, GE, BETWEEN, PREFIX, IN, IS_NULL, IS_OPAQUE = range(len(PREDICATES))
