"""The decorators of kernels, and Numba's cache on disk.

If no directory is writable, kernels are compiled in every process, with one warning. A cache that
an interrupted write left broken is deleted and written again.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numba.extending
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

from matchwood.kernels.sources import digest_of

# Numba's settings, whose attributes are made at run time, so that type checkers miss them.
config: Any = numba.config

# Numba's decorator, whose types leave out the option `_nrt`.
_njit: Any = numba.njit


_Function = TypeVar("_Function", bound=Callable[..., Any])


class CacheWarning(RuntimeWarning):
    """Compiled kernels cannot be kept on disk."""


def cache_directory() -> Path | None:
    """The first writable directory for compiled kernels; None if there is none."""
    candidates = [
        os.environ.get("NUMBA_CACHE_DIR"),
        str(Path(__file__).parent / "__pycache__"),
        os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "matchwood"),
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


_directory = cache_directory()
if _directory is None:
    warnings.warn(
        "no writable directory for compiled kernels: every process compiles them "
        "(set NUMBA_CACHE_DIR to one)",
        CacheWarning,
        stacklevel=2,
    )
elif not config.CACHE_DIR:
    config.CACHE_DIR = str(_directory)


# A fork waits for the compiler. Otherwise a kernel that another thread is compiling would be half
# done in the child, and the compiler's lock would be held there for ever.
os.register_at_fork(
    before=global_compiler_lock.acquire,
    after_in_parent=global_compiler_lock.release,
    after_in_child=global_compiler_lock.release,
)


class _Cache(FunctionCache):
    """Numba's cache, which treats an unreadable entry as absent.

    Numba notices by itself that the file of a kernel has changed, but not that another file has
    changed whose constants the kernel reads or whose functions it calls. The key of an entry
    therefore contains a digest over all files that the kernel may be made from.
    """

    def __init__(self, function: Any, options: dict[str, bool]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._more = (digest_of(function.__module__), *sorted(options.items()))

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), *self._more)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (EOFError, ImportError, pickle.UnpicklingError, ValueError, IndexError):
            self.flush()  # type: ignore[no-untyped-call]
            return None


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a kernel that releases the GIL, and keep it on disk if possible."""
    return _kernel(function, {"nogil": True})


def lean(function: Callable[..., Any], nogil: bool = True) -> Any:
    """Compile a kernel that makes no array, as `compiled` does, but without reference counts.

    Reading an array out of a named tuple increments and decrements a count atomically, and across
    branches Numba does not see that the two cancel: a sweep took five times as long.
    """
    return _kernel(function, {"nogil": nogil, "_nrt": False})


def _kernel(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    if config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # integers overflow silently, as in kernels
    kernel = _njit(**options)(function)
    if _directory is not None and hasattr(kernel, "_cache"):
        kernel._cache = _Cache(function, options)
    return kernel


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into the kernels that call it, whichever file they are in.

    Passing the arrays of an index in a call would cost more than most of these functions do. The
    function makes no array.
    """
    return _njit(nogil=True, forceinline=True, _nrt=False)(function)


def codec(function: _Function) -> _Function:
    """Compile a function that packs or unpacks words into the kernels that call it.

    Called from Python it stays what it is, so that builders can apply it to whole NumPy arrays. It
    makes no array inside a kernel, as with `inlined`.
    """
    register: Any = numba.extending.register_jitable(nogil=True, forceinline=True, _nrt=False)
    return cast(_Function, register(function))


if config.DISABLE_JIT:

    def prefetch(array: Any, place: int) -> None:
        """Does nothing, because kernels are not compiled."""

    def prefetch_to_write(array: Any, place: int) -> None:
        """Does nothing, because kernels are not compiled."""

    def trailing_zeros(word: Any) -> int:
        """How many zero bits a word ends with; the word is not 0."""
        return (int(word) & -int(word)).bit_length() - 1

else:

    def _prefetch(is_write: int) -> Any:
        from llvmlite import ir
        from numba.core import cgutils, types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            pointer_type = ir.IntType(8).as_pointer()
            pointer = builder.bitcast(builder.gep(data, [arguments[1]]), pointer_type)
            flag = ir.IntType(32)
            signature_ = ir.FunctionType(ir.VoidType(), [pointer_type, flag, flag, flag])
            function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, signature_, "llvm.prefetch.p0"
            )
            builder.call(function, [pointer, flag(is_write), flag(3), flag(1)])
            return context.get_dummy_value()

        def typed(typing_context: Any, array: Any, place: Any) -> Any:
            return types.void(array, types.intp), generate

        return numba.extending.intrinsic(typed)

    # prefetch(array, place): the cache line of array[place] will be read soon, or written
    prefetch = _prefetch(0)
    prefetch_to_write = _prefetch(1)

    @numba.extending.intrinsic
    def trailing_zeros(typing_context: Any, word: Any) -> Any:
        """How many zero bits a word ends with; the word is not 0."""
        from llvmlite import ir
        from numba.core import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.IntType(1)(1))

        return types.int64(types.uint64), generate
