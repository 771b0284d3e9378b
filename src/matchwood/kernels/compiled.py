"""The decorators of kernels.

Compiled kernels are kept on disk (`kernel_folder`). If no folder is writable, kernels are compiled
in every process, with one warning.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numba.extending
import numpy as np
from numba.core.compiler_lock import global_compiler_lock

from matchwood.kernels.kernel_cache import KernelCache
from matchwood.kernels.kernel_folder import cache_directory

# Numba's settings, whose attributes are made at run time, so that type checkers miss them.
config: Any = numba.config

# Numba's decorator, whose types leave out the option `_nrt`.
_njit: Any = numba.njit

_Function = TypeVar("_Function", bound=Callable[..., Any])

# A kernel: its module, its name there, and its options.
KernelKey = tuple[str, str, tuple[tuple[str, bool], ...]]

# All kernels of the modules that are imported. Functions that are compiled into their callers are
# not among them.
kernels: dict[KernelKey, Any] = {}

# What wraps each kernel while they are not compiled, to see which types it is called with.
watch: Callable[[KernelKey, Callable[..., Any]], Any] | None = None


class CacheWarning(RuntimeWarning):
    """Compiled kernels cannot be kept on disk."""


if cache_directory() is None:
    warnings.warn(
        "no writable directory for compiled kernels: every process compiles them "
        "(set NUMBA_CACHE_DIR to one)",
        CacheWarning,
        stacklevel=2,
    )


# A fork waits for the compiler. Otherwise a kernel that another thread is compiling would be half
# done in the child, and the compiler's lock would be held there for ever.
os.register_at_fork(
    before=global_compiler_lock.acquire,
    after_in_parent=global_compiler_lock.release,
    after_in_child=global_compiler_lock.release,
)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a kernel that releases the GIL, and keep it on disk if possible.

    A function whose name begins with an underscore is compiled as a part of the kernels that call
    it. Called from Python, it stays what it is.
    """
    return make_kernel(function, {"nogil": True})


def lean(function: Callable[..., Any], nogil: bool = True) -> Any:
    """Compile a kernel that makes no array, as `compiled` does, but without reference counts.

    Reading an array out of a named tuple increments and decrements a count atomically, and across
    branches Numba does not see that the two cancel: a sweep took five times as long.
    """
    return make_kernel(function, {"nogil": nogil, "_nrt": False})


def make_kernel(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    """A kernel with these options of Numba, which is kept on disk."""
    if function.__name__.startswith("_"):  # private to its file: only other kernels call it
        return _into_callers(function, options)
    key = (function.__module__, function.__qualname__, tuple(sorted(options.items())))
    if config.DISABLE_JIT:
        kernel: Any = np.errstate(over="ignore")(function)  # silently, as in kernels
        if watch is not None:
            kernel = watch(key, kernel)
    else:
        # Nothing asks for the address of a kernel as C code has it, and making it takes time.
        kernel = _njit(no_cfunc_wrapper=True, **options)(function)
        if hasattr(kernel, "_cache"):
            kernel._cache = KernelCache(function, options)
    kernels[key] = kernel
    return kernel


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into the kernels that call it, whichever file they are in.

    Passing the arrays of an index in a call would cost more than most of these functions do. The
    function makes no array. Called from Python it stays what it is.
    """
    return _into_callers(function, {"nogil": True, "forceinline": True, "_nrt": False})


def codec(function: _Function) -> _Function:
    """Compile a function that packs or unpacks words into the kernels that call it.

    Called from Python it stays what it is, so that builders can apply it to whole NumPy arrays. It
    makes no array inside a kernel, as with `inlined`.
    """
    options = {"nogil": True, "forceinline": True, "_nrt": False}
    return cast(_Function, _into_callers(function, options))


def _into_callers(function: Callable[..., Any], options: dict[str, bool]) -> Any:
    # Without what Python or C would need to call it, which would be compiled with it each time.
    register: Any = numba.extending.register_jitable(
        no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )
    return register(function)


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
