"""Ji and Jacobsen, *A-Tree*, SIGMOD 2021: the comparisons of §6.4 and §6.5.

Figures 11, 12 and 13 show memory, matching time and construction time of the same runs on ABE-Gen,
with one parameter of Table 3 varied at a time; Table 4 shows all three on advertisements.
"""

from __future__ import annotations

from matchwood.lab.experiments.claims import Claim, Ranking, RunsOut, Saving, Trend
from matchwood.lab.experiments.experiment import (
    BUILDING,
    CANDIDATES,
    MATCHING,
    MEMORY,
    OURS,
    Contestant,
    Experiment,
    Measure,
    Value,
)

# The paper, as reports name it.
PAPER = "Ji, Jacobsen 2021"

# The contestants of the paper.
SCAN = Contestant("Scan", "scan")
BOP = Contestant("BoP", "bop")
BDD = Contestant("BDD", "bdd")
TRANSLATION = Contestant("Translation", "translation")
INTERVAL = Contestant("Interval ID", "interval")
DEWEY = Contestant("Dewey ID", "dewey")
ATREE = Contestant("A-Tree", "a-tree")

# All contestants, ours included.
ALL = (ATREE, BDD, TRANSLATION, BOP, INTERVAL, SCAN, *OURS)

# The contestants that have something to build.
INDEXES = (ATREE, BDD, TRANSLATION, BOP, INTERVAL, *OURS)

# Rules of a workload whose number of rules is not varied, by scale.
RULES = {"small": 10_000, "paper": 1_000_000}

# The settings of ABE-Gen that are not varied, by scale.
FIXED = {scale: {"rules": rules} for scale, rules in RULES.items()}

# The settings of the advertising workload, by scale.
ADS = {
    "small": {"ads": {"rules": 5_000}},
    "paper": {"ads": {"rules": 1_392_196}},
}

# A parameter of Table 3: the setting, its name in plots, its values by scale, and whether larger
# values need more time and memory.
Sweep = tuple[str, str, dict[str, tuple[Value, ...]], bool]


def both(*values: Value) -> dict[str, tuple[Value, ...]]:
    return {"small": values, "paper": values}


def fewer(small: tuple[Value, ...], *paper: Value) -> dict[str, tuple[Value, ...]]:
    return {"small": small, "paper": paper}


