"""Random detections and events: matchwood agrees with the plain evaluator about all of them."""

import random
from collections import Counter

import pytest
from sigma.exceptions import SigmaError, SigmaFeatureNotSupportedByBackendError

from imports.sigma.conversion import converted, sigma_rule
from imports.sigma.plain_sigma import matches
from matchwood.lab.workloads.random_detections import detection, event
from matchwood.language import evaluate, parse


@pytest.mark.parametrize("text_patterns", [False, True])
def test_random_rules_and_events(text_patterns: bool) -> None:
    rng = random.Random(19)
    # With --text-patterns it is agreed that no pattern meets a number.
    events = [event(rng, numbers=not text_patterns) for _ in range(60)]
    count: Counter[str] = Counter()
    for _ in range(300):
        made = detection(rng)
        try:
            rule = sigma_rule(made)
        except SigmaError:
            count["no rule of Sigma"] += 1
            continue
        try:
            node = parse(converted(made, text_patterns))
        except SigmaFeatureNotSupportedByBackendError:
            count["refused"] += 1
            continue
        count["converted"] += 1
        for one, expected in zip(events, matches(rule, events), strict=True):
            count[f"{expected}"] += 1
            assert (evaluate(node, one) is True) == expected, f"{made} of {one}: {node}"
    assert not count["no rule of Sigma"]
    assert count["converted"] > (290 if text_patterns else 120)
    assert count["True"] > 1_000
    assert count["False"] > 1_000
