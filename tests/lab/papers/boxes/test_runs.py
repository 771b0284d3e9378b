"""Runs are lists: in order where they are ordered, whatever moves in the array behind them."""

from random import Random

import numpy as np
import pytest

from matchwood.lab.papers.boxes.runs import Runs


@pytest.mark.parametrize(("keyed", "ordered"), [(False, False), (True, False), (True, True)])
def test_runs_are_lists(keyed, ordered):
    dice = Random(4)
    entries = [(dice.randrange(5), dice.randrange(20), item) for item in range(100)]
    runs = Runs(5, keyed=keyed, ordered=ordered)
    run, key, item = (np.array(column, np.int32) for column in zip(*entries, strict=True))
    runs.fill(run, key, item)
    runs.reserve(8)
    lists = set(entries)
    for new in range(100, 600):
        if dice.random() < 0.45 and lists:
            gone = dice.choice(sorted(lists))
            runs.delete(*gone)
            lists.discard(gone)
        else:
            entry = (dice.randrange(8), dice.randrange(20), new)
            runs.insert(*entry)
            lists.add(entry)
    for number in range(8):
        found = runs.of(number).tolist()
        assert sorted(found) == sorted(item for run, _, item in lists if run == number)
        keys = runs.keys[runs.at[number] : runs.at[number] + runs.size[number]].tolist()
        if keyed:
            known = {item: key for _, key, item in lists}
            assert keys == [known[item] for item in found]
        if ordered:
            assert keys == sorted(keys)
    assert runs.bytes >= 4 * len(lists)
