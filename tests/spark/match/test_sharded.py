"""The sharded layout keeps events in a spool and merges what the shards find."""

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from matchwood.spark.events.event_attributes import COLUMNS, Reading
from matchwood.spark.match.match_writer import MatchWriter
from matchwood.spark.match.plan import EVENTS, SHARDED, Plan
from matchwood.spark.match.sharded import ShardMatches, Spool, _merged


def test_a_spool_goes_to_disk():
    spool = Spool(memory=100)
    things = [{"number": number} for number in range(50)]
    for thing in things:
        spool.put(thing, 10)
    assert list(spool) == things
    assert list(spool) == things
    spool.put("more", 10)
    assert list(spool) == [*things, "more"]
    spool.close()


def test_shards_that_answer_too_few_events_are_an_error():
    plan = Plan(("a",), "bigint", Reading(COLUMNS, (), None, ()), EVENTS, SHARDED, *[None] * 4)
    events, found = Spool(), Spool()
    events.put((pa.table({"age": [1, 2, 3]}), []), 1)
    found.put(ShardMatches(np.array([0, 1, 1]), pa.array([7]), np.empty(0)), 1)
    batches = _merged(plan, MatchWriter(plan), events, [found])
    assert next(batches).to_pydict() == {"rule_ids": [[7], []]}
    with pytest.raises(RuntimeError, match="answered 2 of 3 events"):
        list(batches)
