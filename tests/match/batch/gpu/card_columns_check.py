"""Codes that a card makes of columns of a table, beside those of the processor."""

import random

import numpy as np
import pyarrow as pa

from matchwood import Matcher
from matchwood.match.search.event_slices import slices_of

INTEGERS = [0, 1, -1, 5, 127, 128, 255, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62]
FLOATS = [0.0, -0.0, 0.1, 0.30000000000000004, 1e-320, 1.5, 5.0, 2.0**53, 1e300, float("inf")]
FLOATS += [-each for each in FLOATS] + [float("nan")]
MOMENTS = ["1970-01-01", "1970-01-01T00:00:00.000000001Z", "2024-02-29T12:00:00Z", "1600-01-01"]
MOMENTS += ["9999-12-31", "2262-04-11T23:47:16.854775807Z", "1677-09-21T00:12:43.145224193Z"]
TEXTS = ["x", "X", "5", "2024-02-29", "10.0.0.1", "", "true", *(f"t{n}" for n in range(40))]

RULES = [
    *(f"{a} {op} {number}" for a in "abc" for number in INTEGERS for op in ("=", "<=", ">")),
    *(f"{a} >= {number}" for a in "ab" for number in (0.1, 1.5, -0.1, 5.000000000000001, 1e300)),
    *(f"{a} {op} timestamp '{at}'" for a in "abd" for at in MOMENTS for op in ("=", "<", ">=")),
    *(f"{a} {op} '{text}'" for a in "abe" for text in TEXTS for op in ("=", "<")),
    "a", "not b", "a is null", "b is not null", "not (a > 5)", "a in (1, 'x', 2.5)",
    "e like 't1%'", "lower(e) = 'x'", "not (d < timestamp '2024-01-01')",
    "a = 1 and b = 5 or c > 1",
]  # fmt: skip


def column(rng, rows):
    """A random column of a random type, cut out of a longer one."""
    integers = rng.choice(["int8", "uint8", "int16", "int32", "uint32", "int64", "int64", "uint64"])
    low, high = int(np.iinfo(integers).min), int(np.iinfo(integers).max)
    fitting = [n for n in INTEGERS if low <= n <= high]
    exact = [n for n in fitting if abs(n) < 2**53]
    unit = rng.choice(["s", "ms", "us", "ns"])
    days = [-200_000, 0, 1, 19_782, 2_932_896]
    ticks = [-(2**40), -1, 0, 1, 1_709_208_000, 2**40, 2**62, -(2**62)]
    values, kind = rng.choice(
        [
            (fitting, pa.type_for_alias(integers)),
            (exact, pa.type_for_alias(integers)),
            (FLOATS, pa.float64()),
            ([0.0, -0.0, 0.1, 1.5, 5.0, 2.0**53, float("inf"), float("nan")], pa.float32()),
            ([True, False], pa.bool_()),
            (TEXTS, pa.string()),
            (TEXTS, pa.dictionary(pa.int8(), pa.string())),
            (exact, pa.dictionary(pa.int16(), pa.int64())),
            ([f"many {n}" for n in range(3000)], pa.large_string()),
            (days, pa.date32()),
            (ticks, pa.timestamp(unit)),
            (ticks[1:5], pa.timestamp(unit, "UTC")),
        ]
    )
    nulls = rng.choice([0.0, 0.0, 0.2, 1.0])
    chosen = [None if rng.random() < nulls else rng.choice(values) for _ in range(rows + 3)]
    if pa.types.is_dictionary(kind):
        made = pa.array(chosen, kind.value_type).dictionary_encode().cast(kind)
    elif pa.types.is_timestamp(kind):
        made = pa.array(chosen, pa.int64()).cast(kind)
    else:
        made = pa.array(chosen, kind)
    return made.slice(3)


def table_of(rng, rows):
    return pa.table({name: column(rng, rows) for name in "abcde"})


def matcher_of(rules=None):
    """A matcher of one part, for which a card encodes whatever it can."""
    matcher = Matcher(rules or dict(enumerate(RULES)))
    matcher.compact()
    matcher.join()
    (part,) = matcher.store.snapshot.parts
    part.batch.gpu.encodes = True
    return matcher


def differences_of_columns(matcher, seed, rows):
    """What is wrong with the codes, or the matches, of a random table; '' if nothing is."""
    table = table_of(random.Random(seed), rows)
    (part,) = matcher.store.snapshot.parts
    for piece in slices_of(table, None, None):
        codes = piece.part_codes(part)
        on_card = codes_on_card(part.batch.gpu, codes)
        if on_card is None:
            return f"seed {seed}: no column was encoded on the card"
        wrong = np.argwhere(on_card != codes.codes)
        if len(wrong):
            row, event = wrong[0]
            slot = part.segment.slots[codes.slots[row]]
            value = table[slot.attribute][int(event)]
            found, right = on_card[row, event], codes.codes[row, event]
            return f"seed {seed}: {value!r} of {slot.attribute} is {found}, expected {right}"
    (on_processor, by_card) = (
        set(zip(found["event"].to_pylist(), found["rule_id"].to_pylist(), strict=True))
        for found in (matcher.match_batch(table, device=name) for name in ("cpu", "gpu"))
    )
    wrong = on_processor ^ by_card
    return f"seed {seed}: matches {sorted(wrong)[:5]}" if wrong else ""


def codes_on_card(gpu, codes):
    """The codes of a batch as they are on the card, before they are put into rows."""
    given = gpu.given(codes)
    if given.columns is None:
        return None
    with gpu.guarded() as worker:
        batch = worker.place(given)
        worker.stream.synchronize()
        end = given.given_at + len(codes.slots) * codes.events
        return batch.copy_to_host()[given.given_at : end].reshape(-1, codes.events)
