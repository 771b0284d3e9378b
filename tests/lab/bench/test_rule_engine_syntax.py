"""rule-engine is given what we mean, or nothing."""

from typing import Any

import pytest

from matchwood.lab.bench.rule_engine_syntax import Seen, Untranslatable, translate
from matchwood.lab.workloads.audiences import Audiences
from matchwood.language import evaluate, parse

EVENTS: list[dict[str, Any]] = [
    {"a": 1, "s": "one", "tags": ["x", "y"], "flag": True, "maybe": 5},
    {"a": 2, "s": "two", "tags": [], "flag": False},
    {"a": 3, "s": "onto", "tags": ["y"], "flag": True, "maybe": None},
]
SEEN = Seen.of(EVENTS)


@pytest.mark.parametrize(
    "rule",
    [
        "a = 1",
        "a != 1 and s != 'two'",
        "a between 2 and 3",
        "not (a between 2 and 3)",
        "a not between 1 and 2",
        "s in ('one', 'two') or flag",
        "s not in ('one', 'two')",
        "s like 'on%'",
        "s like '%o'",
        "s not like 't%'",
        "contains(tags, 'x')",
        "contains(s, 'nt')",
        "not contains(tags, 'x')",
        "flag xor a = 1",
        "flag xnor s = 'two'",
        "maybe > 4",
        "maybe != 4 or a = 2",
        "maybe in (5, 6) and a < 1.5",
        "never = 1 or a = 1",
        "not (maybe > 4)",
        "s like 'o%e'",
        "s like '_n%'",
        "s ilike 'ON%'",
        "not (s ilike '%T%')",
        "endswith(s, 'e') or startswith(s, 'tw')",
        "true",
        "false or a <= 2",
    ],
)
def test_same_answers(rule: str) -> None:
    rule_engine = pytest.importorskip("rule_engine")
    context = rule_engine.Context(default_value=None)
    tree = parse(rule)
    translated = rule_engine.Rule(translate(tree, SEEN), context=context)
    for event in EVENTS:
        assert translated.matches(event) == (evaluate(tree, event) is True), event


@pytest.mark.parametrize(
    "rule",
    [
        "not (maybe > 4 and a = 1)",
        "maybe = 5 xor a = 1",
        "tags = 'x'",
        "s rlike 'o.e'",
        "a < maybe",
        "maybe is null",
    ],
)
def test_left_out(rule: str) -> None:
    with pytest.raises(Untranslatable):
        translate(parse(rule), SEEN)


def test_all_audiences_are_translated() -> None:
    workload = Audiences(rules=300)
    seen = Seen.of(workload.events(300))
    for rule in workload.texts():
        assert translate(parse(rule), seen)
