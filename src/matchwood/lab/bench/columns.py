"""Does one rule that codes cannot decide slow down a batch of columns?

    python -m matchwood.lab.bench.columns [--rules 3000] [--columns 200] [--events 16384]

Rules of four ranges over columns of integers are matched against an Arrow table. Then one more rule
is added, which compares two columns or sums of them, asks for a network or a list with a name, or
calls an operator; or one column is of mixed types. The same events are matched as JSON lines, too.
Events are matched without and with the rule by turns, so that a ratio compares times of the same
minutes. Times are processor times per event.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.matcher import Matcher

# Distinct values of a column.
VALUES = 100

# Times that each table is matched, by turns with the one that it is compared with.
ROUNDS = 7

# What one rule may make a batch cost, relative to the batch without it.
TARGET = 1.10

# One more rule, by what it asks for. In each pair the second asks of no event.
ONE_RULE = {
    "comparison": "c0 = c1",
    "comparison, not asked": "never = 1 and c0 = c1",
    "strings compared": "text0 < text1",
    "contains": "contains(text0, text1)",
    "network": "in_network(ip, '10.1.0.0/16')",
    "network, not asked": "never = 1 and in_network(ip, '10.1.0.0/16')",
    "sum": "c0 > 3 * c1 + 0.5",
    "sum, not asked": "never = 1 and c0 > 3 * c1 + 0.5",
    "list with a name": "ip in list 'some'",
    "list with a name, not asked": "never = 1 and ip in list 'some'",
    "call": "c0 = 1 and odd(c1)",
    "call, not asked": "never = 1 and odd(c1)",
}


# The same in JSON lines, and what is read from strings there.
IN_JSON = {
    name: ONE_RULE[name]
    for name in ("comparison", "comparison, not asked", "strings compared", "contains", "network")
} | {"time": "time > timestamp '2026-06-01' and c0 = 1"}


def odd(value: Any) -> bool:
    """A call that costs next to nothing."""
    return bool(value % 2)


class RangesOverColumns:
    """Seeded rules over columns of integers, and a few columns of strings."""

    def __init__(self, rules: int, columns: int, events: int, seed: int) -> None:
        rng = random.Random(seed)
        self.names = [f"c{number}" for number in range(columns)]
        self.rules = {number: self._rule(rng) for number in range(rules)}
        self.rules[rules] = "ip = '10.1.2.3' or text0 = 'a' or text1 = 'b'"
        values = np.random.default_rng(seed)
        held: dict[str, Any] = {name: values.integers(0, VALUES, events) for name in self.names}
        held["ip"] = [f"10.{n % 7}.{n // 256 % 256}.{n % 256}" for n in range(events)]
        held["text0"] = [f"text {n % 17}" for n in range(events)]
        held["text1"] = [f"{n % 5}" for n in range(events)]
        held["time"] = [f"2026-{1 + n % 12:02}-03T04:05:06.{n:06}Z" for n in range(events)]
        self.table = pa.table(held)
        self.lines = "\n".join(map(json.dumps, self.table.to_pylist())).encode()

    def _rule(self, rng: random.Random) -> str:
        chosen = rng.sample(self.names, 4)
        bounds = [sorted(rng.sample(range(VALUES), 2)) for _ in chosen]
        ranges = zip(chosen, bounds, strict=True)
        return " and ".join(f"{name} between {low} and {high}" for name, (low, high) in ranges)

    def matcher(self, more: str | None = None) -> Matcher:
        rules = self.rules if more is None else {**self.rules, len(self.rules): more}
        lists = {"some": [f"10.1.{n}.1" for n in range(200)]}
        return Matcher(rules, operators={"odd": odd}, lists=lists)

    def frame(self, mixed: bool) -> Any:
        """The table as a frame of pandas; with `mixed`, one column has strings in it."""
        frame = self.table.to_pandas()
        column = frame["c0"].astype(object)
        if mixed:
            column[::3] = [str(value) for value in column[::3]]
        frame["c0"] = column
        return frame


def by_turns(
    one: tuple[Matcher, Any],
    other: tuple[Matcher, Any],
    events: int,
    match: Callable[[Matcher, Any], Any] = Matcher.match_batch,
) -> Figures:
    """Microseconds per event of both, and their ratio."""
    for matcher, table in (one, other):
        match(matcher, table)  # loads kernels, and tries strategies
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for (matcher, table), known in zip((one, other), times, strict=True):
            started = time.process_time()
            match(matcher, table)
            known.append((time.process_time() - started) / events * 1e6)
    without, with_it = (float(np.median(known)) for known in times)
    ratio = with_it / without
    return {
        "without_us": without,
        "with_us": with_it,
        "ratio": ratio,
        "within_target": ratio <= TARGET,
    }


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=3_000, small=300)
    parser.size("columns", full=200, small=40).size("events", full=16_384, small=2_048)
    options = parser.read()
    work = RangesOverColumns(options.rules, options.columns, options.events, options.seed)
    plain = work.matcher()
    results = {
        name: by_turns((plain, work.table), (work.matcher(rule), work.table), options.events)
        for name, rule in ONE_RULE.items()
    }
    for name, rule in IN_JSON.items():
        pair = (plain, work.lines), (work.matcher(rule), work.lines)
        results[f"JSON: {name}"] = by_turns(*pair, options.events, Matcher.match_json_batch)
    frames = (plain, work.frame(mixed=False)), (plain, work.frame(mixed=True))
    results["mixed column of pandas"] = by_turns(*frames, options.events)
    common = {
        "rules": options.rules,
        "columns": options.columns,
        "events": options.events,
        "matches_per_event": plain.match_batch(work.table).num_rows / options.events,
        "target_ratio": TARGET,
    }
    report("columns", common, results)


if __name__ == "__main__":
    main()
