"""Whether kernels are compiled, and the process in the background that compiles them.

Compiling all kernels takes some tens of seconds. While they are missing, a matcher of few rules
evaluates them one by one, and another process compiles: `kernels_ready` says whether it is done,
and starts it. One process does this for all others of a machine that share a folder of kernels,
and goes on when the one that started it ends. What cannot do without kernels waits for it:
`wait_for_kernels`.

`MATCHWOOD_COMPILE=foreground` compiles each kernel in the process that needs it, when it does.
This module does not import Numba.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from matchwood.kernels.kernel_archive import use_archive
from matchwood.kernels.kernel_folder import environment_folder, is_complete, write_whole
from matchwood.kernels.sources import product_modules

# The environment variable that says where kernels are compiled, and its values.
VARIABLE, FOREGROUND, BACKGROUND = "MATCHWOOD_COMPILE", "foreground", "background"

# The environment variable that names a file or folder of compiled kernels to begin with.
ARCHIVE_VARIABLE = "MATCHWOOD_KERNELS"

# The file that whoever compiles for a folder has locked.
_LOCK = "compiling.lock"

# The file that says which process compiles, how many kernels are done, and of how many.
PROGRESS = "compiling.json"

# The file with what the process that compiles has to say, should it fail.
_ERRORS = "compiling.log"

# Seconds between two looks at the folder.
_LOOK = 0.1

# Seconds between two messages while something waits for kernels.
_SAY = 5.0

# Called with how many kernels are compiled, and of how many, which is 0 as long as it is not known.
# The two are equal when there is nothing to wait for any more.
CompilingProgress = Callable[[int, int], None]

_log = logging.getLogger("matchwood.kernels")


class KernelsUsed:
    """The entries that this process has compiled, and those that it has loaded."""

    def __init__(self) -> None:
        self.compiled: list[str] = []
        self.loaded: list[str] = []


class _State:
    """What this process knows about kernels."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ready = False
        self.next_look = 0.0
        self.failed = False  # whether kernels have to be compiled in this process after all
        self.archive: str | None = None  # the archive that was taken in
        self.process: subprocess.Popen[bytes] | None = None
        self.listener: CompilingProgress | None = None


kernels_used = KernelsUsed()
_state = _State()


def _after_fork() -> None:
    _state.lock = threading.Lock()
    _state.process = None  # it is the parent's


os.register_at_fork(after_in_child=_after_fork)


def in_background() -> bool:
    """Whether kernels that are missing are compiled by another process."""
    chosen = os.environ.get(VARIABLE) or BACKGROUND
    if chosen not in (FOREGROUND, BACKGROUND):
        raise ValueError(f"{VARIABLE} must be {FOREGROUND} or {BACKGROUND}, found {chosen!r}")
    if chosen == FOREGROUND or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return False
    if getattr(sys, "frozen", False) or not sys.executable:  # there is no Python to start
        return False
    return environment_folder() is not None


def kernels_ready() -> bool:
    """Whether kernels can be used; if not, a process in the background compiles them.

    True as well where nothing compiles in the background: kernels are compiled as they are used.
    """
    state = _state
    if state.ready or state.failed:
        return True
    if time.monotonic() < state.next_look:
        return False
    if not in_background():
        return True
    folder = environment_folder()
    assert folder is not None
    with state.lock:
        state.ready = is_complete(folder) or (_take_in_archive() and is_complete(folder))
        if not state.ready:
            _start(folder)
        state.next_look = time.monotonic() + _LOOK
        return state.ready or state.failed


def show_progress(listener: CompilingProgress | None) -> None:
    """Call this function while something waits for kernels."""
    _state.listener = listener


def wait_for_kernels(module: str | None = None) -> bool:
    """Wait until the kernels of the product are compiled; False if there is nothing to wait for.

    With a module: only if it is one of those with such kernels.
    """
    if _state.ready or _state.failed or not in_background():
        return False
    if module is not None and module not in product_modules():
        return False
    if kernels_ready():
        return not _state.failed
    folder = environment_folder()
    assert folder is not None
    started = time.monotonic()
    say = 0.0
    while not kernels_ready():
        done, total = _progress(folder)
        if _state.listener is not None:
            _state.listener(done, total)
        if time.monotonic() >= say:
            _say(done, total, first=say == 0)
            say = time.monotonic() + _SAY
        time.sleep(_LOOK)
    if _state.listener is not None:
        _state.listener(1, 1)
    _log.info("waited %.1f s for kernels", time.monotonic() - started)
    return not _state.failed


def _say(done: int, total: int, first: bool) -> None:
    if first:  # to people whose program is silent for so long, whether they asked for logs or not
        _log.log(
            logging.INFO if _state.listener is not None else logging.WARNING,
            "waiting for kernels, which are compiled once on each machine, for about half a "
            "minute; `matchwood warm-up` does it in advance",
        )
    else:
        _log.info("compiled %d of %s kernels", done, total or "?")


def _progress(folder: Path) -> tuple[int, int]:
    try:
        said = json.loads((folder / PROGRESS).read_bytes())
        return int(said["done"]), int(said["total"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def write_progress(folder: Path, done: int, total: int) -> None:
    """Say who compiles, and how far it is, for those who wait."""
    said = {"process": os.getpid(), "done": done, "total": total}
    write_whole(folder, PROGRESS, json.dumps(said).encode())


def _take_in_archive() -> bool:
    """Copy the kernels that the environment variable names; whether there were any."""
    path = os.environ.get(ARCHIVE_VARIABLE)
    if not path or path == _state.archive:
        return False
    _state.archive = path
    try:
        return use_archive(path).added > 0
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be used: %s", ARCHIVE_VARIABLE, error)
        return False


# The process that compiles


def lock_compiling(folder: Path) -> IO[bytes] | None:
    """The file whose lock says who compiles for a folder; None if another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = open(folder / _LOCK, "ab")  # noqa: SIM115 – closed by whoever compiles
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except OSError:
        file.close()
        raise
    return file


def _start(folder: Path) -> None:
    """Start compiling, unless that is being done; the lock is held."""
    state = _state
    try:
        lock = lock_compiling(folder)
        if lock is None:
            return
        with lock:  # the process inherits the lock, and holds it until it ends
            if is_complete(folder):  # another process has just finished
                state.ready = True
            elif state.process is not None:  # it has ended, and did not do it
                state.failed = True
            else:
                state.process = _compiling_process(folder, lock.fileno())
                pid = state.process.pid
                _log.info("compiling kernels in the background", extra={"pid": pid})
                threading.Thread(target=_watch, args=(state.process, folder), daemon=True).start()
    except (OSError, RuntimeError) as error:  # no more processes or threads, no locks
        _log.warning("kernels cannot be compiled in the background: %s", error)
        state.failed = True


def _compiling_process(folder: Path, lock: int) -> subprocess.Popen[bytes]:
    """A process that compiles all kernels; it outlives this one, and holds the lock."""
    packages = str(Path(__file__).parents[2])
    with open(folder / _ERRORS, "wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "matchwood.compiling"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([packages, *sys.path])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(lock,),
            start_new_session=True,
            cwd="/",
        )


def _watch(process: subprocess.Popen[bytes], folder: Path) -> None:
    started = time.monotonic()
    code = process.wait()
    seconds = round(time.monotonic() - started, 1)
    if code == 0 and is_complete(folder):
        _log.info("kernels are compiled", extra={"seconds": seconds})
    else:
        _log.warning(
            "compiling kernels in the background failed, see %s; they are compiled when needed",
            folder / _ERRORS,
            extra={"seconds": seconds, "code": code},
        )
