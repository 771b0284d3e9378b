"""What a segment learns about JSON texts."""

import pytest

from matchwood import Matcher
from matchwood.kernels.masks import EVENTS


def test_a_few_rows_do_not_tell_what_a_row_costs():
    """Otherwise the end of a block would make all others be swept."""
    (part,) = Matcher({1: "a = 1"}).store.snapshot.parts
    rows = part.json
    rows._note_rows(1e-3, EVENTS)  # the first measurement of a process is left out
    known = rows.row_cost.seconds
    rows._note_rows(1e-3, 3)
    assert rows.row_cost.seconds == known
    rows._note_rows(1.0, EVENTS - 3)
    assert rows.row_cost.seconds == pytest.approx((known + 1.001 / EVENTS) / 2)
