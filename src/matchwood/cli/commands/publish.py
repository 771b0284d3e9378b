"""`matchwood publish`: publish events to a service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from matchwood.cli.arguments import event_of
from matchwood.cli.entry_point import app, print_json
from matchwood.cli.event_chunks import check_source
from matchwood.cli.service_client import DEFAULT_SERVER, DEFAULT_WAIT, Key, Server, Wait, asking
from matchwood.tables import BadRow, EventRow, read_events


@app.command()
def publish(
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS", help="A table (.jsonl, .csv, .parquet), JSON, or - for JSON lines."
        ),
    ],
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=10_000, help="Events per request.")
    ] = 1_000,
    server: Server = DEFAULT_SERVER,
    key: Key = None,
    wait: Wait = DEFAULT_WAIT,
) -> None:
    """Publish events to a service.

    It prints the id of each event and the number of subscriptions that it matched.
    """
    bad = 0
    if not _is_json(events):
        check_source(events)  # before waiting for the service
    with asking(server, key, wait) as client:
        for waiting in batches(events, batch):
            if isinstance(waiting, BadRow):
                print(f"{waiting.file}:{waiting.line}: {waiting.reason}", file=sys.stderr)
                bad += 1
                continue
            for accepted in client.publish_batch(waiting):
                print_json(accepted._asdict())
    raise typer.Exit(1 if bad else 0)


def _is_json(events: str) -> bool:
    """Whether an argument is an event itself, rather than the name of a table."""
    return events.lstrip().startswith("{")


def batches(events: str, size: int) -> Iterator[list[dict[str, Any]] | BadRow]:
    """Events in lists of at most `size`, and rows that cannot be read."""
    waiting: list[dict[str, Any]] = []
    for row in [event_of(events)] if _is_json(events) else read_events(events):
        if isinstance(row, BadRow):
            yield row
            continue
        waiting.append(row.event if isinstance(row, EventRow) else row)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
