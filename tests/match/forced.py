"""Every way to match, each forced, so that no test depends on which way is found to be quick."""

from contextlib import contextmanager

import numpy as np

from matchwood.match import ways
from matchwood.match.ways import Ways

# What a matcher must have found out before it changes its way: nothing, so that it always does.
NO_PATIENCE = {"SAMPLED": 1, "CHECKED": 0, "SHARE": 0.0, "TOLD": 1, "AGAIN": 1, "WALK": 1e9}


def _segment_matchers(matcher):
    return [part.matcher for part in matcher._snapshot.parts]


def _push(one, small):
    one.small = small
    one.go_by_push_lists()
    return True


def _learn(one):
    """Forget what was learnt: the next events go each way in turn, while others are built."""
    one.ways = Ways(one._cells, one._walk, np.inf if one.segment.lazy else 0.0, True)
    return True


SINGLE = {
    "push, a small index": lambda one: _push(one, True),
    "push, a large index": lambda one: _push(one, False),
    "cells of all literals": lambda one: one.go_by_cells(0.0),
    "cells of likely literals": lambda one: one.go_by_cells(),
    "walk": lambda one: one.go_by_walks(),
    "learning": _learn,
}


@contextmanager
def _impatient():
    known = {name: getattr(ways, name) for name in NO_PATIENCE}
    for name, value in NO_PATIENCE.items():
        setattr(ways, name, value)
    try:
        yield
    finally:
        for name, value in known.items():
            setattr(ways, name, value)


def ways_to_match(matcher):
    """(name, function of events that gives the matches as a matrix of events and rules).

    A way that no part of the matcher can go is left out.
    """
    with _impatient():
        for name, force in SINGLE.items():
            forced = [force(one) for one in _segment_matchers(matcher)]  # each of them
            if not any(forced):
                continue
            yield f"one event, {name}", one_event_at_a_time
            _batches(matcher, sweep=False)
            yield f"batch one by one, {name}", in_a_batch
            for one in _segment_matchers(matcher):
                one.ways.settled()
        if _batches(matcher, sweep=True):
            yield "sweep", in_a_batch


def _batches(matcher, sweep):
    for part in matcher._snapshot.parts:
        costs = (1e9, 0.0) if sweep else (0.0, 1e9)
        part.batch._each.seconds, part.batch._sweep.seconds = costs
    return any(not one.segment.lazy for one in _segment_matchers(matcher))


def one_event_at_a_time(matcher, events, rules):
    found = np.zeros((len(events), rules), np.bool_)
    for number, event in enumerate(events):
        ids = matcher.match(event)
        found[number, ids] = True
        assert found[number].sum() == len(ids), "a rule is reported twice"
    return found


def in_a_batch(matcher, events, rules):
    found = np.zeros((len(events), rules), np.bool_)
    table = matcher.match_batch(events)
    rule_ids = table["rule_id"].combine_chunks()
    if table.num_rows:
        found[table["event"].to_numpy(), rule_ids.cast("int64").to_numpy()] = True
    assert found.sum() == table.num_rows, "a pair is reported twice"
    return found
