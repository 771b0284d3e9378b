"""A sweep on a card, in the simulator, beside `evaluate` and the processor."""

import doctest
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from match.batch.gpu.card_check import SMALL, STATES, differences
from match.random_matrix import Matrix
from matcher.expected import assert_right, expected, pairs
from matchwood import Matcher
from matchwood.match.batch.batch_matcher import BatchMatcher
from matchwood.match.batch.device_counts import device_counts
from matchwood.match.batch.gpu import card
from matchwood.match.batch.strategies import gpu_strategy
from matchwood.match.batch.strategies.gpu_strategy import GpuStrategy
from matchwood.match.event.event_matcher import ALL

RULES = {
    1: "a > 3 and b = 2 or c in (1, 5, 7)",
    2: "not (a between 2 and 5)",
    3: "name like '%ell%' and not (name like 'x%')",
    4: "a < b",
    5: "true",
    6: "a is null",
    7: "false",
    8: "tags = 'x' and tags != 'y'",
    9: "not (tags in ('x', 'z')) or c is not null",
}
EVENTS = [
    {"a": a, "b": b, "c": c, "name": name, "tags": tags}
    for a, b, c in ((4, 2, 5), (1, 7, None), (None, 2, 1))
    for name in ("hello", "xell", None)
    for tags in ("x", ["x", "y"], ["z", "y"], ["y"], None)
]


@pytest.fixture(autouse=True)
def _in_the_simulator(simulator):
    card._search.problem = None  # what a test before has given up


def test_documented_examples():
    assert doctest.testmod(card).failed == 0


def test_what_is_too_old_is_said(monkeypatch):
    from numba.cuda.cudadrv import driver, nvrtc, runtime

    assert card._problem() is None  # the simulator knows no versions
    ask = {"raising": False}  # it has no such functions either
    monkeypatch.setattr(driver.driver, "get_version", lambda: (12, 4), **ask)
    monkeypatch.setattr(runtime, "get_version", lambda: (13, 0), **ask)
    monkeypatch.setattr(nvrtc, "get_lowest_supported_cc", lambda: (7, 5), **ask)
    too_old = "no GPU is used because its driver is for CUDA 12.4, and CUDA 13.0 needs a newer one"
    assert card._problem() == too_old
    with monkeypatch.context() as broken:
        broken.setattr("numba.cuda.list_devices", lambda: [][0])
        assert card._problem() == too_old
        broken.setattr(driver.driver, "get_version", lambda: (13, 0))
        assert card._problem() == (
            "no GPU is used because its driver does not answer: list index out of range"
        )
    monkeypatch.setattr(driver.driver, "get_version", lambda: (13, 0))
    assert card._problem() == (
        "no GPU is used because this one has compute capability 5.2, and CUDA 13.0 needs 7.5"
    )
    monkeypatch.setattr(runtime, "get_version", lambda: [][0])
    assert card._problem() is None
    monkeypatch.setitem(sys.modules, "numba.cuda.cudadrv.runtime", None)
    assert card._problem() is None


def matcher_of(rules, **options):
    matcher = Matcher(rules, **options)
    matcher.compact()
    matcher.join()
    return matcher


def strategy_of(matcher):
    (part,) = matcher.store.snapshot.parts
    return part.batch.gpu


@pytest.mark.parametrize("size", SMALL, ids=str)
@pytest.mark.parametrize("state", STATES)
def test_against_evaluate(size, state, tmp_path):
    wrong = differences(Matrix(0, *size), state, tmp_path)
    assert not wrong


def test_rules_and_events_of_every_kind():
    matcher = matcher_of(RULES)
    right = expected(RULES, EVENTS)
    before = device_counts.now()
    assert pairs(matcher.match_batch(EVENTS, device="gpu")) == right
    assert list(device_counts.since(before)) == [card.card_name()]
    plain = [{k: v for k, v in event.items() if k != "tags"} for event in EVENTS]
    table = pa.Table.from_pylist(plain)
    assert pairs(matcher.match_batch(table, device="gpu")) == expected(RULES, plain)
    assert_right(matcher, RULES, EVENTS)


