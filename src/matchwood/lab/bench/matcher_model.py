"""What a matcher under load must answer, while several threads change it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any, NamedTuple

from matchwood.language import parse
from matchwood.language.evaluation import evaluate
from matchwood.language.tree import Node
from matchwood.matcher import Matcher

Event = dict[str, Any]

# The tags that rules may have.
TAGS = ("red", "green", "blue")

# How many rules an answer is compared with, besides those that it names.
SAMPLE = 200

# An event is made for a rule that is drawn from this many of the latest ones.
RECENT = 400

# Characters of the strings and patterns that are long.
LONG = 1500

_numbers = count(1)


def new_rule(chance: random.Random) -> str:
    """A new rule, whose numbers and patterns no other rule has."""
    n, a = next(_numbers), chance.randrange(20)
    long = _long(chance)
    forms = (
        f"a = {a} and name rlike 'x{n}.*[a-c]+'",
        f"name like '%y{n}%z%' or b = {n % 10_000} and a < {a}",
        f"name ilike '%Q{n}%' and not (a between {a} and {a + 3})",
        f"name rlike '(z|w)+{n}$' or a = {a} and b > {n % 90}",
        f"contains(kinds, 'k{n % 50}') xor a > {a}",
        f"a in ({a}, {a + 7}) and (b >= {n % 80} or endswith(name, 'z{n}'))",
        f"a != {a} and b < {n % 60} and name != 'x{n}'",
        f"kinds like '%u{n}_{long}%' or kinds ilike '%U{n}{long}' and a > {a}",
        f"name like '%_{n}%{long}%' and a > {a}",
        f"any(kinds, it like 'u{n}%') and a < {a} or every(kinds, it != 'k{n % 50}')",
    )
    return chance.choice(forms)


def new_event(chance: random.Random) -> Event:
    """An event made for some of the latest rules; now and then an attribute is missing."""
    n = max(1, next(_numbers) - chance.randrange(RECENT))
    event: Event = {"a": chance.randrange(25), "b": chance.randrange(100)}
    event["name"] = f"x{n} abc y{n}z q{n} z{n}"
    event["kinds"] = [f"k{chance.randrange(50)}" for _ in range(3)]
    event["kinds"] += [f"u{n}", f"u{n}-{next(_numbers)}"]
    event["name"] += f"{next(_numbers)}{_long(chance)}{n}"
    event["kinds"].append(f"u{n} {next(_numbers)}{_long(chance)}")
    if chance.random() < 0.2:
        del event[chance.choice(("a", "b", "name", "kinds"))]
    return event


def _long(chance: random.Random) -> str:
    """Now and then a long text, otherwise none."""
    return chance.choice("stuv") * chance.randrange(LONG) if chance.random() < 0.1 else ""


class Entry(NamedTuple):
    """A rule as it was set."""

    tree: Node
    tags: frozenset[str]
    number: int  # no two are the same


class Absent(NamedTuple):
    """A rule that was deleted, or is being changed."""

    number: int


class Model:
    """The rules that a matcher must have; a rule that is being changed may be in either state.

    Each rule is changed by one thread only. The thread removes the rule's entry before it changes
    the matcher, and adds the new entry afterwards. So if an entry is the same before and after a
    match, the rule was unchanged all the while.
    """

    def __init__(self) -> None:
        self.known: dict[int, Entry | Absent] = {}
        self.changing: set[int] = set()
        self.checked = 0  # pairs of an answer and a rule
        self.differences: list[str] = []
        self._lock = threading.Lock()

    def begin(self, ids: Iterable[int]) -> None:
        """Note that these rules are about to be changed."""
        for rule_id in ids:
            self.changing.add(rule_id)
            self.known[rule_id] = Absent(next(_numbers))

    def end(self, rules: Mapping[int, tuple[str, frozenset[str]] | None]) -> None:
        """Note that these rules were changed: replaced, with tags, or deleted."""
        for rule_id, rule in rules.items():
            number = next(_numbers)
            made = Absent(number) if rule is None else Entry(parse(rule[0]), rule[1], number)
            self.known[rule_id] = made
            self.changing.discard(rule_id)

    def moment(self) -> dict[int, Entry | Absent]:
        """All entries that are not about to change."""
        known = self.known.copy()
        for rule_id in self.changing.copy():
            known.pop(rule_id, None)
        return known

    def settled(self, before: dict[int, Entry | Absent]) -> dict[int, Entry | Absent]:
        """The entries of an earlier moment that have not changed since."""
        now = self.known.copy()
        return {i: entry for i, entry in before.items() if now.get(i) is entry}

    def differs(self, difference: str) -> None:
        with self._lock:
            self.differences.append(difference)

    def check(
        self,
        before: dict[int, Entry | Absent],
        event: Event,
        answer: list[int],
        wanted: str | None,
        chance: random.Random,
    ) -> None:
        """Compare an answer with `evaluate`: all rules that it names, and some others."""
        same = self.settled(before)
        sample = chance.sample(sorted(same), min(SAMPLE, len(same)))
        named = set(answer)
        if len(named) != len(answer):
            self.differs(f"a rule is named twice for {event}")
        for rule_id in {*named, *sample} & same.keys():
            entry = same[rule_id]
            right = isinstance(entry, Entry) and (wanted is None or wanted in entry.tags)
            if right and isinstance(entry, Entry):
                right = evaluate(entry.tree, event) is True
            if right != (rule_id in named):
                self.differs(f"rule {rule_id} is {'lacking' if right else 'named'} for {event}")
        self.checked += len(named) + len(sample)

    def check_rules(self, before: dict[int, Entry | Absent], rules: Mapping[Any, Node]) -> None:
        """Compare the rules of a copy with those that did not change meanwhile."""
        for rule_id, entry in self.settled(before).items():
            right = entry.tree if isinstance(entry, Entry) else None
            if rules.get(rule_id) != right:
                self.differs(f"a copy has {rules.get(rule_id)} as rule {rule_id}, not {right}")
        self.checked += len(before)


def check_alone(matcher: Matcher, events: list[Event], chance: random.Random) -> str | None:
    """How a matcher that nobody else changes differs from its rules; None if it does not."""
    rules = dict(matcher.items())
    if set(matcher) != rules.keys() or len(matcher) != len(rules):
        return "the ids of its rules are not those of its items"
    table = matcher.match_batch(events)
    rows = set(zip(table["event"].to_pylist(), table["rule_id"].to_pylist(), strict=True))
    for number, event in enumerate(events):
        answer = set(matcher.match(event))
        if answer != {rule_id for row, rule_id in rows if row == number}:
            return f"a batch and a single match differ for {event}"
        sample = chance.sample(sorted(rules), min(SAMPLE, len(rules)))
        for rule_id in {*sample, *answer}:
            if (evaluate(rules[rule_id], event) is True) != (rule_id in answer):
                return f"rule {rule_id} is wrong for {event}"
    return None
