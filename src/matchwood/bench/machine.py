"""Where figures were measured: processor, cores, and the versions that matter."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine() -> dict[str, object]:
    """What a benchmark says of the machine that it ran on."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numba": version("numba"),
        "numpy": version("numpy"),
    }


def waited() -> float | None:
    """The part of its time that the main thread was ready to run and had no core; None if unknown.

    Others were at work then, and the figures are too high, those of long calls more than others.
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
