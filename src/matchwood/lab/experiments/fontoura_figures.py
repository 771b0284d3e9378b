"""Fontoura et al., *Efficiently evaluating complex Boolean expressions*, SIGMOD 2010, §5."""

from __future__ import annotations

from matchwood.lab.experiments.experiment import (
    EVALUATING,
    FINDING,
    MATCHING,
    MEMORY,
    MEMORY_PER_RULE,
    OURS,
    SELECTIVITY,
    SORTING,
    Contestant,
    Experiment,
    FromWorkload,
    Measure,
    Settings,
    Value,
)
from matchwood.lab.experiments.statements import (
    AsGood,
    Linear,
    RunsOut,
    Saves,
    Similar,
    Slower,
    Statement,
    Trend,
    least,
    order,
    says,
)

# The paper, as reports name it.
PAPER = "Fontoura et al. 2010"

# Conjunctions as the paper has them: lists are walked, and each leaf of each rule is indexed on its
# own; on the paper's workload leaves are those that its rules were written with.
PAPERS_INDEX = {"walk": True, "share": False, "depth": FromWorkload("fontoura", "depth")}

# The contestants of the paper.
DEWEY = Contestant("Dewey ID", "dewey", PAPERS_INDEX, as_published=True)
INTERVAL = Contestant("Interval ID", "interval", PAPERS_INDEX, as_published=True)
DNF = Contestant("DNF expansion", "dnf", {"walk": True}, as_published=True)
CONJUNCTIONS = Contestant(
    "Scan with conjunction match", "scan-conjunctions", PAPERS_INDEX, as_published=True
)
SCAN = Contestant("Scan", "scan")

# The same two over our own index: equal conjunctions of all rules are one, as large as they can be,
# and are found by counting.
OUR_INDEX = (
    Contestant("Dewey ID, our index", "dewey"),
    Contestant("Interval ID, our index", "interval"),
)

# All contestants, ours included.
ALL = (DEWEY, INTERVAL, DNF, CONJUNCTIONS, SCAN, *OUR_INDEX, *OURS)

# The two algorithms that the paper proposes, and ours.
TWO = (DEWEY, INTERVAL, *OUR_INDEX, *OURS)

Fixed = dict[str, Settings]

# The settings of figures that vary the depth, by scale. Table 2 must be of 200K rules: its 18 MB at
# depth 2 are twice the 9.1 MB that Table 4 has for 100K.
BY_DEPTH: Fixed = {"small": {"rules": 5_000}, "paper": {"rules": 200_000}}

# The settings of figures that vary the number of rules, by scale.
BY_SIZE: Fixed = {scale: {"depth": 2, "selectivity": 0.5} for scale in ("small", "paper")}

# The settings of figures that vary the selectivity, by scale.
BY_SELECTIVITY: Fixed = {
    "small": {"rules": 5_000, "depth": 3},
    "paper": {"rules": 200_000, "depth": 3},
}
Values = dict[str, tuple[Value, ...]]

# Numbers of rules, by scale.
SIZES: Values = {
    "small": (1_000, 2_000, 5_000, 10_000, 15_000),
    "paper": (10_000, 20_000, 50_000, 100_000, 150_000),
}

# Shares of the rules that an event matches, by scale.
SELECTIVITIES: Values = dict.fromkeys(("small", "paper"), (0.02, 0.04, 0.06, 0.08, 0.1))

# The measures that statements are about: memory, matching time, time to evaluate and selectivity.
M, T, E, S = MEMORY.name, MATCHING.name, EVALUATING.name, SELECTIVITY.name

# What the conclusions say of the two, and of which figures it is.
ADVANTAGEOUS = (
    "Of the two, the Interval matching approach is more advantageous – it is faster, uses less "
    "memory and is simpler to describe and implement."
)

# The time of a match and of two of its steps.
STEPS = (MATCHING, FINDING, SORTING)

# The two algorithms that the paper proposes, by label.
PROPOSED = ("Dewey ID", "Interval ID")

