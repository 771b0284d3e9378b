"""The way into the kernels for one event: one call, with few arguments.

A call of a kernel takes its arguments apart array by array: for the thirty arrays of an index and
its scratch that costs more than a simple event. Here they are put together inside, from their
addresses.

A call that lets other threads run may have to wait for one of them afterwards, milliseconds where
that is busy with Python. A small segment is done long before, so it is asked by a call that does
not let go.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numba
import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import config, inlined, lean
from matchwood.match.cells import Cells, candidates
from matchwood.match.kernels import Index, Scratch, expand, match_one

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

SMALL = 20_000  # nodes: an event asks a few hundred of them, which takes some 50 µs


class Groups(NamedTuple):
    """Which rules follow from a group."""

    group_start: NDArray[np.int32]
    always: NDArray[np.int32]


class Rules(NamedTuple):
    """Where the rules that were found are written to, and the records that cells leave."""

    rules: NDArray[np.int32]
    candidates: NDArray[np.int32]


class View:
    """What the kernels read and write, by address; it keeps the arrays alive."""

    def __init__(
        self, index: Index, groups: Groups, cells: Cells, scratch: Scratch, rules: Rules
    ) -> None:
        self.tuples = (index, groups, cells, scratch, rules)
        arrays = [array for some in self.tuples for array in some]
        places = np.array([(array.ctypes.data, len(array)) for array in arrays], np.int64)
        self.places: Any = self if config.DISABLE_JIT else places.ravel()


_WIDTHS = {"atom_row": 7}  # columns of arrays that have two dimensions


_KINDS = (Index, Groups, Cells, Scratch, Rules)


def _reader(kind: type[tuple[NDArray[Any], ...]], writable: bool) -> Any:
    """A function for kernels that makes a named tuple of arrays out of the places of a view."""
    number = _KINDS.index(kind)  # type: ignore[arg-type]
    before = sum(len(other._fields) for other in _KINDS[:number])
    if config.DISABLE_JIT:
        return lambda view: view.tuples[number]
    from numba.core import types
    from numba.np.arrayobj import populate_array

    hints = get_type_hints(kind)
    fields: list[Any] = []
    for name in kind._fields:  # type: ignore[attr-defined]
        scalar = numba.from_dtype(np.dtype(get_args(get_args(hints[name])[1])[0]))
        dimensions = 2 if name in _WIDTHS else 1
        fields.append(types.Array(scalar, dimensions, "C", readonly=not writable))
    result: Any = types.NamedTuple(fields, kind)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, arguments[0]).data
        word = context.get_value_type(types.intp)
        made = []
        for i, (name, field) in enumerate(zip(kind._fields, fields, strict=True)):  # type: ignore[attr-defined]
            place = 2 * (before + i)
            address = builder.load(builder.gep(data, [word(place)]))
            length = builder.load(builder.gep(data, [word(place + 1)]))
            array = context.make_array(field)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(field.dtype))
            shape, strides = [length], [word(size)]
            if name in _WIDTHS:
                shape, strides = (
                    [length, word(_WIDTHS[name])],
                    [word(_WIDTHS[name] * size), *strides],
                )
            pointer = builder.inttoptr(address, array.data.type)
            populate_array(array, pointer, shape, strides, size, None)  # type: ignore[no-untyped-call]
            made.append(array._getvalue())
        return context.make_tuple(builder, result, made)

    @numba.extending.intrinsic
    def read(typing_context: Any, places: Any) -> Any:
        return result(places), generate

    return read


_index = _reader(Index, False)
_groups = _reader(Groups, False)
_cells = _reader(Cells, False)
_scratch = _reader(Scratch, True)
_rules = _reader(Rules, True)


@inlined
def _match(places, slots, codes, list_start, list_codes, hits, keep, epoch):  # type: ignore[no-untyped-def]
    scratch = _scratch(places)
    groups = _groups(places)
    cells = _cells(places)
    rules = _rules(places)
    scratch.counts[4] = 0
    waiting = rules.candidates[:0]
    if len(cells.branches) > 0:
        left = candidates(cells, slots, codes, scratch.codes, rules.candidates)
        waiting = rules.candidates[:left]
    match_one(_index(places), scratch, slots, codes, list_start, list_codes, hits, waiting, epoch)
    found = scratch.out[: scratch.counts[0]]
    return expand(found, groups.group_start, groups.always, keep, rules.rules)


def match_event(places, slots, codes, list_start, list_codes, hits, keep, epoch):  # type: ignore[no-untyped-def]
    """Match one event against a segment without lazy atoms: how many rules are written."""
    return _match(places, slots, codes, list_start, list_codes, hits, keep, epoch)


_OVER = ("matchwood.match.kernels", "matchwood.match.cells", "matchwood.match.cells_split")
match_small = lean(match_event, over=_OVER, nogil=False)
match_large = lean(match_event, over=_OVER)
