"""Bytes of text as kernels read them: by address, one byte or eight bytes at a time.

Handing an array or a `bytes` object to a kernel costs more than scanning a short text, and so does
passing one on to every function inside it. A text is therefore an address, with bounds beside it.
The functions here check nothing: whoever calls them stays within the bounds.

Where kernels are not compiled, an "address" is an array of bytes, an `AddressedText`.
"""

from __future__ import annotations

from typing import Any

import numba.extending
import numpy as np

from matchwood.kernels.compiled import codec, config

# Bytes of the smallest pages of memory.
_PAGE = 4096

# Bytes of a `bytes` object before its first character, in CPython.
_HEADER = bytes.__basicsize__ - 1


def _address_in_memory(text: bytes) -> int:
    return id(text) + _HEADER


def _address_by_array(text: bytes) -> int:
    return int(np.frombuffer(text, np.uint8).__array_interface__["data"][0]) if text else 0


class AddressedText(np.ndarray[Any, Any]):
    """Bytes that stand for their address, while kernels are not compiled."""


def _as_array(text: Any) -> AddressedText:
    return np.frombuffer(text, np.uint8).view(AddressedText)


def _is_in_memory(text: bytes) -> bool:
    """Whether this Python keeps the characters of `bytes` behind a header, as CPython does."""
    return _address_in_memory(text) == _address_by_array(text)


# The address of the characters of a `bytes` object, which the caller keeps alive.
if config.DISABLE_JIT:
    address_of_bytes: Any = _as_array
elif _is_in_memory(b"matchwood"):
    address_of_bytes = _address_in_memory
else:
    address_of_bytes = _address_by_array


def address_of_buffer(buffer: Any) -> Any:
    """The address of the bytes of an Arrow buffer, or of a NumPy array, kept alive elsewhere."""
    if config.DISABLE_JIT:
        return _as_array(buffer)
    if isinstance(buffer, np.ndarray):
        return int(buffer.__array_interface__["data"][0])
    return int(buffer.address)


if config.DISABLE_JIT:

    def byte_at(text: Any, i: int) -> int:
        """The byte at a place."""
        return int(text[i])

    def word_at(text: Any, i: int) -> Any:
        """The eight bytes from a place on, the first of them lowest."""
        return np.int64(int.from_bytes(bytes(text[i : i + 8]), "little", signed=True))

    def can_load_word(text: Any, i: int) -> Any:
        """Whether `word_at` can load the bytes from a place on, wherever the text ends."""
        return True

    def address_of(array: Any) -> Any:
        """The address of the first element of an array of bytes."""
        return array

    def from_place(text: Any, i: int) -> Any:
        """The text from a place on."""
        return text[i:]

else:

    @codec
    def from_place(text: Any, i: int) -> Any:
        """The text from a place on."""
        return text + i

    @codec
    def can_load_word(text: Any, i: int) -> Any:
        """Whether `word_at` can load the bytes from a place on, wherever the text ends.

        Memory can be read or not by the page, and no page is smaller than this.
        """
        return (text + i) & (_PAGE - 1) <= _PAGE - 8

    @numba.extending.intrinsic
    def byte_at(typing_context: Any, text: Any, i: Any) -> Any:
        """The byte at a place."""
        return _load(8)

    @numba.extending.intrinsic
    def word_at(typing_context: Any, text: Any, i: Any) -> Any:
        """The eight bytes from a place on, the first of them lowest (on little-endian machines)."""
        return _load(64)

    @numba.extending.intrinsic
    def address_of(typing_context: Any, array: Any) -> Any:
        """The address of the first element of an array of bytes."""
        from numba.core import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.ptrtoint(data, context.get_value_type(types.int64))

        return types.int64(array), generate


def _load(bits: int) -> Any:
    """The signature of a load of so many bits from an address and an offset, and its code."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.IntType(bits)
        place = builder.add(arguments[0], arguments[1])
        pointer = builder.inttoptr(place, kind.as_pointer())
        loaded = builder.load(pointer, align=1)
        return loaded if bits == 64 else builder.zext(loaded, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate
