"""Words of records: what is packed is unpacked, up to the limits of the fields."""

import numpy as np
import pytest

from matchwood.kernels.compiled import compiled
from matchwood.kernels.records import (
    CODE_MASK,
    MAX_SLOTS,
    OTHER,
    add_reference,
    header_access,
    header_inline,
    header_is_and,
    header_is_root,
    header_push,
    header_rest,
    is_several,
    is_used,
    mark_used,
    may_hold,
    pack_header,
    pack_interval,
    pack_several,
    record_end,
    reference_at,
    reference_of,
    with_push,
    word_high,
    word_literal,
    word_low,
    word_negated,
    word_slot,
)

# Places of push lists, and what `pack_header` takes.
HEADERS = [
    (0, 0, 0, 0, 0, 0),
    (12345, 1, 0, 1, 3, 2),
    (-1, 0, 1, 0, 5, 0),
    ((1 << 31) - 1, 1, 1, 1, (1 << 14) - 1, (1 << 14) - 1),
    (-(1 << 31), 0, 0, 0, 0, 0),
    (0, 1, 0, 0, (1 << 14) - 1, 0),
    (0, 0, 1, 1, 0, (1 << 14) - 1),
]
INTERVALS = [
    (0, 0, 0, 0),
    (7, 1, 3, 2),
    (MAX_SLOTS - 1, 1, CODE_MASK, CODE_MASK),
    (MAX_SLOTS - 1, 0, 0, CODE_MASK),
]


def fields(header):
    return (
        header_push(header),
        header_is_and(header),
        header_is_root(header),
        header_access(header),
        header_inline(header),
        header_rest(header),
    )


@pytest.mark.parametrize("header", HEADERS)
def test_headers(header):
    push, *others = header
    word = with_push(pack_header(*others), push)
    assert fields(word) == header
    assert not is_used(word)
    assert is_used(mark_used(word))
    assert fields(mark_used(word)) == header


@pytest.mark.parametrize("interval", INTERVALS)
def test_intervals(interval):
    word = pack_interval(*interval)
    assert not is_several(word)
    assert (word_slot(word), word_negated(word), word_low(word), word_high(word)) == interval


@pytest.mark.parametrize("slot", [0, 5, MAX_SLOTS - 1])
@pytest.mark.parametrize("literal", [0, 9, (1 << 31) - 1])
@pytest.mark.parametrize("absent", [0, 1])
def test_literals_of_several_intervals(slot, literal, absent):
    word = pack_several(slot, absent, literal)
    assert is_several(word)
    assert (word_slot(word), word_literal(word)) == (slot, literal)
    assert may_hold(word, OTHER) == (absent == 1)
    assert may_hold(word, OTHER + 1)
    assert may_hold(word, -1)  # a list


@pytest.mark.parametrize("first", [0, 11, (1 << 32) - 1])
@pytest.mark.parametrize("second", [0, 12, (1 << 32) - 1])
def test_references(first, second):
    word = add_reference(add_reference(np.int64(0), 4, first), 5, second)
    assert (reference_of(word, 0), reference_of(word, 1)) == (first, second)
    assert reference_at(np.array([7, 7, word]), 1, 3) == second


@pytest.mark.parametrize(("inline", "rest", "words"), [(1, 0, 2), (0, 1, 2), (0, 2, 2), (3, 5, 7)])
def test_records_end_behind_their_references(inline, rest, words):
    assert record_end(10, pack_header(1, 0, 0, inline, rest)) == 10 + words


def test_whole_arrays():
    columns = np.array(HEADERS, np.int32).T
    assert np.array_equal(
        np.stack(fields(with_push(pack_header(*columns[1:]), columns[0]))), columns
    )
    columns = np.array(INTERVALS, np.int32).T
    words = pack_interval(*columns)
    assert words.dtype == np.int64
    assert np.array_equal(np.stack([word_slot(words), word_low(words)]), columns[[0, 2]])


@compiled
def _headers(rows, out):
    for i in range(len(rows)):
        row = rows[i]
        plain = with_push(pack_header(row[1], row[2], row[3], row[4], row[5]), row[0])
        header = mark_used(plain)
        out[i, 0] = header_push(header)
        out[i, 1] = header_is_and(header)
        out[i, 2] = header_is_root(header)
        out[i, 3] = header_access(header)
        out[i, 4] = header_inline(header)
        out[i, 5] = header_rest(header)
        out[i, 6] = is_used(header) and not is_used(plain)


@compiled
def _words(rows, out):
    for i in range(len(rows)):
        row = rows[i]
        word = pack_interval(row[0], row[1], row[2], row[3])
        out[i, 0], out[i, 1] = word_slot(word), word_negated(word)
        out[i, 2], out[i, 3] = word_low(word), word_high(word)
        several = pack_several(row[0], row[1], row[3])
        out[i, 4] = is_several(several) and not is_several(word) and word_literal(several) == row[3]
        rest = add_reference(add_reference(np.int64(0), 0, row[2]), 1, row[3])
        out[i, 5] = reference_of(rest, 0) == row[2] and reference_of(rest, 1) == row[3]


@pytest.mark.parametrize(("kernel", "rows"), [(_headers, HEADERS), (_words, INTERVALS)])
def test_compiled_code_means_the_same(kernel, rows):
    width = len(rows[0])
    out = np.zeros((len(rows), width + (1 if kernel is _headers else 2)), np.int64)
    kernel(np.array(rows, np.int32), out)
    assert [tuple(row) for row in out[:, :width].tolist()] == rows
    assert out[:, width:].all()
