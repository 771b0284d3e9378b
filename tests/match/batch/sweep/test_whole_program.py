"""The program of a sweep that a file keeps: what was saved is what is made, and what passes as
sound can be swept, on the processor and on a card."""

import random
from itertools import pairwise

import numpy as np
import pytest

from index.file import mutations
from matchwood import Matcher
from matchwood.index.build.segment import build
from matchwood.index.file.array_file import IndexFileError, read, write
from matchwood.match.batch.gpu import card_program
from matchwood.match.batch.gpu.card_program import card_index, levelled
from matchwood.match.batch.sweep import sweep_program, whole_program
from matchwood.match.batch.sweep.whole_program import STORED, WholeProgram, program_from
from matchwood.match.event import event_matcher

SETS = list(mutations.rule_sets(4))


@pytest.mark.parametrize("rules", SETS, ids=range(len(SETS)))
def test_what_is_stored_is_the_program(rules):
    segment = build(rules).segment
    whole = WholeProgram(segment)
    for verify in (True, False):
        found = program_from(whole.stored(), segment, verify)
        for name, array in found._asdict().items():
            right = getattr(whole.get(), name)
            assert array.dtype == right.dtype, name
            assert array.tolist() == right.tolist(), name
            assert not array.flags.writeable


def test_strategies_of_a_loaded_matcher_share_the_program_of_its_file(tmp_path, monkeypatch):
    rules = {n: f"a = {n % 7} and (b > {n} or c in ({n}, 5)) or not (b = 3)" for n in range(90)}
    matcher = Matcher(rules)
    matcher.save(tmp_path / "rules.mw")
    monkeypatch.setattr(whole_program, "program_of", lambda *_: pytest.fail("a program is made"))
    monkeypatch.setattr(sweep_program, "program_of", lambda *_: pytest.fail("a program is made"))
    loaded = Matcher.load(tmp_path / "rules.mw")
    (part,) = loaded.store.snapshot.parts
    assert part.batch.force("sweep")
    events = [{"a": n % 7, "b": n, "c": 5} for n in range(80)]
    (other,) = matcher.store.snapshot.parts
    other.batch.force("one by one")
    right = sorted(map(tuple, (row.values() for row in matcher.match_batch(events).to_pylist())))
    found = sorted(map(tuple, (row.values() for row in loaded.match_batch(events).to_pylist())))
    assert found == right
    assert part.batch.gpu.arrays(1 << 40).programs[0].node_count == part.segment.nodes
    loaded.save(tmp_path / "again.mw")  # from what was loaded
    assert (tmp_path / "again.mw").read_bytes() == (tmp_path / "rules.mw").read_bytes()


def test_batches_do_without_what_single_events_need(tmp_path, monkeypatch):
    matcher = Matcher({1: "a = 1", 2: "a = 2 and b like 'x%'"})
    matcher.save(tmp_path / "rules.mw")
    loaded = Matcher.load(tmp_path / "rules.mw")
    (part,) = loaded.store.snapshot.parts
    assert part.batch.force("sweep")
    with monkeypatch.context() as patched:
        patched.setattr(event_matcher, "index_of", lambda _: pytest.fail("arrays are made"))
        assert loaded.match_batch([{"a": 1}])["rule_id"].to_pylist() == [1]
        assert part.batch.gpu.arrays(1 << 40).slots == len(part.segment.slots)
        assert part.bytes >= part.segment.bytes
    assert loaded.match({"a": 2, "b": "xy"}) == [2]


def tiny_pieces(count, _):
    """Bounds of pieces that are smaller than what is worth a thread."""
    return list(pairwise([*range(0, count, 5), count])) or [(0, count)]


@pytest.mark.parametrize("rules", SETS, ids=range(len(SETS)))
def test_pieces_are_checked_and_written_as_the_whole(rules, monkeypatch):
    segment = build(rules).segment
    stored = WholeProgram(segment).stored()
    arguments = segment.packed, event_matcher.family_ends(segment), len(segment.slots)
    whole, some = card_index(*arguments), random.Random(7)
    changed = [stored | {"keys": mutations.changed(stored["keys"], some)} for _ in range(20)]

    def is_sound(arrays):
        try:
            program_from(arrays, segment)
        except IndexFileError:
            return False
        return True

    sound = [is_sound(arrays) for arrays in changed]
    for module in (whole_program, card_program):
        monkeypatch.setattr(module, "pieces_of", tiny_pieces)
    assert card_index(*arguments).tolist() == whole.tolist()
    assert is_sound(stored)
    assert [is_sound(arrays) for arrays in changed] == sound


def test_a_file_without_a_program_is_read(tmp_path):
    path = tmp_path / "rules.mw"
    Matcher({n: f"a = {n}" for n in range(9)}).save(path)
    meta, arrays = read(path)
    write(path, meta, {name: array for name, array in arrays.items() if ".sweep." not in name})
    table = Matcher.load(path).match_batch([{"a": 3}] * 2)
    assert table["rule_id"].to_pylist() == [3, 3]
    forged = {name: array for name, array in arrays.items() if name != "0.sweep.keys"}
    write(path, meta, forged)
    with pytest.raises(IndexFileError, match=r"rules\.mw is not as matchwood writes files"):
        Matcher.load(path)
    write(path, meta, arrays | {"0.sweep.nodes": np.full(4, 7, np.int32)})
    with pytest.raises(IndexFileError, match=r"rules\.mw holds a program of a sweep that is not"):
        Matcher.load(path)


@pytest.mark.parametrize("rules", SETS[3:], ids=range(3, len(SETS)))
def test_every_element_beyond_all_bounds_is_refused(rules):
    segment = build(rules).segment
    stored = WholeProgram(segment).stored()
    for name, array in stored.items():
        some = random.Random(name)
        for wrong in (np.iinfo(array.dtype).max, np.iinfo(array.dtype).min, -3):
            for _ in range(min(array.size, 20)):
                changed = np.array(array)
                changed.reshape(-1)[some.randrange(array.size)] = wrong
                if name == "keys" and wrong < 0:  # the key of some literal, if it is not too low
                    changed[changed == wrong] = -2 - 2 * segment.packed.atoms - 100
                with pytest.raises(IndexFileError):
                    program_from(stored | {name: changed}, segment)
        for wrong in (array.astype(np.float64), array[None], np.zeros((3, 3), array.dtype)):
            with pytest.raises(IndexFileError):
                program_from(stored | {name: wrong}, segment)


def test_changes_raise_nothing_else_and_what_passes_has_a_form_for_cards():
    some = random.Random(6)
    segments = [build(rules).segment for rules in SETS]
    known = [WholeProgram(segment).stored() for segment in segments]
    refused = 0
    for _ in range(600):
        number = some.randrange(len(segments))
        segment, stored = segments[number], known[number]
        name = some.choice(list(STORED))
        try:
            program = program_from(stored | {name: mutations.changed(stored[name], some)}, segment)
        except IndexFileError:
            refused += 1
            continue
        arrays = levelled(program, segment.rules)
        assert arrays.node_of_rule.max(initial=-1) < arrays.node_count
        bounds = arrays.level_bounds
        assert bounds == sorted(bounds)
    assert 250 < refused < 600
