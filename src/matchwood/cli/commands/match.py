"""`matchwood match`: say which rules are true for each event of a file or stream."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchwood.cli.arguments import (
    AliasFile,
    AsJson,
    ListFiles,
    OperatorsModule,
    RulesOrIndex,
    SchemaFile,
)
from matchwood.cli.entry_point import app, dumps, misuse
from matchwood.cli.progress import ProgressMeter
from matchwood.cli.rule_loading import load, read_aliases, read_lists, read_operators, read_schema

if TYPE_CHECKING:
    from matchwood.cli.event_chunks import EventChunk, Rejects
    from matchwood.cli.json_lines import MatchedLines
    from matchwood.matcher import Matcher

# Formats of the output.
OUTPUT_FORMATS = ("jsonl", "parquet")


@app.command()
def match(
    rules: RulesOrIndex,
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS", help="Events: .jsonl, .csv, .parquet; - for JSON lines on stdin."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where matches go, if not to stdout.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="jsonl or parquet.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="NAME", help="The attribute that names each event.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only rules with one of these tags.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="At most N rules per event, by priority.")
    ] = None,
    strings: Annotated[
        bool, typer.Option("--strings", help="All fields of CSV are strings.")
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where rejected events go, if not to stderr."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Match nothing if any rule is bad.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Number of threads.")] = 1,
    about: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="NAMES",
            help="What is written about each rule beside its id: rule,tags,priority,data.",
        ),
    ] = None,
    explained: Annotated[
        int, typer.Option("--explain", min=0, metavar="N", help="Explain the first N matches.")
    ] = 0,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    lists: ListFiles = None,
    aliases: AliasFile = None,
    as_json: AsJson = False,
) -> None:
    """Say which rules are true for each event of a file or stream."""
    from matchwood.cli.event_chunks import Rejects, check_source
    from matchwood.cli.match_output import RuleFacts, open_output, text_file

    check_source(events)
    kind = kind or ("parquet" if output is not None and output.suffix == ".parquet" else "jsonl")
    if kind not in OUTPUT_FORMATS:
        misuse(f"no format {kind!r}: expected {' or '.join(OUTPUT_FORMATS)}")
    facts = RuleFacts(_facts(about))
    known = read_operators(operators)
    named = read_lists(lists)
    spelled = read_aliases(aliases)
    with text_file(rejects) as rejected, open_output(output, kind, facts) as out:
        loaded = load(
            [rules], read_schema(schema), known, strict=strict, lists=named, aliases=spelled
        )
        facts.of(loaded.matcher)
        run = MatchRun(loaded.matcher, Rejects(events, rejected), tags or None, limit, threads)
        run.left_to_explain = explained
        run.all(events, key, strings, out)
    sys.stdout.flush()
    run.report(as_json)
    raise typer.Exit(1 if loaded.bad or run.rejects.count else 0)


def _facts(names: str | None) -> tuple[str, ...]:
    """The names of what is written about rules."""
    from matchwood.match.search.rule_facts import check_facts

    try:
        return check_facts([] if names is None else [name.strip() for name in names.split(",")])
    except ValueError as error:
        misuse(f"--with: {str(error).removeprefix('rule_columns: ')}")


class MatchRun:
    """Matches events chunk by chunk, and counts them."""

    def __init__(
        self,
        matcher: Matcher,
        rejects: Rejects,
        tags: list[str] | None,
        limit: int | None,
        threads: int,
    ) -> None:
        self.matcher = matcher
        self.rejects = rejects
        self.options: dict[str, Any] = {"tags": tags, "limit": limit, "threads": threads}
        self.left_to_explain = 0  # matches
        self.events = self.matches = 0
        self.seconds = 0.0

    def all(self, events: str, key: str | None, strings: bool, out: Any) -> None:
        from matchwood.cli.event_chunks import Size, chunks, is_json
        from matchwood.cli.json_lines import EventKeys

        started = perf_counter()
        size = Size()
        with ProgressMeter("events", every=1) as meter:
            if is_json(events) and (key is None or EventKeys.can_be(key)):
                self._json_lines(events, key, out, meter)
                self.seconds = perf_counter() - started
                return
            for chunk in chunks(events, key, strings, size, self.rejects):
                chunk, pieces = self._match(chunk)
                out.write(chunk.names, pieces)
                if self.left_to_explain:
                    self._explain_chunk(chunk, pieces)
                matches = sum(piece.num_rows for piece in pieces)
                size.learn(len(chunk), matches)
                self.events += len(chunk)
                self.matches += matches
                meter.seen(self.events)
        self.seconds = perf_counter() - started

    def _json_lines(self, events: str, key: str | None, out: Any, meter: ProgressMeter) -> None:
        """Match JSON lines as they are."""
        from matchwood.cli.json_lines import EventKeys, matched_lines

        keys = None if key is None else EventKeys(key)
        for found in matched_lines(self.matcher, events, keys, self.rejects, **self.options):
            if found.names is None:
                out.write_numbers(found.first, found.events, found.rules, found.ids)
            elif found.names:
                names, pairs = found.named_pairs()
                out.write(names, [pairs])
            if self.left_to_explain:
                self._explain_lines(found)
            self.events += found.matched
            self.matches += len(found.rules)
            meter.seen(self.events)

    def _explain_lines(self, found: MatchedLines) -> None:
        import numpy as np

        from matchwood.match.json.json_text import event_of

        order = np.argsort(found.events, kind="stable")[: self.left_to_explain]
        for number, rule in zip(found.events[order].tolist(), found.rules[order], strict=True):
            event = event_of(found.block.text(number))
            name = found.first + number if found.names is None else found.names[number]
            self._explain(name, found.ids[int(rule)].as_py(), event)

    def _explain_chunk(self, chunk: EventChunk, pieces: list[Any]) -> None:
        pairs = [
            (number, rule_id)
            for piece in pieces
            for number, rule_id in zip(
                piece.column("event").to_pylist(), piece.column("rule_id").to_pylist(), strict=True
            )
        ]
        pairs.sort(key=lambda pair: pair[0])
        for number, rule_id in pairs[: self.left_to_explain]:
            self._explain(chunk.names[number], rule_id, chunk.event_at(number))

    def _explain(self, name: object, rule_id: Any, event: dict[str, Any]) -> None:
        """Say on standard error why a rule is true of an event."""
        self.left_to_explain -= 1
        tree = self.matcher.explain(self.matcher[rule_id], event)
        sys.stdout.flush()  # the match comes before the reasons
        print(f"event {name}, rule {rule_id!r}:\n{tree}", file=sys.stderr)

    def _match(self, chunk: EventChunk) -> tuple[EventChunk, list[Any]]:
        """The chunk without events that cannot be matched, and its matches."""
        from matchwood.cli.event_chunks import without_bad
        from matchwood.language import EventError

        try:
            return chunk, list(self.matcher.match_batches(chunk.events, **self.options))
        except EventError:
            chunk = without_bad(chunk, self.matcher.count, self.rejects)
        if not len(chunk):
            return chunk, []
        return chunk, list(self.matcher.match_batches(chunk.events, **self.options))

    def report(self, as_json: bool) -> None:
        read = self.events + self.rejects.count
        rate = read / max(self.seconds, 1e-9)
        if as_json:
            figures = {
                "rules": len(self.matcher),
                "events": read,
                "rejected": self.rejects.count,
                "matches": self.matches,
                "seconds": round(self.seconds, 3),
                "events_per_second": round(rate),
            }
            print(dumps(figures), file=sys.stderr)
            return
        print(
            f"{read:,} events, {self.rejects.count:,} rejected, {self.matches:,} matches "
            f"in {self.seconds:.2f} s: {rate:,.0f} events per second",
            file=sys.stderr,
        )
