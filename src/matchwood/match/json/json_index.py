"""The names and constants of a segment as the scanner of JSON text looks them up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from matchwood.index.build.segment import read_only
from matchwood.index.build.slots import Slot
from matchwood.kernels.array_types import FloatArray, Int32Array, Int64Array, UInt8Array
from matchwood.language.aliases import Aliases
from matchwood.language.tree.subjects import EVERYTHING, Everything, Lowered
from matchwood.language.values import Family, Time
from matchwood.match.batch.codes.address_codes import ipv4_constants
from matchwood.match.event.double_codes import double_table
from matchwood.match.event.encode import Coder
from matchwood.match.json.json_arrays import (
    ADDRESS_AT,
    ADDRESS_END,
    ADDRESS_FIRST,
    ALIASED,
    ATTRIBUTE_COLUMNS,
    CODE_OF_FALSE,
    CODE_OF_TRUE,
    GAP_AT,
    LOWERED,
    MAIN_SLOT,
    MOMENT_AT,
    MOMENT_END,
    MOMENT_FIRST,
    NOTED,
    NUMBER_AT,
    NUMBER_END,
    NUMBER_FIRST,
    PATTERNED,
    SECOND_SLOT,
    SEEKS_ELEMENTS,
    SEVERAL_ATTRIBUTES,
    STRING_AT,
    STRING_END,
    STRING_FIRST,
    JsonIndex,
)
from matchwood.match.json.json_value_kernels import MOST_TENS, ROOT, mix, place_of, seed_of

# Bytes of the names of attributes, over all spellings, up to which a segment has a scanner.
MOST_NAME_BYTES = 1 << 26


def json_index(
    coders: Mapping[str, Coder],
    patterned: set[str],
    seeking: set[str],
    aliases: Aliases | None = None,
    lazy: Sequence[int] = (),
    noted: Sequence[str] = (),
) -> tuple[JsonIndex, list[str]] | None:
    """The index, and the names of the attributes by number; None if the names are too long.

    `patterned` attributes have patterns; of the elements of those in `seeking`, tests look for some
    that are no strings. `lazy` are the opaque atoms that are evaluated on demand, and `noted` the
    attributes whose values they read.

    A name of many parts has many spellings: their number grows with the square of the parts.
    """
    coders = {**coders, **{name: Coder() for name in noted if name not in coders}}
    names = list(coders)
    spellings = [_spellings_of(name, aliases) for name in names]
    coders, names = _with_lowered(coders)
    spellings += [()] * (len(names) - len(spellings))
    every = list(dict.fromkeys(spelling for each in spellings for spelling in each))
    if sum(len(name) * (name.count(".") + 1) ** 2 for name in every) > MOST_NAME_BYTES:
        return None
    nodes = _nodes(every)
    inner = np.zeros(len(nodes), np.uint8)
    node_attribute = np.full(len(nodes), -1, np.int32)
    entries: list[tuple[int, bytes, int]] = []
    for parent, key, node in _spellings(nodes):
        entries.append((parent, key.encode("utf-8", "surrogatepass"), node))
        inner[parent] = 1
    node_rank = np.zeros(len(nodes), np.int32)
    for number, each in enumerate(spellings):
        for rank, spelling in enumerate(each):
            node = nodes[spelling]
            is_free = node_attribute[node] == -1
            node_attribute[node] = number if is_free else SEVERAL_ATTRIBUTES
            node_rank[node] = rank
    table, hashes = _table(entries)
    key_at, key_bytes = _joined([key for _, key, _ in entries])
    constants = _constants(coders, patterned, seeking)
    constants.rows[:, ALIASED] = [len(each) > 1 for each in spellings]
    number_of = {name: number for number, name in enumerate(names)}
    constants.rows[:, LOWERED] = [
        -1 if isinstance(name, Lowered) else number_of.get(Lowered(name), -1) for name in names
    ]
    constants.rows[:, NOTED] = -1
    for number, name in enumerate(noted):
        constants.rows[number_of[name], NOTED] = number
    string_at, string_bytes = _joined(constants.strings)
    arrays = (
        table,
        hashes,
        key_at,
        np.array([parent for parent, _, _ in entries], np.int32),
        np.array([node for _, _, node in entries], np.int32),
        key_bytes,
        node_attribute,
        node_rank,
        inner,
        constants.rows,
        np.array([number_of.get(EVERYTHING, -1)], np.int32),
        string_at,
        _heads(constants.strings),
        string_bytes,
        constants.doubles,
        constants.double_code,
        constants.gap_code,
        constants.moments,
        constants.addresses,
        np.array(lazy, np.int32),
        10.0 ** np.arange(MOST_TENS + 1),
    )
    return JsonIndex(*(read_only(array) for array in arrays)), names


def _spellings_of(name: str, aliases: Aliases | None) -> Sequence[str]:
    """The names in events that an attribute may have; `*` has none."""
    if isinstance(name, Everything):
        return ()
    return (name,) if aliases is None else aliases.spellings(name)


def _with_lowered(coders: Mapping[str, Coder]) -> tuple[dict[str, Coder], list[str]]:
    """The coders of all attributes, and then those in lower case; and the names."""
    lowered: dict[str, Coder] = {
        Lowered(name): coder.lowered for name, coder in coders.items() if coder.lowered is not None
    }
    every: dict[str, Coder] = {**coders, **lowered}
    return every, list(every)


def _nodes(names: Sequence[str]) -> dict[str | None, int]:
    """The names of attributes and all their beginnings, by node; None is the event itself."""
    nodes: dict[str | None, int] = {None: ROOT}
    for name in names:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            nodes.setdefault(".".join(parts[:count]), len(nodes))
    return nodes


def _spellings(nodes: Mapping[str | None, int]) -> Iterator[tuple[int, str, int]]:
    """(node, key, node of both) for every way to get from a name to one that starts with it."""
    for name, node in nodes.items():
        if name is None:
            continue
        parts = name.split(".")
        yield ROOT, name, node
        for count in range(1, len(parts)):
            parent = nodes[".".join(parts[:count])]
            yield parent, ".".join(parts[count:]), node


def _table(entries: Sequence[tuple[int, bytes, int]]) -> tuple[Int32Array, Int64Array]:
    """The hash table of entries, and the hash of each."""
    size = max(16, 1 << (4 * len(entries)).bit_length())
    table = np.full(size, -1, np.int32)
    hashes = np.empty(len(entries), np.int64)
    with np.errstate(over="ignore"):
        for number, (parent, key, _) in enumerate(entries):
            h = _hash(parent, key)
            hashes[number] = h
            place = int(place_of(h, size - 1))
            while table[place] >= 0:
                place = (place + 1) & (size - 1)
            table[place] = number
    return table, hashes


def _hash(parent: int, key: bytes) -> np.int64:
    """The hash of a key, eight bytes at a time; what is left, even if nothing is, comes last."""
    h = seed_of(parent)
    for word in np.frombuffer(key + bytes(8 - len(key) % 8), "<i8"):
        h = mix(h, word)
    return np.int64(h)


def _joined(texts: Sequence[bytes]) -> tuple[Int32Array, UInt8Array]:
    """Where each text starts, and all of them one after the other."""
    starts = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=starts[1:])
    return starts, np.frombuffer(b"".join(texts), np.uint8)


def _heads(strings: Sequence[bytes]) -> Int64Array:
    """The first eight bytes of each string, as numbers of the same order."""
    heads = b"".join(string[:8].ljust(8, b"\0") for string in strings)
    return (np.frombuffer(heads, ">u8") ^ np.uint64(1 << 63)).astype(np.uint64).view(np.int64)


class _Constants(NamedTuple):
    """The constants of all attributes, one after the other, and a row per attribute."""

    rows: Int32Array
    strings: list[bytes]
    doubles: FloatArray
    double_code: Int32Array
    gap_code: Int32Array
    moments: Int64Array
    addresses: Int64Array


def _constants(coders: Mapping[str, Coder], patterned: set[str], seeking: set[str]) -> _Constants:
    rows = np.zeros((len(coders), ATTRIBUTE_COLUMNS), np.int32)
    strings: list[bytes] = []
    doubles: list[FloatArray] = [np.empty(0)]
    codes: list[Int64Array] = [np.empty(0, np.int64)]
    gaps: list[Int64Array] = [np.empty(0, np.int64)]
    moments: list[int] = []
    addresses: list[int] = []
    number_at = gap_at = 0
    for row, (name, coder) in zip(rows, coders.items(), strict=True):
        row[MAIN_SLOT] = coder.slot
        row[STRING_AT] = len(strings)
        strings += [str(text).encode() for text in coder.sorted.get(Family.STRING, ())]
        row[STRING_END] = len(strings)
        row[STRING_FIRST] = -1 if coder.lowers else coder.first.get(Family.STRING, -1)
        row[NUMBER_FIRST] = -1 if coder.lowers else coder.first.get(Family.NUMBER, -1)
        row[NUMBER_AT], row[GAP_AT] = number_at, gap_at
        if row[NUMBER_FIRST] >= 0:
            some_doubles, some_codes, some_gaps = double_table(coder)
            doubles.append(some_doubles)
            codes.append(some_codes)
            gaps.append(some_gaps)
            number_at += len(doubles[-1])
            gap_at += len(gaps[-1])
        row[NUMBER_END] = number_at
        row[CODE_OF_TRUE] = coder.code(Family.BOOLEAN, True)
        row[CODE_OF_FALSE] = coder.code(Family.BOOLEAN, False)
        row[PATTERNED] = coder.lowers or name in patterned
        row[SEEKS_ELEMENTS] = name in seeking
        row[SECOND_SLOT] = coder.time_slot
        row[MOMENT_AT], row[ADDRESS_AT] = len(moments), len(addresses)
        row[MOMENT_FIRST] = row[ADDRESS_FIRST] = -1
        if coder.time is not None:
            moments += _moments(coder.time)
            addresses += ipv4_constants(coder.time)
            row[MOMENT_FIRST] = coder.time.first.get(Family.TIME, -1)
            row[ADDRESS_FIRST] = coder.time.first.get(Family.STRING, -1)
        row[MOMENT_END], row[ADDRESS_END] = len(moments), len(addresses)
    return _Constants(
        rows,
        strings,
        np.concatenate(doubles),
        np.concatenate(codes).astype(np.int32),
        np.concatenate(gaps).astype(np.int32),
        np.array(moments, np.int64),
        np.array(addresses, np.int64),
    )


def _moments(slot: Slot) -> list[int]:
    """The times that a second slot compares with, in nanoseconds.

    The scanner reads times of years that 64 bits hold; constants beyond stay below or above them.
    """
    bounds = np.iinfo(np.int64)
    times = slot.constants.get(Family.TIME, ())
    return [min(max(time.ns, bounds.min), bounds.max) for time in times if isinstance(time, Time)]
