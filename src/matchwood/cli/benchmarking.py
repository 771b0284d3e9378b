"""The commands of the papers' experiments: bench list, bench run, bench report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchwood.cli.program import AsJson, app, misuse, print_json

if TYPE_CHECKING:
    from matchwood.bench.experiments.experiment import Experiment
    from matchwood.bench.laboratory.points import Point

bench = typer.Typer(
    help="Run the papers' experiments, and compare.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(bench, name="bench")

SCALES = ("small", "paper")
Scale = Annotated[
    str, typer.Option(metavar="NAME", help="small, for minutes; paper, for the papers' sizes.")
]
ResultsFile = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Results: bench-results/SCALE.jsonl."),
]


@bench.command("list")
def list_experiments(as_json: AsJson = False) -> None:
    """Name all experiments, each with the figure or table that it repeats."""
    from matchwood.bench.experiments import experiments

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
        typer.Argument(metavar="NAME", help="Experiments, or their beginnings; all if none."),
    ] = None,
    scale: Scale = "small",
    output: ResultsFile = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="What one point may take, once it is prepared.")
    ] = None,
    gib: Annotated[
        float | None, typer.Option(min=0.01, help="Memory that one point may take, in GiB.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run experiments: those of their points that have no result yet."""
    from matchwood.bench.laboratory.points import BUDGETS
    from matchwood.bench.laboratory.results import Results
    from matchwood.bench.laboratory.running import run
    from matchwood.bench.laboratory.worker import FAILED, WRONG

    chosen = choose(names or [], scale)
    usual = BUDGETS[scale]
    budget = replace(usual, seconds=seconds or usual.seconds, gib=gib or usual.gib)
    results = Results(results_file(output, scale))
    begun = perf_counter()
    with Points() as points:
        counted = run(chosen.values(), scale, results, budget, points.told)
    figures: dict[str, Any] = {
        "experiments": list(chosen),
        "points": dict(counted),
        "seconds": round(perf_counter() - begun, 1),
        "results": str(results.path),
    }
    if as_json:
        print_json(figures)
    else:
        told = ", ".join(f"{count:,} {status}" for status, count in counted.items())
        print(f"{len(chosen)} experiments in {figures['seconds']} s: {told}")
        print(f"results in {results.path}; matchwood bench report shows them")
    raise typer.Exit(1 if counted[WRONG] or counted[FAILED] else 0)


@bench.command("report")
def report_experiments(
    scale: Scale = "small",
    output: ResultsFile = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page: beside the results, .html.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a page of all results: plots, the papers' own figures, and what they answer."""
    from matchwood.bench.laboratory.answers import answers
    from matchwood.bench.laboratory.page import page as written
    from matchwood.bench.laboratory.results import Results

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
        print_json({"page": str(target), **answers(chosen, scale, results).to_json()})
    else:
        print(target)


def choose(names: list[str], scale: str) -> dict[str, Experiment]:
    """The experiments whose names are given, or begin so; all of them if none is."""
    from matchwood.bench.experiments import experiments

    if scale not in SCALES:
        misuse(f"no scale {scale!r}: expected {' or '.join(SCALES)}")
    known = experiments()
    chosen: dict[str, Experiment] = {}
    for name in names:
        found = {name: known[name]} if name in known else {}
        found = found or {n: e for n, e in known.items() if n.startswith(name)}
        if not found:
            misuse(f"no experiment {name!r}: matchwood bench list names them")
        chosen.update(found)
    return chosen or known


def results_file(output: Path | None, scale: str) -> Path:
    from matchwood.bench.laboratory.results import FOLDER

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
    """Points on standard error: for a person the one at work, for a log a line each."""

    def __init__(self) -> None:
        self._status: Any = None
        self._person = sys.stderr.isatty()

    def __enter__(self) -> Points:
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def told(self, number: int, total: int, point: Point, record: dict[str, Any] | None) -> None:
        place = f"{number:,} of {total:,}"
        if record is None:
            if self._person:
                self._show(f"{place}: {point.said()} …")
            return
        status = record["status"]
        if status != "measured":
            print(f"{place}: {point.said()}: {status}: {record['reason']}", file=sys.stderr)
        elif not self._person:
            print(f"{place}: {point.said()}: {_figures(record)}", file=sys.stderr, flush=True)

    def _show(self, sentence: str) -> None:
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(sentence)
            self._status.start()
        self._status.update(sentence)


def _figures(record: dict[str, Any]) -> str:
    """What was measured of a point: with operators that is something else."""
    if "evaluated" in record:
        return f"{record['evaluated']:,} predicates evaluated, {record['wall_ms']} ms an event"
    return f"{record['match_ms']} ms, {record['bytes']:,} bytes, {record['build_s']} s"
