"""Sums over columns, and lists with names, mean the same for a table as for its rows."""

import random
from datetime import date
from decimal import Decimal

import pandas
import pyarrow as pa
import pytest

from match.batch.codes.test_column_comparisons import any_table
from matcher.expected import STRATEGIES, batches, expected, force, singles
from matchwood import Matcher, parse
from matchwood.language import evaluate
from matchwood.language.tree import SumComparison
from matchwood.match.batch.codes.column_comparisons import typed_column
from matchwood.match.batch.codes.column_sums import compare_sums
from matchwood.match.batch.codes.lazy_columns import LazyColumns
from matchwood.match.event.lazy_atoms import STATE

LISTS = {"some": ["x", "xx", 5, 0.1, True, date(2026, 1, 31)], "none": []}
RULES = dict(
    enumerate(
        [
            *(f"a + b {op} 2 * c" for op in ("=", "!=", "<", "<=", ">", ">=")),
            *("a > 3 * b", "not (a > 3 * b)", "(a > 3 * b) is unknown", "a / b >= 1 or a / c < 1"),
            *(
                "a - a = 0",
                "a + 0.1 = b + 0.1",
                "never + a > 1",
                "1 / (a - b) > c",
                "a * b > 1e400",
            ),
            *("a in list 'some'", "a not in list 'some'", "lower(a) in list 'some' or b = 5"),
            *("(b in list 'some') is not true", "never in list 'some'", "a in list 'none'"),
            *("c = 5 and a in list 'some'", "* in list 'some' and a + 1 > b"),
        ]
    )
)
# Where floats err: ties, what doubles cannot hold, what becomes infinite or nothing.
POOLS = [
    [-2, -1, 0, 1, 2, 3],
    [0.1, 0.2, 0.3, 0.5, -0.1, 1.5, 1e-3],
    [2**52, 2**53 - 1, 2**53, 2**53 + 1, -(2**53), 2**62],
    [2.0**53, 1e308, -1e308, 1e300, 1e-160, 1e-162, 1e-308, 2.2e-308, 5e-324],
    [float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0],
]
LITERALS = ["0", "1", "3", "0.1", "0.5", "9007199254740993", "1e-400", "1e400", "1e-310"]


def check(matcher, table, rows):
    right = expected(RULES, rows, lists=LISTS)
    assert singles(matcher, rows) == right
    for strategy in STRATEGIES:
        assert force(matcher, strategy)
        assert batches(matcher, table, strategy) == right, strategy
        assert batches(matcher, rows, strategy) == right, f"rows, {strategy}"


@pytest.fixture(scope="module")
def matcher():
    return Matcher(RULES, lists=LISTS)


@pytest.mark.slow
def test_columns_of_any_types(matcher):
    for seed in range(30):
        table, rows = any_table(random.Random(f"sums {seed}"), 9)
        try:
            check(matcher, table, rows)
        except Exception as error:
            error.add_note(f"table {seed}:\n{table.schema}\n{rows}")
            raise


def test_columns_of_mixed_types(matcher):
    rows = [
        {"a": 5, "b": "x", "c": None},
        {"a": "X", "b": 0.1, "c": 5},
        {"a": ["x", 1], "b": Decimal("0.10"), "c": 0},
        {"a": "2026-01-31", "b": date(2026, 1, 31), "c": True},
        {"a": Decimal("1e-30"), "b": 0, "c": 1},
        {"a": {"x": 1}, "b": b"x", "c": float("inf")},
        {"a": 10**30, "b": 10**30 - 1, "c": 1.0},
    ]
    check(matcher, pandas.DataFrame(rows, dtype=object), rows)


def random_sum(rng, depth):
    if not depth or rng.random() < 0.2:
        return rng.choice(["a", "b", "c", rng.choice(LITERALS)])
    left, right = random_sum(rng, depth - 1), random_sum(rng, depth - 1)
    return f"({left} {rng.choice('+-*/')} {right})"


def test_floats_decide_only_what_is_certain():
    """Not through a matcher, so that what floats decide is not decided once more."""
    rng = random.Random(7)
    decided = 0
    for _ in range(150):
        op = rng.choice(["=", "!=", "<", "<=", ">", ">="])
        node = parse(f"{random_sum(rng, 2)} + a {op} {random_sum(rng, rng.randrange(3))}")
        assert isinstance(node, SumComparison)
        given = {name: rng.choices([*rng.choice(POOLS), None], k=20) for name in "abc"}
        typed = {}
        for name, values in given.items():
            is_float = any(isinstance(value, float) for value in values)
            typed[name] = typed_column(pa.array(values, pa.float64() if is_float else pa.int64()))
        states, open_rows = compare_sums(node, typed, 20)
        for row in set(range(20)) - set(open_rows.tolist()):
            event = {name: values[row] for name, values in given.items()}
            assert states[row] == STATE[evaluate(node, event)], (str(node), event)
            decided += 1
    assert decided > 1_500


def test_only_what_floats_cannot_decide_is_evaluated(monkeypatch):
    asked = []
    module = "matchwood.match.batch.codes.lazy_columns"
    monkeypatch.setattr(f"{module}.compare_sides", lambda *given: asked.append(given[-1]))
    monkeypatch.setattr(LazyColumns, "_at", None)
    table = pa.table({"a": [1, 3, 4], "b": [0.1, 1.0, 0.7], "ip": ["x", "y", "x"]})
    rules = {"sum": "a < 10 * b", "list": "ip in list 'some'"}
    matcher = Matcher(rules, lists=LISTS)
    assert force(matcher, "sweep")
    found = matcher.match_batch(table).to_pylist()
    assert sorted((row["event"], row["rule_id"]) for row in found) == [
        (0, "list"), (1, "sum"), (2, "list"), (2, "sum"),
    ]  # fmt: skip
    assert [{name: seen.value for name, seen in one.items()} for one in asked] == [
        {"a": 1, "b": Decimal("0.1")}
    ]
