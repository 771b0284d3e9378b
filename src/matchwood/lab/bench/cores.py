"""Events per second on 1, 2, 4, … cores: batches and single events from threads, and processes.

    python -m matchwood.lab.bench.cores [--rules 1000000] [--file rules.mw] [--cores 1,2,4,8,16]

`batches` is `match_batches(threads=n)` over an Arrow table with as many rows for each thread;
`sweep` the sweep alone, with batches that are encoded already; `kernel` one event after the other
through the kernel, `match` the same from a dict to a list of ids, `match_ids` to an Arrow array of
ids, and `match_numbers` to indices into all ids (`dictionary=True`), in n threads; `processes` n
processes that load one file, which the system maps once, and match batches.
Matches are counted in every round. Before that, with as many threads or processes, those of
`batches`, `sweep`, `kernel` and `processes` are compared with those of single events by a checksum
of all pairs; those of `match_ids`, by which that is computed, are compared with those of `match`.

`…_times` compares with the first number of cores, `…_cores` says how many cores were busy: below
n, threads waited for the lock or for each other; at n, what is missing was lost to memory.
`…_faults` are page faults per batch of 1,024 events, or per single event.

`lock_ms_per_batch` is the time per batch that one thread spends outside code that is known to
release Python's lock: the kernels of encoding, of sweeping and of keys; `lock_ms_per_table` is what
each table costs once, however long it is. `lock_limit` is how many times as fast as one thread any
number of threads could be because of it. All three are processor time.
"""

from __future__ import annotations

import gc
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

from matchwood.index.build.threads import available_cores
from matchwood.kernels.masks import EVENTS
from matchwood.lab.bench.kernel import Kernel, table_of_events, warm_up
from matchwood.lab.bench.pair_checksum import (
    checksum,
    checksum_of_answers,
    checksum_of_batches,
    repeated,
    same,
)
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.match.batch.codes import number_columns
from matchwood.match.batch.strategies import sweep_strategy
from matchwood.match.search import arrow_matches
from matchwood.matcher import Matcher

# Kernels that release the lock: the modules that call them, and their names there.
KERNELS = [
    (sweep_strategy, name)
    for name in ("rows_of_slots", "place_events", "rank_events", "fill_literals", "sweep")
] + [(number_columns, "code_numbers"), (arrow_matches, "gather_keys")]

# Ways to match single events.
SINGLES = ("kernel", "match", "match_ids", "match_numbers")

# How often each figure is measured; the best counts.
ROUNDS = 3

# Batches of one table with which the time under the lock is measured.
LOCK_BATCHES = 4

Event = dict[str, int]


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=10_000)
    parser.size("events", full=4 * EVENTS, small=2 * EVENTS)
    parser.size("singles", full=256, small=64)
    parser.add_argument("--file", type=Path, help="saved rules; they are made if it is not there")
    parser.add_argument("--cores", help="numbers of cores; default: 1, 2, 4, … up to all")
    options = parser.read()
    steps = powers(available_cores())
    if options.cores:
        steps = [int(cores) for cores in options.cores.split(",")]
    workload = AbeGen(rules=options.rules, seed=options.seed)
    warm_up()
    common: Figures = {"workload": "ABE-Gen", "rules": options.rules, "events": options.events}
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "rules.mw"
        if not path.exists():
            Matcher(enumerate(workload.texts())).save(path)
        gc.collect()
        gc.freeze()  # collections of the laboratory's own objects would hold the lock
        bench = CoresRun(path, workload.events(options.events), options.singles)
        common.update(bench.lock_figures())
        results = {f"{n} cores" if n > 1 else "1 core": bench.figures(n) for n in steps}
    first = next(iter(results.values()))
    for figures in results.values():
        for name in ("batches", "sweep", *SINGLES, "processes"):
            figures[f"{name}_times"] = figures[name] / first[name]
    report("cores", common, results)


def powers(cores: int) -> list[int]:
    """1, 2, 4, … and the number of cores.

    >>> powers(1), powers(6), powers(16)
    ([1], [1, 2, 4, 6], [1, 2, 4, 8, 16])
    """
    powers = [1 << i for i in range(cores.bit_length())]
    return [n for n in powers if n < cores] + [cores]


