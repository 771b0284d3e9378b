"""The papers' experiments, each by its figure or table. A new paper is a module in `MODULES`."""

from importlib import import_module

from matchwood.bench.experiments.experiment import Experiment

MODULES = ("atree", "atree_design", "fontoura", "le_subscribe", "dexin", "overlapping")


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of their papers.

    >>> "atree-fig12a" in experiments()
    True
    """
    found: dict[str, Experiment] = {}
    for module in MODULES:
        for experiment in import_module(f"{__name__}.{module}").EXPERIMENTS:
            if experiment.name in found:
                raise ValueError(f"two experiments are named {experiment.name!r}")
            found[experiment.name] = experiment
    return found
