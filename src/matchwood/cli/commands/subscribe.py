"""`matchwood subscribe`: subscribe to the events of a service."""

from __future__ import annotations

from typing import Annotated

import typer

from matchwood.cli.arguments import text_of
from matchwood.cli.entry_point import app, misuse, print_json
from matchwood.cli.service_client import DEFAULT_SERVER, DEFAULT_WAIT, Key, Server, Wait, asking

# Seconds per unit of time.
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@app.command()
def subscribe(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Text, @FILE, or - for stdin.")],
    subscriber: Annotated[
        str, typer.Option("--subscriber", metavar="NAME", help="The name of the subscriber.")
    ] = "matchwood",
    validity: Annotated[
        str | None,
        typer.Option(
            "--validity", metavar="TIME", help="How long it is valid, such as 90s, 30m, 12h or 7d."
        ),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option("--webhook", metavar="URL", help="A URL to which matching events are posted."),
    ] = None,
    server: Server = DEFAULT_SERVER,
    key: Key = None,
    wait: Wait = DEFAULT_WAIT,
) -> None:
    """Subscribe to events of a service.

    It prints the id and the ticket of the subscription.
    """
    seconds = None if validity is None else seconds_of(validity)
    with asking(server, key, wait) as client:
        made = client.subscribe(text_of(rule), subscriber, validity=seconds, webhook=webhook)
        print_json(made.form)


def seconds_of(text: str) -> float:
    """The seconds of a time as people write it.

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
