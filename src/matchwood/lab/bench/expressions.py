"""Regular expressions: what `rlike` takes per value, beside searching for each expression alone.

    python -m matchwood.lab.bench.expressions [--rules 10000] [--values 1000]

The expressions look for names in command lines: two names in a row, either of two names, a name
before some digits, regardless of case, and a few that need no text at all. Their number is a tenth
of `--rules`, and then all of it. All values are new when they are first searched, and are searched
again for `again`. A candidate is an expression that is searched alone because the texts that it
needs are there. Times are processor time of one thread. The answers to some values are compared
with those of each expression alone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.string_rules import WORDS, StringRules
from matchwood.language.tree import Like
from matchwood.match.patterns.expressions import Expression
from matchwood.match.patterns.pattern_index import PatternIndex

# How many values are searched for each expression alone.
CHECKED = 20


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=10_000, small=500)
    parser.size("values", full=1_000, small=100)
    options = parser.read()
    patterns = made(options.rules, options.seed)
    events = StringRules(rules=1, seed=options.seed).events(options.values)
    values = [str(event["command_line"]) for event in events]
    measure(patterns[:20], values[:20])  # compiles, or loads from the cache
    results = {
        f"{size:,} expressions": measure(patterns[:size], values)
        for size in (options.rules // 10, options.rules)
    }
    report("expressions", {"values": options.values}, results)


def made(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)

    def name() -> str:
        return chance.choice(WORDS) + chance.choice(("", str(chance.randrange(100))))

    forms = (
        lambda: rf"{name()}-?\w*\s+.*{name()}",
        lambda: f"(?i){name()}.*{name()}",
        lambda: rf"({name()}|{name()})[0-9]*\.(exe|dll|ps1)",
        lambda: f"{name()}|{name()}",
    )
    return [
        rf"^[a-z]{{{chance.randrange(3, 30)}}} -\w$" if i % 20 == 0 else forms[i % len(forms)]()
        for i in range(count)
    ]


def measure(patterns: list[str], values: list[str]) -> Figures:
    index = PatternIndex(
        [(i, Like("command_line", "rlike", text)) for i, text in enumerate(patterns)]
    )
    build = seconds(lambda: index.hits_of_many([""]))
    tried = index.tried
    new = seconds(lambda: index.hits_of_many(values))
    tried = index.tried - tried
    again = seconds(lambda: index.hits_of_many(values))
    alone = [Expression(pattern) for pattern in patterns]
    checked = values[:CHECKED]
    right = [[i for i, each in enumerate(alone) if each.finds(value)] for value in checked]
    one_by_one = seconds(lambda: [each.finds(value) for value in checked for each in alone])
    bounds, numbers = index.hits_of_many(values)
    for i, matches in enumerate(right):
        if sorted(numbers[bounds[i] : bounds[i + 1]].tolist()) != matches:
            raise SystemExit(f"the expressions found in {values[i]!r} are wrong")
    return {
        "build_ms": build * 1e3,
        "us_per_value": new / len(values) * 1e6,
        "again_us_per_value": again / len(values) * 1e6,
        "each_alone_us_per_value": one_by_one / len(checked) * 1e6,
        "candidates_per_value": tried / len(values),
        "matches_per_value": len(numbers) / len(values),
    }


def seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
