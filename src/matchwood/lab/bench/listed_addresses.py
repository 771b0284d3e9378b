"""Lists of addresses, rules that look addresses up in one, and what these rules answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

# The name of the list.
NAME = "exits"

# Ports that rules ask for beside the address.
PORTS = 1_000

# The rules that match, by whether the address is in the list, and the port.
Answers = dict[tuple[bool, int], set[int]]


def address(list_number: int, number: int) -> str:
    """An address of 15 characters, which one list alone has."""
    return f"{10 + list_number}.{number >> 16:03}.{number >> 8 & 255:03}.{number & 255:03}"


def addresses(list_number: int, count: int) -> Iterator[str]:
    return (address(list_number, number) for number in range(count))


def rules_of(count: int, source: random.Random) -> dict[int, str]:
    """Rules for an address that is in the list, or is not, and a port."""
    return {
        number: f"ip {source.choice(('', 'not '))}in list '{NAME}' and port = {number % PORTS}"
        for number in range(count)
    }


def answers_of(rules: Mapping[int, str]) -> Answers:
    """The rules for each port, and for an address that is in the list, or is not."""
    answers: Answers = {}
    for number, rule in rules.items():
        answers.setdefault((" not " not in rule, number % PORTS), set()).add(number)
    return answers


def events_of(count: int, values: int, source: random.Random) -> list[dict[str, Any]]:
    """Events half of which have an address of the first list, and half one of the second."""
    drawn = [(source.randrange(2), source.randrange(values)) for _ in range(count)]
    return [{"ip": address(*at), "port": source.randrange(PORTS)} for at in drawn]


def expected(event: Mapping[str, Any], list_number: int, answers: Answers) -> set[int]:
    """The rules that match an event while this list is looked up."""
    is_in = event["ip"].startswith(f"{10 + list_number}.")
    return answers.get((is_in, event["port"]), set())
