"""Predicates with codes of their own, beside the same ones evaluated one by one.

    python -m matchwood.lab.bench.constructs [--rules 1000] [--events 2000]

For each kind (`lower(a)`, `*`, tests of truth of numbers, `in` of several families, `any` over
elements, short and long `at_least`, and tests of `xor`), events per second of one core, as dicts
one by one, as dicts in a batch, as Arrow columns, and as JSON lines. `at_least(1, …)` means the
same as what stands inside. Where the index may write no threshold with `and` and `or`, and looks up
nothing that one implies, it is evaluated as a whole when a rule depends on it: rules in which each
predicate is wrapped in it are matched beside the others, with fewer events. The figure that counts
is how many times as fast the others are. Both find the same matches.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import pyarrow as pa

from matchwood.index.build import index_form
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.matcher import Matcher
from matchwood.rewrite import counts

# Of so many events, rules that evaluate see one.
FEWER = 20
# Times that all events are matched, of which the fastest counts: in the first ones, the engine
# tries its strategies, and makes the program of a sweep.
ROUNDS = 4

Event = dict[str, Any]
Texts = Callable[[random.Random], str]


def indicators(source: random.Random) -> str:
    """Sixteen predicates, of which more than two are seldom true of one event."""
    users = [f"user = 'user{source.randrange(1_000)}'" for _ in range(6)]
    paths = [f"path like '%/{source.randrange(5_000)}.EXE'" for _ in range(4)]
    hosts = [f"host in ('Host-{source.randrange(500)}', 'Host-0')" for _ in range(4)]
    sizes = [f"size < {source.randrange(2_000)}", f"size > {source.randrange(3_000, 5_000)}"]
    return ", ".join(users + paths + hosts + sizes)


# A predicate of each kind.
PREDICATES: dict[str, Texts] = {
    "lower_case": lambda r: r.choice(
        (f"lower(host) = 'host-{r.randrange(500)}'", f"lower(path) like '%/{r.randrange(500)}.exe'")
    ),
    "all_values": lambda r: r.choice(
        (f"* = {r.randrange(5_000)}", f"* = 'Host-{r.randrange(500)}'")
    ),
    "tests_of_numbers": lambda r: (
        f"(size {r.choice(('<', '>', '='))} {r.randrange(5_000)})"
        f" is {r.choice(('not true', 'not false', 'unknown'))}"
    ),
    "values_of_several_families": lambda r: (
        f"size {r.choice(('', 'not '))}in ({r.randrange(5_000)}, 'Host-{r.randrange(500)}', true)"
    ),
    "elements": lambda r: (
        f"any(items, price > {r.randrange(900, 1_000)} and sku = 's{r.randrange(50)}')"
    ),
    "thresholds": lambda r: (
        f"at_least(2, size < {r.randrange(500)}, host = 'Host-{r.randrange(500)}', "
        f"user like '%{r.randrange(100)}', path like '%/{r.randrange(500)}.EXE')"
    ),
    "long_thresholds": lambda r: f"at_least(3, {indicators(r)})",
    "tests_of_xor": lambda r: (
        f"(size > {r.randrange(5_000)} xor host like '%{r.randrange(50)}') is "
        f"{r.choice(('true', 'not true', 'unknown'))}"
    ),
}


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000, small=30)
    parser.size("events", full=2_000, small=100)
    options = parser.read()
    events = [event_of(random.Random(f"{options.seed} {i}")) for i in range(options.events)]
    results = {kind: measure(kind, options.rules, events, options.seed) for kind in PREDICATES}
    report("constructs", {"rules": options.rules, "events": options.events}, results)


def event_of(source: random.Random) -> Event:
    """An event of six attributes, and up to four items."""
    event: Event = {
        "host": f"Host-{source.randrange(500)}",
        "path": f"C:/Program Files/{source.randrange(5_000)}.EXE",
        "size": source.randrange(5_000),
        "user": f"user{source.randrange(1_000)}",
        "kind": source.randrange(20),
        "items": [
            {"price": source.randrange(1_000), "sku": f"s{source.randrange(50)}"}
            for _ in range(source.randrange(5))
        ],
    }
    if source.random() < 0.1:
        del event["size"]
    return event


def rules_of(kind: str, count: int, seed: int) -> tuple[list[str], list[str]]:
    """Rules that ask for one predicate and something else, and the same with the predicate inside
    of `at_least`."""
    source = random.Random(f"{seed} {kind}")
    pairs = [(PREDICATES[kind](source), f"kind = {source.randrange(20)}") for _ in range(count)]
    indexed = [f"{predicate} and {other}" for predicate, other in pairs]
    return indexed, [f"at_least(1, {predicate}) and {other}" for predicate, other in pairs]


def measure(kind: str, rules: int, events: list[Event], seed: int) -> Figures:
    """Events per second, by how they come, and how many times as many as one by one."""
    plain, wrapped = rules_of(kind, rules, seed)
    indexed, evaluated = Matcher(enumerate(plain)), evaluated_as_wholes(wrapped)
    few = events[::FEWER]
    ways: dict[str, Callable[[Matcher, Sequence[Event]], tuple[int, float]]] = {
        "one_by_one": one_by_one,
        "dicts_in_a_batch": in_a_batch,
        "arrow": as_columns,
        "json_lines": as_lines,
    }
    figures: Figures = {}
    for name, match in ways.items():
        match(indexed, few), match(evaluated, few[:3])  # kernels and patterns are loaded
        fast = [match(indexed, events) for _ in range(ROUNDS)]
        slow = [match(evaluated, few) for _ in range(ROUNDS)]
        assert match(indexed, few)[0] == slow[0][0]
        rate = len(events) / min(seconds for _, seconds in fast)
        figures[f"{name}_events_per_second"] = rate
        figures[f"{name}_times_as_fast"] = rate / len(few) * min(seconds for _, seconds in slow)
    return figures


def evaluated_as_wholes(texts: list[str]) -> Matcher:
    """A matcher that knows nothing about thresholds before it evaluates them."""
    with (
        mock.patch.object(counts, "MAX_NODES", 0),
        mock.patch.object(index_form, "add_filters", lambda tree, _: tree),
    ):
        matcher = Matcher(enumerate(texts))
        matcher.compact()
    return matcher


def timed(count: Callable[[], int]) -> tuple[int, float]:
    started = time.process_time()
    found = count()
    return found, max(time.process_time() - started, 1e-9)


def one_by_one(matcher: Matcher, events: Sequence[Event]) -> tuple[int, float]:
    return timed(lambda: sum(map(matcher.count, events)))


def in_a_batch(matcher: Matcher, events: Sequence[Event]) -> tuple[int, float]:
    return timed(lambda: matcher.match_batch(events).num_rows)


def as_columns(matcher: Matcher, events: Sequence[Event]) -> tuple[int, float]:
    table = pa.Table.from_pylist(list(events))
    return timed(lambda: matcher.match_batch(table).num_rows)


def as_lines(matcher: Matcher, events: Sequence[Event]) -> tuple[int, float]:
    lines = b"\n".join(json.dumps(event).encode() for event in events)
    return timed(lambda: matcher.match_json_batch(lines).num_rows)


if __name__ == "__main__":
    main()
