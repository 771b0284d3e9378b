"""The papers' experiments: how a figure or table is defined, run and reported.

*Defined.* A module of `MODULES` has the experiments of one paper, as a tuple `EXPERIMENTS`. An
`Experiment` names a workload with its settings, the one setting that is varied and its values, the
contestants, the measures, what the paper reported, and the sentences of its text about it. It has
two scales: `small`, which takes minutes, and `paper`, the sizes of the paper.

*Run.* `matchwood bench run` measures each combination of a value and a contestant, a *point*, in
another process and within a budget (`running`). Points that several figures share are measured
once; results are lines of JSON, and a run that was interrupted goes on where it was.

*Reported.* `matchwood bench report` writes one HTML page (`report`): a plot and a table per
measure, and every sentence with the verdict on it (`statements`).

- `experiment`: `Experiment`, `Contestant` and `Measure`.
- `statements`: what papers say of their results, and how it is decided whether ours are so.
- `measured`: what is known of one measure, and why the rest is not.
- `atree_figures`, `atree_ads_figures`, `atree_design_figures`, `atree_conjunctions_figures`,
  `fontoura_figures`, `le_subscribe_figures`, `dexin_figures`, `overlapping_figures`: the
  experiments, by paper; `atree_settings` has what the first four share.
"""

from importlib import import_module

from matchwood.lab.experiments.experiment import Experiment

# The modules that define experiments, in the order of the report.
MODULES = (
    "atree_figures",
    "atree_ads_figures",
    "atree_design_figures",
    "atree_conjunctions_figures",
    "fontoura_figures",
    "le_subscribe_figures",
    "dexin_figures",
    "overlapping_figures",
)


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of their papers.

    >>> "atree-fig12a" in experiments()
    True
    """
    by_name: dict[str, Experiment] = {}
    for module in MODULES:
        for experiment in import_module(f"{__name__}.{module}").EXPERIMENTS:
            if experiment.name in by_name:
                raise ValueError(f"two experiments are named {experiment.name!r}")
            by_name[experiment.name] = experiment
    return by_name
