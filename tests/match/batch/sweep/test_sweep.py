"""A sweep answers as `evaluate` does, whatever events have in common, and on any processor."""

import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import matchwood
from match.forced import little_memory
from matcher.expected import SWEEP, batches, expected, force
from matchwood import Matcher
from matchwood.kernels.masks import EVENTS
from matchwood.lab.bench.kernel import Kernel
from matchwood.match.batch.leased_arrays import LeasedArrays
from matchwood.match.batch.pairs import BUFFERED_PAIRS
from matchwood.match.batch.sweep import pair_buffers
from matchwood.match.batch.sweep.slot_kernels import BLOCK, MOST
from matchwood.match.batch.sweep.sweep_program import program_of, sliced
from matchwood.match.event.event_matcher import ALL

RULES = {
    "one": "a = 3",
    "not": "a != 3",
    "several": "a in (1, 3, 5, 9)",
    "none of several": "a not in (1, 3, 5, 9)",
    "missing": "a is null",
    "there": "a is not null",
    "pattern": "name like 'x%'",
    "no pattern": "name not like 'x%'",
    "and": "a > 2 and b < 7",
    "and of many": "a > 2 and b < 7 and c in (1, 2) and d != 4",
    "or": "a = 1 or b = 2 or c = 3",
    "both": "(a > 2 and b < 7) or (c in (1, 2) and name like '%1%') or d is null",
    "apart": "(a > 2 or b < 7) and (c in (1, 2) or name like '%1%') and d is not null",
    "parity": "a = 1 xor b = 2 xor c = 3",
    "always": "true",
    "never": "false",
    "other": "e is null and a is null",
}


def events_with(count, lists=False, events=EVENTS):
    """Events of which so many have `a`; most of the others have `b`, and few `c` and `d`."""
    source = random.Random(count)
    made = []
    for number in range(events):
        event = {"b": source.randrange(10)} if source.random() < 0.9 else {}
        if number * count // events != (number + 1) * count // events:
            event["a"] = source.randrange(10)
        if source.random() < 0.04:
            event["c"], event["d"] = source.randrange(5), source.randrange(5)
        if source.random() < 0.1:
            event["name"] = source.choice(("x1", "y1", "x", ""))
        if lists and source.random() < 0.1:
            event["a"] = source.choice(([], [3], [1, 2], [None], [3, "x", None]))
        made.append(event)
    return made


@pytest.mark.parametrize("count", [0, 1, MOST - 1, MOST, MOST + 1, EVENTS])
def test_a_slot_that_few_or_many_events_have(count):
    events = events_with(count)
    assert sum("a" in event for event in events) == count
    assert batches(Matcher(RULES), events, SWEEP) == expected(RULES, events)


def test_64_events_that_lie_in_one_word():
    events = [{"b": 1}] * 64 + [{"a": n % 10, "c": 1} for n in range(64)] + [{}] * 100
    assert batches(Matcher(RULES), events, SWEEP) == expected(RULES, events)


def test_lists():
    events = events_with(20, lists=True)
    assert batches(Matcher(RULES), events, SWEEP) == expected(RULES, events)


def test_a_scratch_that_an_earlier_batch_has_used():
    """Which literals are words, and which are masks, changes from batch to batch."""
    matcher = Matcher(RULES)
    for count, lists in ((10, False), (500, False), (10, True), (0, False), (64, False)):
        events = events_with(count, lists, 300)
        assert batches(matcher, events, SWEEP) == expected(RULES, events)


def test_only_wanted_rules():
    matcher = Matcher()
    for number, (rule_id, rule) in enumerate(RULES.items()):
        matcher.add(rule_id, rule, tags={"even" if number % 2 == 0 else "odd"})
    matcher.join()
    matcher.compact()
    del matcher["or"]
    events = events_with(40)
    wanted = {rule_id: rule for rule_id, rule in list(RULES.items())[::2] if rule_id != "or"}
    assert batches(matcher, events, SWEEP, tags={"even"}) == expected(wanted, events)


def many_rules():
    """Rules with many and few operands, equal rules, and more of each shape than a block has."""
    source = random.Random(5)
    names = [f"a{n}" for n in range(60)]
    wide = " or ".join(f"a{n % 60} = {n}" for n in range(700))
    rules = [wide, wide.replace(" or ", " and ").replace(" =", " !=")]
    for _ in range(5 * BLOCK):
        some = [f"{source.choice(names)} > {source.randrange(9)}" for _ in range(4)]
        rules += [
            " and ".join(some[:2]),
            " or ".join(some),
            f"({some[0]} or {some[1]}) and {some[2]}",
        ]
    return dict(enumerate(rules + rules[:50]))


def many_events():
    source = random.Random(6)
    return [
        {f"a{n}": source.randrange(12) for n in source.sample(range(60), 8)} for _ in range(200)
    ]


def test_little_memory_changes_no_answer():
    rules, events = many_rules(), many_events()
    matcher = Matcher(rules)
    right = batches(matcher, events, SWEEP)
    assert right == expected(rules, events)
    with little_memory():
        assert batches(matcher, events, SWEEP) == right


