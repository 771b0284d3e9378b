"""The compiled Scan over rule texts: a baseline for speed, and a second answer to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atoms import AtomTable
from matchwood.index.build.rule_programs import gather
from matchwood.index.build.segment import shared_nodes
from matchwood.lab.bench.rule_scan import lay_out
from matchwood.lab.bench.scan_kernels import scan


class Scanner:
    """Evaluates every rule in turn, and stops each as soon as its truth is decided."""

    def __init__(self, texts: list[str]) -> None:
        atoms = AtomTable()
        gathered = gather(texts, atoms)
        arrays, number, _ = atoms.seal()
        self._laid = lay_out(shared_nodes(gathered.program, gathered.start, number), arrays)
        self._places = gathered.accepted
        self._slots = {slot.attribute: (i, slot) for i, slot in enumerate(atoms.slots)}
        self._out = np.empty(len(texts), np.int32)
        self._open = np.empty((2, 4096), np.int64)
        self._true_rules = 0

    def coded(self, event: dict[str, int]) -> NDArray[np.int32]:
        """An event in the form that `scan` takes."""
        codes = np.zeros(len(self._slots), np.int32)
        for name, value in event.items():
            if name in self._slots:
                position, slot = self._slots[name]
                codes[position] = slot.code(next(iter(slot.first)), value)
        return codes

    def scan(self, codes: NDArray[np.int32]) -> None:
        self._true_rules = scan(*self._laid, codes, self._out, self._open)

    def found(self) -> list[Any]:
        """The positions of the rules that the last scan found true, in order."""
        return list(self._places[np.sort(self._out[: self._true_rules])].tolist())
