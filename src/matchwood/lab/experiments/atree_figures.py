"""Ji and Jacobsen, *A-Tree*, SIGMOD 2021: the comparisons of §6.4.

Figures 11, 12 and 13 show memory, matching time and construction time of the same runs on ABE-Gen,
with one parameter of Table 3 varied at a time.
"""

from __future__ import annotations

from matchwood.lab.experiments.atree_settings import (
    ALL,
    ALPHA,
    ATTRIBUTES,
    CARDINALITY,
    DEPTH,
    EVENTS,
    FIXED,
    INDEXES,
    OPERANDS,
    PAPER,
    SIZE,
    SKEW,
    Sweep,
)
from matchwood.lab.experiments.experiment import (
    BUILDING,
    MATCHING,
    MEMORY,
    OURS,
    OWN_BUILDING,
    TRANSLATED,
    Experiment,
    Measure,
    Value,
)
from matchwood.lab.experiments.statements import (
    Before,
    Linear,
    RunsOut,
    Saves,
    Similar,
    Slower,
    Statement,
    StatementPart,
    Trend,
    least,
    most,
    order,
    says,
)

# The measures that statements are about: memory, matching time and construction time.
M, T, C = MEMORY.name, MATCHING.name, BUILDING.name

# The labels of the paper's contestants.
LABELS = tuple(contestant.label for contestant in ALL if contestant not in OURS)

# The labels of the paper's contestants that have an index.
NOT_SCAN = tuple(label for label in LABELS if label != "Scan")

# §6.4.2 gives this order for attributes and event size.
ORDER = order("A-Tree", "Translation", "BDD", "BoP", "Interval ID", "Scan")

# The values at which the paper has figures of those that run out of memory beyond them.
Lasting = dict[str, tuple[Value, ...]]
LAST_DEPTHS: Lasting = {"BDD": (1, 2, 3), "Translation": (1, 2, 3, 4)}
LAST_OPERANDS: Lasting = {"BDD": (2, 4, 6, 8), "Translation": (2, 4)}

# Those that the paper has figures of at every depth and number of operands.
LASTS = ("A-Tree", "BoP", "Interval ID")


def _least(lasting: Lasting) -> tuple[Before, ...]:
    """A-Tree needs less than each of the other indexes, wherever the paper has figures of both."""
    others = (least("A-Tree", (one,), at=values) for one, values in lasting.items())
    return (least("A-Tree", LASTS), *others)


# What §6.4.3 says of the number of rules, and of what is similar.
QUICK_TO_BUILD: tuple[StatementPart, ...] = tuple(
    least(quick, ("Translation", "BDD")) for quick in LASTS
)
QUICKEST_TO_BUILD = least("A-Tree", NOT_SCAN)


def _similar_to_build(lasting: Lasting) -> Statement:
    slow = (least(q, (one,), at=at) for one, at in lasting.items() for q in LASTS[1:])
    quote = "A similar phenomenon is observed in Figure 13(b) and Figure 13(c)."
    return says(quote, C, *slow, *_least(lasting))


# The paper's number of rules where it is not varied, and where it is.
MILLION, MILLIONS = "ABE-Gen, 1M rules", "ABE-Gen, 100K to 30M rules"


def _figure(shown: str, sweep: Sweep, measure: Measure, *statements: Statement) -> Experiment:
    setting, axis, values, grows = sweep
    letter = shown[-1]
    beside = {BUILDING: (OWN_BUILDING,), MEMORY: (TRANSLATED,) if sweep is SIZE else ()}
    return Experiment(
        name=f"atree-fig{shown}",
        paper=PAPER,
        shown=f"Figure {shown[:-1]}({letter})",
        title=f"{measure.title.capitalize()} by {axis}",
        measures=(measure, *beside.get(measure, ())),
        workload="abe-gen",
        settings=FIXED,
        varied=setting,
        values=values,
        contestants=ALL if measure is MATCHING else INDEXES,
        axis=axis,
        statements=statements,
        theirs=MILLIONS if sweep is SIZE else MILLION,
        grows=grows,
    )


