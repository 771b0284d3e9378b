"""Commands that talk to a service: subscribe, publish, watch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchwood.cli.checking import event_of, text_of
from matchwood.cli.program import app, misuse, print_json
from matchwood.language import EventError, RuleError
from matchwood.tables import BadRow, EventRow, read_events

if TYPE_CHECKING:
    from matchwood.client import Client

NEEDED = "this needs more packages: pip install 'matchwood[client]'"
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

Server = Annotated[
    str,
    typer.Option("--server", metavar="URL", envvar="MATCHWOOD_SERVER", help="Where it listens."),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", envvar="MATCHWOOD_KEY", help="An API key, if it has any."),
]
HERE = "http://127.0.0.1:8600"


@app.command()
def subscribe(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Text, @FILE, or - for stdin.")],
    subscriber: Annotated[
        str, typer.Option("--subscriber", metavar="NAME", help="Who subscribes.")
    ] = "matchwood",
    validity: Annotated[
        str | None, typer.Option("--validity", metavar="TIME", help="As in 90s, 30m, 12h or 7d.")
    ] = None,
    webhook: Annotated[
        str | None, typer.Option("--webhook", metavar="URL", help="Where events are posted to.")
    ] = None,
    server: Server = HERE,
    key: Key = None,
) -> None:
    """Subscribe to events of a service; prints the id and the ticket."""
    seconds = None if validity is None else seconds_of(validity)
    with asking(server, key) as client:
        made = client.subscribe(text_of(rule), subscriber, validity=seconds, webhook=webhook)
        print_json(made.form)


@app.command()
def publish(
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS", help="A table (.jsonl, .csv, .parquet), JSON, or - for JSON lines."
        ),
    ],
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=10_000, help="Events a request.")
    ] = 1_000,
    server: Server = HERE,
    key: Key = None,
) -> None:
    """Publish events to a service; prints the id of each, and how many it matched."""
    bad = 0
    with asking(server, key) as client:
        for waiting in batches(events, batch):
            if isinstance(waiting, BadRow):
                print(f"{waiting.file}:{waiting.line}: {waiting.reason}", file=sys.stderr)
                bad += 1
                continue
            for accepted in client.publish_batch(waiting):
                print_json(accepted._asdict())
    raise typer.Exit(1 if bad else 0)


@app.command()
def watch(
    subscription: Annotated[str, typer.Argument(metavar="ID", help="Of the subscription.")],
    ticket: Annotated[
        str,
        typer.Option(
            "--ticket", metavar="TICKET", envvar="MATCHWOOD_TICKET", help="What subscribe printed."
        ),
    ],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="End after N events.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Acknowledge nothing: all of it comes again.")
    ] = False,
    server: Server = HERE,
) -> None:
    """Print the events of a subscription as they match, a JSON line each."""
    with asking(server, None) as client:
        try:
            watched = client.subscription(subscription, ticket)
            for event in watched.watch(limit=limit, acknowledge=not keep):
                print_json(event._asdict())
                sys.stdout.flush()
        except KeyboardInterrupt:
            pass


@contextmanager
def asking(server: str, key: str | None) -> Iterator[Client]:
    """A client for a command; what goes wrong with it ends the command with a sentence."""
    try:
        import httpx

        from matchwood.client import Client, ServiceError
    except ImportError as error:
        misuse(f"{NEEDED} ({error})")
    try:
        with Client(server, key) as client:
            yield client
    except RuleError as error:
        misuse(f"the rule: {error}")
    except EventError as error:
        misuse(f"the events: {error}")
    except ServiceError as error:
        misuse(f"the service refuses: {error}")
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        misuse(f"--server is an address as in {HERE}, found {server!r}")
    except httpx.TransportError as error:
        misuse(f"no service answers at {server}: {str(error) or type(error).__name__}")


def batches(events: str, size: int) -> Iterator[list[dict[str, Any]] | BadRow]:
    """Events in lists of a size, and rows that cannot be read."""
    waiting: list[dict[str, Any]] = []
    for row in [event_of(events)] if events.lstrip().startswith("{") else read_events(events):
        if isinstance(row, BadRow):
            yield row
            continue
        waiting.append(row.event if isinstance(row, EventRow) else row)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def seconds_of(text: str) -> float:
    """A time as people write it.

    >>> seconds_of("90s"), seconds_of("7d"), seconds_of("5")
    (90.0, 604800.0, 5.0)
    """
    number, unit = (text[:-1], text[-1]) if text and text[-1] in UNITS else (text, "s")
    try:
        seconds = float(number) * UNITS[unit]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        misuse(f"a validity is a time as in 90s, 30m, 12h or 7d, found {text!r}")
    return seconds
