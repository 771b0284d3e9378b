"""The report: one self-contained HTML page.

It begins with the questions and their answers. Then it has a section per experiment: plots, our
figures beside those that the paper prints, and the paper's sentences beside our verdicts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from matchwood.lab.experiments.experiment import Experiment, Measure
from matchwood.lab.experiments.measured import NOT_RUN, shown
from matchwood.lab.experiments.report.comparisons import (
    BUILD,
    BYTES,
    TIME,
    Answers,
    Compared,
    answers,
)
from matchwood.lab.experiments.report.plots import drawn, rows
from matchwood.lab.experiments.running.result_file import Results
from matchwood.lab.experiments.statements import (
    DIFFERS,
    HOLDS,
    OUTCOMES,
    TIED,
    Statement,
    Verdict,
    combined,
)

# The style sheet of the page.
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
.holds { color: #176b3a; } .differs { color: #a32020; } .tied { color: #8a5a00; }
"""

# How many of the worst cases are listed.
FURTHEST = 8

# What the page calls each result that is compared.
NAMED = {TIME: "matching time", BYTES: "memory", BUILD: "construction time"}

# The class of the style sheet for each verdict; those without one decided nothing.
CLASSES = {HOLDS: "holds", TIED: "tied", DIFFERS: "differs"}


def page(chosen: Mapping[str, Experiment], scale: str, results: Results) -> str:
    """The whole page, as text."""
    summary = answers(chosen, scale, results)
    sections = [_section(each, scale, results) for each in chosen.values()]
    by_paper = outcomes_by_paper(chosen.values(), scale, results)
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
        *_answered(summary, by_paper),
        *sections,
        "</body></html>",
        "",
    ]
    return "\n".join(parts)


def verdicts(
    experiment: Experiment, scale: str, results: Results
) -> Iterator[tuple[Measure, Statement, Verdict]]:
    """The statements about an experiment, each with our verdict."""
    for measure in experiment.measures:
        measured = results.measured(experiment, scale, measure)
        for statement in experiment.statements:
            if statement.measure == measure.name:
                yield measure, statement, statement.judged(measured)


def outcomes(chosen: Iterable[Experiment], scale: str, results: Results) -> Counter[str]:
    """How many sentences have each outcome; a sentence counts once, wherever it is judged."""
    found = defaultdict(list)
    for experiment in chosen:
        for _, statement, verdict in verdicts(experiment, scale, results):
            found[experiment.paper, statement.quote].append(verdict.outcome)
    return Counter(map(combined, found.values()))


def outcomes_by_paper(
    chosen: Iterable[Experiment], scale: str, results: Results
) -> dict[str, dict[str, int]]:
    """How many sentences of each paper have each outcome, those without any included."""
    of_paper = defaultdict(list)
    for experiment in chosen:
        of_paper[experiment.paper].append(experiment)
    by_paper = {}
    for paper, figures in of_paper.items():
        counted = outcomes(figures, scale, results)
        by_paper[paper] = {outcome: counted[outcome] for outcome in reversed(OUTCOMES)}
    return by_paper


