"""Batches are counted by the device that matched them."""

import doctest
import json

import pytest

from matchwood import Matcher
from matchwood.match.batch import device_counts as module
from matchwood.match.batch.device_counts import device_counts

EVENTS = [{"a": n % 25} for n in range(3000)]


def test_documented_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.fixture
def matcher() -> Matcher:
    return Matcher({n: f"a > {n}" for n in range(20)})


def test_batches_of_the_processor_are_counted(matcher: Matcher) -> None:
    before = device_counts.now()
    assert matcher.match_batch(EVENTS).num_rows
    first = device_counts.since(before)
    assert list(first) == ["cpu"]
    assert first["cpu"] >= 3  # batches have at most 1,024 events
    matcher.match_json_batch("\n".join(map(json.dumps, EVENTS)).encode())
    assert device_counts.since(before)["cpu"] > first["cpu"]