def test_masks_that_no_number_of_slices_makes_small_enough_are_reported(caplog):
    matcher = Matcher(many_rules())
    with little_memory():
        for _ in range(2):
            batches(matcher, many_events(), SWEEP)
    [said] = [record.message for record in caplog.records if "masks" in record.message]
    assert said.startswith(f"a sweep of {len(matcher)} rules")
    assert "in 4 slices" in said


def test_each_rule_is_in_one_slice_which_has_all_that_it_needs():
    matcher = Matcher(many_rules())
    (part,) = matcher.store.snapshot.parts
    whole, slices = program_of(part.segment), sliced(part.segment, 4)
    assert len(slices) == 4
    assert sum(len(one.ordinals) for one in slices) == len(whole.ordinals)
    assert all(one.used[0] < whole.used[0] for one in slices)


def test_the_program_counts_as_bytes_of_the_index():
    matcher = Matcher(many_rules())
    before = matcher.stats().bytes
    (part,) = matcher.store.snapshot.parts
    force(matcher, SWEEP)
    matcher.match_batch([{"a1": 1}])
    assert matcher.stats().bytes == before + program_of(part.segment).bytes


def test_matches_that_somebody_holds_are_not_overwritten(monkeypatch):
    """All rules match all events, so that buffers are handed out and not copied."""
    monkeypatch.setattr(pair_buffers, "_buffers", LeasedArrays(4))
    rules = {number: f"a >= 0 or b = {number}" for number in range(3000)}
    matcher = Matcher(rules)
    force(matcher, SWEEP)
    events = [{"a": 1}] * EVENTS
    held = list(matcher.match_batches(events))
    assert len(held) > 2
    before = [batch.serialize().to_pybytes() for batch in held]
    assert matcher.match_batch(events).num_rows == len(rules) * EVENTS
    assert [batch.serialize().to_pybytes() for batch in held] == before


def test_a_buffer_that_nobody_holds_is_used_again(monkeypatch):
    monkeypatch.setattr(pair_buffers, "_buffers", LeasedArrays(4))
    first = pair_buffers.PairBuffer()
    first.columns()[0][0] = 1
    events, _ = first.taken(BUFFERED_PAIRS)
    other = pair_buffers.lease()
    assert not np.shares_memory(other, events)
    address = events.ctypes.data
    del events, _, other
    again = [pair_buffers.lease() for _ in range(2)]
    assert address in {buffer.ctypes.data for buffer in again}


SWEEP_ALONE = """
import pickle, sys
import numpy as np
from numba.core.registry import cpu_target
from matchwood.match.batch.strategies.sweep_strategy import SweepStrategy
from matchwood.match.event.event_matcher import ALL
with open(sys.argv[1], "rb") as file:
    programs, tree, codes_of, lazy, codes, right = pickle.load(file)
strategy = SweepStrategy.__new__(SweepStrategy)  # without a segment, whose kernels take a minute
strategy.name = "sweep"
strategy._programs, strategy._tree, strategy._codes_of = programs, tree, codes_of
strategy._free = []
strategy._lazy = lazy
from matchwood.match.batch.batch_strategy import LearntCost
strategy.cost = LearntCost("sweep", 0.0)
found = {
    pair
    for events, ordinals in strategy.pairs(codes, ALL, 0, codes.events)
    for pair in zip(events.tolist(), ordinals.tolist())
}
features = cpu_target.target_context.codegen()._tm_features.split(",")
assert found == right, (len(found), len(right), len(found ^ right))
print(*(name in features for name in ("+bmi2", "+avx512f", "+avx512vbmi2")))
"""


V3 = "+avx2,+bmi2,+popcnt,+lzcnt,+bmi"
V4 = f"{V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("generic", ""),
        pytest.param("x86-64-v3", V3, marks=pytest.mark.long),
        pytest.param("x86-64-v4", V4, marks=pytest.mark.long),
    ],
)
def test_a_processor_without_the_instructions_that_a_sweep_uses(name, features, tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("names processors of another kind")
    if "avx512f" in features and " avx512f " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("names a processor that has more instructions than this one")
    rules = many_rules() | RULES
    matcher = Matcher({str(rule_id): rule for rule_id, rule in rules.items()})
    (part,) = matcher.store.snapshot.parts
    codes = Kernel(matcher).coded_batch(many_events() + events_with(100, events=400))
    strategy = part.batch.strategies[SWEEP]
    force(matcher, SWEEP)
    right = {
        pair
        for events, ordinals in part.batch.pairs(codes, ALL)
        for pair in zip(events.tolist(), ordinals.tolist(), strict=True)
    }
    file = tmp_path / "sweep"
    known = (strategy._programs, strategy._tree, strategy._codes_of, strategy._lazy, codes, right)
    file.write_bytes(pickle.dumps(known))
    done = subprocess.run(
        [sys.executable, "-c", SWEEP_ALONE, str(file)],
        env=os.environ
        | {"PYTHONPATH": str(Path(matchwood.__file__).parents[1])}
        | {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{'bmi2' in features} {'avx512f' in features} False\n"
    assert len(right) > 5_000
