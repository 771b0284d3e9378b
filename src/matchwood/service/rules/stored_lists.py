"""Lists with names in the database: stored by the service, read by it and by replicas.

The values of a list are in pieces, each a JSON list that is compressed, so that nobody has to hold
millions of values as one text.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select

from matchwood.language.errors import RuleError
from matchwood.language.json.json_operands import Refused, literal_at, literal_to_json
from matchwood.language.named_lists import NamedList
from matchwood.language.values import Literal
from matchwood.match.parts.rule_checks import lists_in_texts
from matchwood.service.problems import RequestProblem, rule_problem
from matchwood.service.rules.rule_changes import announce
from matchwood.service.storage.database import list_pieces, rules, subscriptions, value_lists
from matchwood.service.storage.writer import Counters

# The counter of changes of lists, which replicas follow.
LISTS = "lists"
# Values in one piece: to read or write one keeps other threads waiting for some milliseconds.
PIECE_VALUES = 20_000
# The level of compression: the fastest.
_LEVEL = 1
# The most rules and subscriptions that the problem of a list in use tells.
MOST_TOLD = 1_000


class ListFacts(NamedTuple):
    """What is known of a list without its values."""

    name: str
    size: int
    version: int  # at which it was set
    at: float


def pieces_of(values: Iterable[Literal]) -> Iterator[list[Any]]:
    """The values of a list in their JSON form, in pieces."""
    left = map(literal_to_json, values)
    while piece := list(islice(left, PIECE_VALUES)):
        yield piece


def written(values: Iterable[Literal]) -> list[bytes]:
    """The values of a list as they are stored."""
    return [zlib.compress(json.dumps(piece).encode(), _LEVEL) for piece in pieces_of(values)]


def store_list(
    connection: Connection, counters: Counters, name: str, size: int, bodies: list[bytes]
) -> ListFacts:
    """Set a list, at a new version."""
    stored = ListFacts(name, size, counters.take(LISTS), time.time())
    _forget(connection, name)
    connection.execute(value_lists.insert().values(**stored._asdict()))
    for number, body in enumerate(bodies):
        connection.execute(list_pieces.insert().values(name=name, piece=number, body=body))
    announce(connection)
    return stored


def remove_list(connection: Connection, counters: Counters, name: str) -> None:
    """Remove a list; a problem if a rule or subscription names it."""
    if users := _users(connection, name):
        detail = f"{len(users):,} rules and subscriptions name the list {name!r}: change them first"
        raise RequestProblem("list-in-use", detail, errors=users[:MOST_TOLD])
    counters.take(LISTS)
    _forget(connection, name)
    announce(connection)


def _forget(connection: Connection, name: str) -> None:
    for table in (list_pieces, value_lists):
        connection.execute(delete(table).where(table.c.name == name))


def _users(connection: Connection, name: str) -> list[dict[str, str]]:
    """The rules and subscriptions that name a list, suspended ones too."""
    spelled = name.replace("'", "''")  # as in the text of a rule
    users = []
    for table, key in ((rules, rules.c.id), (subscriptions, subscriptions.c.number)):
        likely = select(key, table.c.rule).where(table.c.rule.contains(spelled, autoescape=True))
        for known, rule in connection.execute(likely):
            if name in lists_in_texts([rule]):
                users.append({"rule": known} if table is rules else {"subscription": f"s{known}"})
    return users


def check_lists_stored(connection: Connection, texts: Iterable[str]) -> None:
    """A problem if rules name a list that is not in the database.

    They were checked before; meanwhile the list may have been removed.
    """
    names = lists_in_texts(texts)
    if names:
        stored = set(connection.scalars(select(value_lists.c.name)))
        for name in sorted(names - stored):
            raise rule_problem(RuleError(f"no list is named {name!r}: it was removed"))


# Reading


def stored_lists(connection: Connection) -> dict[str, ListFacts]:
    """All lists by their names, without their values."""
    columns = (value_lists.c[field] for field in ListFacts._fields)
    return {row.name: ListFacts(*row) for row in connection.execute(select(*columns))}


def read_list(connection: Connection, name: str) -> NamedList:
    """The values of a list."""

    def values() -> Iterator[Any]:
        number = 0
        key = list_pieces.c
        while True:
            wanted = select(key.body).where(key.name == name, key.piece == number)
            body = connection.scalar(wanted)
            if body is None:
                return
            yield from map(value_of, json.loads(zlib.decompress(body)))
            number += 1

    return NamedList(values())


def value_of(form: Any) -> Any:
    """A value of its JSON form."""
    if form is None:
        raise RuleError("null is no value of a list")
    try:
        return literal_at(form, ()) if isinstance(form, dict) else form
    except Refused as refused:
        raise RuleError(refused.reason) from None
