"""How one kernel is loaded from the folder of compiled kernels, or compiled and put there.

Numba asks this instead of its own cache, which notices changes only in the file of the kernel
itself, and whose folders carry a hash of the path that they were made for.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core import compiler, serialize
from numba.core.caching import NullCache

from matchwood.kernels.kernel_folder import (
    entry_name,
    environment_folder,
    read_entry,
    remove_entry,
    write_entry,
)
from matchwood.kernels.readiness import kernels_used, wait_for_kernels
from matchwood.kernels.sources import digest_of

# How Numba pickles what it has compiled; it has no types.
_dumps: Any = serialize.dumps

_log = logging.getLogger("matchwood.kernels")


class KernelCache(NullCache):
    """The entries of one kernel, one for each tuple of types that it is called with."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, bool]) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._function = function
        self._options = sorted(options.items())

    @property
    def cache_path(self) -> str | None:
        """The folder, as Numba's statistics show it."""
        folder = environment_folder()
        return None if folder is None else str(folder)

    def entry(self, types: Any) -> str:
        """The name of the entry for arguments of some types."""
        function = self._function
        closure = [cell.cell_contents for cell in function.__closure__ or ()]
        made_from = [
            digest_of(function.__module__),
            sha256(function.__code__.co_code).hexdigest(),
            sha256(_dumps(closure)).hexdigest() if closure else "",
            repr(self._options),
        ]
        return entry_name(self.name, str(types), "\n".join(made_from))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None if it has to be compiled here."""
        folder = environment_folder()
        if folder is None:
            return None
        target_context.refresh()  # so that whatever a kernel is linked with is there
        name = self.entry(sig)
        loaded = self._rebuilt(folder, name, target_context)
        if loaded is None and wait_for_kernels(self._function.__module__):
            loaded = self._rebuilt(folder, name, target_context)
        if loaded is None:
            _log.debug("compiling %s", self.name)
        else:
            kernels_used.loaded.append(name)
        return loaded

    def _rebuilt(self, folder: Path, name: str, target_context: Any) -> Any:
        stored = read_entry(folder, name)
        if stored is None:
            return None
        try:
            result: Any = compiler.CompileResult
            return result._rebuild(target_context, *pickle.loads(stored))
        except Exception:  # whatever is wrong with it, it can be compiled again
            _log.warning("a compiled kernel cannot be read: %s", name, exc_info=True)
            remove_entry(folder, name)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel that was just compiled."""
        name = self.entry(sig)
        folder = environment_folder()
        if data.library.has_dynamic_globals:
            raise TypeError(f"{self.name} refers to an address, and cannot be kept on disk")
        try:
            content = _dumps(data._reduce())
        except RuntimeError:  # a part of another kernel, where these have no machine code
            return
        kernels_used.compiled.append(name)
        try:
            if folder is not None:
                write_entry(folder, name, content)
        except OSError as error:  # the disk is full, say: the next process compiles it again
            _log.warning("a compiled kernel cannot be kept on disk: %s", error)
