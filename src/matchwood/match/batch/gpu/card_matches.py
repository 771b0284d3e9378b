"""Matches that are left on a card, for whoever works on there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.match.batch.gpu.card_exports import (
    CPU_DEVICE,
    CUDA_DEVICE,
    Device,
    device_array_capsules,
    tensor_capsule,
)
from matchwood.match.batch.gpu.warp_kernels import IS_SIMULATED


def device_of(array: Any) -> Device:
    """Where an array is: on a card, or, in the simulator, in the memory of the host."""
    if IS_SIMULATED:
        return CPU_DEVICE, 0
    return CUDA_DEVICE, int(array.gpu_data.context.device.id)


class CardColumn:
    """Numbers on a card, for what reads DLPack or the CUDA array interface, without a copy."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.dtype = np.dtype(array.dtype)

    def __len__(self) -> int:
        return int(self._array.shape[0])

    @property
    def address(self) -> int:
        """Where the numbers begin, on the card."""
        if IS_SIMULATED:
            return int(self._array._ary.ctypes.data)
        return int(self._array.device_ctypes_pointer.value)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self._array.__cuda_array_interface__
        return interface

    def __dlpack_device__(self) -> Device:
        return device_of(self._array)

    def __dlpack__(
        self,
        *,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
        **_options: Any,
    ) -> Any:
        """The numbers as a DLPack tensor; what wrote them is done, so no stream has to wait."""
        device = self.__dlpack_device__()
        if dl_device not in (None, device):
            raise BufferError(f"the numbers are on device {device}; copy them with to_numpy()")
        column = self._copied() if copy else self
        device = column.__dlpack_device__()
        return tensor_capsule(column._array, column.address, len(self), self.dtype, device)

    def _copied(self) -> CardColumn:
        from numba import cuda

        copied = cuda.device_array(len(self), self.dtype)
        copied.copy_to_device(self._array)
        cuda.synchronize()
        return CardColumn(copied)

    def to_numpy(self) -> NDArray[Any]:
        """A copy in the memory of the host."""
        copy: NDArray[Any] = self._array.copy_to_host()
        return copy


class CardMatches:
    """Some matches, as two columns on a card: numbers of events, and of rules.

    `first_event` is the row of the event that has number 0, and `rule_ids`, in the memory of the
    host, has the id of each rule at its number. As a whole this is a table for what reads Arrow's C
    device data interface.
    """

    def __init__(self, events: Any, rules: Any, first_event: int, rule_ids: Any) -> None:
        self.events = CardColumn(events)
        self.rules = CardColumn(rules)
        self.first_event = first_event
        self.rule_ids = rule_ids

    def __len__(self) -> int:
        return len(self.events)

    def __arrow_c_device_array__(
        self, requested_schema: Any = None, **_options: Any
    ) -> tuple[Any, Any]:
        columns = {
            name: (column, column.address, column.dtype)
            for name, column in (("event", self.events), ("rule", self.rules))
        }
        return device_array_capsules(columns, len(self), self.events.__dlpack_device__())
