"""The program of a sweep for all rules of a segment: made once for all who need it, or from a file.

A file has those arrays of a program that others do not follow from, and they are checked as the
rest of an index is (`index.file.validate`): whatever passes, no kernel reads or writes outside an
array, and no array is larger than the program itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment, read_only
from matchwood.index.build.threads import available_cores, in_threads, pieces_of
from matchwood.index.file.array_file import IndexFileError
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.records import word_high, word_low, word_slot
from matchwood.match.batch.sweep.lazy_masks import LazyMasks
from matchwood.match.batch.sweep.program_kernels import (
    ALWAYS_KEY,
    BLOCK_SHIFT,
    LITERALS_PER_BLOCK,
    MORE_RULES,
    ONE_RULE,
    RUN_COLUMNS,
    RUN_COUNT,
    RUN_IS_AND,
    RUN_LITERAL,
    RUN_LITERALS,
    RUN_NODE,
    RUN_NODES,
    RUN_NUMBER,
    RUN_ORDINAL,
    RUN_RULES,
    literal_of_key,
)
from matchwood.match.batch.sweep.sweep_program import (
    FILLER,
    SweepProgram,
    program_of,
    ranges,
    slots_of_keys,
)

# The arrays of a program that a file has, and their types.
STORED = {
    "runs": np.int64,
    "literals": np.int32,
    "nodes": np.int32,
    "ordinals": np.int32,
    "keys": np.int64,
    "first_literal": np.int32,
}


class WholeProgram:
    """The program for all rules of a segment; strategies and threads share it."""

    def __init__(self, segment: Segment, known: SweepProgram | None = None) -> None:
        self._segment = segment
        self._known: dict[str, SweepProgram] = {} if known is None else {"": known}

    def get(self) -> SweepProgram:
        """The program, which is kept from now on."""
        if not self._known:  # of several threads that make one, all take the one that is set first
            self._known.setdefault("", program_of(self._segment))
        return self._known[""]

    def stored(self) -> dict[str, NDArray[Any]]:
        """The arrays for a file; a program that nobody has needed yet is not kept."""
        program = self._known.get("") or program_of(self._segment)
        return {name: getattr(program, name) for name in STORED}


def program_from(
    arrays: Mapping[str, NDArray[Any]], segment: Segment, verify: bool = True
) -> SweepProgram:
    """The program that `stored` gave; IndexFileError if it is not one for this segment.

    The segment itself is checked by others. Without `verify` the arrays are trusted.
    """
    if verify:
        _check(arrays, segment)
    first_literal, runs = arrays["first_literal"], arrays["runs"]
    blocks = np.diff(first_literal) >> BLOCK_SHIFT
    slot_of_block = np.repeat(np.arange(len(blocks), dtype=np.int32), blocks)
    used = runs[runs[:, RUN_NUMBER] >= 0, RUN_COUNT].sum()
    all_arrays = {
        **{name: arrays[name] for name in STORED},
        "slot_of_block": slot_of_block,
        "used": np.array([used], np.int32),
    }
    return SweepProgram(**{name: read_only(array) for name, array in all_arrays.items()})


def _check(arrays: Mapping[str, NDArray[Any]], segment: Segment) -> None:
    for name, kind in STORED.items():
        shape = (len(arrays[name]), RUN_COLUMNS) if name == "runs" else (arrays[name].size,)
        if arrays[name].dtype != kind or arrays[name].shape != shape:
            raise _unsound(f"{name} of shape {arrays[name].shape}")
    runs = arrays["runs"]
    _check_runs(runs, arrays)
    _check_operands(runs, arrays)
    _check_ordinals(runs, arrays["ordinals"], segment.rules)
    _check_keys(arrays["keys"], arrays["first_literal"], segment)


def _unsound(what: str) -> IndexFileError:
    return IndexFileError(f"holds a program of a sweep that is not sound: {what}")


def _check_runs(runs: Int64Array, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Runs are not empty, and what they have follows each other and fills its array."""
    counts, used = runs[:, RUN_COUNT], runs[:, RUN_NUMBER] >= 0
    each = runs[:, [RUN_LITERALS, RUN_NODES, RUN_RULES]]
    small = (runs >= -1).all() and (runs < 1 << 31).all() and (each >= 0).all()
    if not small or not np.isin(runs[:, RUN_IS_AND], (0, 1)).all() or (counts < 1).any():
        raise _unsound("runs")
    if (each[:, 2] > MORE_RULES).any() or (each[:, :2].sum(axis=1) < 1).any():
        raise _unsound("shapes of runs")
    sizes = {"literals": RUN_LITERAL, "nodes": RUN_NODE, "ordinals": RUN_ORDINAL}
    for (name, begin), of_node in zip(sizes.items(), each.T, strict=True):
        if (of_node * counts > len(arrays[name])).any():  # below 2**62, and so is their sum
            raise _unsound(f"runs with too many {name}")
        after = np.cumsum(of_node * counts)
        if (runs[:, begin] != after - of_node * counts).any():
            raise _unsound(f"where {name} of runs begin")
        if (after[-1] if len(after) else 0) != len(arrays[name]):
            raise _unsound(f"{name} that no run has")
    numbers = np.cumsum(used * counts) - used * counts
    if (numbers >= 1 << 31).any() or (runs[:, RUN_NUMBER] != np.where(used, numbers, -1)).any():
        raise _unsound("numbers of nodes")


