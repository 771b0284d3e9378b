"""Whether the answers of a contestant are right: compared with `evaluate`, and with each other."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from random import Random
from typing import Any

from matchwood.language import evaluate, parse

Event = dict[str, Any]

# How many events of each point have their answers compared.
CHECKED = 5
# How many rules `evaluate` is asked about for each of those events.
EVALUATED = 100


class Wrong(AssertionError):
    """An answer that differs from what the definition of the language says."""


def truths(rules: Mapping[int, str], events: list[Event]) -> list[dict[int, bool]]:
    """For each event, whether some of the rules are true of it, as `evaluate` defines it."""
    sample = Random(1).sample(list(rules.items()), min(EVALUATED, len(rules)))
    trees = [(rule_id, parse(text)) for rule_id, text in sample]
    return [{rule_id: evaluate(tree, event) is True for rule_id, tree in trees} for event in events]


def check(expected: list[dict[int, bool]], answers: list[list[Any]]) -> None:
    """Raise `Wrong` unless the sampled rules are in the answers exactly where they are true."""
    for number, (known, answer) in enumerate(zip(expected, answers, strict=True)):
        matched = set(answer)
        if len(matched) < len(answer):
            raise Wrong(f"event {number}: a rule is in the answer twice")
        for rule_id, true in known.items():
            if true != (rule_id in matched):
                verb = "is not" if true else "is"
                raise Wrong(f"event {number}: rule {rule_id} is {true}, but {verb} in the answer")


def digest(answers: list[list[Any]]) -> str:
    """A short hash, equal for equal sets of ids."""
    return sha256(repr([sorted(answer) for answer in answers]).encode()).hexdigest()[:16]
