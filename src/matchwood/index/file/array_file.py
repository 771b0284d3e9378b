"""Arrays in one file, memory-mapped when read.

The file is little-endian. It has an opening of 40 bytes, then the header, then the arrays:

    0   9 bytes  MATCHWOOD, then three zero bytes
    12  uint32   version of the format
    16  uint64   bytes of the header
    24  uint64   bytes of the whole file
    32  uint64   checksum of the 32 bytes before this one, and of the header
    40           header: JSON {"meta": …, "arrays": {name: {dtype, shape, offset, checksum}}}

Arrays follow each other in the order of the header, each at the next multiple of 64; zeros fill the
gaps. So there is only one valid offset for every array and one valid length of the file, and a
header that says otherwise is refused before anything is mapped or allocated.

A checksum detects accidents. It is not a signature: whoever makes a file can make its checksums, so
the contents of arrays have to be validated (`validate`) before kernels use them as indices.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import secrets
import stat
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.threads import available_cores, in_threads
from matchwood.index.file.checksum_kernels import checksum_words
from matchwood.kernels.array_types import Int64Array, UInt8Array

# The version of the format that is written; files of any other one are refused.
VERSION = 3

# The bytes that every file starts with.
MAGIC = b"MATCHWOOD"

# The opening: MAGIC, the version, bytes of the header, bytes of the file, and a checksum.
_OPENING = struct.Struct("<9s3xIQQQ")

# Bytes of the opening that its checksum covers.
_SUMMED = 32

# Bytes: arrays start at multiples of this.
_ALIGNMENT = 64

# Bytes of an array, at most, where dimensions of length 0 count as 1.
_MOST_BYTES = 1 << 48

# Bytes that are worth a thread of their own.
_WORTHWHILE = 1 << 25

# The types that an array may have.
_DTYPES = {np.dtype(code).str for code in "?bhilBHILfd"}

Name = str | os.PathLike[str]
Array = NDArray[Any]


class IndexFileError(ValueError):
    """A file that cannot be used, and why.

    >>> print(IndexFileError("is empty", "rules.mw"))
    rules.mw is empty
    """

    def __init__(self, problem: str, path: Name | None = None) -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return self.problem if self.path is None else f"{os.fspath(self.path)} {self.problem}"


class FileArrays(dict[str, Array]):
    """The read-only arrays of a file by name; `verify` checks one that was not checked yet.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "numbers.mw")
    >>> write(path, {}, {"text": np.zeros(3, np.uint8)})
    >>> meta, arrays = read(path, verify=False)
    >>> sorted(arrays.unverified)
    ['text']
    >>> arrays.verify("text").tolist(), sorted(arrays.unverified)
    ([0, 0, 0], [])
    """

    def __init__(self, path: Name) -> None:
        super().__init__()
        self._path = path
        self._whole: dict[
            str, tuple[UInt8Array, int, str]
        ] = {}  # with its padding; length; checksum
        self.unverified: set[str] = set()

    def verify(self, name: str) -> Array:
        """The array; raises IndexFileError if it is not what was written. Checks only once."""
        if name in self.unverified:
            whole, length, expected = self._whole[name]
            if whole[length:].any() or checksum(whole[:length]) != expected:
                raise IndexFileError(f"is altered: its array {name!r} is damaged", self._path)
            self.unverified.discard(name)
        return self[name]

    def verify_all(self) -> None:
        """Verify all arrays, in several threads if they are large: the kernel releases the GIL."""
        size = sum(array.nbytes for array in self.values())
        threads = min(available_cores(), 1 + size // _WORTHWHILE)
        in_threads([partial(self.verify, name) for name in self], threads)


# Writing


def write(path: Name, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a file atomically: whoever reads `path` meanwhile sees the old file or the new one.

    `meta` is anything that JSON can hold.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "numbers.mw")
    >>> write(path, {"rules": 2}, {"codes": np.arange(3, dtype=np.int32)})
    >>> meta, arrays = read(path)
    >>> meta, arrays["codes"].tolist()
    ({'rules': 2}, [0, 1, 2])
    """
    flat = {name: _flat_bytes(name, array) for name, array in arrays.items()}
    opening = _opening(meta, arrays, flat)
    target = Path(os.path.realpath(path))  # a link goes on pointing to it
    beside = target.with_name(f"{target.name}.tmp-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with open(beside, "xb") as file:
            _write_aligned(file, opening)
            for data in flat.values():
                _write_aligned(file, data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _flat_bytes(name: str, array: Array) -> UInt8Array:
    if array.dtype.str not in _DTYPES:
        raise TypeError(f"array {name!r}: a file holds no {array.dtype}")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _opening(
    meta: Mapping[str, Any], arrays: Mapping[str, Array], flat: dict[str, UInt8Array]
) -> UInt8Array:
    """The opening and the header; offsets count from the start of the first array."""
    described = {}
    offset = 0
    for name, array in arrays.items():
        described[name] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "offset": offset,
            "checksum": checksum(flat[name]),
        }
        offset += _aligned(len(flat[name]))
    header = json.dumps(
        {"meta": dict(meta), "arrays": described}, allow_nan=False, separators=(",", ":")
    ).encode()
    total = _aligned(_OPENING.size + len(header)) + offset
    opening = _OPENING.pack(MAGIC, VERSION, len(header), total, 0)[:_SUMMED]
    summed = int(checksum(np.frombuffer(opening + header, np.uint8)), 16)
    return np.frombuffer(opening + summed.to_bytes(8, "little") + header, np.uint8)


def _write_aligned(file: BinaryIO, data: UInt8Array) -> None:
    file.write(data.data)
    file.write(bytes(_aligned(len(data)) - len(data)))


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


# Reading


class _Described(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    bytes: int
    checksum: str


def read(path: Name, *, verify: bool = True) -> tuple[dict[str, Any], FileArrays]:
    """(meta, arrays) of a file; the arrays are views of one mapping.

    The header is always verified, and with `verify` all arrays too. A file that is not as it was
    written raises IndexFileError. The file must not be truncated in place while it is mapped;
    `write` never does that, because it replaces the file.
    """
    data = _mapped(path)
    meta, described = _header(data, path)
    arrays = FileArrays(path)
    for name, (dtype, shape, offset, length, expected) in described.items():
        whole = data[offset : offset + _aligned(length)]
        arrays[name] = whole[:length].view(dtype).reshape(shape)
        arrays._whole[name] = whole, length, expected
    arrays.unverified = set(described)
    if verify:
        arrays.verify_all()
    return meta, arrays


def _mapped(path: Name) -> UInt8Array:
    """The bytes of a regular file, mapped read-only."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe never blocks
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IndexFileError("is a directory, not a matchwood file", path)
        if not stat.S_ISREG(status.st_mode):
            raise IndexFileError("is not a regular file", path)
        if status.st_size == 0:
            raise IndexFileError("is empty", path)
        mapping = mmap.mmap(descriptor, 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    finally:
        os.close(descriptor)
    mapping.madvise(mmap.MADV_WILLNEED)
    data = np.frombuffer(mapping, np.uint8)
    data.flags.writeable = False
    return data


def _header(data: UInt8Array, path: Name) -> tuple[dict[str, Any], dict[str, _Described]]:
    """(meta, descriptions of the arrays in order); the arrays are known to lie inside the file."""
    start = data[: _OPENING.size].tobytes()
    if start[: len(MAGIC)] != MAGIC[: len(start)]:
        raise IndexFileError("is not a matchwood file", path)
    if len(start) < _OPENING.size:
        raise IndexFileError(f"is truncated: it ends after {len(data)} bytes", path)
    _, version, length, total, expected = _OPENING.unpack(start)
    if version > VERSION:
        problem = f"(format {version}; this one reads {VERSION})"
        raise IndexFileError(f"was made by a newer matchwood {problem}", path)
    if length > len(data) - _OPENING.size:
        raise IndexFileError(f"is truncated: it ends in its header of {length} bytes", path)
    header = data[_OPENING.size : _OPENING.size + length].tobytes()
    computed = checksum(np.frombuffer(start[:_SUMMED] + header, np.uint8))
    if int(computed, 16) != expected or version == 0:
        raise IndexFileError("is altered: its header is damaged", path)
    if len(data) < total:
        raise IndexFileError(f"is truncated: {len(data)} bytes of {total} are there", path)
    if len(data) > total:
        raise IndexFileError(f"is altered: {len(data) - total} bytes follow its end", path)
    if version < VERSION:
        problem = f"(format {version}; this one reads {VERSION}): save the rules once more"
        raise IndexFileError(f"was made by an older matchwood {problem}", path)
    begin = _aligned(_OPENING.size + length)
    try:
        meta, described, end = _parsed(header, begin)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise IndexFileError("has a header that makes no sense", path) from error
    if end != total or data[_OPENING.size + length : begin].any():
        raise IndexFileError("has a header that does not fit its arrays", path)
    return meta, described


def _parsed(header: bytes, begin: int) -> tuple[dict[str, Any], dict[str, _Described], int]:
    """(meta, descriptions of the arrays, their end); raises ValueError, TypeError or KeyError if
    something is wrong."""
    said = json.loads(header)
    meta, arrays = said["meta"], said["arrays"]
    if not isinstance(meta, dict) or not isinstance(arrays, dict):
        raise TypeError("meta and arrays are objects")
    described = {}
    offset = begin
    for name, array in arrays.items():
        shape, dtype = array["shape"], array["dtype"]
        if dtype not in _DTYPES or not isinstance(shape, list) or len(shape) > 8:
            raise TypeError(f"dtype or shape of array {name!r}")
        kind = np.dtype(dtype)
        if not all(type(size) is int and size >= 0 for size in shape) or (
            math.prod(max(size, 1) for size in shape) * kind.itemsize > _MOST_BYTES
        ):
            raise ValueError(f"shape of array {name!r}")
        if array["offset"] != offset - begin:
            raise ValueError(f"offset of array {name!r}")
        length = math.prod(shape) * kind.itemsize
        described[name] = _Described(kind, tuple(shape), offset, length, str(array["checksum"]))
        offset += _aligned(length)
    return meta, described, offset


# Checksums


def checksum(data: UInt8Array) -> str:
    """The checksum of some bytes, as 16 hexadecimal digits.

    >>> checksum(np.zeros(20, np.uint8)) == checksum(np.zeros(21, np.uint8))
    False
    """
    if data.ctypes.data % 8:
        data = data.copy()
    data = data.view()
    data.flags.writeable = False  # always the same type, so that the kernel is compiled once
    whole = len(data) // 8 * 8
    with np.errstate(over="ignore"):  # where the kernel is not compiled
        return f"{int(checksum_words(data[:whole].view(np.uint64), data[whole:])):016x}"


# Strings


def pack_strings(strings: Sequence[str]) -> tuple[Int64Array, UInt8Array]:
    """(offsets, UTF-8); string i is at offsets[i]:offsets[i + 1].

    >>> offsets, data = pack_strings(["a", "", "bc"])
    >>> offsets.tolist(), bytes(data)
    ([0, 1, 1, 3], b'abc')
    """
    import pyarrow as pa

    if not len(strings):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    try:
        column = pa.array(strings, pa.large_string())
    except UnicodeEncodeError:  # halves of surrogate pairs, which Python's strings may hold
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        column = pa.array(encoded, pa.large_binary())
    _, bounds, data = column.buffers()
    offsets = np.frombuffer(bounds, np.int64)[: len(strings) + 1]
    return offsets, np.frombuffer(data or b"", np.uint8)[: offsets[-1]]


def unpack_string(offsets: Int64Array, data: UInt8Array, i: int) -> str:
    """String i of those that were packed; raises IndexFileError if it lies outside the text.

    >>> unpack_string(*pack_strings(["a", "", "bc"]), 2)
    'bc'
    """
    low, high = int(offsets[i]), int(offsets[i + 1])
    if not 0 <= low <= high <= len(data):
        raise IndexFileError(f"holds string {i} outside its text")
    return _decoded(data[low:high].tobytes())


def unpack_strings(offsets: Int64Array, data: UInt8Array) -> list[str]:
    """All strings that were packed; raises IndexFileError if they do not fill the text.

    >>> unpack_strings(*pack_strings(["a", "", "bc"]))
    ['a', '', 'bc']
    """
    import pyarrow as pa

    filled = len(offsets) and offsets[0] == 0 and offsets[-1] == len(data)
    if not filled or (offsets[1:] < offsets[:-1]).any():
        raise IndexFileError("holds strings that do not fill their text one after the other")
    count = len(offsets) - 1
    buffers = [pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data)]
    try:
        column = pa.LargeStringArray.from_buffers(count, *buffers)
        strings: list[str] = column.to_numpy(zero_copy_only=False).tolist()
    except (UnicodeDecodeError, pa.ArrowException):
        text, bounds = data.tobytes(), offsets.tolist()
        strings = [_decoded(text[bounds[i] : bounds[i + 1]]) for i in range(count)]
    return strings


def _decoded(encoded: bytes) -> str:
    try:
        return encoded.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise IndexFileError("holds a string that is not UTF-8") from None
