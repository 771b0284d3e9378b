"""Whether this process can use a GPU, and if not, why, in one sentence.

Nothing of CUDA is imported before somebody asks for it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import threading
from typing import Any

from matchwood.forking import renew_in_children
from matchwood.kernels.array_types import Int32Array

# Where events are matched: by the processor, by a GPU, or by a GPU where that is there and faster.
CPU, GPU, AUTO = "cpu", "gpu", "auto"
DEVICES = (CPU, GPU, AUTO)

# Names the device for callers that do not.
DEVICE_VARIABLE = "MATCHWOOD_DEVICE"

# Names the cards that CUDA shows to a process; it is read when the process first uses one.
VISIBLE_CARDS = "CUDA_VISIBLE_DEVICES"

# What drivers say when memory runs out: "CUDA_ERROR_OUT_OF_MEMORY", "out of memory".
_OUT_OF_MEMORY = re.compile("out.of.memory", re.IGNORECASE)


class CardError(RuntimeError):
    """No GPU can be used, or one failed; the message is one sentence for people.

    If it failed in the middle of a batch, `given` is how many of its pairs it has given until then:
    slice by slice, in the order of rules and events. `slice_of_rule` says which slice a rule is in.
    """

    given = 0
    slice_of_rule: Int32Array | None = None


class CardMemoryError(CardError):
    """A GPU has too little memory for what was asked of it; smaller slices of rules may fit."""


class CardWarning(RuntimeWarning):
    """A GPU was asked for, and the processor did the work."""


def chosen_device(device: str | None) -> str:
    """The device that was asked for, or that the environment names; the processor otherwise."""
    origin = "device"
    if device is None:
        origin = DEVICE_VARIABLE
        device = os.environ.get(DEVICE_VARIABLE) or CPU
    if device not in DEVICES:
        raise ValueError(f"{origin} is {device!r}, expected one of {', '.join(DEVICES)}")
    return device


class _CardSearch:
    """The search for a GPU, once per process; a forked process cannot use the one of its parent."""

    def __init__(self) -> None:
        self.pid = 0
        self.problem: str | None = None
        self.lock = threading.Lock()
        renew_in_children(self)

    def after_fork(self) -> None:
        self.lock = threading.Lock()
        if self.pid and self.problem is None:
            self.problem = "the GPU was in use before this process was forked; spawn it instead"
        else:
            self.pid = 0


_search = _CardSearch()


def card_problem() -> str | None:
    """Why no GPU can be used, in one sentence; None if one can."""
    if not _search.pid:
        with _search.lock:
            if not _search.pid:
                _search.problem = _problem()
                _search.pid = os.getpid()
    return _search.problem


def give_up(problem: str) -> None:
    """Use no GPU any more in this process, for this reason."""
    card_problem()
    _search.problem = problem


def _problem() -> str | None:
    if importlib.util.find_spec("numba_cuda") is None:
        return (
            "no GPU is used because matchwood[gpu] is not installed: pip install 'matchwood[gpu]'"
        )
    try:
        from numba import cuda
    except Exception as error:
        return f"no GPU is used because numba-cuda cannot be imported: {first_line(error)}"
    try:
        problem = cuda.cuda_error()
        if problem is not None:
            return f"no GPU is used because there is no driver for one: {first_line(problem)}"
        devices = list(cuda.list_devices())
    except Exception as error:
        silent = f"no GPU is used because its driver does not answer: {first_line(error)}"
        return _problem_of_driver() or silent
    if not devices:
        return "no GPU is used because this machine has none"
    return _problem_of_driver() or _problem_of_generation(devices[0])


def _problem_of_driver() -> str | None:
    try:
        from numba.cuda.cudadrv import driver, runtime

        versions = driver.driver.get_version(), runtime.get_version()
    except Exception:  # the first kernel will say what is wrong, if anything is
        return None
    return too_old_driver(*versions)


def _problem_of_generation(device: Any) -> str | None:
    try:
        from numba.cuda.cudadrv import nvrtc, runtime

        generations = tuple(device.compute_capability), nvrtc.get_lowest_supported_cc()
        cuda = runtime.get_version()
    except Exception:  # the first kernel will say what is wrong, if anything is
        return None
    return too_old_card(*generations, cuda)


Version = tuple[int, int]


def too_old_driver(driver: Version, cuda: Version) -> str | None:
    """Whether a driver, which is for a version of CUDA, is too old for the one that is installed.

    >>> too_old_driver((12, 4), (13, 0))
    'no GPU is used because its driver is for CUDA 12.4, and CUDA 13.0 needs a newer one'
    >>> too_old_driver((13, 0), (13, 1))  # within 12, or 13, any driver will do
    """
    if driver[0] >= cuda[0]:
        return None
    found = f"its driver is for CUDA {driver[0]}.{driver[1]}"
    return f"no GPU is used because {found}, and CUDA {cuda[0]}.{cuda[1]} needs a newer one"


def too_old_card(card: Version, oldest: Version, cuda: Version) -> str | None:
    """Whether the compute capability of a card is below the lowest that a version of CUDA knows.

    >>> too_old_card((7, 0), (7, 5), (13, 1))
    'no GPU is used because this one has compute capability 7.0, and CUDA 13.1 needs 7.5'
    >>> too_old_card((9, 0), (7, 5), (13, 1))
    """
    if card >= oldest:
        return None
    found, needed = (
        f"{card[0]}.{card[1]}",
        f"CUDA {cuda[0]}.{cuda[1]} needs {oldest[0]}.{oldest[1]}",
    )
    return f"no GPU is used because this one has compute capability {found}, and {needed}"


def error_of_card(error: BaseException) -> CardError:
    """What went wrong with a card, as a CardError that says whether it was for want of memory."""
    if isinstance(error, CardError):
        return error
    sentence = f"the GPU failed: {first_line(error)}"
    is_memory = isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)) is not None
    return CardMemoryError(sentence) if is_memory else CardError(sentence)


def first_line(error: object) -> str:
    """The first line of an error that says anything."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" :")]
    return lines[0].rstrip(".:") if lines else type(error).__name__


def is_simulated() -> bool:
    """Whether kernels run in Numba's simulator, as plain Python."""
    from matchwood.match.batch.gpu.warp_kernels import IS_SIMULATED

    return IS_SIMULATED


def card_name() -> str:
    """The name of the GPU that is used."""
    from numba import cuda

    if is_simulated():
        return "simulator"
    name: Any = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def free_bytes() -> int:
    """Bytes of memory that the card has left."""
    from numba import cuda

    free: float = cuda.current_context().get_memory_info()[0]  # the simulator has no end of it
    return int(min(free, 1 << 40))