def test_in_slices_and_pieces(monkeypatch):
    from matchwood.match.batch.gpu import card_buffers, card_sweep

    monkeypatch.setattr(gpu_strategy, "MEMORY_SHARE", 0)
    monkeypatch.setattr(gpu_strategy, "MOST_SLICES", 4)
    monkeypatch.setattr(card_buffers, "PIECE_PAIRS", 16)
    monkeypatch.setattr(card_sweep, "_FIRST_PAIRS", 1)
    matrix = Matrix(0, 150, 120, 60)
    matcher = matcher_of(matrix.rules)
    right = {(int(e), int(r)) for e, r in np.argwhere(matrix.right)}
    assert pairs(matcher.match_batch(matrix.events, device="gpu")) == right
    assert strategy_of(matcher).slices == 4


def test_tags_limits_and_keys():
    matcher = Matcher()
    for number in range(40):
        tags = {"even"} if number % 2 == 0 else {"odd"}
        matcher.add(number, f"a >= {number % 5}", tags=tags, priority=number)
    matcher.compact()
    matcher.join()
    events = [{"a": a, "id": f"e{a}"} for a in range(6)]
    for options in ({"tags": {"even"}}, {"limit": 3}, {"tags": {"odd"}, "limit": 2}, {"key": "id"}):
        on_card = matcher.match_batch(events, device="gpu", **options)
        assert pairs(on_card) == pairs(matcher.match_batch(events, device="cpu", **options))


def test_pairs_come_in_the_order_of_rules_and_events():
    matcher = matcher_of({number: f"a >= {number % 5}" for number in range(100)})
    (part,) = matcher.store.snapshot.parts
    from matchwood.match.batch.codes.batch_codes import codes_of_rows

    codes = codes_of_rows([{"a": a % 7} for a in range(50)], part.matcher)[0]
    events, rules = map(np.concatenate, zip(*part.batch.gpu.pairs(codes, ALL, 0, 50), strict=True))
    order = np.lexsort((events, rules))
    assert (order == np.arange(len(order))).all()


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_a_card_that_fails_in_the_middle(pieces, monkeypatch):
    from matchwood.match.batch.gpu import card_buffers, card_sweep

    monkeypatch.setattr(card_buffers, "PIECE_PAIRS", 16)
    monkeypatch.setattr(gpu_strategy, "_said", set())
    given = card_sweep.CardWorker.pairs

    def failing(self, *arguments):
        for number, piece in enumerate(given(self, *arguments)):
            if number == pieces:
                raise RuntimeError("an illegal memory access was encountered\nmore")
            yield piece

    monkeypatch.setattr(card_sweep.CardWorker, "pairs", failing)
    matcher = matcher_of(RULES)
    sentence = "the GPU failed: an illegal memory access was encountered; the processor matches"
    before = device_counts.now()
    with pytest.warns(card.CardWarning, match=sentence):
        found = pairs(matcher.match_batch(EVENTS, device="gpu"))
    assert found == expected(RULES, EVENTS)
    assert list(device_counts.since(before)) == ["cpu"]
    assert pairs(matcher.match_batch(EVENTS, device="gpu")) == found  # without the card, silently
    assert "illegal" in card.card_problem()


def counts_of(found, events, by):
    """`count_batch` as a dict, from all pairs."""
    counts = {} if by == "rule" else dict.fromkeys(range(len(events)), 0)
    for event, rule in found:
        place = rule if by == "rule" else event
        counts[place] = counts.get(place, 0) + 1
    return counts


def counted(matcher, events, **options):
    event_or_rule, matches = matcher.count_batch(events, **options)
    return dict(zip(event_or_rule.to_pylist(), matches.to_pylist(), strict=True))


