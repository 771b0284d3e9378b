"""Fan, Liu and Tang, *DEXIN*, 2016, section 4: Figures 2 to 17, on their workload."""

from __future__ import annotations

from typing import Any

from matchwood.lab.experiments.claims import Claim, Ranking, Saving, Trend
from matchwood.lab.experiments.experiment import (
    BUILDING,
    DEVIATION,
    FALSE_POSITIVES,
    INSERTING,
    MATCHING,
    MEMORY,
    OURS,
    PLAN_COST,
    Contestant,
    Experiment,
    Measure,
    Value,
)

# The paper, as reports name it.
PAPER = "Fan, Liu, Tang 2016"

# The contestants of the paper.
DEXIN = Contestant("DEXIN", "dexin")
LISTS = Contestant("DEXIN, linked lists", "dexin", {"ordered": False})
OPTIMAL = Contestant("DEXIN, optimal plan", "dexin", {"planner": "optimal"})
EXCLUSIVE = Contestant("DEXIN, exclusive only", "dexin", {"method": "exclusive"})
INCLUSIVE = Contestant("DEXIN, inclusive only", "dexin", {"method": "inclusive"})
TAMA = Contestant("TAMA", "tama")
H_TREE = Contestant("H-Tree", "h-tree")
BE_TREE = Contestant("BE-Tree", "be-tree")
OPINDEX = Contestant("OpIndex", "opindex")
REIN = Contestant("REIN", "rein")

# The contestants of most figures, ours included.
ALL = (DEXIN, TAMA, H_TREE, BE_TREE, OPINDEX, REIN, *OURS)

# The labels of the paper's contestants.
LABELS = tuple(contestant.label for contestant in ALL if contestant not in OURS)

# The measures that claims are about: matching time, its deviation, memory and the cost of the plan.
T, D, M, C = MATCHING.name, DEVIATION.name, MEMORY.name, PLAN_COST.name

# The matching time of DEXIN less the time that it takes to plan.
UNPLANNED = Measure("evaluate_ms", "matching time without planning", "ms per event", whole=T)
Values = dict[str, tuple[Value, ...]]

# Rules of a workload whose number of rules is not varied, by scale.
RULES = {"small": 10_000, "paper": 1_000_000}

# Numbers of rules, by scale.
SIZES: Values = {
    "small": (2_500, 7_500, 12_500, 17_500),
    "paper": (250_000, 500_000, 750_000, 1_000_000, 1_250_000, 1_500_000, 1_750_000),
}


def _both(*values: Value) -> Values:
    return {"small": values, "paper": values}


# Numbers of attributes.
ATTRIBUTES = _both(2, 6, 10, 14, 18, 22)

# Numbers of attributes where the optimal plan is searched for, which takes long.
PLANNED: Values = {"small": (2, 6, 10, 14), "paper": (2, 6, 10, 14, 18, 22)}

# Widths of ranges, as parts of the domain.
WIDTHS = _both(0.1, 0.3, 0.5, 0.7, 0.9)

# Numbers of values of an attribute.
CARDINALITIES = _both(100, 1_000, 10_000, 100_000, 1_000_000)

# Shares of predicates that are equalities.
POINTS = _both(0.1, 0.3, 0.5, 0.7, 0.9)

# Shares of the rules that an event matches.
RATES = _both(0.001, 0.01, 0.05, 0.1, 0.2)

# What a plot calls each setting that is varied.
AXES = {
    "rules": "rules",
    "attributes": "attributes",
    "width": "width of ranges",
    "cardinality": "values of an attribute",
    "points": "share of points",
    "matching": "matching rate",
}


def _of(
    figure: int,
    title: str,
    varied: str,
    values: Values,
    *claims: Claim,
    measures: tuple[Measure, ...] = (MATCHING,),
    contestants: tuple[Contestant, ...] = ALL,
    note: str = "",
    **settings: Any,
) -> Experiment:
    fixed = {
        scale: settings if varied == "rules" else {"rules": rules, **settings}
        for scale, rules in RULES.items()
    }
    return Experiment(
        name=f"dexin-fig{figure}",
        paper=PAPER,
        shown=f"Figure {figure}",
        title=f"{title} by {AXES[varied]}",
        measures=measures,
        workload="dexin",
        settings=fixed,
        varied=varied,
        values=values,
        contestants=contestants,
        axis=AXES[varied],
        claims=claims,
        grows=varied in ("rules", "attributes"),
        note=note,
    )


# The paper's order by matching time.
BEST = Ranking(T, ("DEXIN", "BE-Tree", "H-Tree", "REIN", "OpIndex", "TAMA"))

# The paper's order by the deviation of matching time.
STEADIEST = Ranking(D, ("DEXIN", "BE-Tree", "REIN", "OpIndex", "TAMA", "H-Tree"))

