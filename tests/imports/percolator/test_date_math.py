"""Dates of queries, with the examples of Elasticsearch's documentation."""

from datetime import UTC, datetime

import pytest

from matchwood.imports.percolator.date_math import DEFAULT_FORMATS, DateError, milliseconds, zone_of

NOW = datetime(2001, 1, 1, 12, 0, 0, tzinfo=UTC)


def read(value, up=False, formats=DEFAULT_FORMATS, zone="UTC", now=NOW):
    found = milliseconds(value, up, formats, zone_of(zone), now)
    return datetime.fromtimestamp(found / 1000, UTC).isoformat(timespec="milliseconds")[:-6]


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        ("now+1h", "2001-01-01T13:00:00.000", "2001-01-01T13:00:00.000"),
        ("now-1h/d", "2001-01-01T00:00:00.000", "2001-01-01T23:59:59.999"),
        (
            "2001.02.01||+1M/d".replace(".", "-"),
            "2001-03-01T00:00:00.000",
            "2001-03-01T23:59:59.999",
        ),
        ("2014-11-18||/M", "2014-11-01T00:00:00.000", "2014-11-30T23:59:59.999"),
        ("2014-11-18||/w", "2014-11-17T00:00:00.000", "2014-11-23T23:59:59.999"),
        ("2014-11-18||/y", "2014-01-01T00:00:00.000", "2014-12-31T23:59:59.999"),
        ("2014-11-18T14:27:32||/h", "2014-11-18T14:00:00.000", "2014-11-18T14:59:59.999"),
        ("2014-11-18T14:27:32||/m", "2014-11-18T14:27:00.000", "2014-11-18T14:27:59.999"),
        ("2014-11-18T14:27:32||/s", "2014-11-18T14:27:32.000", "2014-11-18T14:27:32.999"),
        ("2024-01-31||+1M", "2024-02-29T00:00:00.000", "2024-02-29T00:00:00.000"),
        ("2024-02-29||-1y", "2023-02-28T00:00:00.000", "2023-02-28T00:00:00.000"),
        ("now-2w+3d-5s", "2000-12-21T11:59:55.000", "2000-12-21T11:59:55.000"),
        ("2099-12", "2099-12-01T00:00:00.000", "2099-12-01T23:59:59.999"),
        ("2099", "2099-01-01T00:00:00.000", "2099-01-01T23:59:59.999"),
        ("2026-01-31T10", "2026-01-31T10:00:00.000", "2026-01-31T10:59:59.999"),
        ("2026-01-31T10:05Z", "2026-01-31T10:05:00.000", "2026-01-31T10:05:59.999"),
        ("2026-01-31T10:05:06.1239+02:00", "2026-01-31T08:05:06.123", "2026-01-31T08:05:06.123"),
        (978350400000, "2001-01-01T12:00:00.000", "2001-01-01T12:00:00.000"),
        ("978350400000", "2001-01-01T12:00:00.000", "2001-01-01T12:00:00.000"),
        (2026, "2026-01-01T00:00:00.000", "2026-01-01T23:59:59.999"),
    ],
)
def test_rounded_down_and_up(value, down, up):
    assert (read(value), read(value, up=True)) == (down, up)


def test_time_zone_moves_days_and_dates_without_one():
    assert read("2026-01-31", zone="+01:00") == "2026-01-30T23:00:00.000"
    assert read("now/d", zone="-05:00") == "2001-01-01T05:00:00.000"
    assert read("2026-01-31T00:00:00Z", zone="+01:00") == "2026-01-31T00:00:00.000"


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ("now", {"now": None}),
        ("now/2d", {}),
        ("now+1x", {}),
        ("2026-13-01", {}),
        ("31.01.2026", {}),
        (True, {}),
        (5, {"formats": ("strict_date",)}),
        ("2026-01-31", {"formats": ("epoch_millis",)}),
        ("2026-01-31", {"zone": "Europe/Rome"}),
        ("now+9999y", {}),
    ],
)
def test_what_cannot_be_read(value, options):
    with pytest.raises(DateError):
        read(value, **options)
