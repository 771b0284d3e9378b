"""An archive with matchwood and all it needs, for executors that have nothing but a Python.

    bin/python              starts the executors' own Python, of the same version, with
    lib/site-packages/      the packages of this environment that matchwood needs
      matchwood/kernels/    … among them the compiled kernels

Nothing in it depends on where it is unpacked. PySpark is left out: executors have their own.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import matchwood
from matchwood.kernels.kernel_folder import (
    environment,
    environment_folder,
    is_complete,
    list_name,
    listed_entries,
)

# Where packages lie in the archive, and the program that uses them.
PACKAGES, PROGRAM = "lib/site-packages", "bin/python"
# Packages beside matchwood's own: PySpark's Python workers need it.
ALSO = ("pandas",)
# Packages that executors have of their own, in the version of their Spark.
LEFT_OUT = {"pyspark", "py4j"}
# Files of a package that only serve to install or to test it.
_USELESS = re.compile(
    r"(^|/)(__pycache__|tests)/|\.(pyc|pxd|pyx|h|lib|a)$|^\.\./|/direct_url\.json$"
)
# How hard gzip tries: more takes minutes and saves a tenth.
_COMPRESSION = 1


class Packed(NamedTuple):
    """What an archive has."""

    bytes: int
    packages: int
    kernels: int


def launcher() -> str:
    """The program that starts the executors' own Python with the packages."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"""\
#!/bin/sh
# Starts the Python {version} of this machine with the packages that lie beside it.
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONPATH="$here/{PACKAGES}${{PYTHONPATH:+:$PYTHONPATH}}"
export NUMBA_CACHE_DIR="$here/{PACKAGES}/matchwood/kernels/__pycache__"
python=$(command -v python{version}) || {{
    echo "matchwood was packed for Python {version}, and there is no python{version} here" >&2
    exit 1
}}
exec "$python" "$@"
"""


def pack_environment(path: str | os.PathLike[str]) -> Packed:
    """Write the archive, in one step."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tarfile.open(temporary, "w:gz", compresslevel=_COMPRESSION) as archive:
            _add_text(archive, PROGRAM, launcher())
            packages = needed_packages()
            for package in packages:
                for name, file in _files_of(package):
                    archive.add(file, f"{PACKAGES}/{name}", recursive=False)
            kernels = _add_kernels(archive)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return Packed(target.stat().st_size, len(packages), kernels)


def needed_packages() -> list[Distribution]:
    """matchwood and the installed packages that it needs, and those that they need."""
    found: dict[str, Distribution] = {}
    waiting = ["matchwood", *ALSO]
    while waiting:
        name = _plain(waiting.pop())
        if name in found or name in LEFT_OUT:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            if name in ("matchwood", *ALSO):
                raise ValueError(
                    f"{name} is not installed here, and executors need it: "
                    "pip install 'matchwood[spark]'"
                ) from None
            continue  # needed only on other platforms
        for requirement in found[name].requires or ():
            package, _, marker = requirement.partition(";")
            if "extra" not in marker:
                waiting.append(re.split(r"[^A-Za-z0-9._-]", package.strip(), maxsplit=1)[0])
    return [found[name] for name in sorted(found)]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _files_of(package: Distribution) -> Iterator[tuple[str, Path]]:
    """The files of a package, by their names within the folder of packages."""
    names = [str(file) for file in package.files or ()]
    for name in names:
        file = Path(str(package.locate_file(name)))
        if not _USELESS.search(name) and not name.endswith(".pth") and file.is_file():
            yield name, file
    if _plain(package.metadata["Name"]) == "matchwood":
        yield from _own_files({*names})


def _own_files(known: set[str]) -> Iterator[tuple[str, Path]]:
    """The modules of matchwood, which are elsewhere if it is installed to be edited."""
    folder = Path(matchwood.__file__).parent
    for file in sorted(folder.rglob("*")):
        name = f"matchwood/{file.relative_to(folder).as_posix()}"
        if file.is_file() and name not in known and not _USELESS.search(name):
            yield name, file


def _add_kernels(archive: tarfile.TarFile) -> int:
    folder = environment_folder()
    entries = None if folder is None else listed_entries(folder)
    if folder is None or entries is None or not is_complete(folder):
        raise ValueError("kernels are not compiled: run matchwood warm-up first")
    inside = f"{PACKAGES}/matchwood/kernels/__pycache__/{environment()}"
    for name in [*entries, list_name()]:
        archive.add(folder / name, f"{inside}/{name}", recursive=False)
    return len(entries)


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    about = tarfile.TarInfo(name)
    about.size, about.mode = len(data), 0o755
    archive.addfile(about, io.BytesIO(data))
