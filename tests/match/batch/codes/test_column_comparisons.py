"""Rules that compare columns mean the same for a table as for its rows, one after the other."""

import random
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas
import pyarrow as pa
import pytest

from match.batch.hostile_kinds import BASIC, Dictionary, Lists, Plain, told
from match.batch.hostile_tables import _cut_out
from matcher.expected import STRATEGIES, batches, expected, force, singles
from matchwood import Matcher
from matchwood.kernels.masks import EVENTS
from matchwood.language.predicate_truth import compare_attributes
from matchwood.language.seen import see
from matchwood.match.batch.codes.column_comparisons import compare_columns, typed_column
from matchwood.match.batch.codes.lazy_columns import LazyColumns
from matchwood.match.event.lazy_atoms import STATE

OPS = ("=", "!=", "<", "<=", ">", ">=")
RULES = dict(
    enumerate(
        [
            *(f"a {op} b" for op in OPS),
            *(f"not (a {op} b)" for op in OPS),
            *("contains(a, b)", "not contains(a, b)", "contains(b, a) or a = b", "a = a", "b != b"),
            *("a = never", "not (never < b)", "contains(a, never)", "a < b xor b < c"),
            *(
                "a = 5 and a < b",
                "a is null or a < b",
                "a like '%x%' and a != b",
                "b = 0 or a > b",
            ),
            *("c and a = b and not (a < b)", "never = 1 and a = b"),
        ]
    )
)
INTEGERS = Plain(pa.int64(), [0, 5, 2**53 - 1, 2**53, 2**53 + 1, 2**60, 10**18, -(2**63)])
FLOATS = Plain(pa.float64(), [0.0, 5.0, 2.0**53 - 1, 2.0**53, 2.0**60, 1e18, -(2.0**63), np.inf])
TEXTS = Plain(pa.string(), ["", "x", "xx", "\ud7ff", "\ue000", "\U0010ffff", "É", "E\u0301"])


def families():
    """The kinds of columns whose values may be compared, and all others."""
    groups = {"number": [INTEGERS, FLOATS] * 3, "text": [TEXTS] * 2, "time": [], "other": []}
    for kind in BASIC:
        of = getattr(kind, "kind", pa.null())
        types = pa.types
        if types.is_integer(of) or types.is_floating(of) or types.is_decimal(of):
            groups["number"].append(kind)
        elif types.is_date(of) or types.is_timestamp(of):
            groups["time"].append(kind)
        elif types.is_string(of) or types.is_large_string(of):
            groups["text"].append(kind)
        else:
            groups["other"].append(kind)
    return groups


FAMILIES = families()


def any_column(rng, family, rows):
    """A column in several chunks, cut out of longer ones; with what it must be read as."""
    kind = rng.choice(FAMILIES[family])
    if rng.random() < 0.15:
        kind = Dictionary(kind, pa.int16(), rng)
    elif rng.random() < 0.08:
        kind = Lists(kind, "list")
    values = kind.values(rng, rows)
    cut = rng.randint(0, rows)
    chunks = [_cut_out(rng, kind, part) for part in (values[:cut], values[cut:])]
    return pa.chunked_array(chunks), [told(value) for value in values]


def any_table(rng, rows):
    family = rng.choice(list(FAMILIES))
    columns = {}
    for name in "abc":
        while name not in columns:
            own = family if rng.random() < 0.8 else rng.choice(list(FAMILIES))
            try:
                columns[name] = any_column(rng, own, rows)
            except (pa.ArrowException, NotImplementedError):
                continue  # what this version of Arrow cannot hold
    table = pa.table({name: held for name, (held, _) in columns.items()})
    rows_of = zip(*(values for _, values in columns.values()), strict=True)
    return table, [dict(zip(columns, row, strict=True)) for row in rows_of]


@pytest.fixture(scope="module")
def matcher():
    return Matcher(RULES)


def check(matcher, table, rows):
    right = expected(RULES, rows)
    assert singles(matcher, rows) == right
    for strategy in STRATEGIES:
        assert force(matcher, strategy)
        assert named(batches(matcher, table, strategy) ^ right) == [], strategy
        assert named(batches(matcher, rows, strategy) ^ right) == [], f"rows, {strategy}"


