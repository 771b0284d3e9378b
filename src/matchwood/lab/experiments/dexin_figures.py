"""Fan, Liu and Tang, *DEXIN*, 2016, section 4: Figures 2 to 17, on their workload."""

from __future__ import annotations

from typing import Any

from matchwood.lab.experiments.experiment import (
    BUILDING,
    DEVIATION,
    FALSE_POSITIVES,
    INSERTING,
    MATCHING,
    MEMORY,
    OURS,
    OWN_BUILDING,
    PLAN_COST,
    REMOVING,
    Contestant,
    Experiment,
    Measure,
    Value,
)
from matchwood.lab.experiments.statements import (
    Saves,
    Similar,
    Slower,
    Statement,
    Steadier,
    Trend,
    least,
    order,
    says,
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

# The measures that statements are about: matching time, its deviation, memory, cost of the plan.
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

# DEXIN by the number of slots of an attribute, from few to many.
SLOTS = (
    Contestant("DEXIN, 150 slots", "dexin", {"slots": 150}),
    DEXIN,
    Contestant("DEXIN, 15,000 slots", "dexin", {"slots": 15_000}),
)

# Settings under even constraints, and each of them under Zipf's law.
EVEN: dict[str, dict[str, Any]] = {
    "even": {},
    "2 attributes": {"attributes": 2},
    "22 attributes": {"attributes": 22},
    "width 0.1": {"width": 0.1},
    "width 0.9": {"width": 0.9},
}
PAIRS = tuple((value, f"{value}, Zipf") for value in EVEN)
DISTRIBUTED = {
    value: {**EVEN[even], "distribution": "uniform" if value == even else "zipf"}
    for even, zipf in PAIRS
    for value in (even, zipf)
}

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
    *statements: Statement,
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
        statements=statements,
        theirs=MILLIONS if varied == "rules" else MILLION,
        grows=varied in ("rules", "attributes"),
        note=note,
    )


# The paper's number of subscriptions where it is varied, and where it is not.
MILLIONS, MILLION = "0.25M to 1.75M subscriptions", "1M subscriptions"

# The algorithms that DEXIN is compared with.
OTHERS = LABELS[1:]

# §4.1.1: what part of the average matching time of each of them DEXIN takes.
TAKEN = dict(zip(OTHERS, (0.2018, 0.6428, 0.6836, 0.264, 0.3849), strict=True))

# What is said of both plans in Figure 16, without and with the time that it takes to make them.
OF_BOTH_PLANS = (
    "the event matching time via the near-optimal algorithm is very close to that via the optimal "
    "algorithm, and the two curves almost coincide after …; … the event matching time via the "
    "optimal algorithm is higher than that via the near-optimal algorithm, and the gap between "
    "them grows exponentially as the number of attributes rises"
)

# The note of figures that show deviations.
DEVIATIONS = "A batch has one time for all events, and no deviation."

# The note of figures with Zipf's law.
BESIDE = "What the paper says of uniform constraints beside these is judged by dexin-distributions."


def _deviates(own: float, *others: float) -> list[Saves]:
    """By which part the deviation of DEXIN is below that of each of the others, on average."""
    return [
        Saves("DEXIN", other, 1 - own / theirs, by="mean")
        for other, theirs in zip(OTHERS, others, strict=True)
    ]


