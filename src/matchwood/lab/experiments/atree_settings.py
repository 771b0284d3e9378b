"""Ji and Jacobsen, *A-Tree*, SIGMOD 2021: contestants, and the settings of §6.1 and §6.2."""

from __future__ import annotations

from matchwood.lab.experiments.experiment import OURS, Contestant, Value
from matchwood.lab.experiments.fontoura_figures import INTERVAL

# The paper, as reports name it.
PAPER = "Ji, Jacobsen 2021"

# The contestants of the paper, beside Dewey ID and Interval ID.
SCAN = Contestant("Scan", "scan")
BOP = Contestant("BoP", "bop")
BDD = Contestant("BDD", "bdd")
TRANSLATION = Contestant("Translation", "translation", {"walk": True}, as_published=True)
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
OPERANDS: Sweep = ("operands", "operands of a node", both(2, 4, 6, 8, 10, 12), True)
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
