"""`matchwood watch`: print the events of a subscription as they match."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from matchwood.cli.entry_point import app, print_json
from matchwood.cli.service_client import DEFAULT_SERVER, DEFAULT_WAIT, Server, Wait, asking


@app.command()
def watch(
    subscription: Annotated[str, typer.Argument(metavar="ID", help="The id of the subscription.")],
    ticket: Annotated[
        str,
        typer.Option(
            "--ticket",
            metavar="TICKET",
            envvar="MATCHWOOD_TICKET",
            help="The ticket that subscribe printed.",
        ),
    ],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after N events.")
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Do not acknowledge events, so that they are delivered again."),
    ] = False,
    server: Server = DEFAULT_SERVER,
    wait: Wait = DEFAULT_WAIT,
) -> None:
    """Print the events of a subscription as they match.

    Each event is one line of JSON.
    """
    with asking(server, None, wait) as client:
        try:
            watched = client.subscription(subscription, ticket)
            for event in watched.watch(limit=limit, acknowledge=not keep):
                print_json(event._asdict())
                sys.stdout.flush()
        except KeyboardInterrupt:
            pass
