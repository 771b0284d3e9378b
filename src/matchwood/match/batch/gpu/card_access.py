"""The card that this process uses: its own one, or one that another process has for several."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.forking import renew_in_children
from matchwood.match.batch.gpu.card import CardError, card_name, card_problem, free_bytes, give_up
from matchwood.match.batch.gpu.card_client import SharedCard

if TYPE_CHECKING:
    from matchwood.match.batch.gpu.card_code_tables import SegmentTables
    from matchwood.match.batch.gpu.card_program import SegmentArrays
    from matchwood.match.batch.gpu.card_sweep import CardSegment

# Says whether a process has indexes of its own on a card, or shares them with others.
INDEX_VARIABLE = "MATCHWOOD_GPU_INDEX"
OWN, SHARED = "own", "shared"

_log = logging.getLogger("matchwood.gpu")


class OwnCard:
    """A card that this process uses by itself."""

    @property
    def problem(self) -> str | None:
        """Why it cannot be used; None if it can."""
        return card_problem()

    def give_up(self, problem: str) -> None:
        """Do not use it any more in this process, for this reason."""
        give_up(problem)

    @property
    def name(self) -> str:
        return card_name()

    def segment(
        self,
        key: Callable[[], str],
        made: Callable[[int], SegmentArrays],
        tables: Callable[[], SegmentTables],
    ) -> CardSegment:
        """A segment on the card; its arrays are made for so many free bytes."""
        from matchwood.match.batch.gpu.card_sweep import CardSegment

        return CardSegment(made(free_bytes()), tables)

    def zero_totals(self, rules: int) -> Any:
        """A total for each rule, on the card."""
        from numba import cuda

        return cuda.to_device(np.zeros(max(1, rules), np.int64))


class _SharedCards:
    """The shared card of this process, once it has one, or why it uses its own all the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: SharedCard | OwnCard | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def card(self) -> SharedCard | OwnCard:
        with self._lock:
            if self._found is None:
                try:
                    self._found = SharedCard()
                except (OSError, CardError) as error:
                    _log.warning("this process uses the GPU by itself: %s", error)
                    self._found = OWN_CARD
            return self._found


OWN_CARD = OwnCard()
_shared_cards = _SharedCards()


def card_of_process() -> OwnCard | SharedCard:
    """The card that this process uses, as its environment says."""
    index = os.environ.get(INDEX_VARIABLE) or OWN
    if index not in (OWN, SHARED):
        raise ValueError(f"{INDEX_VARIABLE} is {index!r}, expected one of {OWN}, {SHARED}")
    return OWN_CARD if index == OWN else _shared_cards.card()
