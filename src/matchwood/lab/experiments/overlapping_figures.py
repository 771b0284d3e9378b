"""Liu, Parthasarathy, Ranganathan, Yang, *Scalable Event Matching for Overlapping Subscriptions in
Pub/Sub Systems*, DEBS 2007: Figures 4 to 8, and the time that operators take.

The paper counts the predicates that are evaluated for an event. It does not say how its events are
made, beyond that they match 0.2 % of the subscriptions: see `workloads.overlapping` for ours.
"""

from __future__ import annotations

from typing import Any

from matchwood.lab.experiments.experiment import (
    OURS,
    Contestant,
    Experiment,
    Measure,
    Value,
)
from matchwood.lab.experiments.statements import (
    Linear,
    Saves,
    Slower,
    Statement,
    Trend,
    least,
    order,
    says,
)

# The paper, as reports name it.
PAPER = "Liu et al. 2007"

# How many predicates are evaluated, which is the paper's cost.
EVALUATED = Measure("evaluated", "evaluation cost", "predicates per event")

# The time of a match whose predicates are calls of slow operators.
WALL = Measure("wall_ms", "time with operators", "ms per event")

# The measures that statements are about.
E, W = EVALUATED.name, WALL.name

# The contestants of the paper, and the engine's order where it is told how likely predicates are.
NAIVE = Contestant("Naive", "ordering-naive")
SEQUENTIAL = Contestant("Sequential", "ordering-sequential")
SUB_ORDER = Contestant("Sub-Order", "ordering-sub-order")
TOLD = Contestant("matchwood's order, told chances", "ordering-engine")

# All contestants, ours included.
ALL = (NAIVE, SEQUENTIAL, SUB_ORDER, TOLD, *OURS)

# The two algorithms that the paper proposes, by label.
TWO = ("Sequential", "Sub-Order")

# The note of all figures.
NOTE = (
    "How the paper's events are made is not said: ours make every predicate true independently, "
    "with chances drawn evenly up to a bound that makes 0.2 % of subscriptions match. With those "
    "no order decides 80,000 subscriptions over 40,000 predicates by evaluating as few of them as "
    "the paper reports, so only the order of the algorithms and the trends compare. Under Zipf's "
    "law what Sub-Order saves depends on which predicates are false: see overlapping-events."
)


def _figure(
    number: int,
    title: str,
    axis: str,
    settings: dict[str, dict[str, Any]],
    varied: str,
    values: dict[str, tuple[Value, ...]],
    statements: tuple[Statement, ...],
    theirs: str,
    reported: dict[str, dict[Value, float]],
) -> Experiment:
    return Experiment(
        name=f"overlapping-fig{number}",
        paper=PAPER,
        shown=f"Figure {number}",
        title=title,
        measures=(EVALUATED,),
        workload="" if varied == "workload" else "overlapping",
        settings=settings,
        varied=varied,
        values=values,
        contestants=ALL,
        axis=axis,
        statements=statements,
        theirs=theirs,
        reported={E: reported} if reported else {},
        note=NOTE,
    )


# Numbers of subscriptions, by scale.
SIZES: dict[str, tuple[Value, ...]] = {
    "small": (100, 250, 500, 1_000, 2_000),
    "paper": (2_000, 10_000, 20_000, 40_000, 80_000),
}

# Popularity by Zipf's law, as most figures have it.
ZIPF = {"model": "zipf", "alpha": 1.0}

# The models of popularity that are compared, by their names in plots.
MODELS: dict[str, dict[str, Any]] = {
    "uniform": {"model": "uniform"},
    "zipf 0.8": {"model": "zipf", "alpha": 0.8},
    "zipf 1": ZIPF,
    "zipf 1.2": {"model": "zipf", "alpha": 1.2},
}

# The settings that are not varied, by scale.
FIXED = {
    "small": {"rules": 1_000, "predicates": 250},
    "paper": {"rules": 20_000, "predicates": 5_000},
}

