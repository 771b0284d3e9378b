"""Whether time grows with the sum of two sizes, not with their product."""

from collections.abc import Callable
from time import process_time

# How many times larger both sizes get.
FACTOR = 4

# How many times longer it may take: 4 is linear, 16 the product of both.
LIMIT = 10


def grows_gently(work: Callable[[int], Callable[[], object]]) -> bool:
    """Whether work of `FACTOR` times the size takes less than `LIMIT` times as long."""
    small, large = work(1), work(FACTOR)
    small(), large()
    # Other processes may disturb one measurement, but hardly three in a row.
    return any(_fastest(large) < LIMIT * max(_fastest(small), 2e-3) for _ in range(3))


def _fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        started = process_time()
        work()
        times.append(process_time() - started)
    return min(times)