def named(found):
    return sorted((number, RULES[rule_id]) for number, rule_id in found)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_columns_of_any_types(matcher, first):
    for seed in range(first, first + 50):
        table, rows = any_table(random.Random(seed), 9)
        try:
            check(matcher, table, rows)
        except Exception as error:
            error.add_note(f"table {seed}:\n{table.schema}\n{rows}")
            raise


def test_a_table_of_several_batches(matcher):
    table, rows = any_table(random.Random(4), 50)
    many = pa.concat_tables([table] * (EVENTS // 25))
    right = expected(RULES, rows)
    repeated = {(n + 50 * turn, i) for n, i in right for turn in range(EVENTS // 25)}
    for strategy in STRATEGIES:
        assert batches(matcher, many, strategy) == repeated


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([2**60, 2**53 + 1, 1], [2.0**60, 2.0**53, 1.0]),
        ([2**64 - 1, 5, None], [2**63, 5, 1]),
        ([Decimal("0.1"), Decimal("5"), None], [0.1, 5.0, 0.5]),
        ([1, "1", 1.5, True, None, [1]], [1.0, "1", Decimal("1.5"), 1, None, [1]]),
        (["x", "ab", ["ab", 1], None], ["x", "b", "ab", "x"]),
        ([date(2026, 1, 1), "2026-01-01", datetime(2026, 1, 1)], [datetime(2026, 1, 1)] * 3),
        ([{"x": 1}, None, b"x"], [{"x": 1}, {"x": 1}, b"x"]),
    ],
)
def test_columns_of_mixed_types(matcher, left, right):
    rows = [{"a": a, "b": b} for a, b in zip(left, right, strict=True)]
    check(matcher, pandas.DataFrame(rows, dtype=object), rows)


def test_attributes_inside_objects():
    rules = {1: "a.x = a.y", 2: "not (a.x < b)", 3: "a = a.x", 4: "contains(a.y, a.x)"}
    rows = [
        {"a": {"x": 1, "y": 1}, "b": 1}, {"a": {"x": 3, "y": 2}, "b": 2}, {"a": None, "b": 1},
        {"a": {"x": None, "y": 1}, "b": None},
    ]  # fmt: skip
    matcher = Matcher(rules)
    for strategy in STRATEGIES:
        for table in (pa.Table.from_pylist(rows), pandas.DataFrame(rows)):
            assert batches(matcher, table, strategy) == expected(rules, rows)


@pytest.mark.parametrize("op", OPS)
def test_typed_columns_are_compared_as_values_are(op):
    """Not through a matcher, so that it is certain that columns were compared at once."""
    rng = random.Random(op)
    compared = 0
    for kinds in FAMILIES.values():
        for left in kinds:
            right = rng.choice(kinds)
            columns = [left.values(rng, 40), right.values(rng, 40)]
            typed = [
                typed_column(kind.build(values))
                for kind, values in zip((left, right), columns, strict=True)
                if not pa.types.is_date64(getattr(kind, "kind", pa.null()))
            ]
            if len(typed) < 2 or None in typed:
                continue
            pairs = zip(*columns, strict=True)
            truths = [compare_attributes(see("a", a), op, see("b", b)) for a, b in pairs]
            assert compare_columns(typed[0], op, typed[1]).tolist() == [STATE[t] for t in truths]
            compared += 1
    assert compared > 20


def test_only_the_columns_of_a_comparison_are_read(monkeypatch):
    """One rule that compares attributes must not make a table go row by row."""
    asked = []
    evaluate = LazyColumns._evaluate
    monkeypatch.setattr(
        LazyColumns, "_evaluate", lambda self, node: asked.append(str(node)) or evaluate(self, node)
    )
    monkeypatch.setattr("matchwood.match.batch.codes.event_tables.Table.rows", None)
    rules = {n: f"c{n} > 0" for n in range(20)} | {20: "never = 1 and c0 = c1"}
    table = pa.table({f"c{n}": [n, 0] for n in range(20)})
    matcher = Matcher(rules)
    for strategy, expected_nodes in (("sweep", ["c0 = c1"]), ("one by one", [])):
        asked.clear()
        assert force(matcher, strategy)
        assert matcher.match_batch(table).num_rows == 19
        assert asked == expected_nodes
