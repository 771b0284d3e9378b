"""Updates of a large matcher, and how they slow down readers.

    python -m matchwood.lab.bench.updates [--rules 1000000] [--updates 2000] [--pause 2]

A third of the updates add a rule, a third replace one and a third delete one, with a pause of some
milliseconds after each; a thread matches all the while. Reading goes on until merges in the
background are done, and then while 10,000 rules are set at once. What a matcher of the changed
rules must answer is compared with `evaluate`.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from random import Random

import numpy as np

from matchwood.lab.bench.kernel import warm_up
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.language import parse
from matchwood.language.evaluation import evaluate
from matchwood.matcher import Matcher

# The kinds of updates of one rule, which take turns.
KINDS = ("add", "replace", "delete")

Event = dict[str, int]


class Reader:
    """A thread that matches all the time, and the times that it takes."""

    def __init__(self, matcher: Matcher, events: list[Event]) -> None:
        self.matcher = matcher
        self.events = cycle(events)

    @contextmanager
    def reading(self) -> Iterator[list[float]]:
        """The milliseconds of each match while the block runs."""
        times: list[float] = []
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                times.append(milliseconds(self.matcher.match, next(self.events)))

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield times
        finally:
            stop.set()
            thread.join()


@contextmanager
def collecting() -> Iterator[list[float]]:
    """The milliseconds of each full garbage collection, for which all threads wait."""
    times: list[float] = []
    started = 0.0

    def note(phase: str, about: dict[str, int]) -> None:
        nonlocal started
        if about["generation"] == 2:
            if phase == "start":
                started = time.perf_counter()
            else:
                times.append((time.perf_counter() - started) * 1e3)

    gc.callbacks.append(note)
    try:
        yield times
    finally:
        gc.callbacks.remove(note)


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=5_000)
    parser.size("updates", full=2_000, small=300).size("bulk", full=10_000, small=1_000)
    parser.size("seconds", full=10, small=1)
    parser.add_argument("--pause", type=float, default=2, help="milliseconds after an update")
    parser.add_argument("--freeze", action="store_true", help="gc.freeze() after the build")
    options = parser.read()
    warm_up()
    workload = AbeGen(rules=options.rules, seed=options.seed)
    matcher = Matcher(enumerate(workload.texts()))
    new = AbeGen(rules=options.updates + options.bulk, seed=options.seed + 1).texts()
    exercise(new[:200])
    events = workload.events(64)
    if options.freeze:
        gc.freeze()
    matcher.match(events[0])  # the first match builds what the others use
    reader = Reader(matcher, events)
    results: dict[str, Figures] = {}
    with reader.reading() as quiet:
        time.sleep(options.seconds)
    results["match alone"] = extremes(quiet)
    changed, merging = updates(
        matcher, new[: options.updates], options.rules, options.pause, reader, results
    )
    bulk(matcher, new[options.updates :], options.rules + options.updates, reader, results)
    check(matcher, changed, events[:5])
    common = {
        "workload": "ABE-Gen",
        "rules": options.rules,
        "updates": options.updates,
        "bulk": options.bulk,
        "pause_ms": options.pause,
        "frozen": options.freeze,
        "merge_after_the_last_ms": merging,
        "parts_in_the_end": matcher.stats().segments,
    }
    report("updates", common, results)


def exercise(texts: list[str]) -> None:
    """Compile the kernels that only updates need."""
    matcher = Matcher(enumerate(texts))
    for rule_id, text in enumerate(texts):
        matcher[rule_id] = text
    del matcher[0]
    matcher.join()


def updates(
    matcher: Matcher,
    texts: list[str],
    rules: int,
    pause: float,
    reader: Reader,
    results: dict[str, Figures],
) -> tuple[dict[int, str | None], float]:
    """Single updates: the text of each rule that was changed, None where it is gone; and how long
    merges went on after the last one."""
    random = Random("updates")
    untouched = random.sample(range(rules), min(rules, len(texts)))
    changed: dict[int, str | None] = {}
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with reader.reading() as meanwhile, collecting() as collections:
        for number, text in enumerate(texts):
            kind = KINDS[number % len(KINDS)]
            rule_id = rules + number if kind == "add" else untouched.pop()
            if kind == "delete":
                times[kind].append(milliseconds(matcher.__delitem__, rule_id))
            else:
                times[kind].append(milliseconds(matcher.add, rule_id, text))
            changed[rule_id] = None if kind == "delete" else text
            time.sleep(pause / 1e3)
        merging = milliseconds(matcher.join)
    for kind, durations in times.items():
        results[kind] = extremes(durations)
    results["any update"] = extremes(
        [duration for durations in times.values() for duration in durations]
    )
    results["match meanwhile"] = extremes(meanwhile)
    results["full garbage collection"] = extremes(collections)
    return changed, merging


def bulk(
    matcher: Matcher, texts: list[str], first: int, reader: Reader, results: dict[str, Figures]
) -> None:
    """Many rules at once, and the merge that may follow."""
    with reader.reading() as meanwhile:
        results["bulk update"] = extremes([milliseconds(matcher.update, enumerate(texts, first))])
        matcher.join()
    results["match during bulk"] = extremes(meanwhile)


def extremes(times: list[float]) -> Figures:
    if not times:
        return {"count": 0}
    return {
        "count": len(times),
        "p50_ms": np.median(times),
        "p99_ms": np.percentile(times, 99),
        "max_ms": max(times),
    }


def check(matcher: Matcher, changed: dict[int, str | None], events: list[Event]) -> None:
    """Check that the changed rules match as `evaluate` says."""
    trees = {rule_id: None if text is None else parse(text) for rule_id, text in changed.items()}
    for event in events:
        answer = set(matcher.match(event))
        for rule_id, tree in trees.items():
            expected = tree is not None and evaluate(tree, event) is True
            if (rule_id in answer) != expected:
                raise AssertionError(f"rule {rule_id} is not as evaluate says of {event}")


if __name__ == "__main__":
    main()