# The paper's size where the depth is varied, where the number of rules is, and otherwise.
THEIRS = {
    "depth": "a number of rules that is not said (200K by Tables 2 and 4), 2,000 real queries",
    "rules": "10K to 150K rules of depth 2, selectivity 50%, 2,000 real queries",
    "selectivity": "a number of rules that is not said, depth 3, 2,000 real queries",
}


def _depths(*values: int) -> Values:
    return {"small": values, "paper": values}


def _of(
    shown: str,
    title: str,
    measures: tuple[Measure, ...],
    values: Values,
    contestants: tuple[Contestant, ...],
    statements: tuple[Statement, ...] = (),
    reported: dict[str, dict[str, dict[Value, float]]] | None = None,
    varied: str = "depth",
    note: str = "",
) -> Experiment:
    if any(measure.whole for measure in measures):
        note = "The engine has no such steps: it is shown with all of its time."
    kind, _, number = shown.partition(" ")
    settings = {"depth": BY_DEPTH, "rules": BY_SIZE, "selectivity": BY_SELECTIVITY}[varied]
    return Experiment(
        name=f"fontoura-{'fig' if kind == 'Figure' else 'table'}{number}",
        paper=PAPER,
        shown=shown,
        title=title,
        measures=measures,
        workload="fontoura",
        settings=settings,
        varied=varied,
        values=values,
        contestants=contestants,
        axis={"depth": "depth of rules", "rules": "rules"}.get(varied, "selectivity"),
        statements=statements,
        theirs=THEIRS[varied],
        reported=reported or {},
        grows=varied != "selectivity",
        note=note,
    )


