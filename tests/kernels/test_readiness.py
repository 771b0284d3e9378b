"""Whether kernels are ready, and who compiles them."""

import logging
import subprocess
import sys
import threading
import time

import pytest

from kernels.without_kernels import CompilingElsewhere, without_kernels  # noqa: F401
from matchwood.kernels import readiness
from matchwood.kernels.readiness import kernels_ready, lock_compiling, wait_for_kernels


def test_while_another_process_compiles_kernels_are_not_ready(
    without_kernels: CompilingElsewhere,  # noqa: F811
) -> None:
    assert not kernels_ready()
    assert lock_compiling(without_kernels.folder) is None
    assert readiness._state.process is None  # this process has started none
    without_kernels.end()
    time.sleep(2 * readiness._LOOK)
    assert kernels_ready()


def test_whoever_needs_kernels_waits_for_them_and_says_so(
    without_kernels: CompilingElsewhere,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness, "_SAY", 0.1)
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(readiness._state, "listener", lambda *figures: told.append(figures))
    without_kernels.say(3, 61)
    threading.Timer(0.5, without_kernels.end).start()
    with caplog.at_level(logging.INFO, "matchwood.kernels"):
        assert wait_for_kernels()
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("waiting for kernels")
    assert "compiled 3 of 61 kernels" in said
    assert said[-1].startswith("waited ")
    assert (3, 61) in told
    assert told[-1] == (1, 1)
    assert not wait_for_kernels()  # there is nothing to wait for any more


def test_kernels_of_other_packages_wait_for_nothing(
    without_kernels: CompilingElsewhere,  # noqa: F811
) -> None:
    assert not wait_for_kernels("matchwood.lab.bench.scan_kernels")


def test_compiling_in_the_foreground_needs_no_kernels(
    without_kernels: CompilingElsewhere,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MATCHWOOD_COMPILE", "foreground")
    assert kernels_ready()
    assert not wait_for_kernels()
    monkeypatch.setenv("MATCHWOOD_COMPILE", "sometimes")
    with pytest.raises(ValueError, match="MATCHWOOD_COMPILE must be foreground or background"):
        kernels_ready()


def test_it_is_known_without_numba_whether_kernels_are_ready() -> None:
    code = "import sys; from matchwood.kernels.readiness import kernels_ready; kernels_ready()\n"
    code += "assert not {'numba', 'pyarrow', 'pyspark'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
