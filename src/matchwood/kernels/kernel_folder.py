"""The folder of compiled kernels on disk: what it is named after, and its entries.

    FOLDER/
      cpython-311-numba-0.68.0-llvmlite-0.48.0-znver3-5f0c8a1e2b3d/
        matchwood.match.event.walk_kernels.walk-6a1f09c3-90b2e4….kernel
        complete-1d7e….json

A folder of an environment is named after everything that machine code depends on beside its
source: the versions of Python, Numba and llvmlite, the processor with its features, and settings of
Numba. A kernel is named after itself, its types, and a digest of the sources that it may come from.
No name depends on where the folder is, so it can be moved, copied, or packed (`kernel_archive`).

An entry is written in one step, begins with its checksum, and is never changed. `complete-….json`
lists the entries that `matchwood.warm` uses, for one state of the sources: if all of them are
there, nothing has to be compiled. This module does not import Numba, so that this is known early.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from matchwood.kernels.sources import digest_of_kernels

# The ending of the name of an entry.
ENTRY = ".kernel"

# Bytes of the checksum that an entry begins with.
_CHECKSUM = 32

# Versions of a kernel that are kept: those of a few other installations, or of the last edits.
_VERSIONS = 4

# Settings of Numba that do not change what it compiles.
_HARMLESS = {
    "NUMBA_CACHE_DIR",
    "NUMBA_DISABLE_JIT",
    "NUMBA_NUM_THREADS",
    "NUMBA_THREADING_LAYER",
    "NUMBA_DEBUG_CACHE",
}

_ENTRY_NAME = re.compile(r"[\w.<>-]+-[0-9a-f]{8}-[0-9a-f]{32}\.kernel")


def cache_directory() -> Path | None:
    """The first writable folder for compiled kernels; None if there is none."""
    return _first_writable(os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"))


@cache
def _first_writable(chosen: str | None, caches: str | None) -> Path | None:
    candidates = [
        chosen,
        str(Path(__file__).parent / "__pycache__"),
        os.path.join(caches or "~/.cache", "matchwood"),
        os.path.join(tempfile.gettempdir(), f"matchwood-{os.getuid()}"),
    ]
    for candidate in candidates:
        if candidate:
            directory = Path(candidate).expanduser()
            try:
                directory.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=directory):
                    return directory
            except OSError:
                continue
    return None


@cache
def environment() -> str:
    """What machine code depends on beside its source, as the name of a folder."""
    from importlib.metadata import version

    from llvmlite import binding

    cpu = os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    settings = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("NUMBA_") and name not in _HARMLESS
    )
    versions = f"numba-{version('numba')}-llvmlite-{version('llvmlite')}"
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    details = "\n".join([sys.platform, binding.get_process_triple(), features, *settings])
    digest = sha256(details.encode()).hexdigest()[:12]
    return f"{python}-{versions}-{cpu}-{digest}"


def environment_folder() -> Path | None:
    """The folder of the kernels that this process can use; None if no folder is writable."""
    directory = cache_directory()
    return None if directory is None else directory / environment()


# Entries


def entry_name(kernel: str, types: str, made_from: str) -> str:
    """The name of an entry: a kernel, for arguments of some types, made from some sources.

    >>> entry_name("pack.kernels.add", "(int64, int64)", "source").startswith("pack.kernels.add-")
    True
    """
    of_types = sha256(types.encode()).hexdigest()[:8]
    of_all = sha256(f"{types}\n{made_from}".encode()).hexdigest()[:32]
    return f"{re.sub(r'[^A-Za-z0-9_.<>]', '_', kernel)}-{of_types}-{of_all}{ENTRY}"


def kernel_of(entry: str) -> str:
    """The kernel that an entry is of.

    >>> kernel_of(entry_name("pack.kernels.add", "(int64, int64)", "source"))
    'pack.kernels.add'
    """
    return entry.rsplit("-", 2)[0]


def read_entry(folder: Path, name: str) -> bytes | None:
    """What an entry holds; None if it is not there or damaged, in which case it is removed."""
    path = folder / name
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    if is_intact(stored):
        return stored[_CHECKSUM:]
    remove_entry(folder, name)
    return None


def is_intact(stored: bytes) -> bool:
    """Whether an entry has the checksum that it begins with."""
    return sha256(stored[_CHECKSUM:]).digest() == stored[:_CHECKSUM]


def write_entry(folder: Path, name: str, content: bytes) -> None:
    """Write an entry in one step, and remove old versions of the same kernel."""
    write_whole(folder, name, sha256(content).digest() + content)
    versions = name[: -len(ENTRY) - 32] + "*" + ENTRY
    known = []
    for path in folder.glob(versions.replace("<", "[<]")):
        try:
            known.append((path.stat().st_mtime_ns, path))
        except OSError:  # another process has removed it
            continue
    for _, path in sorted(known, reverse=True)[_VERSIONS:]:
        remove_entry(folder, path.name)


def write_whole(folder: Path, name: str, content: bytes) -> None:
    """Write a file that other processes see whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    file, temporary = tempfile.mkstemp(dir=folder, prefix=".writing-")
    try:
        with os.fdopen(file, "wb") as out:
            out.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, folder / name)
    except BaseException:
        os.unlink(temporary)
        raise


def remove_entry(folder: Path, name: str) -> None:
    """Remove an entry, if it is there and can be removed."""
    try:
        (folder / name).unlink(missing_ok=True)
    except OSError:
        pass


def is_entry_name(name: str) -> bool:
    """Whether a file can be an entry, by its name."""
    return _ENTRY_NAME.fullmatch(name) is not None


# Lists of all entries


def list_name() -> str:
    """The name of the list of all entries, for the present sources."""
    return f"complete-{digest_of_kernels()[:32]}.json"


def listed_entries(folder: Path) -> list[str] | None:
    """The entries that the present sources need; None if they have not all been compiled."""
    try:
        listed = json.loads((folder / list_name()).read_bytes())
        return list(listed["entries"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_list(folder: Path, entries: Mapping[str, float]) -> None:
    """Note that all entries that the present sources need are there, and forget older lists.

    For each entry there are the seconds of processor time that it took to compile.
    """
    write_whole(folder, list_name(), json.dumps({"entries": dict(entries)}).encode())
    lists = sorted(folder.glob("complete-*.json"), key=lambda path: -path.stat().st_mtime_ns)
    for path in lists[_VERSIONS:]:
        remove_entry(folder, path.name)


def is_complete(folder: Path) -> bool:
    """Whether everything that the present sources need is compiled."""
    entries = listed_entries(folder)
    return entries is not None and all((folder / name).is_file() for name in entries)
