"""Plots of experiments, as SVG to embed in a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from matchwood.lab.experiments.experiment import Experiment, Measure
from matchwood.lab.experiments.measured import Lines, Spreads, shown

# The same contestant has the same colour and mark in all plots of a paper.
COLOURS = ("#0b6e4f", "#1b998b", "#d1495b", "#edae49", "#30638e", "#8d5a97", "#6c757d", "#a44a3f")

# The marks of contestants, in the order of their colours.
MARKS = "osD^vP*X"

# The colours of contestants that are not from a paper.
OURS_COLOUR = {"matchwood": "#111111", "matchwood, batch": "#888888"}

# Width and height of a plot, in inches.
SIZE = (6.4, 3.9)


def drawn(
    experiment: Experiment,
    measure: Measure,
    lines: Lines,
    labels: Sequence[str],
    spreads: Spreads,
) -> str:
    """One plot: lines where a number is varied, bars where workloads are.

    An error bar goes from the least to the most of repeated runs.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    plain = FuncFormatter(lambda value, _: _spelled(value))
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": experiment.name, "font.size": 9}
    with matplotlib.rc_context(settings):
        figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained")
        if experiment.varied == "workload":
            _bars(axes, lines, labels, spreads)
        else:
            _lines(axes, experiment, lines, labels, spreads)
        axes.set_ylabel(f"{measure.title}, {measure.unit}")
        if any(value > 0 for line in lines.values() for value in line.values()):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(plain)
            axes.yaxis.set_minor_formatter(plain)
            axes.tick_params(axis="y", which="minor", labelsize=6)
        axes.grid(True, which="major", alpha=0.3)
        written = StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    svg = written.getvalue()
    return svg[svg.index("<svg") :]


def _spelled(value: float) -> str:
    """The label of a tick; only 1, 2 and 5 of each decade get one."""
    return f"{value:g}" if f"{value:e}"[0] in "125" else ""


def _errors(line: Mapping[Any, float], spread: Mapping[Any, tuple[float, float]]) -> Any:
    """How far repeated runs are below and above each figure, or None without repeated runs."""
    if not spread:
        return None
    ranges = [(figure, *spread.get(value, (figure, figure))) for value, figure in line.items()]
    return [[f - low for f, low, _ in ranges], [high - f for f, _, high in ranges]]


def _lines(
    axes: Any, experiment: Experiment, lines: Lines, labels: Sequence[str], spreads: Spreads
) -> None:
    values = list(dict.fromkeys(value for line in lines.values() for value in line))
    for label in labels:
        line = lines.get(label)
        if line:
            colour, mark = _look(label, labels)
            is_ours = label in OURS_COLOUR
            axes.errorbar(
                list(line),
                list(line.values()),
                yerr=_errors(line, spreads.get(label, {})),
                capsize=2,
                color=colour,
                marker=mark,
                markersize=4,
                linewidth=2 if is_ours else 1.2,
                linestyle="--" if label == "matchwood, batch" else "-",
                label=label,
            )
    numbers = [value for value in values if isinstance(value, int | float)]
    if numbers and min(numbers) > 0 and max(numbers) / min(numbers) > 20:
        axes.set_xscale("log")
    axes.set_xticks(values, [shown(value) for value in values])
    axes.minorticks_off()
    axes.set_xlabel(experiment.axis)
    if lines:
        axes.legend(fontsize=7, ncols=2)


def _bars(axes: Any, lines: Lines, labels: Sequence[str], spreads: Spreads) -> None:
    present = [label for label in labels if lines.get(label)]
    values = list(dict.fromkeys(value for line in lines.values() for value in line))
    width = 0.8 / max(1, len(present))
    for position, label in enumerate(present):
        at = [values.index(v) + (position - (len(present) - 1) / 2) * width for v in lines[label]]
        axes.bar(
            at,
            list(lines[label].values()),
            width,
            color=_look(label, labels)[0],
            label=label,
            yerr=_errors(lines[label], spreads.get(label, {})),
            capsize=2,
        )
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    if present:
        axes.legend(fontsize=7, ncols=2)


def _look(label: str, labels: Sequence[str]) -> tuple[str, str]:
    if label in OURS_COLOUR:
        return OURS_COLOUR[label], "."
    index = [each for each in labels if each not in OURS_COLOUR].index(label) % len(COLOURS)
    return COLOURS[index], MARKS[index]


def rows(lines: Lines, reported: Mapping[str, Mapping[Any, float]], values: Sequence[Any]) -> Any:
    """The rows of a table: a contestant, and pairs of our figure and the paper's if it has one."""
    labels = dict.fromkeys([*lines, *reported])
    for label in labels:
        cells = []
        for value in values:
            ours = lines.get(label, {}).get(value)
            theirs = reported.get(label, {}).get(value)
            cells.append((ours, theirs))
        yield label, cells
