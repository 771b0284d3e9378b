"""How fast rule text becomes trees, on one core.

    python -m matchwood.lab.bench.parser [--rules 100000]

The rules are those of ABE-Gen, about twelve predicates each. *Cold* is a process that has parsed
nothing: each distinct predicate is parsed once, and from then on found by its text. *Warm* is the
same rules again. `without sharing` has no predicate twice, so that a cold process never finds one.
Times are processor time, the best of three; each tree is dropped right after it was made.
"""

from __future__ import annotations

import gc
from time import process_time

import numpy as np

from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.language import parse
from matchwood.language.text import fast_path as simple
from matchwood.language.tree import walk

# The target: rules per second on one core, in a cold process.
TARGET = 20_000

# How often all texts are parsed, cold and warm; the shortest time counts.
ROUNDS = 3


def main() -> None:
    options = BenchOptions(__doc__).size("rules", full=100_000, small=1_000).read()
    shared = AbeGen(rules=options.rules, seed=options.seed)
    apart = AbeGen(rules=max(1, options.rules // 5), alpha=0.0, seed=options.seed)
    results = {"ABE-Gen": measure(shared.texts()), "without sharing": measure(apart.texts())}
    cold = results["ABE-Gen"]["cold_rules_per_second"]
    common = {
        "rules": options.rules,
        "target_rules_per_second": TARGET,
        "target": "reached" if cold >= TARGET else "missed",
    }
    report("parser", common, results)


def measure(texts: list[str]) -> Figures:
    cold, warm = [], []
    for _ in range(ROUNDS):
        simple.forget()
        cold.append(seconds(texts))
        warm.append(seconds(texts))
    sample = texts[:1_000]
    return {
        "cold_rules_per_second": len(texts) / min(cold),
        "warm_rules_per_second": len(texts) / min(warm),
        "predicates_per_rule": np.mean(
            [sum(not node.operands for node in walk(parse(text))) for text in sample]
        ),
        "characters_per_rule": np.mean([len(text) for text in sample]),
    }


def seconds(texts: list[str]) -> float:
    gc.collect()
    started = process_time()
    for text in texts:
        parse(text)
    return process_time() - started


if __name__ == "__main__":
    main()
