"""Named tuples of arrays, handed to kernels by address.

Numba unpacks the arguments of a call array by array, which for some tens of arrays takes longer
than a short kernel. An `ArrayView` is one array with the addresses and lengths of all of them;
inside the kernel, a `reader` makes the named tuples out of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import config

# A named tuple of arrays.
Arrays = tuple[NDArray[Any], ...]


class Layout:
    """The types and dimensions of the arrays of a kind of named tuple.

    Arrays have the type `dtype` and one dimension, except that `others` gives other types by name,
    and `columns` the number of columns of arrays with two dimensions.
    """

    def __init__(
        self,
        kind: type[Any],
        dtype: type[np.generic],
        others: Mapping[str, type[np.generic]] | None = None,
        columns: Mapping[str, int] | None = None,
    ) -> None:
        self.kind = kind
        self.columns = dict(columns or {})
        self.dtypes = {name: np.dtype(dtype) for name in kind._fields}
        for name, other in (others or {}).items():
            self.dtypes[name] = np.dtype(other)
        unknown = {*self.dtypes, *self.columns} - {*kind._fields}
        if unknown:
            raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")

    def check(self, arrays: Any) -> None:
        """Refuse arrays that a reader of this layout would misread."""
        if type(arrays) is not self.kind:
            raise TypeError(f"expected {self.kind.__name__}, found {type(arrays).__name__}")
        for name, array in zip(self.kind._fields, arrays, strict=True):
            columns = self.columns.get(name)
            shape = array.shape[1:]
            if (
                array.dtype != self.dtypes[name]
                or shape != (() if columns is None else (columns,))
                or not array.flags.c_contiguous
            ):
                raise TypeError(
                    f"{self.kind.__name__}.{name} is a contiguous array of {self.dtypes[name]}"
                    f" with {columns or 'no'} columns, found {array.dtype} of shape {array.shape}"
                )


class ArrayView:
    """The addresses of arrays that kernels read and write; it keeps the arrays alive."""

    def __init__(self, layouts: Sequence[Layout], *tuples: Arrays) -> None:
        self.tuples: Any = tuples
        for layout, named_tuple in zip(layouts, tuples, strict=True):
            layout.check(named_tuple)
        arrays = [array for named_tuple in tuples for array in named_tuple]
        places = [(array.__array_interface__["data"][0], len(array)) for array in arrays]
        self.places: Any = self if config.DISABLE_JIT else np.array(places, np.int64).ravel()


def reader(layouts: Sequence[Layout], number: int, writable: bool) -> Any:
    """A function for kernels that reads the named tuple of `layouts[number]` from a view of all.

    The view is given as its array of places, or, inside kernels that pass it on, as the address of
    that array (`text_bytes.address_of`), which is one argument rather than seven.
    """
    if config.DISABLE_JIT:
        return lambda view: view.tuples[number]
    from numba.core import types
    from numba.np.arrayobj import populate_array

    layout = layouts[number]
    kind, columns = layout.kind, layout.columns
    before = sum(len(other.dtypes) for other in layouts[:number])
    fields: list[Any] = []
    for name in kind._fields:
        scalar = numba.from_dtype(layout.dtypes[name])
        dimensions = 2 if name in columns else 1
        fields.append(types.Array(scalar, dimensions, "C", readonly=not writable))
    result: Any = types.NamedTuple(fields, kind)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.intp)
        if isinstance(sig.args[0], types.Integer):
            data = builder.inttoptr(arguments[0], word.as_pointer())
        else:
            data = context.make_array(sig.args[0])(context, builder, arguments[0]).data
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
