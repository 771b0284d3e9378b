"""Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §6.5: Table 4, all algorithms on advertisements."""

from __future__ import annotations

from matchwood.lab.experiments.atree_settings import (
    ADS,
    ATREE,
    BDD,
    BOP,
    PAPER,
    SCAN,
    TRANSLATION,
    both,
)
from matchwood.lab.experiments.experiment import (
    BUILDING,
    CANDIDATES,
    MATCHING,
    MEMORY,
    OURS,
    OWN_BUILDING,
    TRANSLATED,
    TRANSLATING,
    Contestant,
    Experiment,
)
from matchwood.lab.experiments.fontoura_figures import DEWEY, INTERVAL
from matchwood.lab.experiments.statements import Saves, Similar, least, order, says

# The measures that statements are about: memory, matching time and construction time.
M, T, C = MEMORY.name, MATCHING.name, BUILDING.name

# Translation over our own index, which counts the entries of lists.
COUNTED = Contestant("Translation, our index", "translation")

# The labels of all that have an index.
BUILT = ("A-Tree", "BDD", "Translation", "BoP", "Interval ID", "Dewey ID")

# The sentences of Table 4 that speak of several measures.
BEST_ON_ADS = "A-Tree also achieves the best index construction performance and memory footprint."
BETTER_BOP = (
    "the index construction performance and memory usage of BoP is better than those of Dewey ID "
    "and Interval ID"
)
AGAINST_BDD = (
    "Compared with BDD, A-Tree reduces the matching time, index construction time and memory usage "
    "by 86%, 89%, and 75%, respectively."
)

# What §6.5 says of Table 4.
ON_ADVERTISEMENTS = (
    says(
        "A-Tree achieves the shortest matching time, followed by BDD and Translation.",
        T,
        order("A-Tree", "BDD", "Translation"),
        least("Translation", ("BoP", "Interval ID", "Dewey ID", "Scan")),
    ),
    says(BEST_ON_ADS, C, least("A-Tree", BUILT)),
    says(BEST_ON_ADS, M, least("A-Tree", BUILT)),
    says(
        "The matching time of BoP is similar to that of Dewey ID and Interval ID.",
        T,
        Similar(("BoP", "Dewey ID", "Interval ID")),
    ),
    says(BETTER_BOP, C, least("BoP", ("Dewey ID", "Interval ID"))),
    says(BETTER_BOP, M, least("BoP", ("Dewey ID", "Interval ID"))),
    says(
        "Interval ID performs slightly better than Dewey ID.",
        T,
        order("Interval ID", "Dewey ID"),
    ),
    says(AGAINST_BDD, T, Saves("A-Tree", "BDD", 0.86)),
    says(AGAINST_BDD, C, Saves("A-Tree", "BDD", 0.89)),
    says(AGAINST_BDD, M, Saves("A-Tree", "BDD", 0.75)),
)

# Table 4.
EXPERIMENTS = (
    Experiment(
        name="atree-table4",
        paper=PAPER,
        shown="Table 4",
        title="All algorithms on advertisements",
        measures=(
            MATCHING,
            BUILDING,
            OWN_BUILDING,
            TRANSLATING,
            MEMORY,
            TRANSLATED,
            CANDIDATES,
        ),
        workload="",
        settings=ADS,
        varied="workload",
        values=both("ads"),
        contestants=(ATREE, BDD, TRANSLATION, BOP, INTERVAL, DEWEY, SCAN, COUNTED, *OURS),
        statements=ON_ADVERTISEMENTS,
        theirs="1,392,196 advertisements",
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
            TRANSLATING.name: {"Translation": {"ads": 14.6}},
            TRANSLATED.name: {"Translation": {"ads": 4592}},
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
        "The engine does not count what it tries. Translation's figures are of both its parts.",
    ),
)
