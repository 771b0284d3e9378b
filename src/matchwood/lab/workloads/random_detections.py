"""Random detections of Sigma, and events of which they are often true.

Values of rules and events are put together from the same pieces, and any field may be missing, or
be a list.
"""

from __future__ import annotations

import random
from typing import Any

FIELDS = ["a", "b", "c", "e.f"]
# Pieces of values of rules and of events, so that some of them match.
PIECES = ["x", "X", "yz", "1", "10", "-", ".", " ", "%", "_", "\\", "true", "é", "0", "a1"]
WILDCARDS = ["*", "?", "\\*", "\\?", "\\\\"]
NUMBERS = [0, 1, 10, -1, 1.5, 0.1, 101, 10.0]
NETWORKS = ["10.0.0.0/8", "10.1.0.0/16", "1.0.0.0/8"]
EXPRESSIONS = ["x+", "^x", "yz$", "[xy]z?a", "(x|yz)1", "tru?e", "^X.z$", "\\\\x"]
MODIFIERS = ["", "", "", "contains", "startswith", "endswith", "contains|all", "cased", "neq"]
MODIFIERS += ["contains|cased", "windash|contains", "startswith|neq", "all"]
CONDITIONS = ["{0}", "{0} and {1}", "{0} or not {1}", "not ({0} and {1})", "{0} and not {1}"]
CONDITIONS += ["1 of them", "all of s*", "not 1 of s*", "not ({0} or not ({1} and not {2}))"]


def text(rng: random.Random, pieces: list[str], most: int) -> str:
    return "".join(rng.choice(pieces) for _ in range(rng.randint(0, most)))


def value(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.1:
        return rng.choice(NUMBERS)
    if kind < 0.14:
        return rng.random() < 0.5
    if kind < 0.18:
        return None
    return text(rng, PIECES + WILDCARDS, 3)


def item(rng: random.Random) -> tuple[str, Any]:
    field, kind = rng.choice(FIELDS), rng.random()
    if kind < 0.06:
        return f"{field}|cidr", rng.choice(NETWORKS)
    if kind < 0.12:
        return f"{field}|{rng.choice(['gt', 'gte', 'lt', 'lte'])}", rng.choice(NUMBERS)
    if kind < 0.18:
        return f"{field}|{rng.choice(['re', 're|i', 're|m', 're|s'])}", rng.choice(EXPRESSIONS)
    if kind < 0.22:
        return f"{field}|exists", rng.random() < 0.5
    if kind < 0.26:
        return f"{field}|base64offset|contains", rng.choice(["x", "yz1"])
    modifiers = rng.choice(MODIFIERS)
    key = f"{field}|{modifiers}" if modifiers else field
    if modifiers:
        values: list[Any] = [text(rng, PIECES + WILDCARDS, 3) for _ in range(rng.randint(1, 3))]
    else:
        values = [value(rng) for _ in range(rng.randint(1, 4))]
    return key, values if len(values) > 1 or rng.random() < 0.5 else values[0]


def selection(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.1:
        return [text(rng, PIECES + WILDCARDS, 3) or "x" for _ in range(rng.randint(1, 3))]
    if kind < 0.25:
        return [dict([item(rng)]) for _ in range(rng.randint(2, 3))]
    return dict(item(rng) for _ in range(rng.randint(1, 2)))


def detection(rng: random.Random) -> dict[str, Any]:
    condition = rng.choice(CONDITIONS).format("s0", "s1", "s2")
    return {f"s{i}": selection(rng) for i in range(3)} | {"condition": condition}


def single(rng: random.Random, numbers: bool) -> Any:
    kind = rng.random()
    if kind < 0.2 and numbers:
        return rng.choice(NUMBERS)
    if kind < 0.25:
        return rng.random() < 0.5
    if kind < 0.3:
        return rng.choice(["10.1.2.3", "10", "1.5", "TRUE", "false", "eXo=", "1.1.1.1", "x\nyz"])
    if kind < 0.35:
        return None
    return text(rng, [*PIECES, "*", "?"], 3)


def event(rng: random.Random, numbers: bool) -> dict[str, Any]:
    """An event in which any field may be missing, and any may be a list."""
    made: dict[str, Any] = {}
    for field in FIELDS:
        if rng.random() < 0.3:
            continue
        values: Any = single(rng, numbers)
        if rng.random() < 0.15:
            # A null among values is left out: to a rule it is no value.
            many = [single(rng, numbers) for _ in range(rng.randint(0, 3))]
            values = [one for one in many if one is not None]
        if "." in field:
            made["e"] = {"f": values}
        else:
            made[field] = values
    return made