# The settings that are varied, each with its values.
SIZE: Sweep = (
    "rules",
    "rules",
    fewer((1_000, 3_000, 10_000, 30_000), 100_000, 300_000, 1_000_000, 3_000_000),
    True,
)
DEPTH: Sweep = ("depth", "depth of rules", both(1, 2, 3, 4, 5, 6), True)
OPERANDS: Sweep = (
    "operands",
    "operands of a node",
    fewer((2, 4, 6, 10, 12), 2, 4, 6, 8, 10, 12),
    True,
)
ALPHA: Sweep = (
    "alpha",
    "Zipf α of subexpressions",
    fewer((0.0, 0.2, 0.6, 1.0), 0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    False,
)
ATTRIBUTES: Sweep = (
    "attributes",
    "attributes",
    fewer((30, 100, 1_000, 10_000), 30, 100, 300, 1_000, 3_000, 10_000),
    False,
)
CARDINALITY: Sweep = (
    "cardinality",
    "values of an attribute",
    fewer((3, 30, 100, 1_000), 3, 10, 30, 100, 300, 1_000),
    False,
)
SKEW: Sweep = (
    "attribute_alpha",
    "Zipf α of attributes",
    fewer((0.0, 0.6, 1.0), 0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    False,
)
EVENTS: Sweep = (
    "event_size",
    "attributes of an event",
    fewer((5, 10, 20, 30), 5, 10, 15, 20, 25, 30),
    False,
)

# The measures that claims are about: memory, matching time and construction time.
M, T, C = MEMORY.name, MATCHING.name, BUILDING.name

# The labels of the paper's contestants.
LABELS = tuple(contestant.label for contestant in ALL if contestant not in OURS)

# The labels of the paper's contestants that have an index.
NOT_SCAN = tuple(label for label in LABELS if label != "Scan")

# §6.4.2 gives this order for attributes and event size.
ORDER = ("A-Tree", "Translation", "BDD", "BoP", "Interval ID", "Scan")

# The claims that each of three indexes is built faster than each of the others.
QUICK_TO_BUILD = tuple(
    Ranking(C, (quick, slow))
    for quick in ("A-Tree", "BoP", "Interval ID")
    for slow in ("Translation", "BDD")
)


def _figure(shown: str, sweep: Sweep, measure: Measure, *claims: Claim) -> Experiment:
    setting, axis, values, grows = sweep
    letter = shown[-1]
    return Experiment(
        name=f"atree-fig{shown}",
        paper=PAPER,
        shown=f"Figure {shown[:-1]}({letter})",
        title=f"{measure.title.capitalize()} by {axis}",
        measures=(measure,),
        workload="abe-gen",
        settings=FIXED,
        varied=setting,
        values=values,
        contestants=ALL if measure is MATCHING else INDEXES,
        axis=axis,
        claims=claims,
        grows=grows,
    )


# The experiments that compare A-Tree with other algorithms.
EXPERIMENTS = (
    _figure(
        "11a",
        SIZE,
        MEMORY,
        Trend(M, NOT_SCAN, "rises"),
        Ranking(M, ("A-Tree", "BoP", "Interval ID", "Translation"), last=True),
        Saving(M, "A-Tree", "BoP", 0.71),
    ),
    _figure(
        "11b",
        DEPTH,
        MEMORY,
        RunsOut(M, "BDD", 4),
        RunsOut(M, "Translation", 5),
        Ranking(M, ("A-Tree", "BoP"), last=True),
        Ranking(M, ("A-Tree", "Interval ID"), last=True),
    ),
    _figure(
        "11c",
        OPERANDS,
        MEMORY,
        RunsOut(M, "BDD", 10),
        RunsOut(M, "Translation", 6),
        Ranking(M, ("A-Tree", "BoP", "Interval ID")),
    ),
    _figure(
        "11d",
        ALPHA,
        MEMORY,
        Trend(M, ("A-Tree", "BDD"), "falls"),
        Saving(M, "A-Tree", "BoP", 0.68),
    ),
    _figure(
        "12a",
        SIZE,
        MATCHING,
        Trend(T, LABELS, "rises"),
        Ranking(T, ("A-Tree", "Translation", "BDD")),
        Saving(T, "A-Tree", "BDD", 0.86),
    ),
    _figure(
        "12b",
        DEPTH,
        MATCHING,
        Trend(T, LABELS, "rises"),
        Saving(T, "A-Tree", "Scan", 0.99),
        Ranking(T, ("Scan", "BoP"), last=True),
        Ranking(T, ("Scan", "Interval ID"), last=True),
    ),
    _figure(
        "12c",
        OPERANDS,
        MATCHING,
        Trend(T, ("BoP", "Interval ID"), "rises"),
        Ranking(T, ("A-Tree", "BoP"), last=True),
        Ranking(T, ("A-Tree", "Interval ID"), last=True),
    ),
    _figure("12d", ALPHA, MATCHING, Trend(T, ("A-Tree", "BDD"), "falls")),
    _figure("12e", ATTRIBUTES, MATCHING, Trend(T, NOT_SCAN, "falls"), Ranking(T, ORDER)),
    _figure("12f", CARDINALITY, MATCHING, Trend(T, NOT_SCAN, "falls")),
    _figure("12g", SKEW, MATCHING, Trend(T, LABELS, "stays")),
    _figure("12h", EVENTS, MATCHING, Trend(T, NOT_SCAN, "rises"), Ranking(T, ORDER)),
    _figure("13a", SIZE, BUILDING, Trend(C, NOT_SCAN, "rises"), *QUICK_TO_BUILD),
    _figure("13b", DEPTH, BUILDING, *QUICK_TO_BUILD),
    _figure("13c", OPERANDS, BUILDING, *QUICK_TO_BUILD),
    _figure("13d", ALPHA, BUILDING, Saving(C, "A-Tree", "BoP", 0.75)),
    Experiment(
        name="atree-table4",
        paper=PAPER,
        shown="Table 4",
        title="All algorithms on advertisements",
        measures=(MATCHING, BUILDING, MEMORY, CANDIDATES),
        workload="",
        settings=ADS,
        varied="workload",
        values=both("ads"),
        contestants=(ATREE, BDD, TRANSLATION, BOP, INTERVAL, DEWEY, SCAN, *OURS),
        claims=(
            Ranking(T, ("A-Tree", "BDD", "Translation", "BoP", "Interval ID", "Dewey ID", "Scan")),
            Ranking(C, ("A-Tree", "BoP", "Interval ID", "Dewey ID", "BDD", "Translation")),
            Ranking(M, ("A-Tree", "BoP", "BDD", "Interval ID", "Dewey ID", "Translation")),
            Saving(T, "A-Tree", "BDD", 0.86),
            Saving(C, "A-Tree", "BDD", 0.89),
            Saving(M, "A-Tree", "BDD", 0.75),
        ),
        reported={
            T: {
                "A-Tree": {"ads": 1.6},
                "BDD": {"ads": 11.5},
                "Translation": {"ads": 13.7},
                "BoP": {"ads": 44.1},
                "Interval ID": {"ads": 53.6},
                "Dewey ID": {"ads": 62.7},
                "Scan": {"ads": 529.1},
            },
            C: {
                "A-Tree": {"ads": 2.9},
                "BDD": {"ads": 25.6},
                "Translation": {"ads": 11.1 + 14.6},
                "BoP": {"ads": 8.6},
                "Interval ID": {"ads": 12.2},
                "Dewey ID": {"ads": 14.8},
            },
            M: {
                "A-Tree": {"ads": 205},
                "BDD": {"ads": 823},
                "Translation": {"ads": 320 + 4592},
                "BoP": {"ads": 684},
                "Interval ID": {"ads": 1775},
                "Dewey ID": {"ads": 1887},
            },
        },
        note="The advertisements are made, after the figures of §6.2; the paper's are not public. "
        "The engine does not count what it tries.",
    ),
)
