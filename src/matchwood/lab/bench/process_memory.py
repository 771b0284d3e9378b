"""What the memory of this process is made of: Linux, the C library and Arrow each know a part."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from matchwood.lab.bench.reporting import Figures


class _Mallinfo(ctypes.Structure):
    """What glibc's `mallinfo2` returns, over all arenas; sizes are in bytes."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def memory() -> Figures:
    """MiB of this process; the parts of the C library are there with glibc only.

    `rss_mib` is all of it that is resident, and `rss_file_mib` the pages of files in it, such
    as libraries. `malloc_used_mib` is what is allocated with `malloc`, and `malloc_free_mib` what
    was given back to it and not to the system. `arrow_mib` is what Arrow has allocated.
    """
    import pyarrow as pa

    resident, shared = _resident()
    figures = {"rss": resident, "rss_file": shared}
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is not None:
        mallinfo.restype = _Mallinfo
        known = mallinfo()
        figures["malloc_used"] = known.uordblks + known.hblkhd
        figures["malloc_free"] = known.fordblks
    figures["arrow"] = pa.total_allocated_bytes()
    return {f"{name}_mib": size / 2**20 for name, size in figures.items()}


def held_memory() -> float:
    """MiB that are resident, without pages of files, once free memory has been returned.

    glibc returns it when asked, and so does Arrow; elsewhere, free memory counts.
    """
    import pyarrow as pa

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    pa.default_memory_pool().release_unused()
    resident, shared = _resident()
    return (resident - shared) / 2**20


def _resident() -> tuple[int, int]:
    """Bytes of this process that are resident, and those of them that are pages of files."""
    page = os.sysconf("SC_PAGE_SIZE")
    _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
    return int(resident) * page, int(shared) * page
