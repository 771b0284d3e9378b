"""Change an index at random, and let kernels loose on what `validate` lets pass.

A program, to be run with NUMBA_BOUNDSCHECK=1: then a kernel that reads or writes outside an array
raises IndexError. With NUMBA_DISABLE_JIT=1 it does so too, except before an array's first element.
Prints how many changes were refused and how many passed; fails where a kernel
fails.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from matchwood.index.build.arrange import Arranged
from matchwood.index.build.packed_atoms import PackedAtoms
from matchwood.index.build.segment import Segment, build
from matchwood.index.file.array_file import IndexFileError
from matchwood.index.file.validate import validate
from matchwood.match.batch.batch_matcher import BatchMatcher
from matchwood.match.batch.codes.batch_codes import codes_of_rows
from matchwood.match.batch.sweep.whole_program import WholeProgram, program_from
from matchwood.match.event.event_matcher import ALL, SegmentMatcher

ORDERED = [f"{name} {op} {value}" for name in "abc" for op in ("=", "<", ">=") for value in (1, 5)]
OTHERS = [
    "d in ('x', 'y', 'zz')",
    "not d in ('x', 'q')",
    "a between 2 and 4",
    "a is null",
    "e is not null",
    "d like '%y%'",
    "not d like 'z_%z'",
    "e",
    "not e",
    "a in (1, 3, 5, 7)",
    "not b in (1, 3, 5)",
]
LAZY = ["a < b", "a = c"]


def rule(random: random.Random, depth: int, leaves: list[str]) -> str:
    if depth == 0 or random.random() < 0.15:
        return random.choice(leaves)
    op = random.choice([" and ", " or ", " and ", " or ", " xor "])
    return f"({op.join(rule(random, depth - 1, leaves) for _ in range(random.randint(2, 4)))})"


def rule_sets(seed: int) -> Iterator[list[str]]:
    some = random.Random(seed)
    yield []
    yield ["a = 1"]
    yield ["true", "false", "a = 1 or not a = 1", "d like '%y%'", "d like '%y%'"]
    yield [" xor ".join(f"a = {i}" for i in range(40))]
    yield [rule(some, 3, ORDERED) for _ in range(60)]
    yield [rule(some, 3, ORDERED + OTHERS) for _ in range(40)] + OTHERS
    yield [rule(some, 3, ORDERED + OTHERS + LAZY) for _ in range(30)] + LAZY


def event(random: random.Random) -> dict[str, Any]:
    values: dict[str, Any] = {name: random.randint(0, 8) for name in "abc"}
    values["d"] = random.choice(["x", "y", "xyz", "zz", 4])
    values["e"] = random.choice([True, False])
    for name in list(values):
        chance = random.random()
        if chance < 0.3:
            del values[name]
        elif chance < 0.5:
            values[name] = [values[name]] * random.randint(0, 2) + [random.randint(0, 8)]
    return values


def run(
    segment: Segment, events: list[dict[str, Any]], program: WholeProgram | None = None
) -> None:
    """All kernels: one event at a time by each strategy, and all of them in a sweep."""
    matcher = SegmentMatcher(segment)
    for strategy in ("push", "bounds, all literals", "cells, all literals", "jumps", "walk"):
        matcher.force(strategy)
        for each in events:
            matcher.match(each)
    batch = BatchMatcher(matcher, program)
    batch.force("sweep")
    codes, _ = codes_of_rows(events, matcher)
    for _ in batch.pairs(codes, ALL):
        pass


def changed(array: Any, random: random.Random) -> Any:
    """A copy with one to three elements changed; now and then another length."""
    array = np.array(array)
    flat = array.reshape(-1)
    if random.random() < 0.05 or not len(flat):
        cut = random.randint(0, max(0, len(array) - 1))
        return array[:cut] if random.random() < 0.5 else np.concatenate([array, array[:1]])
    bits = 8 * array.itemsize - 1
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(flat))
        old = int(flat[at])
        value = random.choice(
            [
                old + random.choice([-2, -1, 1, 2]),
                int(random.choice(flat)),
                old ^ (1 << random.randint(0, bits)),
                random.randint(-2, 2 * len(flat)),
                -1,
                2**bits - 1,
            ]
        )
        flat[at] = np.array([value % 2 ** (bits + 1)], np.uint64).astype(array.dtype)[0]
    return array


def changed_program(segment: Segment, some: random.Random) -> str:
    """Change the program of a sweep that a file has; whether it was refused, or passed."""
    stored = WholeProgram(segment).stored()
    field = some.choice(list(stored))
    stored[field] = changed(stored[field], some)
    try:
        program = program_from(stored, segment)
    except IndexFileError:
        return "programs refused"
    try:
        run(segment, [event(some) for _ in range(12)], WholeProgram(segment, program))
    except Exception as error:
        error.add_note(f"after a change of {field} of a program")
        raise
    return "programs passed"


def main(seed: int, changes: int) -> None:
    counts: Counter[str] = Counter()
    some = random.Random(seed)
    sets = [build(rules).segment for rules in rule_sets(seed)]
    for segment in sets:
        validate(segment.tree, segment.packed, segment.codes, segment.rules, len(segment.opaque))
        run(segment, [event(some) for _ in range(20)])
    for _ in range(changes // 2):
        counts[changed_program(some.choice(sets), some)] += 1
    for _ in range(changes):
        segment = some.choice(sets)
        tree, atoms = segment.tree, segment.packed
        for _ in range(some.choice([1, 1, 1, 2])):
            field = some.choice([*tree._fields, *atoms._fields])
            if field in tree._fields:
                tree = tree._replace(**{field: changed(getattr(tree, field), some)})
            else:
                atoms = atoms._replace(**{field: changed(getattr(atoms, field), some)})
        try:
            validate(tree, atoms, segment.codes, segment.rules, len(segment.opaque))
        except IndexFileError:
            counts["refused"] += 1
            continue
        counts["passed"] += 1
        forged = Segment(
            segment.slots, PackedAtoms(*atoms), segment.opaque, Arranged(*tree), segment.rules
        )
        try:
            run(forged, [event(some) for _ in range(12)])
        except Exception as error:
            error.add_note(f"after a change of {field}, seed {seed}")
            raise
    print(dict(counts))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
