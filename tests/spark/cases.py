"""Rules and events of every kind of value, and which match."""

from datetime import UTC, date, datetime
from decimal import Decimal

from matcher.expected import expected

RULES = {
    "adults": "age >= 18",
    "teens": "age between 13 and 19",
    "romans": "city = 'Rome' and not blocked",
    "away": "address.country != 'IT' or address.zip is null",
    "tagged": "contains(tags, 'x') and tags != 'y'",
    "named": "name like 'A%' or name ilike '%SON'",
    "found": "name rlike '^[AB].*n$'",
    "later": "seen > timestamp '2026-01-31T10:00:00Z' and born < date '2000-01-01'",
    "rich": "balance > 10.5 or balance = 0.1",
    "odd": "age > 17 xor city = 'Oslo'",
    "never": "age = 'x'",
    "always": "true",
    "lazy": "age > limit",
    "missing": "nowhere is null and elsewhere = 3",
}
SCHEMA = """
    key bigint, age int, `limit` bigint, city string, blocked boolean,
    address struct<country: string, zip: struct<code: int>>, tags array<string>, name string,
    seen timestamp, born date, balance decimal(20, 3)
"""


def event(key, **more):
    empty = dict.fromkeys(
        ("age", "limit", "city", "blocked", "address", "tags", "name", "seen", "born", "balance")
    )
    return {"key": key} | empty | more


EVENTS = [
    event(0, age=18, city="Rome", blocked=False, tags=["x", "z"], name="Anna", limit=17),
    event(1, age=15, city="Oslo", address={"country": "NO", "zip": {"code": 150}}, limit=15),
    event(2, address={"country": "IT", "zip": None}, tags=["x"], balance=Decimal("0.100")),
    event(3, address={"country": None, "zip": None}, tags=["y", "x"], name="Bjørn Olsen"),
    event(4, seen=datetime(2026, 2, 1, tzinfo=UTC), born=date(1999, 12, 31), name="Alin"),
    event(5, seen=datetime(2026, 1, 31, 10, tzinfo=UTC), born=date(1999, 12, 31), tags=[]),
    event(6, age=70, city="Rome", blocked=True, balance=Decimal("10.501"), tags=[None, "x"]),
    event(7),
]

RIGHT = expected(RULES, EVENTS)
