"""A card's answers beside `evaluate`: random rules and events of every kind, in every state.

    PYTHONPATH=tests python tests/match/batch/gpu/card_check.py

compares on a real card, from small sizes to large ones, for a minute at most; the tests do the same
at small sizes in the simulator.
"""

import functools
import pickle
import sys
import tempfile
import time
import traceback
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from match.batch.gpu.card_columns_check import differences_of_columns
from match.batch.gpu.card_columns_check import matcher_of as matcher_of_columns
from match.random_matrix import SCHEMA, Matrix
from matcher.random_rules import LISTS, OPERATORS
from matchwood import Matcher
from matchwood.match.batch.device_counts import device_counts
from matchwood.match.batch.gpu.card import CPU, CardWarning, card_problem

# Rules, predicates, events, and whether there are predicates that an index cannot decide.
SMALL = ((12, 12, 70, False), (150, 120, 100, False), (350, 250, 40, True))
LARGE = (
    (12, 12, 1025, False),
    (90, 60, 1024, False),
    (700, 250, 300, True),
    (3000, 700, 1500, False),
    (20000, 1500, 64, False),
)

# Seconds after which no further comparison is begun.
ENOUGH = 50


def built(matrix, folder):
    return Matcher(matrix.rules, operators=OPERATORS, schema=SCHEMA, lists=LISTS)


def loaded(matrix, folder):
    path = Path(folder) / "rules.mw"
    built(matrix, folder).save(path)
    return Matcher.load(path, operators=OPERATORS, schema=SCHEMA, lists=LISTS)


def in_parts(matrix, folder):
    """Several parts, with rules that were removed, and some rules that are in no part yet."""
    matcher = pickle.loads(pickle.dumps(built(matrix, folder)))
    items = list(matrix.rules.items())
    matcher.update(dict(items[: len(items) // 4]))
    for rule_id, rule in items[:5]:
        matcher[rule_id] = rule
    matcher.remove(range(0, len(items), 7))
    return matcher


STATES = {"built": built, "loaded": loaded, "in parts": in_parts}


def differences(matrix, state, folder, **options):
    """What a card says that `evaluate` does not; '' if there is nothing."""
    matcher = STATES[state](matrix, folder)
    matcher.join()
    alive = np.array([rule_id in matcher for rule_id in matrix.rules])
    table = matcher.match_batch(matrix.events, device="gpu", **options)
    found = np.zeros((len(matrix.events), len(matrix.rules)), np.bool_)
    rule_ids = table["rule_id"].combine_chunks()
    if table.num_rows:
        found[table["event"].to_numpy(), rule_ids.cast("int64").to_numpy()] = True
    assert found.sum() == table.num_rows, "a pair is reported twice"
    return matrix.differences(found, alive)


def differences_of_runs(matrix, state, folder, **options):
    """The same of matches as runs."""
    matcher = STATES[state](matrix, folder)
    matcher.join()
    alive = np.array([rule_id in matcher for rule_id in matrix.rules])
    found = np.zeros((len(matrix.events), len(matrix.rules)), np.bool_)
    count = 0
    for some in matcher.match_runs(matrix.events, device="gpu", **options):
        count += len(some)
        for rule_id, rows in some.items():
            found[rows, int(rule_id)] = True
    assert found.sum() == count, "a match is reported twice"
    return matrix.differences(found, alive)


@functools.cache
def matrix_of(size):
    return Matrix(0, *size)


def answer(name, begun, check):
    """Print whether a check finds nothing, and return 1 if it finds something or fails.

    It fails, too, if no card has matched any batch of it, because the processor answers then.
    """
    started = time.perf_counter()
    if started - begun > ENOUGH:
        print(f"{name}: left out, for there is no time", flush=True)
        return 0
    before = device_counts.now()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", CardWarning)
            wrong = check()
        if not set(device_counts.since(before)) - {CPU}:
            wrong = wrong or f"no card has answered: {card_problem() or 'nobody knows why'}"
    except Exception as error:  # the other checks are worth a run of their own
        traceback.print_exc()
        wrong = f"failed: {error!r}"
    print(f"{name}: {wrong or 'right'} ({time.perf_counter() - started:.1f} s)", flush=True)
    return int(bool(wrong))


def in_folder(check, *arguments, **options):
    """A check with a folder of its own."""

    def run():
        with tempfile.TemporaryDirectory() as folder:
            return check(*arguments, folder, **options)

    return run


def main():
    failed, begun = 0, time.perf_counter()
    for size, state in product(LARGE[:2], STATES):
        check = in_folder(differences, matrix_of(size), state, threads=4)
        failed += answer(f"pairs {size} {state}", begun, check)
    for size in (*LARGE[:2], LARGE[3]):
        check = in_folder(differences_of_runs, matrix_of(size), "loaded", threads=3)
        failed += answer(f"runs {size}", begun, check)
    matcher = matcher_of_columns()
    for seed in range(8):
        check = functools.partial(differences_of_columns, matcher, seed, rows=1500)
        failed += answer(f"columns {seed}", begun, check)
    for size, state in product(LARGE[2:], STATES):
        check = in_folder(differences, matrix_of(size), state, threads=4)
        failed += answer(f"pairs {size} {state}", begun, check)
    return failed


if __name__ == "__main__":
    sys.exit(main())
