"""A batch means what `match` of each of its rows means, whatever holds the rows.

Tables with hostile columns are drawn, `--hostile` of them, and every one is answered in all ways.
"""

import random

import pandas
import polars
import pyarrow as pa
import pytest

from match.batch.hostile_tables import table_of
from matcher.expected import STRATEGIES, batches, pairs, singles
from matchwood import EventError, Matcher
from matchwood.language import evaluate, parse
from matchwood.language.events import Event

ASKED = [
    "{} = 1", "{} != 5", "{} < 1.1", "{} >= 1.1", "{} = 0.1", "{} > 9007199254740992",
    "{} = 1180591620717411303424", "{} between 0.5 and 1", "{} not between 1 and 5",
    "{} in (0, 5)", "{} not in ('x', 'y')", "{} in ('ab', 'y', '2026-01-01')", "{} = 'x'",
    "{} != 'y'", "{} > 'ab'", "{} like 'a%'", "{} not like '%x%'", "{} ilike 'É'",
    "{} rlike 'a|y'", "{} is null", "{} is not null", "{} = true", "not {}", "{} != true",
    "{} < true", "{} = date '2026-01-01'", "{} != date '2026-01-01'",
    "{} < timestamp '2026-01-01T12:00:00Z'", "{} >= timestamp '2026-01-01T12:00:00Z'",
    "{} = timestamp '2026-01-01T00:00:00.000000001Z'", "{} <= date '1970-01-01'",
    "not ({} > 0.5)", "contains({}, 'x')", "contains({}, 5)", "contains({}, true)",
    "not contains({}, date '2026-01-01')", "startswith({}, '2026')", "endswith({}, 'b')",
    "{} > 0 and {} < 2", "{} = 1 xor {} is null",
]  # fmt: skip
NAMES = ["a", "b", "a.x", "a.y", "b.x", "a.x.x", "a.x.y"]
PLAIN = dict(enumerate(text.replace("{}", name) for text in ASKED for name in NAMES))
TWO = ["a = b", "a != b", "a < b", "not (a >= b)", "a.x = a.y", "a.x < b", "a = a", "a.x = b.x"]
RULES = PLAIN | dict(enumerate(TWO, len(PLAIN)))
TREES = {rule_id: parse(text) for rule_id, text in RULES.items()}
AT_ONCE = 20


@pytest.fixture(scope="module")
def matchers():
    """Two matchers: with rules that compare attributes, and without."""
    return Matcher(RULES), Matcher(PLAIN)


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        rounds = metafunc.config.getoption("--hostile")
        metafunc.parametrize("seed", range(0, rounds, AT_ONCE))


def right_pairs(rows):
    """The matches by `evaluate`; None if some row is no event."""
    found = set()
    for number, row in enumerate(rows):
        try:
            seen = Event(row)
            found |= {(number, i) for i, tree in TREES.items() if evaluate(tree, seen) is True}
        except EventError:
            return None
    return found


@pytest.mark.slow
def test_hostile_tables(matchers, seed):
    for number in range(seed, seed + AT_ONCE):
        table, rows = table_of(random.Random(number))
        right = right_pairs(rows)
        try:
            compare(matchers, table, rows, right)
        except Exception as error:
            kinds = getattr(table, "schema", None) or getattr(table, "dtypes", None)
            error.add_note(f"table {number}:\n{kinds}\n{rows}")
            raise


def compare(matchers, table, rows, right):
    for matcher in matchers:
        if right is None:
            with pytest.raises(EventError):
                matcher.match_batch(table)
            continue
        here = {(number, rule_id) for number, rule_id in right if rule_id in matcher}
        assert named(singles(matcher, rows) ^ here) == []
        for strategy in STRATEGIES:
            assert named(batches(matcher, table, strategy) ^ here) == [], strategy


def named(found):
    return sorted((number, RULES[rule_id]) for number, rule_id in found)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 20, 40])
def test_hostile_tables_of_many_slices(matchers, first):
    """The same rows repeated, so that a table is cut into several batches."""
    times = 400
    for number in range(first, first + AT_ONCE):
        table, rows = table_of(random.Random(number))
        right = right_pairs(rows)
        if right is None or not rows or holds_arrow(table):
            continue
        many = {(row + turn * len(rows), i) for row, i in right for turn in range(times)}
        assert pairs(matchers[0].match_batch(repeated(table, times))) == many, number


def holds_arrow(table):
    """Whether a frame of pandas has columns of Arrow's, which it cannot always join."""
    return isinstance(table, pandas.DataFrame) and any(
        isinstance(kind, pandas.ArrowDtype) for kind in table.dtypes
    )


def repeated(table, times):
    if isinstance(table, pa.Table):
        return pa.concat_tables([table] * times)
    join = pandas.concat if isinstance(table, pandas.DataFrame) else polars.concat
    return join([table] * times)