# The experiments of the paper.
EXPERIMENTS = (
    _of(
        "Table 2",
        "Memory by depth",
        (MEMORY,),
        _depths(1, 2, 3, 4),
        ALL,
        (
            says(
                "Both the Dewey and Interval algorithms use the same amount of memory for the "
                "index and the annotations database.",
                M,
                Similar(PROPOSED),
            ),
            says(ADVANTAGEOUS, M, order("Interval ID", "Dewey ID")),
            says(
                "the size of these data structures grow linear with depth for Dewey and Interval "
                "algorithms",
                M,
                Linear(PROPOSED),
            ),
            says(
                "We could not evaluate the Scan and DNF algorithms for depths greater than 2 since "
                "their memory consumption was too extreme for these cases.",
                M,
                RunsOut({"Scan": 3, "Scan with conjunction match": 3, "DNF expansion": 3}),
            ),
            says(
                "the memory requirement for the DNF expansion algorithm grows exponentially with "
                "depth",
                M,
                Slower(PROPOSED, ("DNF expansion",), at=(1, 2)),
            ),
        ),
        {
            M: {
                "Dewey ID": {1: 9.5, 2: 18, 3: 35, 4: 70},
                "Interval ID": {1: 9.5, 2: 18, 3: 35, 4: 70},
                "DNF expansion": {1: 55, 2: 501},
                "Scan with conjunction match": {1: 373, 2: 854},
                "Scan": {1: 364, 2: 836},
            }
        },
        note="The paper's Scan keeps trees of objects; ours are a run of words. The figures of the "
        "paper are of index and annotations, ours have the lookup of predicates as well.",
    ),
    Experiment(
        name="fontoura-fig7",
        paper=PAPER,
        shown="Figure 7",
        title="Size of a rule in disjunctive normal form, by depth",
        measures=(MEMORY_PER_RULE,),
        workload="fontoura",
        settings={scale: {"rules": 20} for scale in ("small", "paper")},
        varied="depth",
        values=_depths(1, 2, 3, 4),
        contestants=(DNF, INTERVAL, *OURS),
        axis="depth of rules",
        statements=(
            says(
                "the average size of a DNF expansion of a BE grows with depth",
                MEMORY_PER_RULE.name,
                Trend(("DNF expansion",), "rises", at=(1, 2, 3)),
            ),
        ),
        theirs="20 rules of each depth from 1 to 3",
        grows=True,
        note="Of twenty rules, as in the paper; the lookup of their predicates is in all figures.",
    ),
    _of(
        "Figure 8",
        "Matching time of all, by depth",
        (MATCHING,),
        _depths(1, 2),
        ALL,
        (
            says(
                "both Scan and Scan with conjunction matching behave orders of magnitude worse "
                "than the other algorithms",
                T,
                *(
                    Saves(one, scan, 0.9)
                    for one in (*PROPOSED, "DNF expansion")
                    for scan in ("Scan", "Scan with conjunction match")
                ),
            ),
        ),
        note="“Orders of magnitude” is taken as 90 %.",
    ),
    _of(
        "Table 3",
        "Selectivity by depth",
        (SELECTIVITY,),
        _depths(1, 2, 3, 4),
        (INTERVAL, *OURS),
        reported={S: {"Interval ID": {1: 22.85, 2: 57.97, 3: 10.97, 4: 49.23}}},
        note="A property of the workload: contestants differ by the events that were timed.",
    ),
    _of(
        "Figure 9",
        "Matching time without Scan, by depth",
        (MATCHING,),
        _depths(1, 2),
        (DEWEY, INTERVAL, DNF, *OURS),
        (
            says(
                "both of these solutions substantially outperform the previously best known "
                "approaches which relied on first transforming the complex boolean expression "
                "into a CNF or DNF",
                T,
                *(least(one, ("DNF expansion",)) for one in PROPOSED),
            ),
            says(
                "the running time for evaluating DNF-expanded trees also does not scale even for "
                "depth 2",
                T,
                Slower(PROPOSED, ("DNF expansion",)),
            ),
            says(
                "In the case the indexed expressions are small DNFs, as shown for depth 1 in the "
                "figure, the performance for DNF algorithm can be as good as the Dewey and "
                "Interval algorithms.",
                T,
                AsGood(tuple(("DNF expansion", one) for one in PROPOSED), at=(1,)),
            ),
        ),
    ),
    _of(
        "Figure 10",
        "Matching time, index evaluation and sorting, by depth",
        STEPS,
        _depths(1, 2, 3, 4),
        TWO,
        (says(ADVANTAGEOUS, T, order("Interval ID", "Dewey ID")),),
    ),
    _of(
        "Figure 11",
        "Expression evaluation by depth",
        (EVALUATING,),
        _depths(1, 2, 3, 4),
        TWO,
        (
            says(
                "In this figure it is more clear that Interval scales better with depth.",
                E,
                Slower(("Interval ID",), ("Dewey ID",)),
            ),
        ),
    ),
    _of(
        "Table 4",
        "Memory by number of rules",
        (MEMORY,),
        SIZES,
        TWO,
        (
            says(
                "the index and annotations database data structures grow linearly with index size "
                "for Dewey and Interval",
                M,
                Linear(PROPOSED),
            ),
        ),
        {
            M: {
                label: {10_000: 1.1, 20_000: 2.0, 50_000: 4.7, 100_000: 9.1, 150_000: 14}
                for label in ("Dewey ID", "Interval ID")
            }
        },
        varied="rules",
    ),
    _of(
        "Figure 12",
        "Matching time, index evaluation and sorting, by number of rules",
        STEPS,
        SIZES,
        TWO,
        varied="rules",
    ),
    _of(
        "Figure 13",
        "Expression evaluation by number of rules",
        (EVALUATING,),
        SIZES,
        TWO,
        (
            says(
                "Again the Interval algorithm scales better than Dewey w.r.t. the number of BEs "
                "indexed.",
                E,
                Slower(("Interval ID",), ("Dewey ID",)),
            ),
        ),
        varied="rules",
    ),
    _of(
        "Figure 14",
        "Expression evaluation by selectivity",
        (EVALUATING,),
        SELECTIVITIES,
        TWO,
        (
            says(
                "Both Dewey and Interval scale linearly with respect to selectivity.",
                E,
                Linear(PROPOSED),
            ),
        ),
        varied="selectivity",
    ),
)
