"""Random event patterns, as EventBridge has them, and events that often come close to them.

Names, values and depth are few, so that patterns match often, and all comparisons, lists of
objects, missing fields and values of the wrong type meet.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

TEXTS = (
    *("", "a", "ab", "abc", "b", "AB", "Ab", "task", "TASK", "Tas\u212a", "k", "straße", "STRASSE"),
    *("100%", "a_b", "a*b", "a\\b", "é", "É", "5", "true", "null", "x\ny", "日本", "😀"),
    *("10.0.0.1", "10.0.0.9", "10.200.0.1", "192.168.1.1", "2001:db8::1", "2001:DB8:0::1", "::1"),
)
NUMBERS = (0, 1, 5, 5.0, -1, 0.1, 2.5, 300, 1e3, 1e-7)
NETWORKS = ("10.0.0.0/8", "10.0.0.0/30", "192.168.1.7/24", "2001:db8::/32", "fe80::/10")
LEAVES = ("a", "b", "c")
OBJECTS = ("o", "p")


# What matchwood and event-ruler may read in different ways.
UNUSUAL = (None, None, 2**53 + 1, -(2**53) - 1, [["a"]], [[5], "b"], [[None]], "010.0.0.1")


class RandomPatterns:
    """Patterns and events, drawn one after another from a seed.

    With `unusual`, some of the values in events are `UNUSUAL`, and some names have a dot.
    """

    def __init__(self, seed: int, unusual: bool = False) -> None:
        self._chance = random.Random(seed)
        self._unusual = unusual

    def pattern(self, depth: int = 3, names: tuple[str, ...] = LEAVES) -> dict[str, Any]:
        """A pattern that event-ruler takes."""
        chance = self._chance
        fields: dict[str, Any] = {}
        if depth > 1 and chance.random() < 0.15:
            fields["$or"] = [self.pattern(depth - 1, names) for _ in range(chance.randint(2, 3))]
        if depth > 1 and chance.random() < 0.6:
            for name in chance.sample(OBJECTS, chance.choice((1, 1, 2))):
                fields[name] = self.pattern(depth - 1, names)
        if not fields or chance.random() < 0.6:
            for name in chance.sample(names, chance.choice((1, 1, 2))):
                fields[name] = self.values()
        keys = list(fields)
        chance.shuffle(keys)
        return {key: fields[key] for key in keys}

    def values(self) -> list[Any]:
        """The list of one field; null is in it only beside `exists`."""
        chance = self._chance
        if chance.random() < 0.2:
            return [{"exists": False}, *self._further()]
        return [self._comparison() for _ in range(chance.choice((1, 1, 1, 2, 3)))]

    def _further(self) -> list[Any]:
        return [self._comparison()] if self._chance.random() < 0.3 else []

    def _comparison(self) -> Any:
        chance = self._chance
        if chance.random() < 0.3:
            return chance.choice((*TEXTS, *NUMBERS, True, False))
        return chance.choice(self._kinds)(self)

    def _text(self) -> str:
        return self._chance.choice(TEXTS)

    def _cased(self) -> str:
        """event-ruler compares no characters beyond U+FFFF without case."""
        return self._chance.choice([text for text in TEXTS if text != "😀"])

    def _some(self, draw: Callable[[], Any]) -> Any:
        """One value, or a list of values."""
        return [draw() for _ in range(2)] if self._chance.random() < 0.5 else draw()

    def _part(self) -> str:
        """Text that a prefix or a suffix may be, where it may not be empty."""
        return self._chance.choice(("a", "ab", "T", "1", "k", "%", "日", "e"))

    def _wildcards(self) -> str:
        return self._chance.choice(
            ("*", "a*", "*b", "a*b", "*a*", "1*0*", "a\\*b", "a\\\\*", "*_*")
        )

    def _numeric(self) -> dict[str, Any]:
        chance = self._chance
        low, high = chance.choice(((-1, 0), (0, 5), (0.1, 300), (1, 2.5), (0, 1000.0)))
        if chance.random() < 0.4:
            return {"numeric": [chance.choice(("=", "<", "<=", ">", ">=")), high]}
        return {"numeric": [chance.choice((">", ">=")), low, chance.choice(("<", "<=")), high]}

    def _anything_but(self) -> dict[str, Any]:
        inner: dict[str, Callable[[], Any]] = {
            "texts": self._text,
            "numbers": lambda: self._chance.choice(NUMBERS),
            "prefix": self._part,
            "suffix": self._part,
            "wildcard": self._wildcards,
            "equals-ignore-case": self._cased,
        }
        word = self._chance.choice(list(inner))
        some = self._some(inner[word])
        return {"anything-but": some if word in ("texts", "numbers") else {word: some}}

    _kinds: tuple[Callable[[RandomPatterns], Any], ...] = (
        lambda self: {"prefix": self._text()},
        lambda self: {"prefix": {"equals-ignore-case": self._cased()}},
        lambda self: {"suffix": self._text()},
        lambda self: {"suffix": {"equals-ignore-case": self._cased()}},
        lambda self: {"equals-ignore-case": self._cased()},
        lambda self: {"wildcard": self._wildcards()},
        lambda self: {"exactly": self._text()},
        lambda self: {"cidr": self._chance.choice(NETWORKS)},
        lambda self: {"exists": True},
        lambda self: self._numeric(),
        lambda self: self._anything_but(),
        lambda self: self._anything_but(),
    )

    def event(self, depth: int = 3) -> dict[str, Any]:
        """An event; unless it is to be unusual, without nulls and lists directly in lists."""
        made: dict[str, Any] = {}
        for name in (*LEAVES, *OBJECTS):
            if self._chance.random() < 0.75:
                made[name] = self._value(depth, name in OBJECTS)
        if self._unusual:
            self._spell_with_dots(made)
        return made

    def _spell_with_dots(self, made: dict[str, Any]) -> None:
        """Some of the leaves of objects stand beside these, under names with a dot."""
        for name in OBJECTS:
            if isinstance(made.get(name), dict) and self._chance.random() < 0.3:
                for leaf in [leaf for leaf in made[name] if leaf in LEAVES][:1]:
                    made[f"{name}.{leaf}"] = made[name].pop(leaf)

    def _value(self, depth: int, is_object: bool) -> Any:
        chance = self._chance
        if depth > 1 and chance.random() < (0.9 if is_object else 0.05):
            if chance.random() < 0.6:
                return [self._item(depth) for _ in range(chance.randint(0, 3))]
            return self.event(depth - 1)
        if chance.random() < 0.25:
            return [self._single() for _ in range(chance.randint(0, 3))]
        return self._single()

    def _item(self, depth: int) -> Any:
        return self.event(depth - 1) if self._chance.random() < 0.9 else self._single()

    def _single(self) -> Any:
        if self._unusual and self._chance.random() < 0.1:
            return self._chance.choice(UNUSUAL)
        return self._chance.choice((*TEXTS, *NUMBERS, True, False))


def branches(pattern: Mapping[str, Any]) -> list[dict[str, list[Any]]]:
    """The conjunctions of a pattern, with dotted names; of fields with one name the last counts.

    >>> branches({"p": {"a": [1], "$or": [{"b": [2]}, {"c": [3]}]}})
    [{'p.a': [1], 'p.b': [2]}, {'p.a': [1], 'p.c': [3]}]
    """
    found: list[dict[str, list[Any]]] = [{}]
    _expand(found, pattern, "")
    return found


def _expand(found: list[dict[str, list[Any]]], fields: Mapping[str, Any], prefix: str) -> None:
    for key, inner in fields.items():
        if key == "$or":
            before = [dict(branch) for branch in found]
            found.clear()
            for alternative in inner:
                within = [dict(branch) for branch in before]
                _expand(within, alternative, prefix)
                found.extend(within)
        elif isinstance(inner, dict):
            _expand(found, inner, f"{prefix}{key}.")
        else:
            for branch in found:
                branch[prefix + key] = inner


def single_comparisons(pattern: Mapping[str, Any]) -> list[dict[str, list[Any]]]:
    """Patterns with one comparison for each field, one of which matches where the pattern does."""
    return [
        {name: [value] for name, value in zip(branch, chosen, strict=True)}
        for branch in branches(pattern)
        for chosen in product(*branch.values())
    ]
