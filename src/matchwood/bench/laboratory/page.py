"""The report: one HTML page that needs nothing from elsewhere.

At its top the questions and their answers, then every experiment: plots, our figures beside the
paper's where its text has them, and what the paper says beside what we found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from matchwood.bench.experiments.claims import AGREES, DIFFERS, OPEN, PARTLY, shown
from matchwood.bench.experiments.experiment import Experiment, Measure
from matchwood.bench.laboratory.answers import BUILD, BYTES, TIME, Answers, Compared, answers
from matchwood.bench.laboratory.plots import drawn, rows
from matchwood.bench.laboratory.results import Results

STYLE = """
:root { color-scheme: light; --soft: #8885; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { margin: 2.5rem 0 .3rem; } h3 { margin: 1.5rem 0 .3rem; }
p.about, p.note { margin: .2rem 0 1rem; opacity: .75; }
.plot { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: center; }
.plot > div { flex: 0 1 auto; min-width: 0; } svg { width: 34rem; max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-size: .9rem; }
td, th { border-bottom: 1px solid var(--soft); padding: .15rem .8rem .15rem 0; text-align: left; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td small { opacity: .65; }
.agrees { color: #176b3a; } .differs { color: #a32020; } .part { color: #8a5a00; }
"""
FURTHEST = 8
NAMED = {TIME: "matching time", BYTES: "memory", BUILD: "construction time"}
CLASSES = {AGREES: "agrees", PARTLY: "part", DIFFERS: "differs", OPEN: ""}


def page(chosen: Mapping[str, Experiment], scale: str, results: Results) -> str:
    """The whole page, as text."""
    found = answers(chosen, scale, results)
    counted: Counter[str] = Counter()
    sections = [_section(each, scale, results, counted) for each in chosen.values()]
    machines = [record["machine"] for record in results.records.values()]
    about = ", ".join(f"{name} {value}" for name, value in machines[-1].items())
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>The papers’ experiments</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body>",
        "<h1>The papers’ experiments, run again</h1>",
        f'<p class="about">scale {escape(scale)}; {escape(about)}; {len(results.records):,} points'
        "</p>",
        *_answered(found, counted),
        *sections,
        "</body></html>",
        "",
    ]
    return "\n".join(parts)


def verdicts(
    experiment: Experiment, scale: str, results: Results
) -> Iterator[tuple[str, str, str, str]]:
    """What the paper says of an experiment: measure, claim, outcome, what we found."""
    over = results.over(experiment, scale)
    for measure in experiment.measures:
        lines = results.lines(experiment, scale, measure)
        for claim in experiment.claims:
            if claim.measure == measure.name:
                verdict = claim.held(lines, over)
                yield measure.title, claim.said, verdict.outcome, verdict.ours


def _answered(found: Answers, counted: Mapping[str, int]) -> Iterator[str]:
    told = ", ".join(f"{counted.get(each, 0)} {each}" for each in (AGREES, PARTLY, DIFFERS, OPEN))
    yield f"<p>Of what the papers say of their results: {told}.</p>"
    yield "<h2>Does A-Tree as published beat the others here, as it did there?</h2>"
    told = "; ".join(
        f"{NAMED[measure]} at {won} of {points} points"
        for measure, (won, points) in found.best.items()
    )
    yield f"<p>It needs least of the published algorithms: {told}.</p>"
    yield "<p>How many times as much as A-Tree the others need, on ABE-Gen and advertisements.</p>"
    yield _compared(found.atree)
    yield "<h2>What does each element of its design save?</h2>"
    yield "<p>The part of matching time, memory and construction time that it saves.</p>"
    yield _saved(found)
    yield "<h2>How far is the engine ahead?</h2>"
    yield "<p>How many times as much as the engine the others need, over all workloads.</p>"
    yield _compared([each for each in found.engine if each.one == "matchwood"])
    yield "<p>The same for a batch of events, where there is only time to compare.</p>"
    yield _compared([each for each in found.engine if each.one != "matchwood"])
    yield from _behind(found)
    if found.out:
        told = ", ".join(f"{name} at {count}" for name, count in found.out.items())
        yield f"<p>Over their budget of memory or time, and left out there: {escape(told)}.</p>"


def _behind(found: Answers) -> Iterator[str]:
    """The worst cases of the engine, one event at a time."""
    for measure in (TIME, BYTES):
        cases = [case for case in found.ahead if case.measure == measure]
        places = len({case.where for case in cases})
        yield (
            f"<p>Published algorithms are ahead of single matches by more than a tenth, in "
            f"{NAMED[measure]}: {len(cases)} cases on {places} workloads.</p>"
        )
        body = [
            [escape(case.where), case.algorithm, f"{case.ratio:.2f}×"] for case in cases[:FURTHEST]
        ]
        if body:
            yield _table(["the furthest", "", "the engine needs"], body)


def _compared(found: list[Compared]) -> str:
    measures = list(dict.fromkeys(each.measure for each in found))
    cells = {(each.other, each.measure): each.said() for each in found}
    head = ["", *(NAMED[measure] for measure in measures)]
    body = [
        [other, *(cells.get((other, measure), "–") for measure in measures)]
        for other in dict.fromkeys(each.other for each in found)
    ]
    return _table(head, body)


def _saved(found: Answers) -> str:
    head = ["", "workload", *NAMED.values()]
    body = []
    for element, by_workload in found.elements.items():
        for workload, figures in by_workload.items():
            cells = [
                f"{1 - 1 / figures[measure].ratio:.0%}" if measure in figures else "–"
                for measure in NAMED
            ]
            body.append([element, workload, *cells])
    return _table(head, body)


def _section(experiment: Experiment, scale: str, results: Results, counted: Counter[str]) -> str:
    labels = [contestant.label for contestant in experiment.contestants]
    over = results.over(experiment, scale)
    plots = []
    for measure in experiment.measures:
        lines = results.lines(experiment, scale, measure)
        if lines:
            plot = drawn(experiment, measure, lines, labels)
            figures = _figures(experiment, measure, scale, lines)
            plots.append(f'<div class="plot"><div>{plot}</div><div>{figures}</div></div>')
    said = list(verdicts(experiment, scale, results))
    counted.update(outcome for _, _, outcome, _ in said)
    claims = _claims(said)
    outs = "; ".join(f"{label} at {', '.join(map(str, at))}" for label, at in over.items())
    return "\n".join(
        [
            f"<h2>{escape(experiment.shown)}: {escape(experiment.title)}</h2>",
            f'<p class="about">{escape(experiment.paper)}; <code>{experiment.name}</code>, '
            f"{escape(_fixed(experiment, scale))}</p>",
            f'<p class="note">{escape(experiment.note)}</p>' if experiment.note else "",
            *(plots or ["<p>not run yet</p>"]),
            f"<p>Over budget: {escape(outs)}.</p>" if outs else "",
            claims,
        ]
    )


def _fixed(experiment: Experiment, scale: str) -> str:
    settings = {k: v for k, v in experiment.settings[scale].items() if k != experiment.varied}
    if experiment.varied != "workload":
        return " with ".join(filter(None, [experiment.workload, _listed(settings)]))
    given = (f"{v} with {_listed(settings[str(v)])}" for v in experiment.values[scale])
    return "; ".join(given)


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
        for name, value in settings.items()
    )


def _figures(experiment: Experiment, measure: Measure, scale: str, lines: Any) -> str:
    values = experiment.values[scale]
    reported = experiment.reported.get(measure.name, {})
    theirs = list(dict.fromkeys(value for line in reported.values() for value in line))
    apart = bool(reported) and not set(theirs) & set(values)
    head = [f"{measure.title}, {measure.unit}", *map(shown, values)]
    body = []
    for label, cells in rows(lines, {} if apart else reported, values):
        body.append([label, *(_cell(*cell) for cell in cells)])
    table = _table(head, body)
    if apart:
        head = ["the paper", *map(shown, theirs)]
        body = [
            [label, *(_cell(None, line.get(v)) for v in theirs)] for label, line in reported.items()
        ]
        table += _table(head, body)
    return table


def _cell(ours: float | None, theirs: float | None) -> str:
    own = "–" if ours is None else f"{ours:.3g}" if ours < 1000 else f"{ours:,.0f}"
    return own if theirs is None else f"{own} <small>paper {theirs:g}</small>"


def _claims(said: list[tuple[str, str, str, str]]) -> str:
    if not said:
        return ""
    body = "".join(
        f"<tr><td>{escape(measure)}</td><td>{escape(claim)}</td>"
        f'<td class="{CLASSES[outcome]}">{outcome}</td><td>{escape(ours)}</td></tr>'
        for measure, claim, outcome, ours in said
    )
    head = "<tr><th></th><th>the paper says</th><th></th><th>here</th></tr>"
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _table(head: list[str], body: list[list[str]]) -> str:
    top = "".join(
        f'<th class="{"number" if i else ""}">{escape(c)}</th>' for i, c in enumerate(head)
    )
    lines = "".join(
        "<tr>"
        + "".join(f'<td class="{"number" if i else ""}">{c}</td>' for i, c in enumerate(row))
        + "</tr>"
        for row in body
    )
    return f'<div class="wide"><table><tr>{top}</tr>{lines}</table></div>'
