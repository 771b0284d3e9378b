"""Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §6.3: what each element of the design is worth."""

from __future__ import annotations

from matchwood.lab.experiments.atree_figures import ADS, ALPHA, ATREE, FIXED, PAPER, SCAN, both
from matchwood.lab.experiments.claims import Ranking, Saving, Trend
from matchwood.lab.experiments.experiment import (
    BUILDING,
    MATCHING,
    MEMORY,
    OURS,
    VISITED,
    Contestant,
    Experiment,
    Settings,
)

# A-Tree with one or more of its ideas switched off or exchanged; a label names what is left or
# changed.
UNSHARED = Contestant("without sharing", "a-tree", {"sharing": False})
BINARY = Contestant("binary tree", "a-tree", {"binary": True})
UNIQUE = Contestant("unique IDs only", "a-tree", {"reorganize": False, "self_adjust": False})
REORGANISED = Contestant("and reorganisation", "a-tree", {"self_adjust": False})
PLAIN = Contestant("neither optimisation", "a-tree", {"zero_suppression": False})
SUPPRESSED = Contestant("zero suppression only", "a-tree", {"on_demand": False})
ESTIMATED = Contestant("access by estimate", "a-tree", {"access": "estimated"})

# The measures that claims are about: matching time, memory and construction time.
T, M, C = MATCHING.name, MEMORY.name, BUILDING.name

# Propagation on demand saved most on conjunctions, §5.2.2.
CONJUNCTIVE: Settings = {"workload": "abe-gen", "operators": (1.0, 0.0, 0.0, 0.0, 0.0), "depth": 2}

# The settings of each workload, by scale.
BOTH = {
    scale: {
        "abe-gen": FIXED[scale],
        "conjunctions": {**CONJUNCTIVE, **FIXED[scale]},
        "ads": ADS[scale]["ads"],
    }
    for scale in ("small", "paper")
}

# The experiments about the design of A-Tree.
EXPERIMENTS = (
    Experiment(
        name="atree-fig8a",
        paper=PAPER,
        shown="Figure 8(a)",
        title="Sharing and the n-ary tree: matching time by sharing",
        measures=(MATCHING,),
        workload="abe-gen",
        settings=FIXED,
        varied=ALPHA[0],
        values=ALPHA[2],
        contestants=(ATREE, BINARY, UNSHARED, SCAN, *OURS),
        axis=ALPHA[1],
        claims=(
            Ranking(T, ("A-Tree", "binary tree")),
            Ranking(T, ("A-Tree", "without sharing", "Scan")),
            Trend(T, ("A-Tree",), "falls"),
        ),
    ),
    Experiment(
        name="atree-fig8b",
        paper=PAPER,
        shown="Figure 8(b)",
        title="Sharing and the n-ary tree: advertisements",
        measures=(MATCHING, MEMORY),
        workload="",
        settings=ADS,
        varied="workload",
        values=both("ads"),
        contestants=(ATREE, BINARY, UNSHARED, SCAN, *OURS),
        claims=(
            Ranking(T, ("A-Tree", "binary tree", "Scan")),
            Ranking(T, ("A-Tree", "without sharing", "Scan")),
        ),
    ),
    Experiment(
        name="atree-fig9",
        paper=PAPER,
        shown="Figure 9",
        title="Unique IDs, reorganisation and self-adjustment: advertisements",
        measures=(MEMORY, MATCHING, BUILDING),
        workload="",
        settings=ADS,
        varied="workload",
        values=both("ads"),
        contestants=(UNSHARED, UNIQUE, REORGANISED, ATREE, *OURS),
        claims=(
            Ranking(M, ("A-Tree", "and reorganisation", "unique IDs only", "without sharing")),
            Ranking(T, ("A-Tree", "and reorganisation", "unique IDs only", "without sharing")),
            Ranking(C, ("without sharing", "unique IDs only", "and reorganisation", "A-Tree")),
        ),
    ),
    Experiment(
        name="atree-fig9-orders",
        paper=PAPER,
        shown="§6.3, beside Figure 9",
        title="Memory by order of arrival: advertisements",
        measures=(MEMORY,),
        workload="ads",
        settings={scale: ADS[scale]["ads"] for scale in ADS},
        varied="order",
        values=both(0, 1, 2, 3),
        contestants=(UNIQUE, REORGANISED, ATREE, *OURS),
        axis="order of arrival, shuffled by this seed",
        claims=(Trend(M, ("A-Tree",), "stays"),),
    ),
    Experiment(
        name="atree-fig10",
        paper=PAPER,
        shown="Figure 10",
        title="Zero suppression and propagation on demand",
        measures=(MATCHING, VISITED),
        workload="",
        settings=BOTH,
        varied="workload",
        values=both("abe-gen", "conjunctions", "ads"),
        contestants=(PLAIN, SUPPRESSED, ATREE, ESTIMATED, *OURS),
        claims=(
            Saving(T, "zero suppression only", "neither optimisation", 0.85, at="best"),
            Saving(T, "A-Tree", "zero suppression only", 0.92, at="best"),
            Ranking(T, ("A-Tree", "zero suppression only", "neither optimisation")),
        ),
        note="“Access by estimate” is not the paper's: the operand least likely to be true wakes "
        "an `and`, in place of a random one. The engine does not count the nodes it visits.",
    ),
)