class CoresRun:
    """One matcher, with events in all forms; each thread gets as much to do as one alone."""

    def __init__(self, path: Path, events: list[Event], singles: int) -> None:
        self.path = path
        self.events = events
        self.matcher = Matcher.load(path)
        self.kernel = Kernel(self.matcher)
        self.kernel.part.batch.force("sweep")
        self.table = table_of_events(events).combine_chunks()
        pieces = [events[i : i + EVENTS] for i in range(0, len(events), EVENTS)]
        self.coded = [self.kernel.coded_batch(piece) for piece in pieces]
        self.singles = list(islice(cycle(events), singles))
        self.coded_singles = [self.kernel.coded(event) for event in self.singles]
        answers = [self._numbers(event) for event in events]
        self.right = checksum_of_answers(answers)
        pieces_of_answers = [answers[i : i + EVENTS] for i in range(0, len(events), EVENTS)]
        self.right_sweeps = [checksum_of_answers(piece) for piece in pieces_of_answers]
        self.right_singles = [self._numbers(event) for event in self.singles]
        for event in self.singles:
            right = sorted(self.matcher.match(event))
            for dictionary in (False, True):
                found = self.matcher.match_ids(event, dictionary=dictionary)
                same(sorted(found.to_pylist()), right)

    def _numbers(self, event: Event) -> Any:
        return self.matcher.match_ids(event, dictionary=True).indices.to_numpy()

    def figures(self, n: int) -> Figures:
        """Everything with so many threads or processes."""
        table = pa.concat_tables([self.table] * n).combine_chunks()
        batches, numbers = list(range(len(self.coded))) * n, list(range(len(self.singles))) * n
        self._compare(table, batches, numbers, n)
        matches = self.right[0]

        def through_arrow() -> None:
            same(rows_of(self.matcher, table, n), matches * n)

        def sweep(number: int) -> None:
            same(self.kernel.sweep(self.coded[number]), self.right_sweeps[number][0])

        rows, count = table.num_rows, n * len(self.singles)
        return {
            **measured("batches", rows, rows / EVENTS, through_arrow),
            **measured("sweep", rows, rows / EVENTS, partial(in_turn, sweep, batches, n)),
            **{
                name: figure
                for way in SINGLES
                for name, figure in measured(
                    way, count, count, partial(in_turn, self._counting(way), numbers, n)
                ).items()
            },
            "processes": processes(self.path, self.events, n, self.right),
        }

    def _compare(self, table: Any, batches: list[int], numbers: list[int], n: int) -> None:
        """Compare what so many threads find with what single matches do."""
        found = checksum_of_batches(self.matcher.match_batches(table, threads=n), len(self.events))
        same(found, repeated(self.right, n))

        def sweep(number: int) -> None:
            same(checksum(self.kernel.swept(self.coded[number])), self.right_sweeps[number])

        def single(number: int) -> None:
            found = self.kernel.match(self.coded_singles[number])
            right = self.right_singles[number]
            same(checksum_of_answers([found]), checksum_of_answers([right]))

        in_turn(sweep, batches, n)
        in_turn(single, numbers, n)

    def _counting(self, way: str) -> Callable[[int], None]:
        """What matches a single event in one way, and compares the number of its matches."""
        match, events = self._single(way)

        def count(number: int) -> None:
            same(len(match(events[number])), len(self.right_singles[number]))

        return count

    def _single(self, way: str) -> tuple[Callable[[Any], Any], list[Any]]:
        if way == "kernel":
            return self.kernel.match, self.coded_singles
        if way == "match":
            return self.matcher.match, self.singles
        return partial(self.matcher.match_ids, dictionary=way == "match_numbers"), self.singles

    def lock_figures(self) -> Figures:
        """Milliseconds in which one thread may hold Python's lock, and what that allows."""
        one = self._held(1)
        many = self._held(LOCK_BATCHES)
        batch = (many[0] - one[0]) / (LOCK_BATCHES - 1)
        total = (many[1] - one[1]) / (LOCK_BATCHES - 1)
        return {
            "lock_ms_per_table": (one[0] - batch) * 1e3,
            "lock_ms_per_batch": batch * 1e3,
            "lock_limit": total / batch,
        }

    def _held(self, batches: int) -> tuple[float, float]:
        """(seconds outside kernels, seconds in all) of a table of so many batches."""
        table = pa.concat_tables([self.table] * batches).slice(0, batches * EVENTS)
        table = table.combine_chunks()
        found = []
        for _ in range(ROUNDS):
            with without_lock() as outside:
                started = time.thread_time()
                rows_of(self.matcher, table, 1)
                total = time.thread_time() - started
            found.append((total - sum(outside), total))
        return min(found)


def rows_of(matcher: Matcher, table: Any, threads: int) -> int:
    return sum(batch.num_rows for batch in matcher.match_batches(table, threads=threads))


def measured(name: str, events: int, units: float, run: Callable[[], object]) -> Figures:
    """Events per second in the best round; what it took of cores, and of page faults per unit."""
    best: Figures = {}
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_SELF)
        started = time.perf_counter()
        run()
        took = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_SELF)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        figures = {
            name: events / took,
            f"{name}_cores": busy / took,
            f"{name}_faults": (after.ru_minflt - before.ru_minflt) / units,
        }
        if not best or figures[name] > best[name]:
            best = figures
    return best


def in_turn(function: Callable[[Any], object], arguments: Sequence[Any], threads: int) -> None:
    """Call a function with each argument, in several threads."""

    def each(part: Sequence[Any]) -> None:
        for argument in part:
            function(argument)

    with ThreadPoolExecutor(threads) as pool:
        size = -(-len(arguments) // threads)
        list(pool.map(each, [arguments[i : i + size] for i in range(0, len(arguments), size)]))


def processes(path: Path, events: list[Event], count: int, right: tuple[int, int]) -> float:
    """Events per second of several processes, each of which matches all events in batches."""
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        for pairs in pool.map(load, [str(path)] * count, [events] * count):
            same(pairs, right)
        times = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            for found in pool.map(match_all, range(count)):
                same(found, right[0])
            times.append(time.perf_counter() - started)
    return count * len(events) / min(times)


_loaded: dict[str, Any] = {}


def load(path: str, events: list[Event]) -> tuple[int, int]:
    """In a process of its own: map the file, and match once; the checksum of all matches."""
    if not _loaded:
        _loaded["matcher"] = Matcher.load(path)
        _loaded["table"] = table_of_events(events)
        Kernel(_loaded["matcher"]).part.batch.force("sweep")
    time.sleep(0.5)  # so that no process takes the task of another
    return checksum_of_batches(_loaded["matcher"].match_batches(_loaded["table"]), len(events))


def match_all(_: int) -> int:
    return rows_of(_loaded["matcher"], _loaded["table"], 1)


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
