"""A machine on which kernels are missing, and another process is busy compiling them."""

from pathlib import Path

import pytest

from matchwood.kernels import kernel_folder, readiness


class CompilingElsewhere:
    """Holds the lock of the process that compiles, and does not compile anything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / kernel_folder.environment()
        self._lock = readiness.lock_compiling(self.folder)
        assert self._lock is not None

    def say(self, done: int, total: int) -> None:
        readiness.write_progress(self.folder, done, total)

    def end(self) -> None:
        """Have compiled everything: this process has its kernels from elsewhere."""
        kernel_folder.write_list(self.folder, {})
        assert self._lock is not None
        self._lock.close()


@pytest.fixture
def without_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompilingElsewhere:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("MATCHWOOD_COMPILE", "background")
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(readiness, "_state", readiness._State())
    return CompilingElsewhere(tmp_path / "kernels")
