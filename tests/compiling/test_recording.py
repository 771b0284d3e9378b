"""Which types a call of a kernel is noted with."""

import numpy as np
from numba.core import types

from matchwood.compiling.recording import KernelCall, Recorder
from matchwood.kernels.text_bytes import AddressedText


def test_what_stands_for_addresses_is_noted_as_addresses():
    calls: list[KernelCall] = []
    watched = Recorder(calls.append).watch(("module", "kernel", ()), lambda *arguments: None)
    text = np.frombuffer(b"text", np.uint8).view(AddressedText)
    addresses = np.empty((1, 2), object)
    addresses[0] = text, text
    fixed = addresses.copy()
    fixed.flags.writeable = False
    watched(text, addresses, fixed)
    array = types.Array(types.int64, 2, "C")
    assert calls[0].types == (types.int64, array, array.copy(readonly=True))


def test_each_call_is_noted_once_per_tuple_of_types():
    calls: list[KernelCall] = []
    watched = Recorder(calls.append).watch(("module", "kernel", ()), lambda *arguments: None)
    for argument in (1, 2, 1.5, 3):
        watched(argument)
    assert [call.types for call in calls] == [(types.int64,), (types.float64,)]
