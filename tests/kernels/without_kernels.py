"""A machine on which kernels are missing, and another process is busy compiling them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from matchwood.kernels import kernel_folder, readiness
from matchwood.kernels.kernel_archive import use_archive


class CompilingElsewhere:
    """Holds the lock of the process that compiles, and does not compile anything."""

    def __init__(self, folder: Path, compiled: Path | None) -> None:
        self._compiled = compiled
        self.folder = folder / kernel_folder.environment()
        self._lock = readiness.lock_compiling(self.folder)
        assert self._lock is not None

    def say(self, done: int, total: int) -> None:
        readiness.write_progress(self.folder, done, total)

    def end(self) -> None:
        """Have compiled everything: kernels come from where they were compiled before."""
        if self._compiled is not None:
            use_archive(self._compiled)
        if not kernel_folder.is_complete(self.folder):
            kernel_folder.write_list(self.folder, {})
        self.release()

    def release(self) -> None:
        assert self._lock is not None
        self._lock.close()


@pytest.fixture
def without_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CompilingElsewhere]:
    compiled = kernel_folder.cache_directory()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("MATCHWOOD_COMPILE", "background")
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(readiness, "_state", readiness._State())
    elsewhere = CompilingElsewhere(tmp_path / "kernels", compiled)
    yield elsewhere
    elsewhere.release()
