"""Columns that become codes on a card, in the simulator, beside those of the processor."""

import doctest
import time

import numpy as np
import pyarrow as pa
import pytest

from match.batch.gpu.card_check import answer
from match.batch.gpu.card_columns_check import differences_of_columns, matcher_of
from matcher.expected import expected, pairs
from matchwood.match.batch.codes import card_columns
from matchwood.match.batch.gpu import card
from matchwood.match.search.event_slices import slices_of


@pytest.fixture(autouse=True)
def _in_the_simulator(simulator):
    card._search.problem = None  # what a test before has given up


@pytest.fixture(scope="module")
def matcher():
    return matcher_of()


def test_documented_examples():
    assert doctest.testmod(card_columns).failed == 0


@pytest.mark.parametrize("seed", range(12))
def test_random_tables(matcher, seed):
    wrong = differences_of_columns(matcher, seed, rows=30)
    assert wrong == "" or "no column" in wrong


def test_all_kinds_are_encoded_on_the_card(matcher):
    assert (
        sum("no column" in differences_of_columns(matcher, seed, 3) for seed in range(20, 40)) < 5
    )


def kinds(matcher, **columns):
    """How many columns of a table a card encodes, of each kind, and whether numbers are exact."""
    (part,) = matcher.store.snapshot.parts
    (piece,) = slices_of(pa.table(columns), None, None)
    given = piece.part_codes(part).columns
    exact = given.write_doubles(np.empty((given.numbers, piece.events)))
    return len(given.looked_up), given.numbers, len(given.moments), exact


RULES = {
    n: f"i = {n} or f < {n}.5 or s = 'x{n}' or t > timestamp '2024-01-0{n}'" for n in (1, 2, 3)
}


def test_what_is_left_to_the_processor():
    matcher = matcher_of(RULES | {4: "i > 9007199254740993", 5: "s < 'x10'"})
    plain = {
        "i": pa.array([1, None, 3]),
        "f": pa.array([0.5, float("nan"), None]),
        "s": pa.array(["x1", None, "x3"]),
        "t": pa.array([1_704_153_600, None, 0], pa.timestamp("s")),
    }
    assert kinds(matcher, **plain) == (1, 2, 1, True)
    large = plain | {"i": pa.array([2**53, 2**53 + 1, None])}
    assert kinds(matcher, **large) == (1, 2, 1, False)
    far = plain | {"t": pa.array([2**40, None, 0], pa.timestamp("s"))}
    assert kinds(matcher, **far)[2] == 0
    many = {"f": pa.array([0.5] * 1100), "s": pa.array([f"x{n}" for n in range(1100)])}
    (part,) = matcher.store.snapshot.parts
    for piece in slices_of(pa.table(many), None, None):
        assert not piece.part_codes(part).columns.looked_up
    for table in map(pa.table, (plain, large)):
        found = pairs(matcher.match_batch(table, device="gpu"))
        assert found == expected(dict(matcher.items()), table.to_pylist())
    table = pa.table(far)  # Python has no such times
    assert pairs(matcher.match_batch(table, device="gpu")) == pairs(matcher.match_batch(table))


def test_codes_are_made_for_the_processor_only_if_it_asks(matcher, monkeypatch):
    (part,) = matcher.store.snapshot.parts
    (piece,) = slices_of(pa.table({"a": pa.array([1.5, None, 0.1])}), None, None)
    codes = piece.part_codes(part)
    monkeypatch.setattr(codes, "_codes", lambda: pytest.fail("all codes are made"))
    found = {
        int(rule)
        for _, rules in part.batch.pairs(codes, np.empty(0, np.uint8), "gpu")
        for rule in rules
    }
    assert found


def test_a_card_that_fails_leaves_the_columns_to_the_processor(matcher, monkeypatch):
    from matchwood.match.batch.gpu.card_coding import CardCoding
    from matchwood.match.batch.strategies import gpu_strategy

    def failing(*_):
        raise RuntimeError("an illegal memory access was encountered")

    table = pa.table({"a": pa.array([1, 5, None, 7]), "b": pa.array(["x", "t1", None, "5"])})
    right = pairs(matcher.match_batch(table))
    monkeypatch.setattr(CardCoding, "write", failing)
    monkeypatch.setattr(gpu_strategy, "_said", set())
    with pytest.warns(card.CardWarning, match="illegal memory access"):
        found = matcher.match_batch(table, device="gpu")
    assert pairs(found) == right


@pytest.mark.parametrize(
    ("columns", "told", "encodes"),
    [(127, None, False), (128, None, True), (127, True, True), (128, False, False)],
)
def test_a_card_encodes_where_it_pays_or_as_it_is_told(columns, told, encodes):
    names = [f"n{number}" for number in range(columns)]
    matcher = matcher_of({name: f"{name} > 5 or s = 'x'" for name in names})
    (part,) = matcher.store.snapshot.parts
    part.batch.gpu.encodes = told
    table = pa.table({name: pa.array([5, 6]) for name in names} | {"s": pa.array(["x", "y"])})
    (piece,) = slices_of(table, None, None)
    assert (part.batch.gpu.given(piece.part_codes(part)).columns is not None) == encodes
    assert pairs(matcher.match_batch(table, device="gpu")) == pairs(matcher.match_batch(table))


def test_the_check_of_a_card_fails_unless_a_card_answers(matcher, monkeypatch, capsys):
    table = pa.table({"a": pa.array([1, 5, None])})

    def asked():
        return "" if matcher.match_batch(table, device="gpu").num_rows else "no matches"

    now = time.perf_counter()
    assert answer("with a card", now, asked) == 0
    monkeypatch.setattr(card._search, "problem", "no GPU is used because it is a test")
    assert answer("first time", now, asked) == 1  # with a warning
    assert answer("second time", now, asked) == 1  # without one: it is given once
    assert answer("another device", now, lambda: "") == 1
    assert capsys.readouterr().out.count("no GPU is used because it is a test") == 3
