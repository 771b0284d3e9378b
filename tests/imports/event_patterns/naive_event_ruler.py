"""event-ruler, written plainly from what it documents and does: the obvious second opinion.

It shares nothing with the importer. An event is flattened to leaves, each with the element of every
list that it is in; a pattern matches if each of its fields, in the order of their names, has a
leaf that passes, or none where it may be missing, and no list is used with two of its elements.
"""

import ipaddress
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from matchwood.lab.workloads.random_patterns import branches

Membership = dict[int, int]

COMPARE = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass
class Leaf:
    name: str
    value: Any
    membership: Membership


def matches(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    leaves = list(_leaves(event, "", {}))
    return any(
        _found(sorted(branch.items(), key=_order), leaves, {}) for branch in branches(pattern)
    )


def _order(field: tuple[str, Any]) -> bytes:
    return field[0].encode("utf-16-be")


def _leaves(value: Any, name: str, membership: Membership) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else key, membership)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            within = {**membership, id(value): number} if isinstance(inner, dict) else membership
            yield from _leaves(inner, name, within)
    else:
        yield Leaf(name, value, membership)


def _found(fields: list[tuple[str, list[Any]]], leaves: list[Leaf], sofar: Membership) -> bool:
    if not fields:
        return True
    (name, values), *rest = fields
    consistent = [
        leaf
        for leaf in leaves
        if leaf.name == name
        and all(sofar.get(array, index) == index for array, index in leaf.membership.items())
    ]
    if {"exists": False} in values and not consistent and _found(rest, leaves, sofar):
        return True
    return any(
        _found(rest, leaves, {**sofar, **leaf.membership})
        for leaf in consistent
        if any(_passes(leaf.value, each) for each in values)
    )


def _passes(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        ((word, inner),) = wanted.items()
        return _compared(value, word, inner)
    if isinstance(wanted, str) and isinstance(value, str) and _address(wanted) is not None:
        return _address(value) == _address(wanted)
    return _equal(value, wanted)


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return value == wanted
    return type(value) is type(wanted) and value == wanted


def _compared(value: Any, word: str, inner: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if word == "exists":
        return bool(inner)
    if word == "anything-but":
        refused = inner
        if isinstance(inner, dict):
            ((word, refused),) = inner.items()
        listed = refused if isinstance(refused, list) else [refused]
        if word == "anything-but":
            return not any(_equal(value, each) for each in listed)
        return not any(_compared(value, word, each) for each in listed)
    if word == "numeric":
        number = number and float(value) == value
        pairs = zip(inner[::2], inner[1::2], strict=True)
        return number and all(COMPARE[op](value, bound) for op, bound in pairs)
    if not isinstance(value, str):
        return False
    if word == "exactly":
        return bool(value == inner)
    if word == "cidr":
        address, network = _address(value), ipaddress.ip_network(inner, strict=False)
        return address is not None and address.version == network.version and address in network
    return re.fullmatch(_expression(word, inner), value, re.DOTALL) is not None


def _address(text: str) -> Any:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _expression(word: str, inner: Any) -> str:
    if isinstance(inner, dict):
        body = _either_case(inner["equals-ignore-case"])
    elif word == "equals-ignore-case":
        return _either_case(inner)
    elif word == "wildcard":
        return "".join(
            ".*" if part == "*" else re.escape(part.removeprefix("\\"))
            for part in re.findall(r"\\.|.", inner, re.DOTALL)
        )
    else:
        body = re.escape(inner)
    return f"{body}.*" if word == "prefix" else f".*{body}"


def _either_case(text: str) -> str:
    return "".join(f"(?:{re.escape(c.lower())}|{re.escape(c.upper())})" for c in text)
