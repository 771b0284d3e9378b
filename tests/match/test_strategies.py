"""Every strategy, forced, says of the same random rules and events what `evaluate` says."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from match.forced import forced_strategies
from match.random_matrix import SCHEMA, Matrix
from matcher.random_rules import LISTS, OPERATORS
from matchwood import Matcher
from matchwood.kernels.masks import EVENTS
from matchwood.match.event.cell_index import FEWEST
from matchwood.match.event.cell_tree_kernels import LEAF
from matchwood.match.event.event_kernels import SMALL


@dataclass(frozen=True)
class Size:
    rules: int
    predicates: int
    events: int
    lazy: bool = False


# Sizes on both sides of each limit: the `and`s of a leaf of cells, the nodes that make cells worth
# a try, the nodes of a small index, and the events of a mask. Every size is tried in each state.
SIZES = {
    "few": Size(12, 12, EVENTS + 1),
    "a mask": Size(90, 60, EVENTS),
    "below a leaf": Size(LEAF // 2, 120, 500),
    "several leaves": Size(3 * LEAF, 300, 500),
    "lazy": Size(1_000, 400, 220, lazy=True),
    "worth cells": Size(3 * FEWEST, 700, 150),
    "large": Size(SMALL + 4_000, 1_500, 82),
}


def built(matrix, folder):
    """Made from texts once for all states, which takes longer than most of what is tried."""
    if matrix.built is None:
        made = Matcher(matrix.rules, operators=OPERATORS, schema=SCHEMA, lists=LISTS)
        made.join()
        matrix.built = pickle.dumps(made)
        return made
    return pickle.loads(matrix.built)


def merged(matrix, folder):
    """Rules that were added in several steps, the last ones one by one, and then merged."""
    matcher = Matcher(operators=OPERATORS, schema=SCHEMA, lists=LISTS)
    items = list(matrix.rules.items())
    for low in range(0, len(items), max(1, len(items) // 3)):
        matcher.update(dict(items[low : low + max(1, len(items) // 3)]))
    for rule_id, rule in items[:20]:
        matcher[rule_id] = rule
    matcher.compact()
    return matcher


def loaded(matrix, folder):
    path = folder / "rules.mw"
    built(matrix, folder).save(path)
    return Matcher.load(path, operators=OPERATORS, schema=SCHEMA, lists=LISTS)


def in_parts(matrix, folder):
    """Several parts, with rules that were removed, and some rules that are in no part yet."""
    built(matrix, folder)
    matcher = pickle.loads(matrix.built)
    items = list(matrix.rules.items())
    matcher.update(dict(items[: len(items) // 4]))
    for rule_id, rule in items[:5]:
        matcher[rule_id] = rule
    matcher.remove(range(0, len(items), 7))
    return matcher


STATES = {"built": built, "merged": merged, "loaded": loaded, "in parts": in_parts}
PAIRS = len(STATES) * sum(size.rules * size.events for size in SIZES.values())

# The strategies that are possible for all rules; for those that nothing is evaluated on demand for;
# and for so many rules that bounds, and cells, are worth a try.
ALWAYS = (
    *("push", "push, small index", "push, large index"),
    *("cells, all literals", "cells, likely literals", "learning"),
)
IN_CODES = ("bounds, all literals", "bounds, likely literals", "jumps", "walk")
SWEEPS = {"sweep", "sweep, little memory"}


def expected_strategies(size):
    singles = (*ALWAYS, *(() if size.lazy else IN_CODES))
    if size.rules > 2 * FEWEST:
        singles = (*singles, "bounds", "cells")
    return SWEEPS | {
        f"{how}, {one}" for how in ("one event", "batch one by one") for one in singles
    }


@pytest.fixture(scope="module")
def matrices():
    return {}


def matrix_of(matrices, name, seed):
    if (name, seed) not in matrices:
        matrices.clear()  # only one is kept: the largest take some hundred megabytes
        size = SIZES[name]
        matrix = Matrix(seed, size.rules, size.predicates, size.events, size.lazy)
        matrix.check_sample(2_000, seed)
        matrices[name, seed] = matrix
    return matrices[name, seed]


QUICK = ("few", "below a leaf")


def marks(name):
    """All tests of a size run in one process, which then makes its rules and events only once."""
    found = [pytest.mark.xdist_group(f"strategies: {name}")]
    if name not in QUICK:
        found.append(pytest.mark.slow)
    return found


CASES = [pytest.param(name, state, marks=marks(name)) for name in SIZES for state in STATES]


@pytest.mark.parametrize(("name", "state"), CASES)
def test_every_strategy(name, state, matrices, tmp_path, request):
    """`--strategy-pairs`: pairs of a rule and an event, in all states together."""
    rounds = -(-request.config.getoption("--strategy-pairs") // PAIRS)
    for seed in range(rounds):
        matrix = matrix_of(matrices, name, seed)
        matcher = STATES[state](matrix, tmp_path)
        matcher.join()
        alive = np.array([rule_id in matcher for rule_id in matrix.rules])
        tried = set()
        for strategy, match in forced_strategies(matcher):
            tried.add(strategy)
            found = match(matcher, matrix.events, len(matrix.rules))
            wrong = matrix.differences(found, alive)
            assert not wrong, f"{strategy}, seed {seed}: {wrong}"
        assert tried == expected_strategies(SIZES[name])


def test_the_sizes_have_enough_pairs():
    assert PAIRS >= 20_000_000


def test_every_strategy_is_forced():
    """A strategy that is never used would be tested by nothing."""
    matrix = Matrix(1, 300, 60, 10)
    matcher = Matcher(matrix.rules)
    assert [name for name, _ in forced_strategies(matcher)] == [
        f"{how}, {name}"
        for name in (
            "push",
            "push, small index",
            "push, large index",
            "bounds, all literals",
            "bounds, likely literals",
            "cells, all literals",
            "cells, likely literals",
            "jumps",
            "walk",
            "learning",
        )
        for how in ("one event", "batch one by one")
    ] + ["sweep", "sweep, little memory"]