def _answered(summary: Answers, by_paper: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    total = sum((Counter(counts) for counts in by_paper.values()), Counter[str]())
    told = ", ".join(f"{total[each]} {each}" for each in reversed(OUTCOMES))
    yield (
        f"<p>Of {total.total()} sentences of the papers about their results: {told}. A "
        "figure that is within 10 % of the one that decides, or repeated runs that overlap, are a "
        "tie. Every sentence has one outcome, the worst of its comparisons.</p>"
    )
    head = ["", "sentences", *(each.removeprefix("not tried: ") for each in reversed(OUTCOMES))]
    yield _table(
        head,
        [
            [escape(paper), str(sum(counts.values())), *map(str, counts.values())]
            for paper, counts in by_paper.items()
        ],
    )
    yield "<h2>Does A-Tree as published beat the others here, as it did there?</h2>"
    told = "; ".join(
        f"{NAMED[measure]} at {won} of {points} points"
        for measure, (won, points) in summary.best.items()
    )
    yield f"<p>Where A-Tree needs the least of all published algorithms: {told}.</p>"
    yield "<p>The others’ needs as a multiple of A-Tree’s, on ABE-Gen and advertisements.</p>"
    yield _compared(summary.atree)
    yield "<h2>What does each element of its design save?</h2>"
    yield "<p>The share of matching time, memory and construction time that each element saves.</p>"
    yield _saved(summary)
    yield "<h2>How far is the engine ahead?</h2>"
    yield "<p>The others’ needs as a multiple of the engine’s, over all workloads.</p>"
    yield _compared([each for each in summary.engine if each.one == "matchwood"])
    yield "<p>The same for batches of events, for which only time is compared.</p>"
    yield _compared([each for each in summary.engine if each.one != "matchwood"])
    yield from _behind(summary)
    if summary.out:
        told = ", ".join(f"{name} at {count}" for name, count in summary.out.items())
        yield f"<p>Left out, because they ran out of time or memory: {escape(told)} points.</p>"


def _behind(summary: Answers) -> Iterator[str]:
    """The cases in which a published algorithm needs less than the engine's single matches."""
    for measure in (TIME, BYTES):
        cases = [case for case in summary.ahead if case.measure == measure]
        places = len({case.where for case in cases})
        yield (
            f"<p>Published algorithms are ahead of single matches by more than 5 %, in "
            f"{NAMED[measure]}: {len(cases)} cases on {places} workloads.</p>"
        )
        body = [
            [escape(case.where), case.algorithm, f"{case.ratio:.2f}×"] for case in cases[:FURTHEST]
        ]
        if body:
            yield _table(["largest gaps", "", "the engine needs"], body)


def _compared(comparisons: list[Compared]) -> str:
    measures = list(dict.fromkeys(each.measure for each in comparisons))
    cells = {(each.other, each.measure): each.said() for each in comparisons}
    head = ["", *(NAMED[measure] for measure in measures)]
    body = [
        [other, *(cells.get((other, measure), "–") for measure in measures)]
        for other in dict.fromkeys(each.other for each in comparisons)
    ]
    return _table(head, body)


def _saved(summary: Answers) -> str:
    head = ["", "workload", *NAMED.values()]
    body = []
    for element, by_workload in summary.elements.items():
        for workload, figures in by_workload.items():
            cells = [
                f"{1 - 1 / figures[measure].ratio:.0%}" if measure in figures else "–"
                for measure in NAMED
            ]
            body.append([element, workload, *cells])
    return _table(head, body)


def _section(experiment: Experiment, scale: str, results: Results) -> str:
    labels = [contestant.label for contestant in experiment.contestants]
    plots = []
    for measure in experiment.measures:
        lines = results.lines(experiment, scale, measure)
        if lines:
            spreads = results.spreads(experiment, scale, measure)
            plot = drawn(experiment, measure, lines, labels, spreads)
            figures = _figures(experiment, measure, scale, lines)
            plots.append(f'<div class="plot"><div>{plot}</div><div>{figures}</div></div>')
    judged = list(verdicts(experiment, scale, results)) if plots else []
    outs = "; ".join(
        f"{label} {why.removeprefix('not tried: ')} at {shown(value)}"
        for label, reasons in results.failed(experiment, scale).items()
        for value, why in reasons.items()
    )
    return "\n".join(
        [
            f"<h2>{escape(experiment.shown)}: {escape(experiment.title)}</h2>",
            f'<p class="about">{escape(experiment.paper)}; <code>{experiment.name}</code>, '
            f"{escape(_fixed(experiment, scale))}</p>",
            f'<p class="note">{escape(experiment.note)}</p>' if experiment.note else "",
            *(plots or ["<p>not run yet</p>"]),
            f"<p>Not measured: {escape(outs)}.</p>" if outs else "",
            _statements(experiment, _ours(experiment, scale), judged),
        ]
    )


def _fixed(experiment: Experiment, scale: str) -> str:
    settings = {k: v for k, v in experiment.settings[scale].items() if k != experiment.varied}
    if experiment.varied != "workload":
        return " with ".join(filter(None, [experiment.workload, _listed(settings)]))
    described = (f"{v} with {_listed(settings[str(v)])}" for v in experiment.values[scale])
    return "; ".join(described)


def _ours(experiment: Experiment, scale: str) -> str:
    """Our size and workload, to stand beside the paper's."""
    if experiment.varied == "workload":
        return _fixed(experiment, scale)
    values = ", ".join(map(shown, experiment.values[scale]))
    return f"{_fixed(experiment, scale)}; {experiment.axis} {values}"


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
    sizes = f"ours: {_ours(experiment, scale)}; the paper’s: {experiment.theirs}"
    table = _table(head, body, sizes if reported else "")
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


def _statements(
    experiment: Experiment, ours: str, judged: list[tuple[Measure, Statement, Verdict]]
) -> str:
    """The table of what the paper says; nothing if nothing of it was run."""
    if all(verdict.outcome == NOT_RUN for _, _, verdict in judged):
        return ""
    body = "".join(
        f"<tr><td>“{escape(statement.quote)}”</td>"
        f"<td>{escape(measure.title)}<br><small>{escape(', '.join(statement.labels))}</small></td>"
        f"<td><small>paper: {escape(statement.where or experiment.theirs)}<br>"
        f"here: {escape(ours)}</small></td>"
        f'<td class="{CLASSES.get(verdict.outcome, "")}">{verdict.outcome}</td>'
        f"<td><small>{escape(verdict.ours)}</small></td></tr>"
        for measure, statement, verdict in judged
    )
    head = "<tr><th>the paper says</th><th>of</th><th>where</th><th></th><th>here</th></tr>"
    return f'<div class="wide"><table>{head}{body}</table></div>'


def _table(head: list[str], body: list[list[str]], caption: str = "") -> str:
    top = "".join(
        f'<th class="{"number" if i else ""}">{escape(c)}</th>' for i, c in enumerate(head)
    )
    lines = "".join(
        "<tr>"
        + "".join(f'<td class="{"number" if i else ""}">{c}</td>' for i, c in enumerate(row))
        + "</tr>"
        for row in body
    )
    said = f"<caption><small>{escape(caption)}</small></caption>" if caption else ""
    return f'<div class="wide"><table>{said}<tr>{top}</tr>{lines}</table></div>'