# The experiments of the paper.
EXPERIMENTS = (
    _figure(
        4,
        "Evaluation cost by subscriptions, popularity uniform",
        "subscriptions",
        {"small": {"predicates": 1_000}, "paper": {"predicates": 40_000}},
        "rules",
        SIZES,
        (
            says(
                "both Sequential and Sub-Order algorithms perform much better than the naive "
                "algorithm in all scenarios",
                E,
                *(least(one, ("Naive",)) for one in TWO),
            ),
            says(
                "with 80K subscriptions, the Sequential and Sub-Order algorithms evaluate only "
                "7761 and 7037 predicates respectively, thus reducing the evaluation cost by "
                "almost 80% as compared to naive algorithm",
                E,
                *(Saves(one, "Naive", 0.8, at=(80_000,)) for one in TWO),
            ),
            says(
                "the evaluation cost of naive algorithm increases linearly as the number of "
                "subscriptions grows, while the evaluation cost of Sequential and Sub-Order "
                "algorithms increases much slower",
                E,
                Linear(("Naive",)),
                Slower(TWO, ("Naive",)),
            ),
            says(
                "with an average evaluation cost sublinear to the number of subscriptions",
                E,
                Slower(TWO),
            ),
            says(
                "the Sub-Order algorithms perform consistently better in practice",
                E,
                order("Sub-Order", "Sequential"),
            ),
        ),
        "2K to 80K subscriptions, 40K predicates",
        {"Sequential": {80_000: 7_761}, "Sub-Order": {80_000: 7_037}},
    ),
    _figure(
        5,
        "Evaluation cost by subscriptions, popularity Zipf's",
        "subscriptions",
        {"small": {"predicates": 1_000, **ZIPF}, "paper": {"predicates": 40_000, **ZIPF}},
        "rules",
        SIZES,
        (
            says(
                "which exhibits exactly the same trend as in Figure 4",
                E,
                order("Sub-Order", "Sequential", "Naive"),
                Slower(TWO, ("Naive",)),
            ),
        ),
        "2K to 80K subscriptions, 40K predicates",
        {},
    ),
    _figure(
        6,
        "Evaluation cost by predicates",
        "predicates",
        {"small": {"rules": 1_000, **ZIPF}, "paper": {"rules": 20_000, **ZIPF}},
        "predicates",
        {"small": (100, 250, 500, 1_000, 1_500), "paper": (2_000, 5_000, 10_000, 20_000, 30_000)},
        (
            says(
                "as more predicates appear in the system, the evaluation cost of our Sequential "
                "and Sub-Order algorithms increases much slower than the naive algorithm",
                E,
                Slower(TWO, ("Naive",)),
            ),
            says(
                "with 30K predicates in the subscriptions, on average the naive algorithm needs to "
                "evaluate 16251 predicates for each event, while the Sequential and Sub-Order "
                "algorithms evaluate only 3267 and 1977 predicates respectively",
                E,
                Saves("Sequential", "Naive", 1 - 3_267 / 16_251, at=(30_000,)),
                Saves("Sub-Order", "Naive", 1 - 1_977 / 16_251, at=(30_000,)),
            ),
        ),
        "20K subscriptions, 2K to 30K predicates",
        {
            "Naive": {30_000: 16_251},
            "Sequential": {30_000: 3_267},
            "Sub-Order": {30_000: 1_977},
        },
    ),
    _figure(
        7,
        "Evaluation cost by the longest subscription",
        "predicates of the longest subscription",
        {scale: {**sizes, **ZIPF} for scale, sizes in FIXED.items()},
        "longest",
        {"small": (5, 7, 9, 11), "paper": (5, 7, 9, 11)},
        (
            says(
                "when d increases from 5 to 11, the evaluation cost of Sequential increases only "
                "from 1593 to 1784",
                E,
                Trend(("Sequential",), "stays", most=1_784 / 1_593),
            ),
            says(
                "the performance of naive also seems insensitive to the subscription length",
                E,
                Trend(("Naive",), "stays"),
            ),
            says(
                "the performance gap between Sequential and Sub-Order shrinks as the subscriptions "
                "become longer",
                E,
                Slower(("Sequential",), ("Sub-Order",)),
            ),
        ),
        "20K subscriptions, 5K predicates",
        {"Sequential": {5: 1_593, 11: 1_784}},
    ),
    _figure(
        8,
        "Evaluation cost by the popularity of predicates",
        "popularity",
        {
            scale: {
                name: {"workload": "overlapping", **sizes, **model}
                for name, model in MODELS.items()
            }
            for scale, sizes in FIXED.items()
        },
        "workload",
        {scale: tuple(MODELS) for scale in FIXED},
        (
            says(
                "our Sequential and Sub-Order algorithms performs much better in the "
                "Zipf-distribution cases than in the uniform-distribution case",
                E,
                *(Trend(TWO, "falls", at=("uniform", zipf)) for zipf in list(MODELS)[1:]),
            ),
            says(
                "the performance of Sequential and Sub-Order continues to improve",
                E,
                Trend(TWO, "falls", at=tuple(MODELS)[1:]),
            ),
        ),
        "20K subscriptions, 5K predicates",
        {},
    ),
    Experiment(
        name="overlapping-events",
        paper=PAPER,
        shown="beside Figures 5 and 6",
        title="Evaluation cost by how events are made",
        measures=(EVALUATED,),
        workload="overlapping",
        settings={
            "small": {"rules": 1_000, "predicates": 1_500, **ZIPF},
            "paper": {"rules": 20_000, "predicates": 30_000, **ZIPF},
        },
        varied="bias",
        values=dict.fromkeys(FIXED, (-0.25, 0.0, 0.25, 0.5, 1.0)),
        contestants=ALL,
        axis="power of popularity by which predicates are false",
        reported={
            E: {
                "Naive": {0.5: 16_251},
                "Sequential": {0.5: 3_267},
                "Sub-Order": {0.5: 1_977},
            }
        },
        note="At 0 chances are drawn evenly, whatever the popularity, as in all other figures; "
        "above, popular predicates are seldom true, and below, often. The paper's figures are "
        "those of Figure 6 at 30,000 predicates, whose events it does not describe.",
    ),
    Experiment(
        name="overlapping-time",
        paper=PAPER,
        shown="not in the paper",
        title="Time per event with operators that take this long",
        measures=(WALL,),
        workload="overlapping",
        settings={
            "small": {"rules": 200, "predicates": 60, **ZIPF},
            "paper": {"rules": 2_000, "predicates": 500, **ZIPF},
        },
        varied="seconds",
        values={"small": (0.0001, 0.001, 0.01), "paper": (0.0001, 0.001, 0.01)},
        contestants=ALL,
        axis="seconds of a call",
        note="Calls are made one after the other; a call that waits costs its time and a little.",
    ),
)