# The experiments of the paper.
EXPERIMENTS = (
    _of(
        2, "Matching time", "rules", SIZES,
        says("for the 6 algorithms, their event matching time all increases with N", T,
             Trend(LABELS, "rises")),
        says("DEXIN is the best over the other 5 algorithms, and its event matching time is the "
             "minimum at each tick of N on x-axis", T, least("DEXIN", OTHERS)),
        says("DEXIN's sensitivity to N is the lowest since the slope of its curve in Fig. 2 is the "
             "lowest", T, Slower(("DEXIN",), OTHERS)),
        says("the average event matching time of DEXIN is 20.18%, 64.28%, 68.36%, 26.4%, 38.49% "
             "of that of TAMA, H-Tree, BE-Tree, OpIndex and REIN, respectively", T,
             *(Saves("DEXIN", other, 1 - part, by="mean") for other, part in TAKEN.items())),
        says("for the worst algorithm TAMA, DEXIN approaches a 82.13% reduction …, and for the "
             "next best algorithm BE-Tree, DEXIN exhibits a 63.01% better event matching time", T,
             Saves("DEXIN", "TAMA", 0.8213, at=(1_000_000,)),
             Saves("DEXIN", "BE-Tree", 0.6301, at=(750_000,)),
             where="1M and 0.75M subscriptions"),
        measures=(MATCHING, FALSE_POSITIVES),
        note="Of all, TAMA alone names rules that are not true.",
    ),
    _of(
        3, "Deviation", "rules", SIZES,
        says("the standard deviation of each algorithm increases with N", D,
             Trend(LABELS, "rises")),
        says("DEXIN always has the lowest standard deviations at all ticks of N", D,
             least("DEXIN", OTHERS)),
        says("DEXIN is the most stable among them, and its curve is nearly flat", D,
             Steadier("DEXIN", OTHERS), Trend(("DEXIN",), "stays")),
        says("The mean of the standard deviations of TAMA, H-Tree, BE-Tree, OpIndex, REIN and "
             "DEXIN are 27.49, 36.02, 5.74, 13.39, 11.87 and 1.52, respectively", D,
             *_deviates(1.52, 27.49, 36.02, 5.74, 13.39, 11.87)),
        measures=(DEVIATION,), note=DEVIATIONS,
    ),
    _of(
        4, "Matching time", "attributes", ATTRIBUTES,
        says("the event matching time of TAMA, BE-Tree, OpIndex and REIN keeps growing with M", T,
             Trend(("TAMA", "BE-Tree", "OpIndex", "REIN"), "rises")),
        says("The event matching time of H-Tree decreases when … , and then increases", T,
             Trend(("H-Tree",), "falls", at=ATTRIBUTES["paper"][:2]),
             Trend(("H-Tree",), "rises", at=ATTRIBUTES["paper"][1:])),
        says("the event matching time of DEXIN rises slightly before … , and then keeps nearly "
             "invariant", T, Trend(("DEXIN",), "rises", at=ATTRIBUTES["paper"][:2]),
             Trend(("DEXIN",), "stays", at=ATTRIBUTES["paper"][1:])),
    ),
    _of(
        5, "Deviation", "attributes", ATTRIBUTES,
        says("DEXIN is still the most stable even for variable M", D, least("DEXIN", OTHERS)),
        says("the curve of DEXIN decreases slowly with the increase of M", D,
             Trend(("DEXIN",), "falls")),
        says("The curves of other 5 algorithms all grow as M increases", D,
             Trend(OTHERS, "rises")),
        says("The average standard deviations of TAMA, H-Tree, BE-Tree, OpIndex, REIN and DEXIN "
             "are 28.13, 39.32, 6.17, 11.38, 11.47 and 1.7, respectively", D,
             *_deviates(1.7, 28.13, 39.32, 6.17, 11.38, 11.47)),
        measures=(DEVIATION,), note=DEVIATIONS,
    ),
    _of(
        6, "Matching time", "width", WIDTHS,
        says("the event matching time of BE-Tree and OpIndex grows slowly", T,
             Trend(("BE-Tree", "OpIndex"), "rises"),
             Slower(("BE-Tree", "OpIndex"), ("TAMA", "H-Tree"))),
        says("The event matching time of TAMA rapidly increases", T, Trend(("TAMA",), "rises"),
             Slower(("BE-Tree", "OpIndex"), ("TAMA",))),
        says("the event matching time of H-Tree is the lowest, then it increases exponentially", T,
             least("H-Tree", LABELS, at=(0.1, 0.3)), Trend(("H-Tree",), "rises")),
        says("the matching cost drops as θ expands", T, Trend(("REIN",), "falls")),
        says("the event matching time of DEXIN keeps nearly unchanged", T,
             Trend(("DEXIN",), "stays")),
        says("the average standard deviations of event matching time of TAMA, H-Tree, BE-Tree, "
             "OpIndex, REIN and DEXIN are 23.25, 35.64, 8.13, 12.02, 7.33 and 1.09, respectively",
             D, *_deviates(1.09, 23.25, 35.64, 8.13, 12.02, 7.33)),
        measures=(MATCHING, DEVIATION),
    ),
    _of(7, "Matching time by Zipf's law,", "rules", SIZES, note=BESIDE, distribution="zipf"),
    _of(
        8, "Matching time by Zipf's law,", "attributes", ATTRIBUTES,
        note=BESIDE, distribution="zipf",
    ),
    _of(9, "Matching time by Zipf's law,", "width", WIDTHS, note=BESIDE, distribution="zipf"),
    _of(
        10, "Matching time", "cardinality", CARDINALITIES,
        says("the event matching time of all 6 algorithms increases very slowly when … , then "
             "keeps stable", T, Trend(LABELS, "stays", at=CARDINALITIES["paper"][1:])),
        says("the performance of DEXIN is the best, and it outperforms other algorithms by more "
             "than 26.88%", T, *(Saves("DEXIN", other, 0.2688, by="mean") for other in OTHERS)),
    ),
    _of(
        11, "Matching time", "points", POINTS,
        says("the event matching time of TAMA, H-Tree, BE-Tree and OpIndex all decreases", T,
             Trend(("TAMA", "H-Tree", "BE-Tree", "OpIndex"), "falls")),
        says("The curves of the event matching time of REIN and DEXIN keep nearly flat", T,
             Trend(("REIN", "DEXIN"), "stays")),
        says("the performance of DEXIN is still the best when", T,
             least("DEXIN", OTHERS, at=(0.1, 0.3, 0.5)), where=f"{MILLION}, λ up to 60 %"),
    ),
    _of(
        12, "Matching time", "matching", RATES,
        says("the event matching time of TAMA, H-Tree, BE-Tree and OpIndex all increases", T,
             Trend(("TAMA", "H-Tree", "BE-Tree", "OpIndex"), "rises")),
        says("the event matching time of REIN decreases because the main cost of REIN is to "
             "exclude non-matched subscriptions", T, Trend(("REIN",), "falls")),
        says("The performance of DEXIN is quite stable and it wins the next best algorithm - "
             "BE-Tree by 42.46% on average.", T, Trend(("DEXIN",), "stays"),
             Saves("DEXIN", "BE-Tree", 0.4246, by="mean")),
    ),
    _of(
        13, "Subscribing", "rules", SIZES,
        says("DEXIN is better than TAMA, H-Tree, BE-Tree and OpIndex, but is slightly worse than "
             "REIN", INSERTING.name, least("DEXIN", OTHERS[:-1]), order("REIN", "DEXIN")),
        says("this disadvantage can be fixed by replacing RB-tree with linked list",
             INSERTING.name, order("DEXIN, linked lists", "DEXIN")),
        says("The performance of unsubscribing is similar to that of subscribing", REMOVING.name,
             least("DEXIN", OTHERS[:-1]), order("REIN", "DEXIN")),
        measures=(BUILDING, OWN_BUILDING, INSERTING, REMOVING), contestants=(LISTS, *ALL),
        added=200,
        note="The paper adds rules one by one to nothing. Ours are given all at once, without the "
        "time to parse them; beside it, the mean of 200 that are added one by one, parsing and "
        "all, and then removed one by one, by which the sentences are judged. An ordered slot is "
        "a sorted run of an array, in the place of a red-black tree.",
    ),
    _of(
        14, "Memory", "rules", SIZES,
        says("the memory consumption of DEXIN is low, which is only slightly worse than that of "
             "REIN", M, order("REIN", "DEXIN"), least("DEXIN", OTHERS[:-1])),
        measures=(MEMORY,), contestants=(LISTS, *ALL),
        note="Slots are runs of an array, ordered or not, so that both kinds are of one size, and "
        "what the paper says of linked lists cannot be judged. An entry is 8 bytes, where a node "
        "of a red-black tree has three references and a colour beside its subscription.",
    ),
    _of(
        15, "Cost of plans", "attributes", PLANNED,
        says("the gap between the two curves decreases with the increase of", C,
             Slower(("DEXIN",), ("DEXIN, optimal plan",))),
        says("The matching costs via the two algorithms are almost the same after", C,
             Similar(("DEXIN", "DEXIN, optimal plan"), at=(14,))),
        says("the minimum matching costs can be obtained via the optimal algorithm", C,
             order("DEXIN, optimal plan", "DEXIN")),
        measures=(PLAN_COST,), contestants=(DEXIN, OPTIMAL, *OURS), distribution="mixed",
        note="The engine makes no such plan.",
    ),
    _of(
        16, "Matching time of plans", "attributes", PLANNED,
        says(OF_BOTH_PLANS, UNPLANNED.name, Similar(("DEXIN", "DEXIN, optimal plan"))),
        says(OF_BOTH_PLANS, T, order("DEXIN", "DEXIN, optimal plan"),
             Slower(("DEXIN",), ("DEXIN, optimal plan",))),
        measures=(MATCHING, UNPLANNED), contestants=(DEXIN, OPTIMAL, *OURS), distribution="mixed",
    ),
    _of(
        17, "Matching time of one method alone", "matching", RATES,
        says("the inclusive and exclusive methods perform oppositely", T,
             Trend(("DEXIN, inclusive only",), "rises"),
             Trend(("DEXIN, exclusive only",), "falls")),
        contestants=(DEXIN, EXCLUSIVE, INCLUSIVE, *OURS),
    ),
    Experiment(
        name="dexin-distributions",
        paper=PAPER,
        shown="Figures 2, 4 and 6 beside 7, 8 and 9",
        title="Matching time by distribution",
        measures=(MATCHING,),
        workload="",
        settings={
            scale: {
                value: {"workload": "dexin", "rules": rules, **settings}
                for value, settings in DISTRIBUTED.items()
            }
            for scale, rules in RULES.items()
        },
        varied="workload",
        values=_both(*DISTRIBUTED),
        contestants=ALL,
        axis="distribution of constraints",
        statements=(
            says("the event matching time of all algorithms under Zipf distribution all grows to "
                 "some extent", T, *(Trend(LABELS, "rises", at=pair) for pair in PAIRS)),
            says("Among all 6 algorithm, it can be found that DEXIN has the lowest impact on "
                 "distributions of subscriptions", T,
                 *(Steadier("DEXIN", OTHERS, at=pair) for pair in PAIRS)),
        ),
        theirs=MILLION,
        note="Of the figures' attributes and widths, the least and the most; Zipf's law beside "
        "each.",
    ),
    Experiment(
        name="dexin-slots",
        paper=PAPER,
        shown="beside Table 1",
        title="Matching time and memory by slots",
        measures=(MATCHING, MEMORY),
        workload="dexin",
        settings={scale: {} for scale in RULES},
        varied="rules",
        values={scale: (rules,) for scale, rules in RULES.items()},
        contestants=(*SLOTS, *OURS),
        axis="rules",
        statements=(
            says("the traversing … will slightly benefit with the increase of the number of slots",
                 T, order(*(each.label for each in reversed(SLOTS)))),
            says("the memory consumption will grow with the increase of", M,
                 order(*(each.label for each in SLOTS))),
        ),
        theirs=f"a number of slots of 1500, {MILLION}",
        grows=True,
    ),
)  # fmt: skip
