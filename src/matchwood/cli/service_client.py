"""The client of a service for the commands that talk to one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from matchwood.cli.entry_point import misuse
from matchwood.language import EventError, RuleError

if TYPE_CHECKING:
    from matchwood.client import Client

# What a command says if the packages of the client are not installed.
CLIENT_NOT_INSTALLED = "this needs more packages: pip install 'matchwood[client]'"

Server = Annotated[
    str,
    typer.Option(
        "--server", metavar="URL", envvar="MATCHWOOD_SERVER", help="The address of the service."
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key", metavar="KEY", envvar="MATCHWOOD_KEY", help="An API key, if the service has keys."
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        min=0,
        metavar="SECONDS",
        help="How long to wait for a service that is still starting.",
    ),
]
# Seconds that commands wait for a service, which may be compiling its kernels.
DEFAULT_WAIT = 120.0
# The address at which `matchwood serve` listens by default.
DEFAULT_SERVER = "http://127.0.0.1:8600"


@contextmanager
def asking(server: str, key: str | None, wait: float = DEFAULT_WAIT) -> Iterator[Client]:
    """A client for a command, once the service is ready; an error ends it with one sentence."""
    try:
        import httpx

        from matchwood.client import Client, ServiceError
    except ImportError as error:
        misuse(f"{CLIENT_NOT_INSTALLED} ({error})")
    try:
        with Client(server, key) as client:
            client.wait_until_ready(wait, lambda reason: _tell(server, reason))
            yield client
    except RuleError as error:
        misuse(f"the rule: {error}")
    except EventError as error:
        misuse(f"the events: {error}")
    except ServiceError as error:
        misuse(f"the service refuses: {error}")
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        misuse(f"--server is an address as in {DEFAULT_SERVER}, found {server!r}")
    except httpx.TransportError as error:
        misuse(f"no service answers at {server}: {str(error) or type(error).__name__}")


def _tell(server: str, reason: str) -> None:
    print(f"waiting for the service at {server}: {reason}", file=sys.stderr, flush=True)
