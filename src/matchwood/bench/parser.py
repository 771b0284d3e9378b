"""How fast rule text becomes trees, on one core.

    python -m matchwood.bench.parser [--rules 100000]

The rules are those of ABE-Gen, about twelve predicates each. *Cold* is a process that has parsed
nothing: each distinct predicate is read once, and found by its text from then on. *Warm* is the
same rules again. `without sharing` has no predicate twice, so that cold nothing is ever found.
Times are of the processor, the best of three; a tree is dropped once it is made.
"""

from __future__ import annotations

import gc
from time import process_time

import numpy as np

from matchwood.bench.report import Figures, Options, report
from matchwood.language import parse, simple
from matchwood.language.tree import walk
from matchwood.workloads.abe_gen import AbeGen

TARGET = 20_000  # rules a second a core, cold
ROUNDS = 3


def main() -> None:
    options = Options(__doc__).size("rules", full=100_000, small=5_000).read()
    shared = AbeGen(rules=options.rules, seed=options.seed)
    apart = AbeGen(rules=max(1, options.rules // 5), alpha=0.0, seed=options.seed)
    results = {"ABE-Gen": measure(shared.texts()), "without sharing": measure(apart.texts())}
    cold = results["ABE-Gen"]["cold_rules_a_second"]
    common = {
        "rules": options.rules,
        "target_rules_a_second": TARGET,
        "target": "reached" if cold >= TARGET else "missed",
    }
    report("parser", common, results)


def measure(texts: list[str]) -> Figures:
    cold, warm = [], []
    for _ in range(ROUNDS):
        simple.forget()
        cold.append(seconds(texts))
        warm.append(seconds(texts))
    some = texts[:1_000]
    return {
        "cold_rules_a_second": len(texts) / min(cold),
        "warm_rules_a_second": len(texts) / min(warm),
        "predicates_a_rule": np.mean(
            [sum(not node.operands for node in walk(parse(text))) for text in some]
        ),
        "characters_a_rule": np.mean([len(text) for text in some]),
    }


def seconds(texts: list[str]) -> float:
    gc.collect()
    started = process_time()
    for text in texts:
        parse(text)
    return process_time() - started


if __name__ == "__main__":
    main()
