"""Generated workloads: millions of pairs against `evaluate`, tens of millions against Scan.

`--engine-pairs` and `--scan-pairs` say how many.
"""

import numpy as np
import pyarrow as pa
import pytest

from matcher.expected import STRATEGIES, force
from matchwood import Matcher
from matchwood.lab.bench.scanner import Scanner
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.audiences import Audiences
from matchwood.lab.workloads.half_ranges import HalfRanges
from matchwood.lab.workloads.string_rules import StringRules
from matchwood.language import evaluate, parse
from matchwood.language.events import Event

RULES = 1000


def detections(seed):
    """Text rules of which few are true: half of them are negated, so that both answers are met."""
    workload = StringRules(RULES, seed=seed)
    texts = workload.texts()
    return [f"not ({t})" if i % 2 else t for i, t in enumerate(texts)], workload.events


def sparse(seed):
    workload = AbeGen(rules=RULES, seed=seed)
    return workload.texts(), workload.events


def dense(seed):
    workload = AbeGen(rules=RULES, attributes=40, cardinality=20, seed=seed)
    return workload.texts(), lambda n: workload.events(n, "zipf")


def parities(seed):
    operators = (0.1, 0.1, 0.2, 0.3, 0.3)
    workload = AbeGen(rules=RULES, attributes=30, operators=operators, operands=3, seed=seed)
    return workload.texts(), workload.events


def audiences(seed):
    workload = Audiences(RULES, seed=seed)
    return workload.texts(), workload.events


def ranges(seed):
    workload = HalfRanges(RULES, attributes=20, predicates=3, event_attributes=20, seed=seed)
    return workload.texts(), workload.events


# The share of all pairs that each takes, which is less where `evaluate` takes long.
SHARES = {sparse: 0.1, dense: 0.15, parities: 0.1, audiences: 0.25, ranges: 0.3, detections: 0.1}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("workload", SHARES, ids=lambda workload: workload.__name__)
def test_against_evaluate(workload, seed, pytestconfig):
    pairs = int(pytestconfig.getoption("engine_pairs") * SHARES[workload] / 2)
    texts, events_of = workload(seed)
    events = events_of(-(-pairs // RULES))
    trees = [parse(text) for text in texts]
    right = np.zeros((len(events), RULES), bool)
    for row, event in zip(right, events, strict=True):
        seen = Event(event)
        row[:] = [evaluate(tree, seen) is True for tree in trees]
    assert 0 < right.sum() < right.size
    matcher = Matcher(enumerate(texts))
    for number, event in enumerate(events):
        assert sorted(matcher.match(event)) == np.flatnonzero(right[number]).tolist(), number
    for given in (events, columns(events)):
        for strategy in STRATEGIES:
            force(matcher, strategy)
            assert (matrix(matcher.match_batch(given), right.shape) == right).all(), strategy


def columns(events):
    names = dict.fromkeys(name for event in events for name in event)
    return pa.table({name: [event.get(name) for event in events] for name in names})


def matrix(table, shape):
    found = np.zeros(shape, np.uint8)
    rule_id = pa.concat_arrays(c.dictionary_decode() for c in table["rule_id"].chunks)
    np.add.at(found, (table["event"].to_numpy(), rule_id.to_numpy()), 1)
    assert found.max() <= 1, "a pair is reported twice"
    return found == 1


SCANNED = {
    "uniform": (AbeGen(rules=40_000, seed=3), "uniform"),
    "dense": (AbeGen(rules=40_000, attributes=100, seed=4), "zipf"),
    "parities": (
        AbeGen(rules=40_000, operators=(0.2, 0.2, 0.2, 0.2, 0.2), operands=3, seed=5),
        "uniform",
    ),
    "ranges": (
        HalfRanges(40_000, attributes=20, predicates=6, event_attributes=20, seed=6),
        None,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCANNED)
def test_against_scan(name, pytestconfig):
    workload, distribution = SCANNED[name]
    count = max(1, pytestconfig.getoption("scan_pairs") // len(SCANNED) // 40_000)
    events = workload.events(count, distribution) if distribution else workload.events(count)
    texts = workload.texts()
    scanner, matcher = Scanner(texts), Matcher(enumerate(texts))
    right = []
    for event in events:
        scanner.scan(scanner.coded(event))
        right.append(scanner.found())
        assert sorted(matcher.match(event)) == right[-1]
    assert sum(map(len, right))
    expected = np.concatenate([np.array(found) + 40_000 * n for n, found in enumerate(right)])
    for strategy in STRATEGIES:
        force(matcher, strategy)
        pieces = []
        for piece in matcher.match_batches(columns(events)):
            rule_id = piece["rule_id"].dictionary_decode().to_numpy()
            pieces.append(piece["event"].to_numpy() * 40_000 + rule_id)
        assert np.array_equal(np.sort(np.concatenate(pieces)), expected), strategy
