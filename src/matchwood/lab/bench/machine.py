"""Where figures were measured: processor, cores, and the versions that matter."""

from __future__ import annotations

import os
import platform
import subprocess
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


@cache
def versions() -> dict[str, str | None]:
    """The versions that figures depend on, and the commit of the sources, if git knows it.

    A commit ends in `-dirty` where the sources differ from it.
    """
    versions = {name: version(name) for name in ("matchwood", "numba", "numpy", "pyarrow")}
    asked = ("git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*")
    try:
        answer = subprocess.run(
            asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return {**versions, "commit": None}
    return {**versions, "commit": answer.stdout.strip() or None}


def core_times() -> tuple[int, int]:
    """Nanoseconds that the main thread ran, and waited for a core; both 0 if unknown."""
    try:
        running, waiting, _ = Path("/proc/self/schedstat").read_text().split()
    except (OSError, ValueError):
        return 0, 0
    return int(running), int(waiting)


def waited(begun: tuple[int, int] = (0, 0)) -> float | None:
    """The share of its time that the main thread was ready to run but had no core; None if unknown.

    `begun` has its `core_times` at the beginning. Other processes ran meanwhile, so that times are
    too high, those of long calls most of all.
    """
    running, waiting = (now - then for now, then in zip(core_times(), begun, strict=True))
    return waiting / (running + waiting) if running else None


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
