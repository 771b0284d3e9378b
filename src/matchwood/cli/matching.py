"""Commands that match: match, build, stats, warm-up."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchwood.cli.loading import BUILT, load
from matchwood.cli.program import (
    AsJson,
    OperatorsModule,
    SchemaFile,
    app,
    dumps,
    misuse,
    print_json,
    read_operators,
    read_schema,
)
from matchwood.cli.progress import Watch

if TYPE_CHECKING:
    from matchwood.cli.events import Chunk, Rejects
    from matchwood.engine import Matcher

Rules = Annotated[
    Path, typer.Argument(metavar="RULES", help="Rules: .jsonl, .csv, .parquet, or .mw from build.")
]
FORMATS = ("jsonl", "parquet")


@app.command()
def match(
    rules: Rules,
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
        str | None, typer.Option(metavar="NAME", help="The attribute that names events.")
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only rules with one of these tags.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="At most so many rules an event, best first.")
    ] = None,
    strings: Annotated[bool, typer.Option("--strings", help="Fields of CSV are strings.")] = False,
    rejects: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where bad events go, if not to stderr.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Match nothing if a rule is bad.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads that match.")] = 1,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    as_json: AsJson = False,
) -> None:
    """Say which rules are true of every event of a file or stream."""
    from matchwood.cli.events import Rejects, check_source
    from matchwood.cli.output import open_output, text_file

    check_source(events)
    kind = kind or ("parquet" if output is not None and output.suffix == ".parquet" else "jsonl")
    if kind not in FORMATS:
        misuse(f"no format {kind!r}: expected {' or '.join(FORMATS)}")
    known = read_operators(operators)
    with text_file(rejects) as rejected, open_output(output, kind) as out:
        loaded = load([rules], read_schema(schema), known, strict=strict)
        run = _Run(loaded.matcher, Rejects(events, rejected), tags or None, limit, threads)
        run.all(events, key, strings, out)
    sys.stdout.flush()
    run.report(as_json)
    raise typer.Exit(1 if loaded.bad or run.rejects.count else 0)


class _Run:
    """Events matched chunk by chunk, and counted."""

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
        self.events = self.matches = 0
        self.seconds = 0.0

    def all(self, events: str, key: str | None, strings: bool, out: Any) -> None:
        from matchwood.cli.events import Size, chunks

        started = perf_counter()
        size = Size()
        with Watch("events", every=1) as watch:
            for chunk in chunks(events, key, strings, size, self.rejects):
                chunk, pieces = self._match(chunk)
                out.write(chunk.names, pieces)
                found = sum(piece.num_rows for piece in pieces)
                size.learn(len(chunk), found)
                self.events += len(chunk)
                self.matches += found
                watch.seen(self.events)
        self.seconds = perf_counter() - started

    def _match(self, chunk: Chunk) -> tuple[Chunk, list[Any]]:
        """The matches of a chunk, less the events that cannot be matched."""
        from matchwood.cli.events import without_bad
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
                "events_a_second": round(rate),
            }
            print(dumps(figures), file=sys.stderr)
            return
        print(
            f"{read:,} events, {self.rejects.count:,} rejected, {self.matches:,} matches "
            f"in {self.seconds:.2f} s: {rate:,.0f} events a second",
            file=sys.stderr,
        )


@app.command()
def build(
    rules: Annotated[
        list[Path],
        typer.Argument(metavar="RULES", help="Tables of rules: .jsonl, .csv, .parquet."),
    ],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT.mw", help="The file to write.")],
    events: Annotated[
        Path | None, typer.Option(metavar="SAMPLE", help="A sample of events to arrange it for.")
    ] = None,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if a rule is bad.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compile tables of rules into one file, which opens at once."""
    if output.suffix != BUILT:
        misuse(f"{output}: the file to write ends in {BUILT}")
    if not output.parent.is_dir() or output.is_dir():
        misuse(f"{output}: no file can be written there")
    started = perf_counter()
    loaded = load(rules, read_schema(schema), read_operators(operators), events, strict)
    try:
        loaded.matcher.save(output)
    except OSError as error:
        misuse(f"{output}: {error.strerror}")
    seconds, size = perf_counter() - started, output.stat().st_size
    count, bad = len(loaded.matcher), len(loaded.bad)
    if as_json:
        figures = {"rules": count, "bad": bad, "bytes": size, "seconds": round(seconds, 3)}
        print_json({"file": str(output), **figures})
    else:
        print(f"{output}: {count:,} rules, {bad:,} bad, {size:,} bytes in {seconds:.2f} s")
    raise typer.Exit(1 if bad else 0)


@app.command()
def stats(
    rules: Rules,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    as_json: AsJson = False,
) -> None:
    """Show what the index of some rules is made of."""
    loaded = load([rules], read_schema(schema), read_operators(operators))
    figures = loaded.matcher.stats()
    if as_json:
        print_json(figures.to_dict())
    else:
        print(figures)
    raise typer.Exit(1 if loaded.bad else 0)


@app.command("warm-up")
def warm_up(as_json: AsJson = False) -> None:
    """Compile all kernels now, so that no event waits for it."""
    from matchwood.warm import warm_up

    done = warm_up()
    if as_json:
        cache = None if done.cache is None else str(done.cache)
        print_json({"seconds": round(done.seconds, 3), "cache": cache})
    elif done.cache is None:
        print(f"warm in {done.seconds:.1f} s, for this process only: no cache is writable")
    else:
        print(f"warm in {done.seconds:.1f} s, kept in {done.cache}")
