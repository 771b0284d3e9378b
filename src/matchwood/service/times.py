"""How times are written in answers."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(seconds: float) -> str:
    """A Unix time in the format of RFC 3339, to the millisecond.

    >>> iso(0)
    '1970-01-01T00:00:00.000Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
