"""Events per second on 1, 2, 4, … cores: batches and single events from threads, and processes.

    python -m matchwood.lab.bench.cores [--rules 1000000] [--events 8192]

`batches` is `match_batches(threads=n)` over an Arrow table; `sweep` the sweep alone, each thread
with batches that are encoded already; `single` one event after the other through the kernel, in n
threads; `processes` n processes that load one file, which the system maps once, and match batches.
All answers are counted and compared.

`lock_ms_per_batch` is the time per batch of 1,024 events that one thread spends outside code that
is known to release Python's lock: the kernels of encoding, of sweeping and of keys. `lock_limit` is
how many times as fast as one thread any number of threads could be because of it. Both are
processor time, so that other programs matter little.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from matchwood.kernels.masks import EVENTS
from matchwood.lab.bench.kernel import Kernel, table_of_events, warm_up
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.match.batch.codes import column_codes
from matchwood.match.batch.strategies import sweep_strategy
from matchwood.match.search import arrow_matches
from matchwood.match.search.batch_threads import available_cores
from matchwood.matcher import Matcher

# Kernels that release the lock: the modules that call them, and their names there.
KERNELS = [
    (sweep_strategy, name)
    for name in ("rows_of_slots", "place_events", "rank_events", "fill_literals", "sweep")
] + [(column_codes, "code_numbers"), (arrow_matches, "gather_keys")]

# Events that single matches are timed with.
SINGLES = 512

# How often each figure is measured; the best counts.
ROUNDS = 3


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=10_000)
    parser.size("events", full=8 * EVENTS, small=2 * EVENTS)
    parser.add_argument("--file", help="a saved matcher of these rules, instead of building one")
    options = parser.read()
    workload = AbeGen(rules=options.rules, seed=options.seed)
    warm_up()
    events = workload.events(options.events)
    common: Figures = {"workload": "ABE-Gen", "rules": options.rules, "events": options.events}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.file or Path(folder) / "rules.mw")
        if not options.file:
            Matcher(enumerate(workload.texts())).save(path)
        results = measure(path, events, common)
    report("cores", common, results)


def measure(path: Path, events: list[dict[str, int]], common: Figures) -> dict[str, Figures]:
    matcher = Matcher.load(path)
    kernel = Kernel(matcher)
    kernel.part.batch.force("sweep")
    table = table_of_events(events)
    coded = [kernel.coded_batch(events[i : i + EVENTS]) for i in range(0, len(events), EVENTS)]
    singles = [kernel.coded(event) for event in events[:SINGLES]]
    kernel.sweep(coded[0])
    for event_codes in singles:
        kernel.match(event_codes)
    common.update(lock_figures(matcher, table, len(coded)))
    results: dict[str, Figures] = {}
    right = rows_of(matcher, table, 1)
    for n in steps(available_cores()):

        def batches(n: int = n) -> None:
            same(rows_of(matcher, table, n), right)

        results[f"{n} cores" if n > 1 else "1 core"] = {
            "batches": per_second(len(events), batches),
            "sweep": per_second(len(events), partial(in_turn, kernel.sweep, coded, n)),
            "single": per_second(len(singles), partial(in_turn, kernel.match, singles, n)),
            "processes": processes(path, events, n, right),
        }
    first = next(iter(results.values()))
    for figures in results.values():
        for name in ("batches", "sweep", "single", "processes"):
            figures[f"{name}_times"] = figures[name] / first[name]
    return results


def steps(cores: int) -> list[int]:
    """1, 2, 4, … and the number of cores.

    >>> steps(1), steps(6), steps(16)
    ([1], [1, 2, 4, 6], [1, 2, 4, 8, 16])
    """
    powers = [1 << i for i in range(cores.bit_length())]
    return [n for n in powers if n < cores] + [cores]


def rows_of(matcher: Matcher, table: Any, threads: int) -> int:
    return sum(batch.num_rows for batch in matcher.match_batches(table, threads=threads))


def same(found: int, right: int) -> None:
    if found != right:
        raise AssertionError(f"{found} matches, expected {right}")


def per_second(events: int, run: Callable[[], object]) -> float:
    """Events per second, in the best round."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return events / min(times)


def in_turn(function: Callable[[Any], object], arguments: list[Any], threads: int) -> None:
    """Call a function with each argument, in several threads."""
    with ThreadPoolExecutor(threads) as pool:
        size = -(-len(arguments) // threads)
        parts = [arguments[i : i + size] for i in range(0, len(arguments), size)]
        list(pool.map(lambda part: [function(argument) for argument in part] and None, parts))


def processes(path: Path, events: list[dict[str, int]], count: int, right: int) -> float:
    """Events per second of several processes, each of which matches all events in batches."""
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        list(pool.map(load, [str(path)] * count, [events] * count))
        times = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            for found in pool.map(match_all, range(count)):
                same(found, right)
            times.append(time.perf_counter() - started)
    return count * len(events) / min(times)


_loaded: dict[str, Any] = {}


def load(path: str, events: list[dict[str, int]]) -> None:
    """In a process of its own: map the file, and match once, so that all is loaded."""
    if not _loaded:
        _loaded["matcher"] = Matcher.load(path)
        _loaded["table"] = table_of_events(events)
        Kernel(_loaded["matcher"]).part.batch.force("sweep")
        match_all(0)
    time.sleep(0.5)  # so that no process takes the task of another


def match_all(_: int) -> int:
    return rows_of(_loaded["matcher"], _loaded["table"], 1)


def lock_figures(matcher: Matcher, table: Any, batches: int) -> Figures:
    """Milliseconds per batch in which one thread may hold Python's lock, and what that allows."""
    rows_of(matcher, table, 1)
    with without_lock() as outside:
        started = time.thread_time()
        rows_of(matcher, table, 1)
        total = time.thread_time() - started
    held = total - sum(outside)
    return {"lock_ms_per_batch": held / batches * 1e3, "lock_limit": total / held}


@contextmanager
def without_lock() -> Iterator[list[float]]:
    """Gather the processor time of kernels that release the lock."""
    times: list[float] = []
    known = [(module, name, getattr(module, name)) for module, name in KERNELS]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started = time.thread_time()
            result = function(*arguments)
            times.append(time.thread_time() - started)
            return result

        return call

    for module, name, function in known:
        setattr(module, name, timed(function))
    try:
        yield times
    finally:
        for module, name, function in known:
            setattr(module, name, function)


if __name__ == "__main__":
    main()
