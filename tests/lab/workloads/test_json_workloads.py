"""Workloads of JSON texts: seeded, of the stated size, and matched by some rules but not by all."""

import json
from functools import partial

import pytest

from matchwood import Matcher
from matchwood.lab.workloads.detections import Detections
from matchwood.lab.workloads.endpoint_logs import EndpointLogs
from matchwood.lab.workloads.logs import Logs
from matchwood.lab.workloads.lots import Lots
from matchwood.language import parse
from matchwood.language.tree import attributes_in


@pytest.mark.parametrize(
    ("kind", "size", "attributes"),
    [
        (Lots, 640, 7),
        (Logs, 1_670, 11),
        (Detections, 2_700, 40),
        (partial(EndpointLogs, rules=300), 3_200, 15),
    ],
)
def test_texts(kind, size, attributes):
    workload = kind()
    texts = workload.json_texts(300)
    assert texts == kind().json_texts(300)
    assert texts != kind(seed=2).json_texts(300)
    assert [json.loads(text) for text in texts] == workload.events(300)
    assert sum(map(len, texts)) / 300 == pytest.approx(size, rel=0.1)
    rules = workload.texts()
    asked = {name for rule in rules for name in attributes_in(parse(rule))}
    assert len(asked) == pytest.approx(attributes, abs=2)


@pytest.mark.parametrize("kind", [Lots, Logs])
def test_some_rules_match_and_the_scanner_reads_all_texts(kind):
    workload = kind()
    matcher = Matcher(enumerate(workload.texts()))
    (part,) = matcher.store.snapshot.parts
    matches = 0
    for text in workload.json_texts(200):
        found = part.json.match(text, part.keep(None))
        assert found is not None
        assert sorted(matcher.match_json(text)) == sorted(matcher.match(json.loads(text)))
        matches += len(found)
    assert 0 < matches < 200 * workload.rules / 2
