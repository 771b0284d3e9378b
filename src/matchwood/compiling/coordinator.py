"""Hands kernels to the processes that compile them, and notes when all are done."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from matchwood.compiling.worker import CompiledKernel
from matchwood.kernels.kernel_folder import environment_folder, list_name, write_list
from matchwood.kernels.readiness import write_progress
from matchwood.kernels.sources import sources_of

if TYPE_CHECKING:
    from matchwood.compiling.recording import KernelCall

# Processes that compile side by side at most; with more, each has too little to do.
_MOST_WORKERS = 4


def compile_all() -> None:
    """Compile all kernels that `matchwood.warm` calls, and note that they are there.

    This process must not have used a kernel before, and cannot compile any afterwards.
    """
    work = _Work(min(_MOST_WORKERS, len(os.sched_getaffinity(0))))
    work.start()
    from matchwood.compiling.recording import record

    record(work.add)
    work.finish()


class _Waiting:
    """Calls of kernels that are to be compiled.

    Kernels have parts in common, which a worker compiles only once. So a worker takes the kernel
    that shares most modules with those that it has compiled, and least with those of the others.
    """

    def __init__(self, workers: int) -> None:
        self._calls: list[KernelCall] = []
        self._known: list[set[str]] = [set() for _ in range(workers)]
        self._ended = False
        self._changed = threading.Condition()

    def add(self, call: KernelCall) -> None:
        with self._changed:
            self._calls.append(call)
            self._changed.notify()

    def end(self) -> None:
        """Nothing is added any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self, worker: int) -> KernelCall | None:
        """The next call for a worker; None if there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._calls or self._ended)
            if not self._calls:
                return None
            call = max(self._calls, key=lambda call: self._kinship(call, worker))  # the first such
            self._calls.remove(call)
            self._known[worker] |= _kernel_sources(call)
            return call

    def _kinship(self, call: KernelCall, worker: int) -> int:
        """How much more of a kernel a worker has compiled than the best of the others."""
        shared = [len(known & _kernel_sources(call)) for known in self._known]
        mine = shared.pop(worker)
        return mine - max(shared, default=0)


def _kernel_sources(call: KernelCall) -> frozenset[str]:
    """The modules that a kernel may have parts of."""
    return frozenset(name for name in sources_of(call.key[0]) if name.endswith("_kernels"))


class _Work:
    """Kernels that wait to be compiled, and the processes that do it."""

    def __init__(self, workers: int) -> None:
        self._waiting = _Waiting(workers)
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._compile, args=(number,), daemon=True)
            for number in range(workers)
        ]
        self._total = 0
        self._compiled: list[CompiledKernel] = []
        self._error: BaseException | None = None
        folder = environment_folder()
        assert folder is not None, "whoever starts this has seen that a folder is writable"
        self._folder = folder

    def start(self) -> None:
        list_name()  # while the sources are those that are compiled
        write_progress(self._folder, 0, 0)
        for thread in self._threads:
            thread.start()

    def add(self, call: KernelCall) -> None:
        """Have a kernel compiled."""
        self._total += 1
        self._waiting.add(call)

    def finish(self) -> None:
        """Wait until all kernels are compiled, and note that they are."""
        self._waiting.end()
        for thread in self._threads:
            thread.join()
        if self._error is not None:
            raise self._error
        write_list(self._folder, {kernel.entry: kernel.seconds for kernel in self._compiled})

    def _compile(self, number: int) -> None:
        """A thread: give one worker what is to be compiled, until there is nothing more."""
        try:
            with _worker() as process:
                assert process.stdin is not None
                assert process.stdout is not None
                while (call := self._waiting.take(number)) is not None:
                    try:
                        pickle.dump(tuple(call), process.stdin)
                        process.stdin.flush()
                        answer = pickle.load(process.stdout)
                    except (EOFError, BrokenPipeError):
                        raise RuntimeError(
                            f"the process that compiled {'.'.join(call.key[:2])} ended with exit "
                            f"code {process.wait()}"
                        ) from None
                    self._note(CompiledKernel(*answer))
        except BaseException as error:
            self._error = error

    def _note(self, kernel: CompiledKernel) -> None:
        with self._lock:
            self._compiled.append(kernel)
            write_progress(self._folder, len(self._compiled), self._total)


def _worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "matchwood.compiling.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
