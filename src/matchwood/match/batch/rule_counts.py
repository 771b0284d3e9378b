"""How many events of many batches each rule of a segment is true of."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int64Array
from matchwood.match.batch.batch_matcher import BatchMatcher
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.gpu.card import CPU, CardError, CardMemoryError
from matchwood.match.batch.strategies.gpu_strategy import processor_instead

# Batches whose counts stay on a card before they are read: reading the counts of a million rules
# takes about as long as counting two batches.
MOST_ON_CARD = 64


class RuleCounts:
    """Counts of the matches of each rule; threads share it.

    Those by a GPU stay there for some batches. If it fails, the processor counts these again.
    """

    def __init__(self, batch: BatchMatcher, keep: NDArray[np.uint8], device: str) -> None:
        self._batch = batch
        self._keep = keep
        self._device = device
        self._lock = threading.Lock()
        self._totals = np.zeros(batch.rules, np.int64)
        self._on_card: Any = None
        self._of_card: list[BatchCodes] = []  # the batches whose counts are on the card

    def add(self, codes: BatchCodes) -> None:
        """Count a batch."""
        if not codes.events or not len(self._totals):
            return
        if not self._batch.uses_gpu(self._device, codes.events):
            self._add_on_processor(codes)
            return
        with self._lock:
            self._of_card.append(codes)
            try:
                if self._on_card is None:
                    self._on_card = self._batch.gpu.zero_totals(len(self._totals))
                self._batch.gpu.add_counts_of_rules(codes, self._keep, self._on_card)
                if len(self._of_card) >= MOST_ON_CARD:
                    self._read()
                return
            except CardError as error:
                is_sliced = isinstance(error, CardMemoryError) and self._batch.gpu.slice_more()
                if not is_sliced:
                    processor_instead(error)
                again = self._lost()
        for counted in again:
            if is_sliced:
                self.add(counted)
            else:
                self._add_on_processor(counted)

    def totals(self) -> Int64Array:
        """The count of each rule, by ordinal; no thread may be adding."""
        try:
            self._read()
        except CardError as error:
            processor_instead(error)
            for counted in self._lost():
                self._add_on_processor(counted)
        return self._totals

    def _read(self) -> None:
        """Take over what the card has counted."""
        if self._on_card is not None:
            with self._batch.gpu.guarded():
                counted = self._on_card.copy_to_host()
            self._totals += counted[: len(self._totals)]
        self._on_card, self._of_card = None, []

    def _lost(self) -> list[BatchCodes]:
        """The batches whose counts were on the card, which have to be counted again."""
        again, self._on_card, self._of_card = self._of_card, None, []
        return again

    def _add_on_processor(self, codes: BatchCodes) -> None:
        counts = np.zeros(len(self._totals), np.int64)
        for _, rules in self._batch.pairs(codes, self._keep, CPU):
            counts += np.bincount(rules, minlength=len(counts))
        with self._lock:
            self._totals += counts
