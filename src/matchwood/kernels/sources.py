"""Which files a kernel may be made from, and one digest over all of them.

A kernel is compiled from its own file, from the functions that it calls, and from the constants
that it reads, wherever they are defined. All of these reach it through imports, so the files are
found by following the imports of its module inside its package; no list is kept by hand.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

_FROM = re.compile(rb"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n]*)", re.MULTILINE)
_NAME = re.compile(rb"[\w.]+")

# Where compiled kernels are kept and fetched from: no kernel has anything of these modules in it.
_STORAGE = frozenset(
    f"matchwood.kernels.{name}"
    for name in ("kernel_archive", "kernel_cache", "kernel_folder", "readiness", "sources")
)

# Modules whose kernels are compiled when they are first used: those of the laboratory, and those
# for a GPU, which another compiler makes.
_ELSEWHERE = ("matchwood.lab.", "matchwood.match.batch.gpu.")


def digest_of(module: str) -> str:
    """The digest of a module's source, and of every file of its package that it imports.

    >>> digest_of("matchwood.kernels.records") == digest_of("matchwood.kernels.records")
    True
    >>> digest_of("matchwood.kernels.records") == digest_of("matchwood.kernels.pushes")
    False
    """
    lines = (f"{name} {_source_digest(name)}\n" for name in sorted(sources_of(module)))
    return sha256("".join(lines).encode()).hexdigest()


@cache
def sources_of(module: str) -> frozenset[str]:
    """A module, and those of its package that it imports, directly or not.

    >>> sorted(sources_of("matchwood.kernels.predicate_codes"))
    ['matchwood.kernels.predicate_codes']
    """
    reached = {module}
    to_follow = [module]
    while to_follow:
        for imported in _imports(to_follow.pop()):
            if imported not in reached:
                reached.add(imported)
                to_follow.append(imported)
    return frozenset(reached)


@cache
def digest_of_kernels() -> str:
    """The digest of everything that any kernel of the product may be made from.

    What `matchwood.warm` does is a part of it, since that decides which kernels there are. The
    laboratory's kernels are not: they are compiled when they are first used.
    """
    lines = (f"{name} {digest_of(name)}\n" for name in product_modules())
    digest = sha256("".join(lines).encode())
    digest.update(_source("matchwood.warm"))
    return digest.hexdigest()


@cache
def product_modules() -> tuple[str, ...]:
    """The modules of the product that have kernels for the processor, outside the laboratory."""
    package = Path(__file__).parents[1]
    files = (path.relative_to(package.parent) for path in package.rglob("*_kernels.py"))
    names = (".".join(path.with_suffix("").parts) for path in files)
    return tuple(sorted(name for name in names if not name.startswith(_ELSEWHERE)))


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of the same package that a module imports anywhere in its text.

    A name that is imported from a package may be one of its modules, so both are followed if they
    exist.
    """
    package = module.partition(".")[0]
    source = _source(module)
    names: set[str] = set()
    for origin, imported in _FROM.findall(source):
        names.add(origin.decode())
        names |= {f"{origin.decode()}.{name.decode()}" for name in _NAME.findall(imported)}
    for imported in _IMPORT.findall(source):
        names |= {name.decode() for name in _NAME.findall(imported)}
    names -= {module, *_STORAGE}
    mine = (name for name in names if name.partition(".")[0] == package)
    return frozenset(name for name in mine if _file(name) is not None)


@cache
def _source_digest(module: str) -> str:
    return sha256(_source(module)).hexdigest()


def _source(module: str) -> bytes:
    file = _file(module)
    return b"" if file is None else file.read_bytes()


@cache
def _file(module: str) -> Path | None:
    """The file of a module, which need not be imported yet; None if there is none."""
    package, *below = module.split(".")
    loaded = sys.modules.get(package)
    opening = getattr(loaded, "__file__", None)
    if opening is None:
        return None
    if not below:
        return Path(opening)
    path = Path(opening).parent.joinpath(*below)
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None
