"""Strings of JSON texts that rules read as times and as network addresses."""

import json
import random

from matchwood import Matcher
from matchwood.language import evaluate, parse

RULES = [
    "at > timestamp '2024-02-29T12:00:00Z'",
    "at <= timestamp '1970-01-01'",
    "at = timestamp '2024-12-31T22:29:59.5Z'",
    "at > timestamp '2262-01-01' or at < timestamp '0001-01-02'",
    "in_network(at, '10.0.0.0/8')",
    "in_network(at, '255.255.255.255/32') and not (at = '255.255.255.255')",
    "not in_network(at, '2001:db8::/32')",
    "at = '2024-02-29'",
]

SPELT = [
    "2024-06-01T00:00:00Z", "2024-02-29", "2023-02-29", "1700-01-01T00:00+23:59", "1900-02-29",
    "2200-12-31T23:59:59.999999999-23:59", "2024-12-31 23:59:59.5+0130", "1969-07-20t20:17:40z",
    "2024-01-01T10:00", "2024-01-01T10:00:00.1234567890", "2024-04-31", "2024-09-30T23:59+05",
    "9999-12-31T23:59:59-01", "0001-01-01T00:00+01", "10.1.2.3", "255.255.255.255", "256.1.1.1",
    "010.2.3.4", "1.2.3.4.5", "0.0.0.0", "2001:db8::1", "::ffff:10.0.0.1", "neither", "",
]  # fmt: skip


def changed(rng, text):
    """A string that is still much like a time or an address."""
    letters = list(text)
    for _ in range(rng.randint(0, 2)):
        if letters:
            letters[rng.randrange(len(letters))] = rng.choice("0123456789-:TtZz+. é")
    return "".join(letters)[: rng.choice((99, 99, 99, 16, 10))]


def test_times_and_addresses_that_are_nearly_spelt_right():
    rng = random.Random(7)
    matcher = Matcher(dict(enumerate(RULES)))
    trees = [parse(rule) for rule in RULES]
    events = [{"at": changed(rng, rng.choice(SPELT))} for _ in range(500)]
    texts = [json.dumps(event, ensure_ascii=number % 2 == 0) for number, event in enumerate(events)]
    answers = [[n for n, tree in enumerate(trees) if evaluate(tree, event)] for event in events]
    found = [[] for _ in events]
    for event, rule in zip(*matcher.match_json_batch(texts).to_pydict().values(), strict=True):
        found[event].append(rule)
    assert list(map(sorted, found)) == answers
    for text, answer in zip(texts[:100], answers, strict=False):
        assert sorted(matcher.match_json(text)) == answer, text


def test_the_scanner_reads_them_without_python():
    matcher = Matcher({1: "at > timestamp '2024-01-01' or in_network(at, '10.0.0.0/8')"})
    (part,) = matcher.store.snapshot.parts
    for value in ('"2024-06-01T00:00:00.123456Z"', '"10.2.3.4"', '"2001:db8::1"', "5", "null"):
        assert part.json.match(f'{{"at": {value}}}'.encode(), part.keep(None)) is not None
    assert part.json.match(b'{"at": ["2024-06-01"]}', part.keep(None)) is None
