"""Matches events with matchwood, or with a peer that is a Python package, as `drivers` do.

    python -m matchwood.lab.bench.peers.python_driver PEER JOB EVENTS ANSWERS SECONDS

JOB is {"attributes": {name: kind}, "rules": [[id, rule], …]}, EVENTS has an object per line. The
ids that match each event go to ANSWERS, and the figures to the standard output. What is passed to
the peer, objects or a table, is made before anything is timed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.lab.bench.peers.syntaxes.filters import polars_expression
from matchwood.lab.bench.peers.two_valued import Kind
from matchwood.language import parse
from matchwood.matcher import Matcher

# The column types of the kinds of attributes.
TYPES: dict[Kind, pa.DataType] = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "fraction": pa.float64(),
    "string": pa.string(),
    "strings": pa.list_(pa.string()),
}

# Rules that are matched before anything is timed.
WARM = 1_000

# The column that numbers the events in the table of DuckDB.
EVENT = "event number"

Rules = Sequence[tuple[int, Any]]


class PeerJob(NamedTuple):
    """Rules in the syntax of the peer, and events as lines of JSON."""

    attributes: Mapping[str, Kind]
    rules: Rules
    lines: list[bytes]

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def table(self) -> pa.Table:
        """A column per attribute."""
        events = self.events()
        return pa.table(
            {
                name: pa.array([event.get(name) for event in events], TYPES[kind])
                for name, kind in self.attributes.items()
            }
        )


class BuiltPeer(NamedTuple):
    """What matches: events one at a time, or all at once."""

    run: Callable[[Any], Any]
    units: Sequence[Any]  # what `run` takes
    ids: Callable[[Any], Iterable[Sequence[int]]]  # per event, the ids in what `run` returned


def matchwood(job: PeerJob) -> Callable[[], BuiltPeer]:
    events = job.events()
    warm(lambda matcher: [matcher.match(event) for event in events[:100]], job.rules)
    return lambda: BuiltPeer(Matcher(job.rules).match, events, _one)


def matchwood_batch(job: PeerJob) -> Callable[[], BuiltPeer]:
    table = job.table()
    warm(lambda matcher: matcher.match_batch(table, threads=1), job.rules)

    def build() -> BuiltPeer:
        matcher = Matcher(job.rules)

        def run(whole: pa.Table) -> pa.Table:
            return matcher.match_batch(whole, threads=1)

        return BuiltPeer(run, [table], lambda pairs: _by_event(pairs, len(job.lines)))

    return build


def matchwood_json(job: PeerJob) -> Callable[[], BuiltPeer]:
    warm(lambda matcher: [matcher.match_json(line) for line in job.lines[:100]], job.rules)
    return lambda: BuiltPeer(Matcher(job.rules).match_json, job.lines, _one)


def matchwood_json_batch(job: PeerJob) -> Callable[[], BuiltPeer]:
    text = b"\n".join(job.lines)
    warm(lambda matcher: matcher.match_json_batch(text), job.rules)
    return lambda: BuiltPeer(
        Matcher(job.rules).match_json_batch, [text], lambda pairs: _by_event(pairs, len(job.lines))
    )


def warm(match: Callable[[Matcher], object], rules: Rules) -> None:
    """Load the kernels, or compile them, before anything is timed."""
    from matchwood.warm import warm_up

    warm_up()
    match(Matcher(rules[:WARM]))


def rule_engine(job: PeerJob) -> Callable[[], BuiltPeer]:
    import rule_engine as package

    events = job.events()

    def build() -> BuiltPeer:
        context = package.Context(default_value=None)
        rules = [(rule_id, package.Rule(text, context=context)) for rule_id, text in job.rules]

        def match(event: dict[str, Any]) -> list[int]:
            return [rule_id for rule_id, rule in rules if rule.matches(event)]

        return BuiltPeer(match, events, _one)

    return build


def duckdb(job: PeerJob) -> Callable[[], BuiltPeer]:
    import duckdb as package

    connection = package.connect(config={"threads": 1})
    table = job.table()
    table = table.append_column(EVENT, pa.array(range(len(job.lines)), pa.int64()))
    connection.register("given", table)
    connection.execute("CREATE TABLE events AS SELECT * FROM given")

    def build() -> BuiltPeer:
        for rule_id, condition in job.rules:
            connection.execute(
                f'PREPARE rule{rule_id} AS SELECT "{EVENT}" FROM events WHERE {condition}'
            )

        def run(_: None) -> list[tuple[int, list[int]]]:
            return [
                (i, connection.execute(f"EXECUTE rule{i}").fetchnumpy()[EVENT].tolist())
                for i, _ in job.rules
            ]

        return BuiltPeer(run, [None], lambda found: _by_rule(found, len(job.lines)))

    return build


def polars(job: PeerJob) -> Callable[[], BuiltPeer]:
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when the package is imported
    import polars as package

    frame: Any = package.from_arrow(job.table())
    trees = [(rule_id, parse(text)) for rule_id, text in job.rules]

    def build() -> BuiltPeer:
        filters = [
            (rule_id, package.arg_where(polars_expression(tree, job.attributes)))
            for rule_id, tree in trees
        ]

        def run(_: None) -> list[tuple[int, list[int]]]:
            return [(i, frame.select(rows).to_series().to_list()) for i, rows in filters]

        return BuiltPeer(run, [None], lambda found: _by_rule(found, len(job.lines)))

    return build


# What each peer prepares before its build, which is timed, is called.
PEERS: dict[str, Callable[[PeerJob], Callable[[], BuiltPeer]]] = {
    "matchwood": matchwood,
    "matchwood batch": matchwood_batch,
    "matchwood JSON": matchwood_json,
    "matchwood JSON batch": matchwood_json_batch,
    "rule-engine": rule_engine,
    "duckdb": duckdb,
    "polars": polars,
}


def _one(found: Sequence[int]) -> list[Sequence[int]]:
    return [found]


def _by_event(pairs: pa.Table, events: int) -> list[list[int]]:
    answers: list[list[int]] = [[] for _ in range(events)]
    for event, rule in zip(pairs["event"].to_pylist(), pairs["rule_id"].to_pylist(), strict=True):
        answers[event].append(rule)
    return answers


def _by_rule(found: Iterable[tuple[int, list[int]]], events: int) -> list[list[int]]:
    answers: list[list[int]] = [[] for _ in range(events)]
    for rule, numbers in found:
        for event in numbers:
            answers[event].append(rule)
    return answers


def main(peer: str, job_file: str, events_file: str, answers_file: str, seconds: str) -> None:
    given = json.loads(Path(job_file).read_text("utf-8"))
    rules = [(rule_id, rule) for rule_id, rule in given["rules"]]
    job = PeerJob(given["attributes"], rules, Path(events_file).read_bytes().splitlines())
    build = PEERS[peer](job)
    started = time.process_time()
    built = build()
    build_seconds = time.process_time() - started

    limit = float(seconds)
    answers: list[Sequence[int]] = []
    spent = 0.0
    for unit in built.units:
        started = time.process_time()
        found = built.run(unit)
        spent += time.process_time() - started
        answers += built.ids(found)
        if spent > limit:
            break
    best = spent
    while len(answers) == len(job.lines) and spent < limit:
        started = time.process_time()
        for unit in built.units:
            built.run(unit)
        best = min(best, time.process_time() - started)
        spent += time.process_time() - started
    lines = (" ".join(map(str, ids)) for ids in answers)
    Path(answers_file).write_text("\n".join(lines) + "\n")
    figures = {"build_seconds": build_seconds, "events_per_second": len(answers) / best}
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
