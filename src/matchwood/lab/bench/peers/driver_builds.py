"""Builds the programs that run peers of other languages, once per machine and version.

A program is built in a folder of the user's cache that is named after its sources, so that it is
built again when they, or the versions in them, change.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

# The sources: a folder for each program, with the file that pins the version of the peer.
SOURCES = Path(__file__).parent / "drivers"

# Seconds after which a build is given up. Compiling a hundred crates on one busy core takes most.
BUILD_LIMIT = 1_800

# The last lines of what a failed build says that are passed on.
SAID = 3

# The commands that build each program, and the one that runs it, in the folder of the build.
BUILDS: Mapping[str, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]] = {
    "a_tree": (
        (("cargo", "build", "--release", "--quiet", "--target-dir", "target"),),
        ("target/release/driver",),
    ),
    "rsigma_eval": (
        (("cargo", "build", "--release", "--quiet", "--target-dir", "target"),),
        ("target/release/driver",),
    ),
    "rsigma_alone": (
        (("cargo", "build", "--release", "--quiet", "--target-dir", "target"),),
        ("target/release/driver",),
    ),
    "event_ruler": (
        (
            ("mvn", "-q", "dependency:copy-dependencies", "-DoutputDirectory=libraries"),
            ("javac", "-cp", "libraries/*", "-d", "classes", "Driver.java"),
        ),
        ("java", "-cp", f"classes{os.pathsep}libraries/*", "Driver"),
    ),
    "event_ruler_alone": (
        (
            ("mvn", "-q", "dependency:copy-dependencies", "-DoutputDirectory=libraries"),
            ("javac", "-cp", "libraries/*", "-d", "classes", "Driver.java"),
        ),
        ("java", "-cp", f"classes{os.pathsep}libraries/*", "Driver"),
    ),
    "quamina": (
        # The sums of its modules are fetched, too.
        (("go", "build", "-mod=mod", "-o", "driver", "."),),
        ("./driver",),
    ),
    "json_logic_js": (
        (("npm", "install", "--silent", "--no-audit", "--no-fund"),),
        ("node", "driver.js"),
    ),
}


class Unavailable(Exception):
    """A peer cannot be run here, and why."""


def built(name: str) -> tuple[list[str], Path]:
    """The command that runs a program, and the folder to run it in."""
    builds, command = BUILDS[name]
    for tool in (*(build[0] for build in builds), command[0]):
        if "/" not in tool and shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    sources = sorted(path for path in (SOURCES / name).iterdir() if path.is_file())
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    folder = cache() / f"{name}-{digest.hexdigest()[:16]}"
    done = folder / "built"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for path in sources:
            shutil.copy(path, folder)
        for build in builds:
            _run(build, folder)
        done.touch()
    return list(command), folder


def cache() -> Path:
    """Where programs are built."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "matchwood" / "peers"


def _run(command: tuple[str, ...], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", timeout=BUILD_LIMIT
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took longer than {BUILD_LIMIT} seconds") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        said = " ".join(line.strip() for line in lines[-SAID:])
        raise Unavailable(f"{' '.join(command[:2])} failed: {said or done.returncode}")
