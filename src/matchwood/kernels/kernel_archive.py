"""Compiled kernels as one file, which other machines of the same kind can use.

An archive holds machine code, and entries are unpickled: use only one that you trust, as you would
a package. Entries for other processors or versions are left out when it is used.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from matchwood.kernels.kernel_folder import (
    environment,
    environment_folder,
    is_entry_name,
    is_intact,
    list_name,
    listed_entries,
    write_whole,
)


class ArchiveUse(NamedTuple):
    """What was done with an archive."""

    added: int  # entries that were copied
    known: int  # entries that were there already
    others: tuple[str, ...]  # environments in the archive that are not this one


def write_archive(path: str | os.PathLike[str]) -> int:
    """Write the compiled kernels of this environment to a zip file, in one step; their number."""
    folder = environment_folder()
    entries = None if folder is None else listed_entries(folder)
    if folder is None or entries is None:
        raise ValueError("kernels are not compiled: run matchwood warm-up first")
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in [*entries, list_name()]:  # with a fixed time: the same kernels, one file
                info = zipfile.ZipInfo(f"{environment()}/{name}")
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, (folder / name).read_bytes())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return len(entries)


def use_archive(path: str | os.PathLike[str]) -> ArchiveUse:
    """Copy what this environment can use of a zip file, or of a folder that holds its contents."""
    folder = environment_folder()
    if folder is None:
        raise ValueError("no folder for compiled kernels is writable: set NUMBA_CACHE_DIR to one")
    added = known = 0
    others: set[str] = set()
    lists: list[tuple[str, bytes]] = []
    for where, name, read in _members(Path(path)):
        if where != environment():
            others.add(where)
        elif name.startswith("complete-") and name.endswith(".json"):
            lists.append((name, read.content()))
        elif is_entry_name(name):
            if (folder / name).is_file():
                known += 1
            elif is_intact(content := read.content()):
                write_whole(folder, name, content)
                added += 1
    for name, content in lists:  # last, as they say that all entries are there
        if not (folder / name).is_file():
            write_whole(folder, name, content)
    return ArchiveUse(added, known, tuple(sorted(others)))


class _Member(NamedTuple):
    """A file in an archive, or in a folder."""

    archive: zipfile.ZipFile | None
    name: str

    def content(self) -> bytes:
        if self.archive is None:
            return Path(self.name).read_bytes()
        return self.archive.read(self.name)


def _members(path: Path) -> Iterator[tuple[str, str, _Member]]:
    """(environment, name, how to read it) of each file."""
    if path.is_dir():
        for file in sorted(path.glob("*/*")):
            yield file.parent.name, file.name, _Member(None, str(file))
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for full_name in archive.namelist():
                where, _, name = full_name.partition("/")
                if name and "/" not in name:
                    yield where, name, _Member(archive, full_name)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path}: this is not an archive of kernels ({error})") from None