# The experiments that compare A-Tree with other algorithms.
EXPERIMENTS = (
    _figure(
        "11a",
        SIZE,
        MEMORY,
        says(
            "all algorithms require more memory when the number of expressions increases",
            M,
            Trend(NOT_SCAN, "rises"),
        ),
        says(
            "the memory usage of A-Tree and BDD increases more slowly than that of Interval ID, "
            "BoP and Translation",
            M,
            Slower(("A-Tree", "BDD"), ("Interval ID", "BoP", "Translation")),
        ),
        says(
            "A-Tree requires the least memory when there are more than 300 K expressions",
            M,
            least("A-Tree", NOT_SCAN, at=(1_000_000, 3_000_000)),
        ),
        says("Translation needs the most memory", M, most("Translation", NOT_SCAN)),
        says(
            "When there are 30 M expressions, compared with the next-best algorithm BoP, A-Tree "
            "reduces the memory cost by 71%, while Translation runs out of memory.",
            M,
            Saves("A-Tree", "BoP", 0.71, at=(30_000_000,)),
            RunsOut({"Translation": 30_000_000}),
        ),
    ),
    _figure(
        "11b",
        DEPTH,
        MEMORY,
        says(
            "BDD and Translation run out of memory when the average tree depth increases to 4 and "
            "5, respectively.",
            M,
            RunsOut({"BDD": 4, "Translation": 5}),
        ),
        says("A-Tree needs the least amount of memory.", M, *_least(LAST_DEPTHS)),
    ),
    _figure(
        "11c",
        OPERANDS,
        MEMORY,
        says(
            "Translation runs out of memory when the average child node number increases to 6, "
            "while BDD runs out of memory when the child node number increases to 10.",
            M,
            RunsOut({"Translation": 6, "BDD": 10}),
        ),
        says(
            "The ranking of the algorithms is A-Tree, BoP and Interval ID.",
            M,
            order("A-Tree", "BoP", "Interval ID"),
        ),
    ),
    _figure(
        "11d",
        ALPHA,
        MEMORY,
        says(
            "The memory usage of A-Tree and BDD decreases as … of the Zipf distribution increases.",
            M,
            Trend(("A-Tree", "BDD"), "falls"),
        ),
        says(
            "increases to 0.2, A-Tree consumes the least amount of memory",
            M,
            least("A-Tree", NOT_SCAN, at=(0.2,)),
        ),
        says(
            "A-Tree reduces the memory usage by 68%",
            M,
            Saves("A-Tree", "BoP", 0.68, at=(1.0,)),
            where=f"{MILLION}; the sentence names no other: BoP, as for Figure 11(a)",
        ),
    ),
    _figure(
        "12a",
        SIZE,
        MATCHING,
        says(
            "all algorithms scale linearly with respect to the number of expressions",
            T,
            Linear(LABELS),
        ),
        says("Among them, A-Tree always performs the best", T, least("A-Tree", LABELS)),
        says(
            "When there are 30 M expressions, A-Tree reduces the matching time by 86% compared to "
            "the next-best algorithm BDD.",
            T,
            Saves("A-Tree", "BDD", 0.86, at=(30_000_000,)),
        ),
        says(
            "The matching times of Interval ID and BoP are very similar.",
            T,
            Similar(("Interval ID", "BoP")),
        ),
        says(
            "Translation ranks second before it runs out of memory.",
            T,
            order("A-Tree", "Translation"),
            least("Translation", ("BDD", "BoP", "Interval ID", "Scan")),
        ),
    ),
    _figure(
        "12b",
        DEPTH,
        MATCHING,
        says(
            "when the expression tree depth increases, the matching times of all algorithms "
            "increase",
            T,
            Trend((*LASTS, "Scan"), "rises"),
            *(Trend((one,), "rises", at=depths) for one, depths in LAST_DEPTHS.items()),
        ),
        says(
            "BDD and Translation run out of memory when the tree depth increases to 4 and 5, "
            "respectively.",
            T,
            RunsOut({"BDD": 4, "Translation": 5}),
        ),
        says(
            "Interval ID and BoP perform even worse than Scan when the tree depth increases to 6.",
            T,
            least("Scan", ("Interval ID", "BoP"), at=(6,)),
        ),
        says(
            "Only A-Tree continues to present a short matching time when the tree depth increases.",
            T,
            Slower(("A-Tree",), ("BoP", "Interval ID", "Scan")),
        ),
        says(
            "When the tree depth is 6, compared with the next-best algorithm Scan, A-Tree reduces "
            "the matching time by a maximum of 99%.",
            T,
            Saves("A-Tree", "Scan", 0.99, at=(6,)),
        ),
    ),
    _figure(
        "12c",
        OPERANDS,
        MATCHING,
        says(
            "only A-Tree scales well for expressions with a large number of child nodes",
            T,
            Slower(("A-Tree",), ("BoP", "Interval ID", "Scan")),
        ),
        says(
            "Interval ID and BoP do not scale well",
            T,
            Trend(("Interval ID", "BoP"), "rises"),
            Slower(("A-Tree",), ("Interval ID", "BoP")),
        ),
    ),
    _figure(
        "12d",
        ALPHA,
        MATCHING,
        says(
            "only the matching time of A-Tree decreases as the value of … increases",
            T,
            Trend(("A-Tree",), "falls"),
            Trend(("Translation", "BoP", "Interval ID", "Scan"), "does not fall"),
        ),
        says(
            "The matching time of BDD also decreases but not as pronounced as that of A-Tree",
            T,
            Trend(("BDD",), "falls"),
            Slower(("A-Tree",), ("BDD",)),
        ),
    ),
    _figure(
        "12e",
        ATTRIBUTES,
        MATCHING,
        says(
            "when the number of expressions is fixed and the number of dimensions increases, the "
            "matching times of all algorithms decrease, except for Scan",
            T,
            Trend(NOT_SCAN, "falls"),
            Trend(("Scan",), "does not fall"),
        ),
        says(
            "The ranking of these algorithms is A-Tree, Translation, BDD, BoP, Interval ID and "
            "Scan.",
            T,
            ORDER,
        ),
    ),
    _figure(
        "12f",
        CARDINALITY,
        MATCHING,
        says(
            "when the dimension cardinality increases, the matching times of A-Tree, Translation, "
            "BDD, BoP and Interval ID decrease",
            T,
            Trend(NOT_SCAN, "falls"),
        ),
    ),
    _figure(
        "12g",
        SKEW,
        MATCHING,
        says(
            "the matching times of all algorithms are not obviously affected by the dimension "
            "distribution",
            T,
            Trend(LABELS, "stays"),
        ),
    ),
    _figure(
        "12h",
        EVENTS,
        MATCHING,
        says(
            "all algorithms except for Scan present higher matching times as the event size "
            "increases",
            T,
            Trend(NOT_SCAN, "rises"),
            Trend(("Scan",), "does not rise"),
        ),
        says(
            "The ranking of these algorithms is A-Tree, Translation, BDD, BoP, Interval ID and "
            "Scan. The ranking order does not change as the event size increases.",
            T,
            ORDER,
        ),
    ),
    _figure(
        "13a",
        SIZE,
        BUILDING,
        says(
            "the index construction times of all algorithms increase with an increase in the "
            "expression number",
            C,
            Trend(NOT_SCAN, "rises"),
        ),
        says(
            "A-Tree, BoP and Interval ID require lower index construction times than Translation "
            "and BDD.",
            C,
            *QUICK_TO_BUILD,
        ),
        says("Among them, A-Tree performs the best.", C, QUICKEST_TO_BUILD),
    ),
    _figure("13b", DEPTH, BUILDING, _similar_to_build(LAST_DEPTHS)),
    _figure("13c", OPERANDS, BUILDING, _similar_to_build(LAST_OPERANDS)),
    _figure(
        "13d",
        ALPHA,
        BUILDING,
        says(
            "the index construction speed of A-Tree becomes faster than that of the other "
            "algorithms",
            C,
            least("A-Tree", NOT_SCAN, at=(1.0,)),
        ),
        says(
            "increases to 1, compared to the next-best algorithm BoP, A-Tree reduces the index "
            "construction time by 75%.",
            C,
            Saves("A-Tree", "BoP", 0.75, at=(1.0,)),
        ),
    ),
)
