"""A thousand readable rules and one dict at a time, against rule-engine in a loop.

    python -m matchwood.lab.bench.few [--rules 1000] [--events 4000]

rule-engine (the PyPI package, in the extra `bench`) gets the same rules in its own syntax, each
parsed once. Rules that it cannot express are left out of the loop and counted; the answers of the
others are compared. Events are timed twice: one after the other, and a few at a time between
rounds of rule-engine, which leaves nothing of the matcher in the processor's caches.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report, spread
from matchwood.lab.bench.rule_engine_syntax import Seen, Untranslatable, translate
from matchwood.lab.workloads.audiences import Audiences
from matchwood.language import parse
from matchwood.matcher import Matcher

# Events that the matcher is timed with for each event of the loop.
EVENTS_PER_LOOP = 20

Event = dict[str, Any]


class Loop:
    """All rules, each evaluated by rule-engine."""

    def __init__(self, rules: dict[int, str], seen: Seen) -> None:
        try:
            import rule_engine
        except ImportError as error:
            raise SystemExit("this needs rule-engine: pip install 'matchwood[bench]'") from error
        context = rule_engine.Context(default_value=None)
        self.rules: list[tuple[int, Any]] = []
        self.left_out: set[int] = set()
        for rule_id, text in rules.items():
            try:
                translated = translate(parse(text), seen)
            except Untranslatable:
                self.left_out.add(rule_id)
            else:
                self.rules.append((rule_id, rule_engine.Rule(translated, context=context)))

    def match(self, event: Event) -> list[int]:
        return [rule_id for rule_id, rule in self.rules if rule.matches(event)]


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000, small=1_000)
    parser.size("events", full=4_000, small=400)
    options = parser.read()
    workload = Audiences(rules=options.rules, seed=options.seed)
    rules = dict(enumerate(workload.texts()))
    events: list[Event] = list(workload.events(options.events))
    loop = Loop(rules, Seen.of(events))
    matcher = Matcher(rules)
    results = measure(matcher, loop, events)
    common = {
        "workload": "Audiences",
        "rules": options.rules,
        "rules_left_out_of_the_loop": len(loop.left_out),
        "pairs_per_event": np.mean([len(event) for event in events]),
        "matches_per_event": np.mean([matcher.count(event) for event in events]),
    }
    report("few", common, results)


def measure(matcher: Matcher, loop: Loop, events: list[Event]) -> dict[str, Figures]:
    for event in events[:100]:  # compiles the kernels and fills the caches
        matcher.match(event)
    gc.collect()  # what both left behind when they were made is no cost of an event
    alone = [milliseconds(matcher.match, event) * 1e3 for event in events]
    loops, matches = [], []
    for first in range(0, len(events), EVENTS_PER_LOOP):
        group = events[first : first + EVENTS_PER_LOOP]
        loops.append(milliseconds(loop.match, group[0]) * 1e3)
        matches += [milliseconds(matcher.match, event) * 1e3 for event in group]
        check(matcher, loop, group[0])
    return {
        "match": spread("event", alone, "us"),
        "match in between": spread("event", matches, "us"),
        "rule-engine": spread("event", loops, "us"),
        "rule-engine over match in between": {
            "event_us": np.mean(loops) / np.mean(matches),
            "event_p50_us": np.median(loops) / np.median(matches),
        },
    }


def check(matcher: Matcher, loop: Loop, event: Event) -> None:
    known = sorted(rule_id for rule_id in matcher.match(event) if rule_id not in loop.left_out)
    if known != loop.match(event):
        raise AssertionError(f"rule-engine and Matcher disagree about {event}")


if __name__ == "__main__":
    main()
