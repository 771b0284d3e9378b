"""Values: exact numbers, times and families."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from zoneinfo import ZoneInfo

import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.random_rules import numbers, times
from matchwood import RuleError
from matchwood.language.values import (
    NULL,
    OPAQUE,
    Family,
    Time,
    Value,
    exact,
    family_of,
    literal,
    negative,
    read,
    read_number,
    read_time,
    spell_number,
)

# Numbers


@given(numbers)
def test_numbers_are_spelled_as_they_are_read(number):
    kept = literal(number)
    text = spell_number(kept)
    again = negative(read_number(text[1:])) if text.startswith("-") else read_number(text)
    assert again == kept
    assert type(again) is type(kept)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_shortest_decimal_that_reads_back_as_it(number):
    assert exact(number) == Decimal(repr(number))
    assert float(exact(number)) == number


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(1, 5))
def test_exactness_does_not_depend_on_the_decimal_context(number, precision):
    with localcontext() as context:
        context.prec = precision
        kept = exact(number)
        assert negative(negative(kept)) == kept
    assert kept == number


def test_canonical_numbers():
    for number in (1, 1.0, Decimal("1.00"), Decimal("0.1e1"), numpy.int8(1), numpy.float32(1)):
        assert type(literal(number)) is int
    assert literal(-0.0) == 0
    assert literal(0.1) == Decimal("0.1")
    assert literal(2**63) != literal(2**63 + 1)
    assert literal(numpy.float32(0.1)) == Decimal("0.10000000149011612")  # widened first


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        Decimal("NaN"),
        Decimal("sNaN"),
        10**801,
        Decimal("1e-900"),
        None,
        b"x",
        1j,
        [1],
        {},
        object(),
        "\ud800",
        timedelta(1),
        pandas.NaT,
        numpy.array([1]),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        numpy.datetime64("20000"),
    ],
)
def test_no_literals(value):
    with pytest.raises(RuleError):
        literal(value)


# Times


@given(times)
def test_times_are_spelled_as_they_are_read(value):
    time = literal(value)
    assert read_time(str(time)) == time


@given(st.datetimes(timezones=st.timezones() | st.none()))
def test_a_datetime_is_its_moment(value):
    found = read(value)
    if found is OPAQUE:  # beyond the years 1 to 9999 once it is in UTC
        assert value.year in (1, 9999)
        return
    text = value.replace(tzinfo=None).isoformat()
    offset = (value.utcoffset() or timedelta()) // timedelta(microseconds=1) * 1000
    assert found == Value(Family.TIME, Time(read_time(text).ns - offset))


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01 00:00:01", 10**9),
        ("1970-01-01T00:00:00.1", 10**8),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00+0100", 0),
        ("1970-01-01T01:00+01", 0),
        ("1969-12-31T23:30:00-00:30", 0),
        ("0001-01-01", -62135596800 * 10**9),
        ("9999-12-31T23:59:59.999999999", 253402300800 * 10**9 - 1),
    ],
)
def test_iso_8601(text, ns):
    assert read_time(text) == Time(ns)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1970",
        "1970-01",
        "1970-1-1",
        "0000-01-01",
        "1970-02-30",
        "1970-01-01T",
        "19700101",
        "1970-01-01T24:00",
        "1970-01-01T00:60",
        "1970-01-01T00:00:60",
        "1970-01-01T00:00:00.",
        "x",
        "1970-01-01T00:00:00.0000000001",
        "1970-01-01T00:00+24",
        " 1970-01-01",
        "1970-01-01\n",
        "0001-01-01T00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "１970-01-01",
        "1970-01-01Z",
    ],
)
def test_what_is_not_read_as_a_time(text):
    assert read_time(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 10, tzinfo=ZoneInfo("Europe/Berlin")), "2026-01-31T09:00:00Z"),
        (pandas.Timestamp("2026-01-31T10:00:00.123456789Z"), "2026-01-31T10:00:00.123456789Z"),
        (numpy.datetime64("2026"), "2026-01-01"),
        (numpy.datetime64("1969-12"), "1969-12-01"),
        (numpy.datetime64("2026-01-31"), "2026-01-31"),
        (numpy.datetime64("2026-01-31T10", "h"), "2026-01-31T10:00:00Z"),
        (numpy.datetime64("2026-01-31T10:00:00.001", "ms"), "2026-01-31T10:00:00.001Z"),
        (numpy.datetime64("2026-01-31T10:00:00.000000001", "ns"), "2026-01-31T10:00:00.000000001Z"),
        (
            numpy.datetime64("1970-01-01T00:00:00.000000001999", "ps"),
            "1970-01-01T00:00:00.000000001Z",
        ),
        (numpy.datetime64("0001-01-01", "D"), "0001-01-01"),
    ],
)
def test_dates_of_every_library(value, text):
    assert read(value) == Value(Family.TIME, read_time(text))
    assert literal(value) == read_time(text)


# Single values of events


@pytest.mark.parametrize(
    "value",
    [
        None,
        math.nan,
        Decimal("NaN"),
        Decimal("sNaN"),
        pandas.NaT,
        pandas.NA,
        numpy.float32("nan"),
        numpy.datetime64("NaT"),
        numpy.timedelta64("NaT"),
    ],
)
def test_nulls(value):
    assert read(value) is NULL


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        timedelta(1),
        1j,
        object(),
        pandas.Timedelta(1),
        numpy.timedelta64(1, "s"),
        numpy.datetime64("20000-01-01"),
        numpy.datetime64(10**15, "Y"),
        numpy.array([1, 2]),
        pandas.Timestamp(numpy.datetime64("20000-01-01", "s")),
        numpy.array(1),
        numpy.bytes_(b"x"),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_values_of_no_family(value):
    assert read(value) is OPAQUE


def test_families():
    assert read(numpy.bool_(True)) == Value(Family.BOOLEAN, True)
    assert read(numpy.uint64(2**64 - 1)) == Value(Family.NUMBER, 2**64 - 1)
    assert read(numpy.str_("x")) == Value(Family.STRING, "x")
    assert read(math.inf) == Value(Family.NUMBER, Decimal("Infinity"))
    assert family_of(True) is Family.BOOLEAN
    assert family_of(Time(0)) is Family.TIME
    assert read(datetime(2026, 1, 31, tzinfo=UTC)) == read(date(2026, 1, 31))