def _check_operands(runs: Int64Array, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Operands are there, and those that are nodes come in earlier runs."""
    literals, nodes = arrays["literals"], arrays["nodes"]
    if len(literals) and (literals.min() < 0 or literals.max() >= len(arrays["keys"])):
        raise _unsound("literals")
    if len(nodes) and nodes.min() < 0:
        raise _unsound("nodes")
    counted = np.where(runs[:, RUN_NUMBER] >= 0, runs[:, RUN_COUNT], 0)
    before = np.cumsum(counted) - counted
    with_nodes = runs[:, RUN_NODES] > 0
    if with_nodes.any():
        highest = np.maximum.reduceat(nodes, runs[with_nodes, RUN_NODE])
        if (highest >= before[with_nodes]).any():
            raise _unsound("operands of later runs")


def _check_ordinals(runs: Int64Array, ordinals: Int32Array, rules: int) -> None:
    """Ordinals are those of rules, and no more in all than there are rules."""
    one, more = (runs[:, RUN_RULES] == number for number in (ONE_RULE, MORE_RULES))
    of_one = ordinals[ranges(runs[one, RUN_ORDINAL], runs[one, RUN_COUNT])]
    of_more = ordinals[ranges(runs[more, RUN_ORDINAL], 2 * runs[more, RUN_COUNT])]
    first, end = of_more.reshape(-1, 2).T.astype(np.int64)
    inside = (of_one >= 0).all() and (of_one < rules).all()
    inside &= (first >= 0).all() and (end <= rules).all() and (first <= end).all()
    if not inside or len(of_one) + int((end - first).sum()) > rules:
        raise _unsound("rules of nodes")


def _check_keys(keys: Int64Array, first_literal: Int32Array, segment: Segment) -> None:
    """Keys are those of literals that the segment has, and each is among those of its slot."""
    slots = len(segment.slots)
    size = int(first_literal[-1]) if len(first_literal) == slots + 2 else -1
    starts = first_literal.astype(np.int64)
    blocks = starts[1:] - starts[:-1]
    ordered = size >= 0 and first_literal[0] == 0 and (blocks >= 0).all()
    if not ordered or (blocks % LITERALS_PER_BLOCK).any() or len(keys) != max(1, size):
        raise _unsound("where literals of slots begin")
    used = keys[:size]
    if (keys[size:] != FILLER).any():
        raise _unsound("a literal behind all slots")
    given = np.repeat(np.arange(slots + 1), blocks)
    atom_row = LazyMasks(segment).atom_row
    cores = available_cores()
    checks = [
        partial(_check_keys_of_slots, used[low:high], given[low:high], segment, atom_row)
        for low, high in pieces_of(size, cores)
    ]
    in_threads(checks, cores)


def _check_keys_of_slots(
    keys: Int64Array, given: Int64Array, segment: Segment, atom_row: Int32Array
) -> None:
    """Some keys, and the slots among whose literals they are."""
    at = np.flatnonzero((keys >= 0) & (keys != FILLER))
    low, high, slot = word_low(keys[at]), word_high(keys[at]), word_slot(keys[at])
    slots = len(segment.slots)
    if (slot >= slots).any() or (high >= segment.codes[slot]).any() or (low > high + 1).any():
        raise _unsound("intervals")
    several = keys[keys < ALWAYS_KEY]
    if (literal_of_key(several) >= 2 * (len(atom_row) - 1)).any():
        raise _unsound("literals of several intervals")
    if ((slots_of_keys(keys, segment, atom_row) != given) & (keys != FILLER)).any():
        raise _unsound("slots of literals")
