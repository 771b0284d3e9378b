"""A list with a name, and what it costs to change it while many rules name it.

    python -m matchwood.lab.bench.named_lists [--values 10000000] [--rules 20000] [--events 20000]

Rules look addresses up in one list. It is replaced by another one of the same size, and the time is
taken from then until an event has been matched by the new values; no part of the index may be
another one afterwards. Events are matched one by one as dicts, and as Arrow columns, half of them
with an address of the list, and every answer is checked. Times are of the processor, but that of
the change, which is by the clock.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.language.named_lists import NamedList
from matchwood.matcher import Matcher

# Ports that rules ask for beside the address.
PORTS = 1_000

# Bytes of a MiB.
_MIB = 1 << 20

# The rules that match, by whether the address is in the list, and the port.
Answers = dict[tuple[bool, int], set[int]]


def address(list_number: int, number: int) -> str:
    """An address of 15 characters, which one list alone has."""
    return f"{10 + list_number}.{number >> 16:03}.{number >> 8 & 255:03}.{number & 255:03}"


def addresses(list_number: int, count: int) -> Iterator[str]:
    return (address(list_number, number) for number in range(count))


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
    options = parser.read()
    source = random.Random(options.seed)
    rules = {
        number: f"ip {source.choice(('', 'not '))}in list 'exits' and port = {number % PORTS}"
        for number in range(options.rules)
    }
    answers = answers_of(rules)
    first, figures = made(0, options.values)
    matcher = Matcher(rules, lists={"exits": first})
    matcher.compact()
    parts = matcher.store.snapshot.parts
    drawn = [(source.randrange(2), source.randrange(options.values)) for _ in range(options.events)]
    events = [{"ip": address(*at), "port": source.randrange(PORTS)} for at in drawn]
    results = {"first list": figures | matched(matcher, events, 0, answers)}
    del first
    second, figures = made(1, options.values)
    probe = {"ip": address(1, 0), "port": 0}
    started = time.perf_counter()
    matcher.lists["exits"] = second
    found = matcher.match(probe)
    figures["change_and_match_ms"] = (time.perf_counter() - started) * 1e3
    assert set(found) == answers.get((True, 0), set())
    assert matcher.store.snapshot.parts == parts, "the index was built again"
    results["second list"] = figures | matched(matcher, events, 1, answers)
    common = {"values": options.values, "rules": options.rules, "events": options.events}
    report("named_lists", common, results)


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
        is_in = event["ip"].startswith(f"{10 + list_number}.")
        assert set(found) == answers.get((is_in, event["port"]), set())
    assert pairs.num_rows == sum(map(len, one_by_one))
    return {
        "match_us": (between - started) / len(events) * 1e6,
        "batch_us": (ended - between) / len(events) * 1e6,
    }


def answers_of(rules: Mapping[int, str]) -> Answers:
    """The rules for each port, and for an address that is in the list, or is not."""
    answers: Answers = {}
    for number, rule in rules.items():
        answers.setdefault((" not " not in rule, number % PORTS), set()).add(number)
    return answers


if __name__ == "__main__":
    main()
