"""Arrays of a card for other libraries: DLPack tensors, and Arrow's C device data interface.

Both are structures of C with a function that releases them. They hold references to the arrays
behind them until that is called, so that the memory is freed when the last reader is done.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

# The kinds of devices, the same numbers in DLPack and in Arrow.
CPU_DEVICE, CUDA_DEVICE = 1, 2

# A kind, and which one of its kind.
Device = tuple[int, int]

# The kinds of numbers of DLPack that columns of matches have.
_DL_INT, _DL_UINT = 0, 1


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("tensor", _DLTensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class _ArrowArray(ctypes.Structure):
    pass


_ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class _ArrowDeviceArray(ctypes.Structure):
    _fields_ = [
        ("array", _ArrowArray),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    ]


# What structures hold until they are released, by their address.
_held: dict[int, Any] = {}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.c_void_p, ctypes.c_char_p]

# A function of C that is called with an address.
_CALLED_WITH_ADDRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# Names of capsules, which must live as long as these.
_TENSOR, _DEVICE_ARRAY = b"dltensor", b"arrow_device_array"


def _released_by_capsule(name: bytes, release: Callable[[int], None]) -> Any:
    """What a capsule calls when it ends: it releases what nobody has taken over."""

    def end(capsule: int) -> None:
        if _is_capsule(capsule, name):  # readers rename what they take over
            release(_pointer_of(capsule, name))

    return _CALLED_WITH_ADDRESS(end)


def _delete_tensor(address: int) -> None:
    _held.pop(address, None)


def _release_array(address: int) -> None:
    array = _ArrowArray.from_address(address)
    for number in range(array.n_children):
        child = array.children[number].contents
        if child.release:  # a reader may have moved it away
            _release_array(ctypes.addressof(child))
    key, array.release = array.private_data, None
    _held.pop(key, None)


# The same as functions of C.
_deleter = _CALLED_WITH_ADDRESS(_delete_tensor)
_releaser = _CALLED_WITH_ADDRESS(_release_array)


def _release_device_array(address: int) -> None:
    if _ArrowDeviceArray.from_address(address).array.release:
        _release_array(address)
    _held.pop(address, None)


_end_tensor = _released_by_capsule(_TENSOR, _delete_tensor)
_end_device_array = _released_by_capsule(_DEVICE_ARRAY, _release_device_array)


def tensor_capsule(owner: object, address: int, size: int, kind: Any, device: Device) -> Any:
    """A DLPack tensor of one dimension, as a capsule; `owner` holds its memory."""
    kind = np.dtype(kind)
    shape = (ctypes.c_int64 * 1)(size)
    managed = _DLManagedTensor()
    tensor = managed.tensor
    tensor.data, (tensor.device_type, tensor.device_id) = address, device
    tensor.ndim, tensor.lanes, tensor.bits = 1, 1, 8 * kind.itemsize
    tensor.code = _DL_UINT if kind.kind == "u" else _DL_INT
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = ctypes.cast(_deleter, ctypes.c_void_p)
    at = ctypes.addressof(managed)
    _held[at] = (managed, shape, owner)
    return _new_capsule(at, _TENSOR, ctypes.cast(_end_tensor, ctypes.c_void_p))


def device_array_capsules(
    columns: Mapping[str, tuple[object, int, Any]], size: int, device: Device
) -> tuple[Any, Any]:
    """A table of columns without nulls, as the two capsules of Arrow's C device data interface.

    Each column is what holds its memory, its address, and its NumPy type.
    """
    fields = [(name, pa.from_numpy_dtype(kind)) for name, (_, _, kind) in columns.items()]
    schema = pa.struct(fields).__arrow_c_schema__()
    given = _ArrowDeviceArray()
    children = (ctypes.POINTER(_ArrowArray) * len(columns))()
    for number, (owner, address, _) in enumerate(columns.values()):
        child = _ArrowArray()
        _fill(child, size, [None, address], owner)
        children[number] = ctypes.pointer(child)
    given.device_type, given.device_id = device
    if given.device_type == CPU_DEVICE:  # Arrow, other than DLPack, has no number for that one
        given.device_id = -1
    _fill(given.array, size, [None], children)
    given.array.n_children = len(columns)
    given.array.children = ctypes.cast(children, ctypes.POINTER(ctypes.POINTER(_ArrowArray)))
    at = ctypes.addressof(given)
    _held[at] = given
    end = ctypes.cast(_end_device_array, ctypes.c_void_p)
    return schema, _new_capsule(at, _DEVICE_ARRAY, end)


# Numbers of what Arrow arrays hold: a reader copies their structure, and keeps only the number.
_next_key = 0


def _fill(array: Any, size: int, addresses: list[int | None], owner: object) -> None:
    global _next_key
    buffers = (ctypes.c_void_p * len(addresses))(*addresses)
    array.length, array.n_buffers = size, len(addresses)
    array.buffers = ctypes.cast(buffers, ctypes.POINTER(ctypes.c_void_p))
    array.release = ctypes.cast(_releaser, ctypes.c_void_p)
    _next_key -= 1  # below zero, where no address is
    array.private_data = ctypes.c_void_p(_next_key).value
    _held[array.private_data] = (array, buffers, owner)