# In the simulator one thread at a time may use a kernel.
@pytest.mark.parametrize(("device", "threads"), [("cpu", 1), ("cpu", 3), ("gpu", 1)])
@pytest.mark.parametrize("by", ["rule", "event"])
def test_counts(by, device, threads, monkeypatch):
    from matchwood.match.batch import rule_counts
    from matchwood.match.search import event_slices

    monkeypatch.setattr(rule_counts, "MOST_ON_CARD", 2)
    monkeypatch.setattr(event_slices, "EVENTS", 20)  # three batches
    matcher = matcher_of(RULES)
    matcher.add(20, "a = 4", tags={"later"})
    matcher.remove([2])
    rules = {**RULES, 20: "a = 4"}
    del rules[2]
    found = expected(rules, EVENTS)
    options = {"by": by, "device": device, "threads": threads}
    assert counted(matcher, EVENTS, **options) == counts_of(found, EVENTS, by)
    later = {(event, rule) for event, rule in found if rule == 20}
    assert counted(matcher, EVENTS, tags=["later"], **options) == counts_of(later, EVENTS, by)
    assert matcher.count_batch([], **options).num_rows == 0
    with pytest.raises(ValueError, match="by is 'tag', expected 'rule' or 'event'"):
        matcher.count_batch(EVENTS, by="tag")


@pytest.mark.parametrize("by", ["rule", "event"])
def test_a_card_that_fails_while_it_counts(by, monkeypatch):
    from matchwood.match.batch.gpu import card_sweep
    from matchwood.match.search import event_slices

    calls = []
    given = card_sweep.CardWorker.compute

    def failing(self, *arguments):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("an illegal memory access")
        return given(self, *arguments)

    monkeypatch.setattr(card_sweep.CardWorker, "compute", failing)
    monkeypatch.setattr(gpu_strategy, "_said", set())
    monkeypatch.setattr(event_slices, "EVENTS", 20)
    matcher = matcher_of(RULES)
    with pytest.warns(card.CardWarning, match="the GPU failed: an illegal memory access"):
        found = counted(matcher, EVENTS, by=by, device="gpu")
    assert len(calls) == 2
    assert found == counts_of(expected(RULES, EVENTS), EVENTS, by)


def test_the_best_of_each_event_are_found_on_the_card(monkeypatch):
    from matchwood.match.batch.gpu import card_sweep

    monkeypatch.setattr(card_sweep, "_FIRST_RANKS", 8)  # several rounds
    matrix = Matrix(0, 50, 50, 30)
    matcher = Matcher()
    for rule_id, rule in matrix.rules.items():
        tags = {"odd"} if rule_id % 2 else {"even"}
        matcher.add(rule_id, rule, tags=tags, priority=rule_id * 7919 % 53)
    matcher.compact()
    matcher.join()
    matcher.remove(range(0, 50, 11))
    matcher.add(500, "true", priority=25.5)  # is in no part yet
    for options in ({"limit": 1}, {"limit": 4}, {"limit": 60}, {"limit": 3, "tags": ["odd"]}):
        on_card = matcher.match_batch(matrix.events, device="gpu", **options)
        assert pairs(on_card) == pairs(matcher.match_batch(matrix.events, device="cpu", **options))
    assert matcher.match_batch(matrix.events, device="gpu", limit=0).num_rows == 0


def test_the_best_of_rules_without_priorities_and_in_slices(monkeypatch):
    asked = without_memory_for(monkeypatch, 2)
    matcher = matcher_of(RULES)
    found = matcher.match_batch(EVENTS, device="gpu", limit=2)
    assert asked == [1, 2]
    right = expected(RULES, EVENTS)
    assert pairs(found) <= right
    counts = np.bincount([event for event, _ in right], minlength=len(EVENTS))
    numbers = found["event"].to_numpy()
    assert (np.bincount(numbers, minlength=len(EVENTS)) == np.minimum(counts, 2)).all()


