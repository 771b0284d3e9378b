"""Atoms as arrays of codes, once all of them are known."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.slots import (
    Slot,
    axis_family,
    axis_slot,
    axis_slots,
    has_family,
)
from matchwood.index.build.sorting import sorted_rows
from matchwood.kernels.array_types import Int64Array
from matchwood.kernels.predicate_codes import GE, GT, IN, IS_NULL, IS_OPAQUE, LE, LT, PREFIX
from matchwood.language.values import Literal

# Integers between -_SMALL and _SMALL are sorted as int64.
_SMALL = 1 << 62


class AtomColumns(NamedTuple):
    """Atoms in the order in which they came; value j of atom i is at start[i] + j."""

    op: Int64Array
    axis: Int64Array
    start: Int64Array
    integers: Int64Array  # values that are small integers, and 0 in place of others
    others: dict[int, Literal]


class AtomArrays(NamedTuple):
    """Atoms in order of slot and first code; interval j of atom i is at start[i] + j."""

    slot: NDArray[np.int32]
    family_low: NDArray[np.int32]
    family_high: NDArray[np.int32]
    start: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    kind: NDArray[np.uint8]
    opaque: NDArray[np.int32]  # number among the atoms that are not sets of codes, else -1


def small_integer(value: Literal) -> TypeGuard[int]:
    """Whether a value is an integer that is sorted as int64; True and False are not."""
    return type(value) is int and -_SMALL < value < _SMALL


def code_atoms(
    atoms: AtomColumns, slots: list[Slot], compared: set[int]
) -> tuple[Int64Array, AtomArrays]:
    """Fix the codes of all slots; the atoms in their new order, and the arrays of them.

    `compared` are axes that need codes though no constant is on them. The kinds of opaque atoms are
    left to the caller.
    """
    counts = np.diff(atoms.start)
    for number in compared:
        slots[axis_slot(number)].constants.setdefault(axis_family(number), [])
    rank = _ranks(atoms, np.repeat(atoms.axis, counts), slots)
    for slot in slots:
        slot.seal()
    distinct, which = np.unique(atoms.axis, return_inverse=True)
    bounds = np.array([_family_codes(slots, int(axis)) for axis in distinct], np.int64)
    family_low, family_high = bounds.reshape(-1, 2)[which].T
    code = np.repeat(family_low, counts) + 2 * rank + 1
    slot_of = axis_slots(atoms.axis)
    null = atoms.op == IS_NULL
    codes = np.array([slot.codes for slot in slots], np.int64)
    family_low[null], family_high[null] = 0, codes[slot_of[null]] - 1
    return _in_order(atoms, slot_of, family_low, family_high, code)


def _family_codes(slots: list[Slot], axis: int) -> tuple[int, int]:
    """The first and last code of an axis; (1, 0) if it has no family."""
    return slots[axis_slot(axis)].family_codes(axis_family(axis)) if has_family(axis) else (1, 0)


def _ranks(atoms: AtomColumns, axis: Int64Array, slots: list[Slot]) -> Int64Array:
    """The rank of each value among the constants of its axis, which its slot is told."""
    rank = np.empty(len(axis), np.int64)
    plain = np.ones(len(axis), np.bool_)
    if atoms.others:
        mixed = np.unique(axis[list(atoms.others)])
        plain = ~np.isin(axis, mixed)  # a family is sorted in one way
    _rank_integers(atoms.integers, axis, np.flatnonzero(plain), rank, slots)
    _rank_values(atoms, axis, np.flatnonzero(~plain), rank, slots)
    return rank


def _rank_integers(
    integers: Int64Array,
    axis: Int64Array,
    chosen: Int64Array,
    rank: Int64Array,
    slots: list[Slot],
) -> None:
    """The constants of axes that have small integers only, sorted all at once."""
    if not len(chosen):
        return
    values, owner = integers[chosen], axis[chosen]
    order = sorted_rows(owner, values)
    values, owner, chosen = values[order], owner[order], chosen[order]
    new_axis = np.r_[True, owner[1:] != owner[:-1]]
    new = new_axis | np.r_[True, values[1:] != values[:-1]]
    place = np.cumsum(new) - 1
    starts = place[new_axis]
    rank[chosen] = place - np.repeat(starts, np.diff(np.r_[np.flatnonzero(new_axis), len(new)]))
    constants = values[new].tolist()
    ends = np.r_[starts[1:], len(constants)].tolist()
    for number, low, high in zip(owner[new_axis].tolist(), starts.tolist(), ends, strict=True):
        slots[axis_slot(number)].constants[axis_family(number)] = constants[low:high]


def _rank_values(
    atoms: AtomColumns, axis: Int64Array, chosen: Int64Array, rank: Int64Array, slots: list[Slot]
) -> None:
    """The constants of all other axes, one axis after another."""
    if not len(chosen):
        return
    chosen = chosen[np.argsort(axis[chosen], kind="stable")]
    for run in np.split(chosen, np.flatnonzero(np.diff(axis[chosen])) + 1):
        number = int(axis[run[0]])
        values: list[Any] = [atoms.others.get(i, int(atoms.integers[i])) for i in run.tolist()]
        distinct = sorted(set(values))
        slots[axis_slot(number)].constants[axis_family(number)] = distinct
        rank_of = {constant: i for i, constant in enumerate(distinct)}
        rank[run] = [rank_of[value] for value in values]


def _in_order(
    atoms: AtomColumns,
    slot: Int64Array,
    family_low: Int64Array,
    family_high: Int64Array,
    code: Int64Array,
) -> tuple[Int64Array, AtomArrays]:
    """The atoms by slot and first code, and their arrays."""
    op, start = atoms.op, atoms.start
    has_values = start[1:] > start[:-1]
    low, high = np.zeros(len(op), np.int64), np.zeros(len(op), np.int64)
    low[has_values] = code[start[:-1][has_values]]
    high[has_values] = code[start[1:][has_values] - 1]
    below, above = (op == LT) | (op == LE), (op == GT) | (op == GE)
    high = np.where(op == LT, low - 1, np.where(op == PREFIX, high - 1, high))
    low = np.where(op == GT, low + 1, low)
    low = np.where(below, family_low, low)
    high = np.where(above, family_high, high)
    sizes = np.where(op == IN, start[1:] - start[:-1], (low <= high).astype(np.int64))
    sizes[op == IS_OPAQUE] = 0
    order = sorted_rows(slot, low, high)
    new_start = np.r_[0, np.cumsum(sizes[order])]
    iv_low = np.repeat(low[order], sizes[order])
    iv_high = np.repeat(high[order], sizes[order])
    lists = np.repeat(op[order] == IN, sizes[order])
    place = np.repeat(start[:-1][order] - new_start[:-1], sizes[order]) + np.arange(len(iv_low))
    iv_low[lists] = iv_high[lists] = code[place[lists]]
    opaque = op[order] == IS_OPAQUE
    return order, AtomArrays(
        slot[order].astype(np.int32),
        family_low[order].astype(np.int32),
        family_high[order].astype(np.int32),
        new_start.astype(np.int32),
        iv_low.astype(np.int32),
        iv_high.astype(np.int32),
        np.zeros(len(op), np.uint8),
        np.where(opaque, np.cumsum(opaque) - 1, -1).astype(np.int32),
    )
