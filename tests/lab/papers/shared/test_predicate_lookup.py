"""The lookup that all algorithms share reports just the literals that are true."""

import pytest

from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.language import evaluate, parse

PREDICATES = [
    "a = 1", "a != 1", "a < 5", "a >= 2", "a in (1, 3, 7)", "a not in (2, 3)", "a is null",
    "a is not null", "a between 2 and 6", "b = 'x'", "b like 'x%'", "b like '%y%'",
    "b not like '%y%'", "startswith(b, 'xy')", "c", "a < d", "a != d", "b ilike 'XY'",
    "t >= date '2026-01-31'", "in_network(b, '10.0.0.0/8')", "contains(l, 'x')", "l = 'x'",
    "l != 'x'", "l is null",
]  # fmt: skip
EVENTS = [
    {}, {"a": 1}, {"a": 3, "b": "xy", "c": True}, {"a": 2.5, "d": 3}, {"b": "10.1.2.3", "c": 5},
    {"t": "2026-02-01"}, {"l": ["x", "y"]}, {"l": []}, {"a": [1, 9], "b": ["xy", 5]}, {"a": None},
]  # fmt: skip


@pytest.mark.parametrize("known", [0, 3, len(PREDICATES)])
def test_literals_are_true_as_their_predicates_are(known):
    """Both those that were there from the start and those that came one by one."""
    predicates = PredicateLookup()
    words, start = predicates.gather(PREDICATES[:known])
    literals = [int(words[start[i]]) for i in range(known)]
    literals += [int(predicates.program(rule)[0]) for rule in PREDICATES[known:]]
    for event in EVENTS:
        true = predicates.true_of(event).tolist()
        assert len(true) == len(set(true))
        for rule, literal in zip(PREDICATES, literals, strict=True):
            truth = evaluate(parse(rule), event)
            assert (literal in true, literal ^ 1 in true) == (truth is True, truth is False), rule


def test_codes_are_made_anew_once_many_predicates_have_come():
    predicates = PredicateLookup()
    literals = [int(predicates.program(f"a = {i}")[0]) for i in range(300)]
    assert predicates.true_of({"a": 250}).tolist().count(literals[250]) == 1
    assert len(predicates._nodes) <= 64