def test_matches_left_on_the_card(monkeypatch):
    from matchwood.match.search import event_slices

    monkeypatch.setattr(event_slices, "EVENTS", 20)  # three batches
    matcher = matcher_of(RULES)
    matcher.update({n: f"b = {n}" for n in range(20, 24)})
    matcher.store.join()
    matcher.add(30, "a = 4")
    rules = {**RULES, **{n: f"b = {n}" for n in range(20, 24)}, 30: "a = 4"}
    found = set()
    for some in matcher.match_on_card(EVENTS):
        events, numbers = np.from_dlpack(some.events), np.from_dlpack(some.rules)
        table = pa.record_batch(some)
        assert table.schema.names == ["event", "rule"]
        assert table["event"].to_pylist() == events.tolist() == some.events.to_numpy().tolist()
        assert table["rule"].to_pylist() == numbers.tolist()
        ids = some.rule_ids.take(table["rule"]).to_pylist()
        each = list(zip((events.astype(int) + some.first_event).tolist(), ids, strict=True))
        assert len(each) == len(some)
        assert found.isdisjoint(each)
        found.update(each)
    assert found == expected(rules, EVENTS)


def test_numbers_are_copied_only_for_those_who_ask():
    (some,) = matcher_of({1: "a > 3"}).match_on_card(EVENTS)
    column = some.rules

    class Copied:  # as np.from_dlpack(column, copy=True) asks, which NumPy 2.0 does not have
        def __dlpack__(self, **_options):
            return column.__dlpack__(copy=True)

        def __dlpack_device__(self):
            return column.__dlpack_device__()

    same, copied = np.from_dlpack(column), np.from_dlpack(Copied())
    assert same.ctypes.data == column.address != copied.ctypes.data
    assert same.tolist() == copied.tolist() == column.to_numpy().tolist()
    here = column.__dlpack_device__()
    assert column.__dlpack__(dl_device=here, stream=None, max_version=(1, 0)) is not None
    with pytest.raises(BufferError, match="on device"):
        column.__dlpack__(dl_device=(here[0] + 1, 0))


def test_exported_matches_name_the_card_that_has_them():
    """Through the structures of C: nobody here could read what is on a second card."""
    import ctypes

    from matchwood.match.batch.gpu import card_exports as exports

    in_capsule = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    numbers = np.arange(3, dtype=np.int32)
    address, second_card = numbers.ctypes.data, (exports.CUDA_DEVICE, 1)
    capsule = exports.tensor_capsule(numbers, address, 3, numbers.dtype, second_card)
    at = in_capsule(capsule, b"dltensor")
    tensor = exports._DLManagedTensor.from_address(at).tensor
    assert (tensor.data, tensor.device_type, tensor.device_id) == (address, *second_card)
    columns = {"rule": (numbers, address, numbers.dtype)}
    _, capsule = exports.device_array_capsules(columns, 3, second_card)
    at = in_capsule(capsule, b"arrow_device_array")
    array = exports._ArrowDeviceArray.from_address(at)
    assert (array.device_type, array.device_id) == second_card
    assert ctypes.sizeof(array) == 128  # as in Arrow's header


def test_memory_of_exported_matches_is_freed():
    import gc
    import weakref

    from matchwood.match.batch.gpu import card_exports

    held = len(card_exports._held)
    (some,) = matcher_of({1: "a > 3"}).match_on_card(EVENTS)
    memory = weakref.ref(some.rules._array._ary)
    column = np.from_dlpack(some.rules)
    tables = [pa.record_batch(some) for _ in range(3)]
    rest = tables[0]["rule"], some.__arrow_c_device_array__(), some.rules.__dlpack__()
    expected_rules = column.tolist()
    del some, column
    tables.clear()
    gc.collect()
    assert memory() is not None
    assert rest[0].to_pylist() == expected_rules
    del rest
    gc.collect()
    assert memory() is None
    assert len(card_exports._held) == held


