"""The process that measures is ended when a point takes too much, and started again."""

from dataclasses import replace

import pytest

from matchwood.lab.experiments.running.point_worker import FAILED, LATE, MEASURED, OVER, Worker
from matchwood.lab.experiments.running.points import Budget, Point

BUDGET = Budget(seconds=30, gib=1, events=20)
POINT = Point("fontoura", {"rules": 50, "seed": 1}, "scan", {})


@pytest.mark.slow
def test_a_point_over_its_budget_ends_the_process_and_no_more():
    large = replace(POINT, settings={"rules": 30_000, "seed": 1, "depth": 3})
    with Worker() as worker:
        first = worker.measure(POINT, BUDGET)
        assert first["status"] == MEASURED
        assert 0 <= first["waited_for_a_core"] <= 1
        unknown = worker.measure(replace(POINT, switches={"colour": "red"}), BUDGET)
        assert unknown["status"] == FAILED
        assert "TypeError" in unknown["reason"]
        over = worker.measure(large, replace(BUDGET, gib=0.01))
        assert over == {"status": OVER, "reason": "more than 0.01 GiB"}
        assert worker.measure(large, replace(BUDGET, seconds=0.03)) == {
            "status": LATE,
            "reason": "more than 0.03 s",
        }
        again = worker.measure(POINT, BUDGET)
        assert again["answers"] == first["answers"]


def test_figures_that_come_at_once_with_the_beginning_are_seen():
    class Hasty(Worker):
        COMMAND = ("sh", "-c", r"""read point; printf '"begun"\n{"status": "measured"}\n'; cat""")

    with Hasty() as worker:
        assert worker.measure(POINT, BUDGET) == {"status": MEASURED}
