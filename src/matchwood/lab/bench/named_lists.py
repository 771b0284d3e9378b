"""A list with a name, and what it costs to change it while many rules name it.

    python -m matchwood.lab.bench.named_lists [--values 10000000] [--rules 20000] [--events 20000]
        [--where process|service|spark]

Rules look addresses up in one list. It is replaced by another one of the same size, and the time is
taken from then until an event has been matched by the new values; no part of the index may be
another one afterwards. Events are matched one by one as dicts, and as Arrow columns, half of them
with an address of the list, and every answer is checked. Times are of the processor, but that of
the change, which is by the clock.

With `--where service`, `PUT /lists/exits` sets both lists in one process of `matchwood serve` while
a client asks for matches twenty times a second: the figures are how long that takes, how long the
client waits, how much memory the service has then, and how long it takes to start again. With
`--where spark`, on local[2], the lists are tables in Parquet: `list_s` is the time until a list has
been read, and `match_s` until the matches of all events are there. Times are by the clock. Give it
fewer events, such as 2,000.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

from matchwood.lab.bench.listed_addresses import (
    NAME,
    Answers,
    address,
    addresses,
    answers_of,
    events_of,
    expected,
    rules_of,
)
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.language.named_lists import NamedList
from matchwood.matcher import Matcher

# Bytes of a MiB.
_MIB = 1 << 20


def made(list_number: int, count: int) -> tuple[NamedList, Figures]:
    """A list, and what it took to make."""
    gc.collect()
    before, started = resident_bytes(), time.process_time()
    values = NamedList(addresses(list_number, count))
    seconds = time.process_time() - started
    return values, {"make_s": seconds, "mib": (resident_bytes() - before) / _MIB}


def resident_bytes() -> int:
    """The memory that this process has now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4_096


def main() -> None:
    parser = BenchOptions(__doc__).size("values", full=10_000_000, small=2_000)
    parser.size("rules", full=20_000, small=200).size("events", full=20_000, small=200)
    parser.add_argument("--where", choices=tuple(PLACES), default="process")
    options = parser.read()
    sizes = {name: getattr(options, name) for name in ("values", "rules", "events")}
    results = PLACES[options.where](**sizes, seed=options.seed)
    report("named_lists", {"where": options.where, **sizes}, results)


def in_process(values: int, rules: int, events: int, seed: int) -> dict[str, Figures]:
    """Replace the list of a matcher."""
    source = random.Random(seed)
    texts = rules_of(rules, source)
    answers = answers_of(texts)
    first, figures = made(0, values)
    matcher = Matcher(texts, lists={NAME: first})
    matcher.compact()
    parts = matcher.store.snapshot.parts
    asked = events_of(events, values, source)
    results = {"first list": figures | matched(matcher, asked, 0, answers)}
    del first
    second, figures = made(1, values)
    probe = {"ip": address(1, 0), "port": 0}
    started = time.perf_counter()
    matcher.lists[NAME] = second
    found = matcher.match(probe)
    figures["change_and_match_ms"] = (time.perf_counter() - started) * 1e3
    assert set(found) == expected(probe, 1, answers)
    assert matcher.store.snapshot.parts == parts, "the index was built again"
    results["second list"] = figures | matched(matcher, asked, 1, answers)
    return results


def elsewhere(module: str, name: str) -> Callable[..., dict[str, Figures]]:
    """A function of a module that is imported when it is called."""
    return lambda **sizes: getattr(import_module(module), name)(**sizes)


# Where the list may be looked up.
PLACES: dict[str, Callable[..., dict[str, Figures]]] = {
    "process": in_process,
    "service": elsewhere("matchwood.lab.bench.named_lists_service", "in_service"),
    "spark": elsewhere("matchwood.lab.bench.named_lists_spark", "on_spark"),
}


def matched(
    matcher: Matcher, events: list[dict[str, Any]], list_number: int, answers: Answers
) -> Figures:
    """Microseconds per event; all answers are those of the list of this number."""
    table = pa.Table.from_pylist(events)
    matcher.match_batch(table.slice(0, 10)), matcher.match(events[0])  # kernels are loaded
    started = time.process_time()
    one_by_one = [matcher.match(event) for event in events]
    between = time.process_time()
    pairs = matcher.match_batch(table)
    ended = time.process_time()
    for event, found in zip(events, one_by_one, strict=True):
        assert set(found) == expected(event, list_number, answers)
    assert pairs.num_rows == sum(map(len, one_by_one))
    return {
        "match_us": (between - started) / len(events) * 1e6,
        "batch_us": (ended - between) / len(events) * 1e6,
    }


if __name__ == "__main__":
    main()