# The note of figures that show deviations.
DEVIATIONS = "A batch has one time for all events, and no deviation."

# The experiments of the paper.
EXPERIMENTS = (
    _of(
        2, "Matching time", "rules", SIZES,
        Trend(T, LABELS, "rises"), BEST,
        Saving(T, "DEXIN", "TAMA", 1 - 0.2018), Saving(T, "DEXIN", "H-Tree", 1 - 0.6428),
        Saving(T, "DEXIN", "BE-Tree", 1 - 0.6836), Saving(T, "DEXIN", "OpIndex", 1 - 0.264),
        Saving(T, "DEXIN", "REIN", 1 - 0.3849),
        measures=(MATCHING, FALSE_POSITIVES),
        note="Of all, TAMA alone names rules that are not true. The paper's savings are means.",
    ),
    _of(3, "Deviation", "rules", SIZES, STEADIEST, measures=(DEVIATION,), note=DEVIATIONS),
    _of(
        4, "Matching time", "attributes", ATTRIBUTES,
        Trend(T, ("TAMA", "BE-Tree", "OpIndex", "REIN"), "rises"), Trend(T, ("DEXIN",), "stays"),
    ),
    _of(
        5, "Deviation", "attributes", ATTRIBUTES,
        STEADIEST, Trend(D, ("DEXIN",), "falls"),
        measures=(DEVIATION,), note=DEVIATIONS,
    ),
    _of(
        6, "Matching time", "width", WIDTHS,
        Trend(T, ("TAMA", "H-Tree"), "rises"), Trend(T, ("REIN",), "falls"),
        Trend(T, ("DEXIN",), "stays"),
    ),
    _of(
        7, "Matching time by Zipf's law,", "rules", SIZES,
        Trend(T, LABELS, "rises"), distribution="zipf",
    ),
    _of(8, "Matching time by Zipf's law,", "attributes", ATTRIBUTES, distribution="zipf"),
    _of(9, "Matching time by Zipf's law,", "width", WIDTHS, distribution="zipf"),
    _of(
        10, "Matching time", "cardinality", CARDINALITIES,
        Trend(T, LABELS, "stays"), Saving(T, "DEXIN", "BE-Tree", 0.2688),
    ),
    _of(
        11, "Matching time", "points", POINTS,
        Trend(T, ("TAMA", "H-Tree", "BE-Tree", "OpIndex"), "falls"),
        Trend(T, ("REIN", "DEXIN"), "stays"),
    ),
    _of(
        12, "Matching time", "matching", RATES,
        Trend(T, ("TAMA", "H-Tree", "BE-Tree", "OpIndex"), "rises"), Trend(T, ("REIN",), "falls"),
        Trend(T, ("DEXIN",), "stays"), Saving(T, "DEXIN", "BE-Tree", 0.4246),
    ),
    _of(
        13, "Subscribing", "rules", SIZES,
        Ranking(BUILDING.name, ("REIN", "DEXIN", "OpIndex")),
        Ranking(BUILDING.name, ("DEXIN, linked lists", "DEXIN")),
        measures=(BUILDING, INSERTING), contestants=(LISTS, *ALL), added=200,
        note="The paper adds rules one by one to nothing. Ours are given all at once, without the "
        "time to parse them; beside it, the mean of 200 added one by one, parsing and all.",
    ),
    _of(
        14, "Memory", "rules", SIZES,
        Ranking(M, ("REIN", "DEXIN", "TAMA", "H-Tree")),
        Ranking(M, ("DEXIN, linked lists", "DEXIN")),
        measures=(MEMORY,), contestants=(LISTS, *ALL),
        note="Slots are runs of an array, ordered or not, so that both kinds are of one size.",
    ),
    _of(
        15, "Cost of plans", "attributes", PLANNED,
        Ranking(C, ("DEXIN, optimal plan", "DEXIN")),
        measures=(PLAN_COST,), contestants=(DEXIN, OPTIMAL, *OURS), distribution="mixed",
        note="The engine makes no such plan.",
    ),
    _of(
        16, "Matching time of plans", "attributes", PLANNED,
        Ranking(T, ("DEXIN", "DEXIN, optimal plan"), last=True),
        measures=(MATCHING, UNPLANNED), contestants=(DEXIN, OPTIMAL, *OURS), distribution="mixed",
    ),
    _of(
        17, "Matching time of one method alone", "matching", RATES,
        Trend(T, ("DEXIN, inclusive only",), "rises"),
        Trend(T, ("DEXIN, exclusive only",), "falls"),
        contestants=(DEXIN, EXCLUSIVE, INCLUSIVE, *OURS),
    ),
)  # fmt: skip