def test_without_a_card_nothing_is_left_there():
    card.give_up("no GPU is used because this machine has none")
    with pytest.raises(card.CardError, match="because this machine has none"):
        matcher_of(RULES).match_on_card(EVENTS)


def without_memory_for(monkeypatch, slices):
    """A card with too little memory for fewer slices of the rules; how many it was asked for."""
    from matchwood.match.batch.gpu import card_sweep

    asked = []
    place = card_sweep.CardWorker.place

    def placed(self, *arguments):
        asked.append(len(self.segment.programs))
        if asked[-1] < slices:
            raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        return place(self, *arguments)

    monkeypatch.setattr(card_sweep.CardWorker, "place", placed)
    return asked


def test_rules_are_sliced_when_memory_runs_out(monkeypatch):
    asked = without_memory_for(monkeypatch, 4)
    matcher = matcher_of(RULES)
    right = expected(RULES, EVENTS)
    assert pairs(matcher.match_batch(EVENTS, device="gpu")) == right
    assert asked == [1, 2, 4]
    assert strategy_of(matcher).description == "simulator, in 4 slices"
    assert counted(matcher, EVENTS, by="rule", device="gpu") == counts_of(right, EVENTS, "rule")
    assert asked == [1, 2, 4, 4]
    assert card.card_problem() is None


def test_the_processor_matches_when_the_index_does_not_fit(monkeypatch):
    from matchwood.match.batch.gpu import card_sweep

    asked = []

    def without_memory(self, arrays, tables):
        asked.append(len(arrays.programs))
        raise MemoryError("out of memory")

    monkeypatch.setattr(card_sweep.CardSegment, "__init__", without_memory)
    monkeypatch.setattr(gpu_strategy, "MOST_SLICES", 4)
    monkeypatch.setattr(gpu_strategy, "_said", set())
    with pytest.warns(card.CardWarning, match="out of memory"):
        found = pairs(matcher_of(RULES).match_batch(EVENTS, device="gpu"))
    assert asked == [1, 2, 4]
    assert found == expected(RULES, EVENTS)


@pytest.mark.parametrize("by", ["rule", "event"])
def test_slices_are_counted_when_memory_runs_out(by, monkeypatch):
    asked = without_memory_for(monkeypatch, 2)
    matcher = matcher_of(RULES)
    found = counted(matcher, EVENTS, by=by, device="gpu")
    assert asked == [1, 2]
    assert found == counts_of(expected(RULES, EVENTS), EVENTS, by)


@pytest.mark.parametrize("by", ["rule", "event"])
def test_no_slice_is_counted_twice_when_memory_runs_out(by, monkeypatch):
    from matchwood.match.batch.gpu import card_sweep
    from matchwood.match.search import event_slices

    asked = []
    compute = card_sweep.CardWorker.compute

    def computed(self, *arguments):
        asked.append(self.segment.slices)
        if asked in ([1], [1, 2, 2, 2, 2]):  # the second slice of the second batch
            raise MemoryError("out of memory")
        return compute(self, *arguments)

    monkeypatch.setattr(card_sweep.CardWorker, "compute", computed)
    monkeypatch.setattr(event_slices, "EVENTS", 20)  # three batches
    matcher = matcher_of(RULES)
    found = counted(matcher, EVENTS, by=by, device="gpu")
    assert max(asked) == 4
    assert found == counts_of(expected(RULES, EVENTS), EVENTS, by)


def test_the_processor_matches_when_no_slice_fits(monkeypatch):
    asked = without_memory_for(monkeypatch, 1000)
    monkeypatch.setattr(gpu_strategy, "MOST_SLICES", 4)
    monkeypatch.setattr(gpu_strategy, "_said", set())
    matcher = matcher_of(RULES)
    with pytest.warns(card.CardWarning, match="CUDA_ERROR_OUT_OF_MEMORY"):
        found = pairs(matcher.match_batch(EVENTS, device="gpu"))
    assert asked == [1, 2, 4]
    assert found == expected(RULES, EVENTS)


