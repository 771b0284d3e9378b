"""The compiled Scan of rule texts: what speed is measured against, and a second answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.index.atoms import Atoms
from matchwood.index.build import gather
from matchwood.index.segment import shared_nodes
from matchwood.match.scan import lay_out, scan


class Scanner:
    """Every rule in turn, each left as soon as its truth is settled."""

    def __init__(self, texts: list[str]) -> None:
        atoms = Atoms()
        gathered = gather(texts, atoms)
        arrays, number, _ = atoms.seal()
        self._laid = lay_out(shared_nodes(gathered.program, gathered.start, number), arrays)
        self._places = gathered.accepted
        self._slots = {slot.attribute: (i, slot) for i, slot in enumerate(atoms.slots)}
        self._out = np.empty(len(texts), np.int32)
        self._open = np.empty((2, 4096), np.int64)
        self._found = 0

    def coded(self, event: dict[str, int]) -> NDArray[np.int32]:
        """An event as `scan` takes it."""
        codes = np.zeros(len(self._slots), np.int32)
        for name, value in event.items():
            if name in self._slots:
                place, slot = self._slots[name]
                codes[place] = slot.code(next(iter(slot.first)), value)
        return codes

    def scan(self, codes: NDArray[np.int32]) -> None:
        self._found = scan(*self._laid, codes, self._out, self._open)

    def found(self) -> list[Any]:
        """The places of the rules that the last scan found true, in order."""
        return list(self._places[np.sort(self._out[: self._found])].tolist())
