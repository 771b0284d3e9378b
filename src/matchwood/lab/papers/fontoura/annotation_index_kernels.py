"""Kernels of the annotations database: grouping, collecting and sorting annotations."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import lean

# Bits of a digit.
DIGIT = 11


@lean
def sort_by_digits(words, other, end):
    """Sort by one digit after the other, each time into the other array; returns whether the result
    is in the other array.

    Digits that are the same in all words are skipped.
    """
    different = np.uint64(0)
    for word in words:
        different |= word ^ words[0]
    moved = False
    mask = np.uint64((1 << DIGIT) - 1)
    for digit in range(0, 64, DIGIT):
        shift = np.uint64(digit)
        if (different >> shift) & mask == 0:
            continue
        end[:] = 0
        for word in words:
            end[(word >> shift) & mask] += 1
        total = 0
        for i in range(len(end)):
            count = end[i]
            end[i] = total
            total += count
        for word in words:
            digit_value = (word >> shift) & mask
            other[end[digit_value]] = word
            end[digit_value] += 1
        words, other = other, words
        moved = not moved
    return moved


@lean
def group(numbers, annotations, end, out):
    """Group annotations by conjunction; `end` moves through those of each."""
    for i in range(len(numbers)):
        out[end[numbers[i]]] = annotations[i]
        end[numbers[i]] += 1


@lean
def count_annotations(conjunctions, start):
    total = 0
    for c in conjunctions:
        total += start[c + 1] - start[c]
    return total


@lean
def collect(conjunctions, start, annotations, out):
    top = 0
    for c in conjunctions:
        for i in range(start[c], start[c + 1]):
            out[top] = annotations[i]
            top += 1
