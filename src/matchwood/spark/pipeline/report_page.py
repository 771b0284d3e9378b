"""The report of a run: one HTML file with plots, which loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from matchwood.spark.pipeline.summary import Bar, Summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from matchwood.spark.pipeline.pipeline_file import Pipeline

# Pixels of the width of a plot.
WIDTH = 600
# Pixels of the height of a bar with the gap to the next one.
ROW_HEIGHT = 22
# Pixels left of the bars, for their labels.
LABEL_WIDTH = 150
# Pixels right of the longest bar, for its number.
NUMBER_WIDTH = 80

STYLE = """
:root { color-scheme: light dark; --bar: #3b6ea5; --soft: #8885; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
p.about { margin: .2rem 0 1.5rem; opacity: .75; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: 0 0 2rem; }
.figures div { font-size: .9rem; } .figures b { display: block; font-size: 1.4rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 2rem; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: currentColor; }
rect { fill: var(--bar); } line { stroke: var(--soft); }
table { border-collapse: collapse; width: 100%; }
td { border-bottom: 1px solid var(--soft); padding: .15rem .5rem .15rem 0; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
"""


def write_report(pipeline: Pipeline, spark: SparkSession, summary: Summary) -> str:
    """Write the summary and the page of plots, and return where the page is."""
    folder = pipeline.job.report or _beside(pipeline)
    texts = {"summary.json": summary.to_json(), "page.html": page(summary)}
    if _is_local(folder):
        local = Path(re.sub("^file:(//)?", "", folder))
        local.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (local / name).write_text(text, encoding="utf-8")
        return str(local / "page.html")
    # Where only Spark can write, each text becomes a folder with one part.
    for name, text in texts.items():
        frame = spark.createDataFrame([(text,)], "value string").coalesce(1)
        frame.write.mode("overwrite").text(f"{folder.rstrip('/')}/{name}")
    return f"{folder.rstrip('/')}/page.html"


def _beside(pipeline: Pipeline) -> str:
    path = pipeline.matches.path
    return f"{path.rstrip('/')}-report" if path else f"{pipeline.job.name}-report"


def _is_local(folder: str) -> bool:
    return re.match(r"(?!file:)[A-Za-z][\w+.-]+:", folder) is None


def page(summary: Summary) -> str:
    """The whole page as HTML."""
    counts = summary.counts
    rejected = counts.events_rejected
    figures: list[tuple[str, float, str]] = [
        ("rules", summary.rules, f"{summary.rules_rejected:,} rejected"),
        ("events", counts.events, "" if rejected is None else f"{rejected:,} rejected"),
    ]
    if counts.matches is not None:
        per_event = f"{counts.matches / max(1, counts.events):,.1f} per event"
        figures.append(("matches", counts.matches, per_event))
    rate = f"{summary.events_per_second:,.0f} events per second"
    figures.append(("seconds", round(summary.seconds, 1), rate))
    plots = []
    if counts.matches_per_event is not None:
        plots.append(_section("Matches per event", _counted(counts.matches_per_event, "events")))
    if counts.matches_per_rule is not None:
        plots.append(_section("Matches per rule", _counted(counts.matches_per_rule, "rules")))
    plots.append(_section("Time per stage", _plot(_seconds(summary), "seconds")))
    if counts.top_rules is not None:
        plots.append(_section("Rules with most matches", _table(counts.top_rules)))
    if counts.reject_reasons:
        plots.append(_section("Rejected events", _table(counts.reject_reasons)))
    if summary.places:
        plots.append(_section("Inputs and outputs", _places(summary.places)))
    about = f"{summary.mode} of {summary.started}, rules {summary.rules_version[:12]}"
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in summary.warnings)
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(summary.name)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{escape(summary.name)}</h1>",
            f'<p class="about">{escape(about)}</p>',
            '<div class="figures">',
            *(f"<div>{name}<b>{number:,}</b>{more}</div>" for name, number, more in figures),
            "</div>",
            f"<h2>Warnings</h2><ul>{warnings}</ul>" if warnings else "",
            '<div class="plots">',
            *plots,
            "</div></body></html>",
            "",
        ]
    )


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{inside}</section>"


def _counted(bars: Sequence[Bar], what: str) -> str:
    return _plot([(bar.label, float(bar.count), f"{bar.count:,}") for bar in bars], what)


def _seconds(summary: Summary) -> list[tuple[str, float, str]]:
    return [(stage, spent, f"{spent:,.2f} s") for stage, spent in summary.stages.items()]


def _plot(rows: Sequence[tuple[str, float, str]], what: str) -> str:
    """Horizontal bars, each with its label on the left and its number on the right."""
    if not rows:
        return "<p>none</p>"
    most = max((size for _, size, _ in rows), default=0.0) or 1.0
    height = ROW_HEIGHT * len(rows)
    drawn = []
    for index, (label, size, number) in enumerate(rows):
        top, width = (
            index * ROW_HEIGHT,
            round((WIDTH - LABEL_WIDTH - NUMBER_WIDTH) * size / most, 1),
        )
        middle = top + ROW_HEIGHT * 0.68
        drawn.append(
            f'<text x="{LABEL_WIDTH - 8}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{LABEL_WIDTH}" y="{top + 3}" width="{width}" '
            f'height="{ROW_HEIGHT - 6}" rx="2">'
            f"<title>{escape(label)}: {escape(number)}</title></rect>"
            f'<text x="{LABEL_WIDTH + width + 6:.0f}" y="{middle:.0f}">{escape(number)}</text>'
        )
    axis = f'<line x1="{LABEL_WIDTH}" y1="0" x2="{LABEL_WIDTH}" y2="{height}"/>'
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(what)}">'
        f"{axis}{''.join(drawn)}</svg>"
    )


def _places(places: Mapping[str, str]) -> str:
    rows = (
        f"<tr><td>{escape(name)}</td><td>{escape(place)}</td></tr>"
        for name, place in places.items()
    )
    return f"<table>{''.join(rows)}</table>"


def _table(rules: Sequence[tuple[object, int]]) -> str:
    if not rules:
        return "<p>none</p>"
    rows = (
        f'<tr><td>{escape(str(rule))}</td><td class="number">{matches:,}</td></tr>'
        for rule, matches in rules
    )
    return f"<table>{''.join(rows)}</table>"
