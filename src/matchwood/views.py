"""Named tuples of arrays, handed to kernels by address.

A call of a kernel takes its arguments apart array by array, which for some tens of arrays costs
more than a short kernel does. A `View` is one array with the addresses and lengths of all; a
`reader`, inside the kernel, makes the named tuples out of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_type_hints

import numba
import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import config

Arrays = tuple[NDArray[Any], ...]  # a named tuple of them


class View:
    """What kernels read and write, by address; it keeps the arrays alive."""

    def __init__(self, *tuples: Arrays) -> None:
        self.tuples: Any = tuples
        arrays = [array for some in tuples for array in some]
        found = [(array.__array_interface__["data"][0], len(array)) for array in arrays]
        self.places: Any = self if config.DISABLE_JIT else np.array(found, np.int64).ravel()


def reader(
    kinds: Sequence[type[Any]], number: int, writable: bool, widths: Mapping[str, int] | None = None
) -> Any:
    """A function for kernels: the named tuple `kinds[number]` of a view of all these kinds.

    `widths` are the columns of arrays that have two dimensions, by their names.
    """
    if config.DISABLE_JIT:
        return lambda view: view.tuples[number]
    from numba.core import types
    from numba.np.arrayobj import populate_array

    kind, columns = kinds[number], widths or {}
    before = sum(len(other._fields) for other in kinds[:number])
    hints = get_type_hints(kind)
    fields: list[Any] = []
    for name in kind._fields:
        scalar = numba.from_dtype(np.dtype(get_args(get_args(hints[name])[1])[0]))
        dimensions = 2 if name in columns else 1
        fields.append(types.Array(scalar, dimensions, "C", readonly=not writable))
    result: Any = types.NamedTuple(fields, kind)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, arguments[0]).data
        word = context.get_value_type(types.intp)
        made = []
        for i, (name, field) in enumerate(zip(kind._fields, fields, strict=True)):
            place = 2 * (before + i)
            address = builder.load(builder.gep(data, [word(place)]))
            length = builder.load(builder.gep(data, [word(place + 1)]))
            array = context.make_array(field)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(field.dtype))
            shape, strides = [length], [word(size)]
            if name in columns:
                shape = [length, word(columns[name])]
                strides = [word(columns[name] * size), *strides]
            pointer = builder.inttoptr(address, array.data.type)
            populate_array(array, pointer, shape, strides, size, None)  # type: ignore[no-untyped-call]
            made.append(array._getvalue())
        return context.make_tuple(builder, result, made)

    @numba.extending.intrinsic
    def read(typing_context: Any, places: Any) -> Any:
        return result(places), generate

    return read
