"""JSON texts, random and hostile ones, are matched as `json.loads` and `match` match them."""

import json

import pytest

from match.json.random_texts import (
    EVERYWHERE_RULES,
    ODD_RULES,
    ON_DEMAND_RULES,
    RULES,
    TextMaker,
)
from matchwood import EventError, Matcher
from matchwood.language import evaluate, parse

# Texts that are matched together.
BATCH = 2_000


def expected(matcher, text):
    """The ids of the rules that are true, or None where the text is refused."""
    try:
        event = json.loads(text.decode().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    try:
        return sorted(matcher.match(event))
    except EventError:
        return None


def found(matcher, text):
    try:
        return sorted(matcher.match_json(text))
    except EventError:
        return None


def in_batch(matcher, texts):
    rejects = []
    table = matcher.match_json_batch(texts, rejects=rejects)
    answers = [[] for _ in texts]
    for event, rule in zip(
        table.column("event").to_pylist(), table.column("rule_id").to_pylist(), strict=True
    ):
        answers[event].append(rule)
    for rejected in rejects:
        assert not answers[rejected.line - 1]
        answers[rejected.line - 1] = None
    return [answer if answer is None else sorted(answer) for answer in answers]


@pytest.fixture(scope="module")
def matchers():
    rules = dict(enumerate(RULES))
    return [
        Matcher(rules),
        Matcher(rules | {100 + i: rule for i, rule in enumerate(ODD_RULES)}),
        Matcher(
            rules | {100 + i: rule for i, rule in enumerate(ON_DEMAND_RULES)},
            lists={"some": [1, 2.5, "x", "hello"]},
        ),
        Matcher(rules | {100 + i: rule for i, rule in enumerate(EVERYWHERE_RULES)}),
    ]


@pytest.mark.slow
def test_random_texts(matchers, request):
    wanted = request.config.getoption("--json-texts")
    maker = TextMaker(15)
    scanned = refused = 0
    for first in range(0, wanted, BATCH):
        texts = [maker.text() for _ in range(min(BATCH, wanted - first))]
        for number, matcher in enumerate(matchers):
            if number and (first // BATCH - number) % 7:
                continue
            answers = [expected(matcher, text) for text in texts]
            for text, answer in zip(texts, answers, strict=True):
                assert found(matcher, text) == answer, text
            batch = in_batch(matcher, texts)
            for text, answer, together in zip(texts, answers, batch, strict=True):
                assert together == answer, text
            refused += sum(answer is None for answer in answers)
        part = matchers[0].store.snapshot.parts[0]
        scanned += sum(part.json.match(text, part.keep(None)) is not None for text in texts)
    # The scanner reads most of what is not refused or unusual, else nothing would be tested.
    assert scanned > 0.15 * wanted
    assert refused > 0.1 * wanted


def test_random_texts_mean_what_evaluate_says(matchers):
    maker = TextMaker(16)
    trees = [parse(rule) for rule in RULES]
    for _ in range(300):
        text = maker.text()
        answer = found(matchers[0], text)
        if answer is None:
            continue
        event = json.loads(text.decode().removeprefix("\ufeff"))
        assert answer == [i for i, tree in enumerate(trees) if evaluate(tree, event) is True], text


@pytest.mark.parametrize("strategy", ["push", "cells, all literals", "walk"])
def test_every_strategy_that_a_segment_may_choose(strategy):
    maker = TextMaker(17)
    matcher = Matcher(dict(enumerate(RULES)))
    for part in matcher.store.snapshot.parts:
        part.matcher.force(strategy)
    texts = [maker.text() for _ in range(300)]
    for text, together in zip(texts, in_batch(matcher, texts), strict=True):
        answer = expected(matcher, text)
        assert found(matcher, text) == answer, text
        assert together == answer, text


def test_rows_and_sweeps_say_the_same():
    maker = TextMaker(18)
    matcher = Matcher(dict(enumerate(RULES)))
    texts = [maker.text() for _ in range(3_000)]
    part = matcher.store.snapshot.parts[0]
    answers = [expected(matcher, text) for text in texts]
    for seconds in (0.0, 1.0):  # what a row is believed to take: nothing, or far too much
        part.json.row_cost.seconds = seconds
        assert in_batch(matcher, texts) == answers
