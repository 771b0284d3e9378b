"""Where figures were measured: processor, cores, and the versions that matter."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def machine() -> dict[str, object]:
    """The description of the machine that a benchmark prints with its figures."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numba": version("numba"),
        "numpy": version("numpy"),
    }


def waited() -> float | None:
    """The share of its time that the main thread was ready to run but had no core; None if unknown.

    Other processes ran meanwhile, so that times are too high, those of long calls most of all.
    """
    try:
        running, waiting, _ = Path("/proc/self/schedstat").read_text().split()
    except (OSError, ValueError):
        return None
    return int(waiting) / max(1, int(running) + int(waiting))


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
