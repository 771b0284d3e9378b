"""Which kernels are called, and with which types of arguments, found out without compiling any.

Kernels are also plain Python functions. Here they run as such, over the few rules and events of
`matchwood.warm`, which takes seconds; each call from outside a kernel is noted with its types. A
kernel that only other kernels call is compiled together with them.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numba.core import types

if TYPE_CHECKING:
    from matchwood.kernels.compiled import KernelKey


# Of Numba, without types.
_types: Any = types
_typeof: Any = numba.typeof


class KernelCall(NamedTuple):
    """A kernel, and the types of the arguments that it is called with."""

    key: KernelKey
    types: tuple[Any, ...]


class Recorder:
    """Notes each distinct call of a kernel, and hands it on."""

    def __init__(self, note: Callable[[KernelCall], None]) -> None:
        self._note = note
        self._seen: set[tuple[KernelKey, str]] = set()
        self._lock = threading.Lock()
        self._inside = threading.local()

    def watch(self, key: KernelKey, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that does the same and notes with which types it is called."""
        parameters = list(inspect.signature(function).parameters.values())

        def watched(*arguments: Any) -> Any:
            if getattr(self._inside, "kernel", False):
                return function(*arguments)
            left_out = parameters[len(arguments) :]
            self._record(key, arguments, [_types.Omitted(each.default) for each in left_out])
            self._inside.kernel = True
            try:
                return function(*arguments)
            finally:
                self._inside.kernel = False

        return watched

    def _record(self, key: KernelKey, arguments: tuple[Any, ...], omitted: list[Any]) -> None:
        call = KernelCall(key, (*map(_type_of, arguments), *omitted))
        known = key, str(call.types)
        with self._lock:
            if known in self._seen:
                return
            self._seen.add(known)
        self._note(call)


def _type_of(argument: Any) -> Any:
    from matchwood.kernels.array_view import ArrayView
    from matchwood.kernels.text_bytes import AddressedText

    # While nothing is compiled, these stand for addresses.
    if isinstance(argument, ArrayView):
        return _types.Array(_types.int64, 1, "C")
    if isinstance(argument, AddressedText):
        return _types.int64
    if isinstance(argument, np.ndarray) and argument.dtype == object:
        is_constant = not argument.flags.writeable
        return _types.Array(_types.int64, argument.ndim, "C", readonly=is_constant)
    return _typeof(argument)


def record(note: Callable[[KernelCall], None]) -> None:
    """Do what `warm` does, and note the calls of kernels; before this process imports any."""
    settings: Any = numba.config
    settings.DISABLE_JIT = True
    from matchwood.kernels import compiled

    compiled.watch = Recorder(note).watch
    from matchwood.warm import exercise

    exercise()
