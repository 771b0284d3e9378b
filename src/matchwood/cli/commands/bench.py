"""`matchwood bench`: list and run the experiments of the papers, and report the results."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchwood.cli.arguments import AsJson
from matchwood.cli.entry_point import app, misuse, print_json

if TYPE_CHECKING:
    from matchwood.lab.experiments.experiment import Experiment
    from matchwood.lab.experiments.running.points import Point

bench = typer.Typer(
    help="Run the experiments of the papers, and compare the results.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(bench, name="bench")

# How large the experiments are.
SCALES = ("small", "paper")
Scale = Annotated[
    str,
    typer.Option(metavar="NAME", help="small, for minutes; paper, for the sizes of the papers."),
]
ResultsFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="The file of results; bench-results/SCALE.jsonl by default.",
    ),
]


@bench.command("list")
def list_experiments(as_json: AsJson = False) -> None:
    """List all experiments, with the figure or table of each."""
    from matchwood.lab.experiments import experiments

    known = experiments().values()
    if as_json:
        print_json([_described(experiment) for experiment in known])
        return
    width = max(len(experiment.name) for experiment in known)
    for experiment in known:
        shown = f"{experiment.paper}, {experiment.shown}"
        print(f"{experiment.name:<{width}}  {shown}: {experiment.title}")


@bench.command("run")
def run_experiments(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Names of experiments, or prefixes; all by default."),
    ] = None,
    scale: Scale = "small",
    output: ResultsFile = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="Time limit for measuring one point, in seconds.")
    ] = None,
    gib: Annotated[
        float | None, typer.Option(min=0.01, help="Memory limit for one point, in GiB.")
    ] = None,
    events: Annotated[
        int | None, typer.Option(min=1, help="How many events each point is measured with.")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--value", help="Only this value of what is varied; may be repeated."),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many points are measured at once. They disturb each other, "
            "so 1 is the most exact.",
        ),
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Run experiments, except the points that have a result already."""
    from matchwood.lab.experiments.running.experiment_runner import run
    from matchwood.lab.experiments.running.point_worker import FAILED, WRONG
    from matchwood.lab.experiments.running.points import BUDGETS
    from matchwood.lab.experiments.running.result_file import Results

    chosen = only(choose(names or [], scale), scale, values or [])
    usual = BUDGETS[scale]
    budget = replace(
        usual,
        seconds=seconds or usual.seconds,
        gib=gib or usual.gib,
        events=events or usual.events,
    )
    results = Results(results_file(output, scale))
    begun = perf_counter()
    with Points() as points:
        counted = run(chosen.values(), scale, results, budget, points.report, jobs)
    figures: dict[str, Any] = {
        "experiments": list(chosen),
        "points": dict(counted),
        "seconds": round(perf_counter() - begun, 1),
        "results": str(results.path),
    }
    if as_json:
        print_json(figures)
    else:
        counts = ", ".join(f"{count:,} {status}" for status, count in counted.items())
        print(f"{len(chosen)} experiments in {figures['seconds']} s: {counts}")
        print(f"results in {results.path}; matchwood bench report shows them")
    raise typer.Exit(1 if counted[WRONG] or counted[FAILED] else 0)


@bench.command("report")
def report_experiments(
    scale: Scale = "small",
    output: ResultsFile = None,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The HTML page; beside the results by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML page of all results.

    It has plots, the figures of the papers beside them, and what the results answer.
    """
    from matchwood.lab.experiments.report.comparisons import answers
    from matchwood.lab.experiments.report.page import outcomes_by_paper
    from matchwood.lab.experiments.report.page import page as written
    from matchwood.lab.experiments.running.result_file import Results

    chosen = choose([], scale)
    results = Results(results_file(output, scale))
    if not results.records:
        misuse(f"{results.path}: no results; matchwood bench run --scale {scale} makes them")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        misuse("this needs matplotlib: pip install 'matchwood[bench]'")
    target = page or results.path.with_suffix(".html")
    target.write_text(written(chosen, scale, results), encoding="utf-8")
    if as_json:
        sentences = outcomes_by_paper(chosen.values(), scale, results)
        told = answers(chosen, scale, results).to_json()
        print_json({"page": str(target), "sentences": sentences, **told})
    else:
        print(target)


def choose(names: list[str], scale: str) -> dict[str, Experiment]:
    """The experiments with these names or prefixes; all experiments without names."""
    from matchwood.lab.experiments import experiments

    if scale not in SCALES:
        misuse(f"no scale {scale!r}: expected {' or '.join(SCALES)}")
    known = experiments()
    chosen: dict[str, Experiment] = {}
    for name in names:
        matching = {name: known[name]} if name in known else {}
        matching = matching or {n: e for n, e in known.items() if n.startswith(name)}
        if not matching:
            misuse(f"no experiment {name!r}: matchwood bench list names them")
        chosen.update(matching)
    return chosen or known


def only(chosen: dict[str, Experiment], scale: str, values: list[str]) -> dict[str, Experiment]:
    """The experiments that have some of these values, with no others; all as they are without."""
    if not values:
        return chosen
    known = {str(value) for experiment in chosen.values() for value in experiment.values[scale]}
    for value in values:
        if value not in known:
            misuse(
                f"no value {value!r} at scale {scale}: expected some of {', '.join(sorted(known))}"
            )
    cut = {
        name: replace(
            experiment,
            values={scale: tuple(v for v in experiment.values[scale] if str(v) in values)},
        )
        for name, experiment in chosen.items()
    }
    return {name: experiment for name, experiment in cut.items() if experiment.values[scale]}


def results_file(output: Path | None, scale: str) -> Path:
    from matchwood.lab.experiments.running.result_file import FOLDER

    return output or FOLDER / f"{scale}.jsonl"


def _described(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "paper": experiment.paper,
        "shown": experiment.shown,
        "title": experiment.title,
        "varied": experiment.varied,
        "values": {scale: list(experiment.values[scale]) for scale in SCALES},
        "measures": [measure.name for measure in experiment.measures],
        "contestants": [contestant.label for contestant in experiment.contestants],
    }


class Points:
    """Shows points on standard error: the present one on a terminal, one line each in a log."""

    def __init__(self) -> None:
        self._status: Any = None
        self._person = sys.stderr.isatty()

    def __enter__(self) -> Points:
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def report(self, number: int, total: int, point: Point, record: dict[str, Any] | None) -> None:
        """Show that a point begins, or its record once it is done."""
        position = f"{number:,} of {total:,}"
        if record is None:
            if self._person:
                self._show(f"{position}: {point.said()} …")
            return
        status = record["status"]
        if status != "measured":
            print(f"{position}: {point.said()}: {status}: {record['reason']}", file=sys.stderr)
        elif not self._person:
            print(f"{position}: {point.said()}: {_figures(record)}", file=sys.stderr, flush=True)

    def _show(self, sentence: str) -> None:
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(sentence)
            self._status.start()
        self._status.update(sentence)


def _figures(record: dict[str, Any]) -> str:
    """What was measured at a point, which is something else for workloads with operators."""
    if "evaluated" in record:
        return f"{record['evaluated']:,} predicates evaluated, {record['wall_ms']} ms per event"
    return f"{record['match_ms']} ms, {record['bytes']:,} bytes, {record['build_s']} s"
