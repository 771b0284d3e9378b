"""Dates of range queries: `now-1d/d`, `2026-01-31||+1M/d`, and dates with parts left out."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

DEFAULT_FORMATS = ("strict_date_optional_time", "epoch_millis")

# Formats whose dates are read as ISO 8601 with the last parts left out.
ISO = frozenset(
    (
        *("strict_date_optional_time", "date_optional_time", "strict_date_optional_time_nanos"),
        *("strict_date", "date", "strict_date_time", "date_time", "strict_date_time_no_millis"),
        *("date_time_no_millis", "strict_date_hour_minute_second", "date_hour_minute_second"),
        *("yyyy-MM-dd", "uuuu-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss", "iso8601"),
        *("yyyy-MM-dd'T'HH:mm:ssZ", "yyyy-MM-dd'T'HH:mm:ss.SSSZ", "yyyy-MM-dd HH:mm:ss.SSS"),
    )
)
EPOCHS = {"epoch_millis": 1, "epoch_second": 1000}  # milliseconds in one

_ISO = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:[T ](?:(?P<hour>\d\d)"
    r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?)?"
    r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?)?)?)?"
)
_STEP = re.compile(r"([+-])(\d*)([yMwdhHms])|/(\d*)([yMwdhHms])")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)?")
_DAY_UNITS = {"w": 7, "d": 1}
_SECONDS = {"h": 3600, "H": 3600, "m": 60, "s": 1}


class DateError(ValueError):
    """A date that cannot be read exactly."""


def zone_of(text: str | None) -> timezone:
    """A time zone that is an offset from UTC."""
    if text in (None, "Z", "UTC"):
        return UTC
    match = _ZONE.fullmatch(str(text))
    if match is None:
        raise DateError(f"the time zone {text!r} is no offset such as '+01:00'")
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(-offset if match[1] == "-" else offset)


def milliseconds(
    value: object, round_up: bool, formats: Sequence[str], zone: timezone, now: datetime | None
) -> int:
    """The milliseconds since 1970 that a date says; `round_up` as for `gt` and `lte`."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise DateError(f"a date is a string or a number, found {value!r}")
    written = str(value)
    year = len(written) == 4 and any(name in ISO for name in formats)
    if re.fullmatch(r"-?\d+(\.\d+)?", written) and not year:
        return _epoch(written, formats)
    if written.startswith("now"):
        if now is None:
            raise DateError(f"{written!r} depends on the present: say which it is, as now")
        moment, steps = now, written[3:]
    else:
        text, bars, steps = written.partition("||")
        moment = _moment(text, round_up and not bars, formats, zone)
        if not bars:
            return _milliseconds(moment)
    try:
        return _milliseconds(_moved(moment.astimezone(zone), steps, round_up))
    except OverflowError:
        raise DateError(f"{written!r} is beyond the years 1 to 9999") from None


def _milliseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _epoch(text: str, formats: Sequence[str]) -> int:
    for name, factor in EPOCHS.items():
        if name in formats:
            number = Decimal(text) * factor
            if number != int(number):
                raise DateError(f"{text} is no whole number of milliseconds")
            return int(number)
    raise DateError(f"{text} is a number, and the format is {'||'.join(formats)}")


def _moment(text: str, round_up: bool, formats: Sequence[str], zone: timezone) -> datetime:
    """A date whose last parts may be missing: then they are the first, or, of a time, the last."""
    match = _ISO.fullmatch(text)
    if match is None or not any(name in ISO for name in formats):
        raise DateError(f"{text!r} is not a date in ISO 8601, or its format cannot be read")
    hour, minute, second = (23, 59, 59) if round_up else (0, 0, 0)
    part = (match["part"] or ("999" if round_up and not match["second"] else "")).ljust(9, "0")
    if match["second"] and not match["part"]:
        part = "999000000" if round_up else "0" * 9
    try:
        return datetime(
            int(match["year"]),
            int(match["month"] or 1),
            int(match["day"] or 1),
            int(match["hour"] or hour),
            int(match["minute"] or minute),
            int(match["second"] or second),
            int(part[:3]) * 1000,
            zone_of(match["zone"]) if match["zone"] else zone,
        )
    except ValueError:
        raise DateError(f"there is no date {text!r}") from None


def _moved(moment: datetime, steps: str, round_up: bool) -> datetime:
    """A moment after steps such as `-1d` and roundings such as `/d`."""
    at = 0
    while at < len(steps):
        match = _STEP.match(steps, at)
        if match is None or (match[4] and match[4] != "1"):
            raise DateError(f"{steps!r} is no date math")
        at = match.end()
        if match[5]:
            moment = _rounded(moment, match[5])
            if round_up:
                moment = _plus(moment, 1, match[5]) - timedelta(milliseconds=1)
        else:
            moment = _plus(moment, int(match[1] + (match[2] or "1")), match[3])
    return moment


def _rounded(moment: datetime, unit: str) -> datetime:
    if unit in "hHms":
        kept = {"h": 0, "H": 0, "m": moment.minute, "s": moment.minute}[unit]
        second = moment.second if unit == "s" else 0
        return moment.replace(minute=kept, second=second, microsecond=0)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "w":
        return midnight - timedelta(days=midnight.weekday())
    if unit == "d":
        return midnight
    return midnight.replace(day=1) if unit == "M" else midnight.replace(day=1, month=1)


def _plus(moment: datetime, count: int, unit: str) -> datetime:
    if unit in _SECONDS:
        return moment + timedelta(seconds=count * _SECONDS[unit])
    if unit in _DAY_UNITS:
        return moment + timedelta(days=count * _DAY_UNITS[unit])
    months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "y" else 1)
    year, month = months // 12, months % 12 + 1
    if not 1 <= year <= 9999:
        raise OverflowError
    last = calendar.monthrange(year, month)[1]
    return moment.replace(year=year, month=month, day=min(moment.day, last))
