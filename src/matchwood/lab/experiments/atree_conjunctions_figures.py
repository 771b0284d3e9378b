"""Ji and Jacobsen, *A-Tree*, SIGMOD 2021, abstract: A-Tree beside algorithms for conjunctions."""

from __future__ import annotations

from typing import Any

from matchwood.lab.experiments import dexin_figures, le_subscribe_figures
from matchwood.lab.experiments.atree_settings import ATREE, PAPER, both
from matchwood.lab.experiments.dexin_figures import BE_TREE, OPINDEX, REIN, TAMA
from matchwood.lab.experiments.experiment import MATCHING, MEMORY, OURS, Contestant, Experiment
from matchwood.lab.experiments.statements import least, says

# The k-index: of rules that are conjunctions, their normal form is the rule itself.
K_INDEX = Contestant("k-index", "dnf", {"walk": True})

# Those of §2 that are here.
CONJUNCTIVE = (BE_TREE, OPINDEX, TAMA, K_INDEX, REIN)

# Conjunctions of the papers about them: of ranges, and of equalities and bounds.
CONJUNCTIONS: dict[str, dict[str, dict[str, Any]]] = {
    scale: {
        "dexin": {"rules": dexin_figures.RULES[scale]},
        "le-subscribe": {"equality": 0.5, **le_subscribe_figures.BY_EQUALITY[scale]},
    }
    for scale in dexin_figures.RULES
}

# The experiment that the paper speaks of and does not show.
EXPERIMENTS = (
    Experiment(
        name="atree-conjunctions",
        paper=PAPER,
        shown="abstract",
        title="A-Tree beside algorithms for conjunctions",
        measures=(MATCHING, MEMORY),
        workload="",
        settings=CONJUNCTIONS,
        varied="workload",
        values=both("dexin", "le-subscribe"),
        contestants=(ATREE, *CONJUNCTIVE, *OURS),
        statements=(
            says(
                "Even on conjunctive expression workloads, A-Tree achieves a lower matching time "
                "than state-of-the-art conjunctive expression matching algorithms.",
                MATCHING.name,
                least("A-Tree", (each.label for each in CONJUNCTIVE)),
            ),
        ),
        theirs="not said; the paper shows no such experiment",
        note="Those that the paper names in §2 and that are here; the workloads are those of the "
        "papers about conjunctions.",
    ),
)