def test_memory_that_runs_out_in_the_middle(monkeypatch):
    """What was given already is not given again, and the next batch is swept in slices."""
    from matchwood.match.batch.gpu import card_buffers, card_sweep

    monkeypatch.setattr(card_buffers, "PIECE_PAIRS", 16)
    given = card_sweep.CardWorker.pairs

    def failing(self, *arguments):
        for number, piece in enumerate(given(self, *arguments)):
            if number == 1 and len(self.segment.programs) == 1:
                raise MemoryError("out of memory")
            yield piece

    monkeypatch.setattr(card_sweep.CardWorker, "pairs", failing)
    matcher = matcher_of(RULES)
    right = expected(RULES, EVENTS)
    for slices in (1, 2):
        found = matcher.match_batch(EVENTS, device="gpu")
        assert found.num_rows == len(right)
        assert pairs(found) == right
        assert strategy_of(matcher).slices == slices


def test_the_environment_names_the_device(monkeypatch):
    used = []
    monkeypatch.setattr(BatchMatcher, "_on_gpu", lambda *_: used.append(1) or iter(()))
    matcher = matcher_of(RULES)
    matcher.match_batch(EVENTS)
    assert not used
    monkeypatch.setenv("MATCHWOOD_DEVICE", "gpu")
    matcher.match_batch(EVENTS)
    assert used
    monkeypatch.setenv("MATCHWOOD_DEVICE", "tpu")
    with pytest.raises(ValueError, match="MATCHWOOD_DEVICE is 'tpu', expected one of cpu, gpu"):
        matcher.match_batch(EVENTS)
    with pytest.raises(ValueError, match="device is 'tpu', expected one of cpu, gpu, auto"):
        matcher.match_batch(EVENTS, device="tpu")


def test_auto_takes_the_faster_one(monkeypatch):
    matcher = matcher_of(RULES)
    (part,) = matcher.store.snapshot.parts
    for seconds, is_faster in ((0.0, True), (10.0, False)):
        monkeypatch.setattr(GpuStrategy, "expected_seconds", lambda *_, s=seconds: s)
        assert part.batch._prefers_gpu("auto", 100) is is_faster


NO_CARD = """
import warnings
from matchwood import Matcher
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        print(Matcher({1: "a > 1"}).match_batch([{"a": 2}], device="gpu").num_rows)
        matcher = Matcher({n: f"a > {n}" for n in range(3)})
        matcher.compact()
        print(matcher.match_batch([{"a": 2}], device="gpu").num_rows)
        print(matcher.match_batch([{"a": 2}], device="auto").num_rows)
print(*[warning.message for warning in caught], sep="\\n")

# What numba-cuda calls what the simulator does not have.
from types import SimpleNamespace
from matchwood.match.batch.gpu.card_matches import device_of
from numba.cuda.cudadrv import devicearray, driver, nvrtc, runtime
assert callable(driver.driver.get_version) and callable(runtime.get_version)
assert callable(nvrtc.get_lowest_supported_cc)
context = SimpleNamespace(device=SimpleNamespace(id=1))
memory = driver.MemoryPointer(context, driver.binding.CUdeviceptr(4096), 12)
array = devicearray.DeviceNDArray((3,), (4,), "i4", gpu_data=memory)
part = devicearray.DeviceNDArray((2,), (4,), "i4", gpu_data=memory.view(4))
assert device_of(array) == device_of(part) == (2, 1)
"""


def test_no_card_is_one_sentence():
    """Without a card the processor answers, and one warning says why."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    run = subprocess.run(
        [sys.executable, "-c", NO_CARD], env=environment, capture_output=True, text=True, check=True
    )
    lines = run.stdout.splitlines()
    assert lines[:6] == ["1", "2", "2"] * 2
    assert len(lines) == 7
    assert lines[6].startswith("no GPU is used because")
    assert lines[6].endswith("; the processor matches instead")
