"""Words of records: what is packed is unpacked, up to the limits of the fields."""

import numpy as np
import pytest

from matchwood.kernels.compiled import compiled
from matchwood.kernels.records import (
    CODE_MASK,
    MAX_SLOTS,
    has_row,
    header_access,
    header_inline,
    header_is_and,
    header_node,
    header_rest,
    is_used,
    mark_used,
    pack_header,
    pack_interval,
    pack_reference,
    pack_several,
    reference_number,
    reference_target,
    word_high,
    word_low,
    word_negated,
    word_row,
    word_slot,
)

HEADERS = [
    (0, 0, 0, 0, 0),
    (12345, 1, 1, 3, 2),
    ((1 << 31) - 1, 1, 1, (1 << 15) - 1, (1 << 14) - 1),
    ((1 << 31) - 1, 0, 0, 0, 0),
    (0, 1, 0, (1 << 15) - 1, 0),
    (0, 0, 1, 0, (1 << 14) - 1),
]
INTERVALS = [
    (0, 0, 0, 0),
    (7, 1, 3, 2),
    (MAX_SLOTS - 1, 1, CODE_MASK, CODE_MASK),
    (MAX_SLOTS - 1, 0, 0, CODE_MASK),
]


def fields(header):
    return (
        header_node(header),
        header_is_and(header),
        header_access(header),
        header_inline(header),
        header_rest(header),
    )


@pytest.mark.parametrize("header", HEADERS)
def test_headers(header):
    word = pack_header(*header)
    assert fields(word) == header
    assert not is_used(word)
    assert is_used(mark_used(word))
    assert fields(mark_used(word)) == header


@pytest.mark.parametrize("interval", INTERVALS)
def test_intervals(interval):
    word = pack_interval(*interval)
    assert not has_row(word)
    assert (word_slot(word), word_negated(word), word_low(word), word_high(word)) == interval


@pytest.mark.parametrize("slot", [0, 5, MAX_SLOTS - 1])
@pytest.mark.parametrize("row", [0, 9, (1 << 31) - 1])
def test_rows(slot, row):
    word = pack_several(slot, row)
    assert has_row(word)
    assert (word_slot(word), word_row(word)) == (slot, row)


@pytest.mark.parametrize("number", [0, 3, (1 << 31) - 1])
@pytest.mark.parametrize("target", [0, 11, (1 << 32) - 1])
def test_references(number, target):
    word = pack_reference(number, target)
    assert (reference_number(word), reference_target(word)) == (number, target)


def test_whole_arrays():
    columns = np.array(HEADERS, np.int32).T
    assert np.array_equal(np.stack(fields(pack_header(*columns))), columns)
    columns = np.array(INTERVALS, np.int32).T
    words = pack_interval(*columns)
    assert words.dtype == np.int64
    assert np.array_equal(np.stack([word_slot(words), word_low(words)]), columns[[0, 2]])


@compiled
def _headers(rows, out):
    for i in range(len(rows)):
        row = rows[i]
        header = mark_used(pack_header(row[0], row[1], row[2], row[3], row[4]))
        out[i, 0] = header_node(header)
        out[i, 1] = header_is_and(header)
        out[i, 2] = header_access(header)
        out[i, 3] = header_inline(header)
        out[i, 4] = header_rest(header)
        out[i, 5] = is_used(header) and not is_used(pack_header(row[0], 0, 0, 0, 0))


@compiled
def _words(rows, out):
    for i in range(len(rows)):
        row = rows[i]
        word = pack_interval(row[0], row[1], row[2], row[3])
        out[i, 0], out[i, 1] = word_slot(word), word_negated(word)
        out[i, 2], out[i, 3] = word_low(word), word_high(word)
        several = pack_several(row[0], row[3])
        out[i, 4] = has_row(several) and not has_row(word) and word_row(several) == row[3]
        reference = pack_reference(row[2], row[3])
        out[i, 5] = reference_number(reference) == row[2] and reference_target(reference) == row[3]


@pytest.mark.parametrize(("kernel", "rows"), [(_headers, HEADERS), (_words, INTERVALS)])
def test_compiled_code_means_the_same(kernel, rows):
    out = np.zeros((len(rows), 6), np.int64)
    kernel(np.array(rows, np.int32), out)
    width = len(rows[0])
    assert [tuple(row) for row in out[:, :width].tolist()] == rows
    assert out[:, width:].all()
