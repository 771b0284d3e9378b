"""Every strategy, each forced, so that no test depends on which one turns out to be quick."""

from contextlib import contextmanager

import numpy as np
import pytest

from matcher.expected import EACH, SWEEP, force, force_single
from matchwood.match.batch.leased_arrays import LeasedArrays
from matchwood.match.batch.strategies import sweep_strategy
from matchwood.match.batch.sweep import pair_buffers
from matchwood.match.batch.sweep.sweep_kernels import LEAST_ROOM
from matchwood.match.event import strategy_choice
from matchwood.match.event.event_strategies import NAMED_STRATEGIES
from matchwood.match.event.strategies import (
    bound_strategy,
    cell_strategy,
    jump_strategy,
    walk_strategy,
)

# What a matcher must learn before it changes its strategy: nothing, so that it always does.
NO_PATIENCE = {
    strategy_choice: {"MEASURED_EVERY": 1, "MEASURES_NEEDED": 1, "MEASURED_LATER_EVERY": 1},
    cell_strategy: {"LEAST_RECORDS": 0, "LEAST_SHARE": 0.0},
    bound_strategy: {"EXPECTED_SHARE": 1e9},
    jump_strategy: {"EXPECTED_SHARE": 1e9},
    walk_strategy: {"EXPECTED_SHARE": 1e9},
}
LEARNING = "learning"


@contextmanager
def little_memory():
    """Sweep rules in four slices, and into buffers that are full after a few rules."""
    patched = pytest.MonkeyPatch()
    patched.setattr(sweep_strategy, "SCRATCH_BUDGET", 0)
    patched.setattr(sweep_strategy, "MOST_SLICES", 4)
    patched.setattr(pair_buffers, "BUFFERED_PAIRS", LEAST_ROOM + 1)
    patched.setattr(pair_buffers, "_buffers", LeasedArrays(pair_buffers.MOST_KEPT))
    try:
        yield
    finally:
        patched.undo()


def _segment_matchers(matcher):
    return [part.matcher for part in matcher.store.snapshot.parts]


def _force(matcher, name):
    if name != LEARNING:
        return force_single(matcher, name)
    for one in _segment_matchers(matcher):
        one.learn_again()  # the next events use each strategy in turn, while others are prepared
    return True


@contextmanager
def _impatient():
    known = [
        (module, name, getattr(module, name))
        for module in NO_PATIENCE
        for name in NO_PATIENCE[module]
    ]
    for module, values in NO_PATIENCE.items():
        for name, value in values.items():
            setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in known:
            setattr(module, name, value)


def forced_strategies(matcher):
    """(name, function of events that gives the matches as a matrix of events and rules).

    A strategy that no part of the matcher allows is left out.
    """
    with _impatient():
        for name in (*NAMED_STRATEGIES, LEARNING):
            if not _force(matcher, name):
                continue
            yield f"one event, {name}", one_event_at_a_time
            force(matcher, EACH)
            yield f"batch one by one, {name}", in_a_batch
            for one in _segment_matchers(matcher):
                one.choice.settled()
        if force(matcher, SWEEP):
            yield "sweep", in_a_batch
            with little_memory():
                yield "sweep, little memory", in_a_batch


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
