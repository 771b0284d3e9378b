"""Hands kernels to the processes that compile them, and notes when all are done."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from matchwood.compiling.worker import CompiledKernel
from matchwood.kernels.kernel_folder import environment_folder, write_list
from matchwood.kernels.readiness import write_progress

# Processes that compile side by side at most; with more, each has too little to do.
_MOST_WORKERS = 4

# Called with how many kernels are compiled, of how many so far, and the one that was just done.
Done = Callable[[int, int, CompiledKernel], None]


def compile_all(done: Done | None = None, workers: int | None = None) -> list[CompiledKernel]:
    """Compile all kernels that `matchwood.warm` calls; returns them.

    This process must not have used a kernel before, and cannot compile any afterwards.
    """
    work = _Work(done, workers or min(_MOST_WORKERS, len(os.sched_getaffinity(0))))
    work.start()
    from matchwood.compiling.recording import record

    record(work.add)
    return work.finish()


class _Work:
    """Kernels that wait to be compiled, and the processes that do it."""

    def __init__(self, done: Done | None, workers: int) -> None:
        self._done = done
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._compile, daemon=True) for _ in range(workers)
        ]
        self._total = 0
        self._compiled: list[CompiledKernel] = []
        self._error: BaseException | None = None
        folder = environment_folder()
        assert folder is not None, "whoever starts this has seen that a folder is writable"
        self._folder = folder

    def start(self) -> None:
        write_progress(self._folder, 0, 0)
        for thread in self._threads:
            thread.start()

    def add(self, call: Any) -> None:
        """Have a kernel compiled."""
        self._total += 1
        self._calls.put(call)

    def finish(self) -> list[CompiledKernel]:
        """Wait until all kernels are compiled, and note that they are."""
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()
        if self._error is not None:
            raise self._error
        write_list(self._folder, {kernel.entry: kernel.seconds for kernel in self._compiled})
        return self._compiled

    def _compile(self) -> None:
        """A thread: give one worker what is to be compiled, until there is nothing more."""
        try:
            with _worker() as process:
                while (call := self._calls.get()) is not None:
                    pickle.dump(tuple(call), process.stdin)  # type: ignore[arg-type]
                    process.stdin.flush()  # type: ignore[union-attr]
                    self._note(CompiledKernel(*pickle.load(process.stdout)))  # type: ignore[arg-type]
                process.stdin.close()  # type: ignore[union-attr]
        except BaseException as error:
            self._error = error

    def _note(self, kernel: CompiledKernel) -> None:
        with self._lock:
            self._compiled.append(kernel)
            write_progress(self._folder, len(self._compiled), self._total)
            if self._done is not None:
                self._done(len(self._compiled), self._total, kernel)


def _worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "matchwood.compiling.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
