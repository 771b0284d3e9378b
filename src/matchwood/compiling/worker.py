"""A process that compiles kernels, one after the other, until its input ends.

It reads pickled calls of kernels, and answers each with the pickled fields of a
`CompiledKernel`.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import time
from typing import Any, NamedTuple, NoReturn

from matchwood.kernels.readiness import kernels_used


class CompiledKernel(NamedTuple):
    """A kernel that is on disk now."""

    name: str
    entry: str
    compiled: bool  # else it was there already
    seconds: float  # of processor time


def compile_call(key: Any, types: Any) -> CompiledKernel:
    """Compile a kernel for some types, and put it on disk.

    One that is there already is not loaded: a process that compiles parts of kernels without
    machine code (`kernel_parts`) cannot use it.
    """
    from matchwood.kernels.compiled import kernels, make_kernel
    from matchwood.kernels.kernel_folder import environment_folder, read_entry

    importlib.import_module(key[0])
    kernel = kernels[key]
    entry = kernel._cache.entry(types)
    folder = environment_folder()
    if folder is not None and read_entry(folder, entry) is not None:
        return CompiledKernel(kernel._cache.name, entry, False, 0.0)
    started = time.process_time()
    before = len(kernels_used.compiled)
    if kernel.overloads:  # perhaps as a part of another kernel, without machine code
        kernel = make_kernel(kernel.py_func, dict(key[2]))
    kernel.compile(types)
    seconds = time.process_time() - started
    return CompiledKernel(kernel._cache.name, entry, len(kernels_used.compiled) > before, seconds)


def main() -> NoReturn:
    """Answer until standard input ends, and end the process."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed goes elsewhere
    from matchwood.compiling.kernel_parts import leave_out_parts
    from matchwood.compiling.remembered_types import remember_types
    from matchwood.compiling.skipped_analysis import skip_analysis

    leave_out_parts()
    remember_types()
    skip_analysis()
    while True:
        try:
            key, types = pickle.load(sys.stdin.buffer)
        except EOFError:
            os._exit(0)  # freeing all that the compiler has made would take seconds
        pickle.dump(tuple(compile_call(key, types)), answers)
        answers.flush()


if __name__ == "__main__":
    main()
