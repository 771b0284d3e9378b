"""`matchwood serve`: serve rules, subscriptions and events over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.cli.entry_point import app, import_from_here, misuse

# What `serve` says if the packages of the service are not installed.
SERVICE_NOT_INSTALLED = "this needs more packages: pip install 'matchwood[service]'"


@app.command()
def serve(
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="A file of settings: .toml.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="The port to listen on.")] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", help="The folder for the database and snapshots."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database", metavar="URL", help="A database to use instead of a SQLite file."
        ),
    ] = None,
    replica: Annotated[
        bool | None,
        typer.Option(
            "--replica",
            help="Follow the rules of a service in the same database, and only match with them.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Processes that only match: beside the service on the next port, "
            "or as replicas on the port itself.",
        ),
    ] = None,
) -> None:
    """Serve rules, subscriptions and events over HTTP."""
    try:
        from matchwood.service.http import server
    except ImportError as error:
        misuse(f"{SERVICE_NOT_INSTALLED} ({error})")
    from matchwood.service.settings import Settings, SettingsError

    import_from_here()  # a module with operators
    try:
        settings = Settings.load(config) if config is not None else Settings.read()
        settings = settings.changed(
            host=host, port=port, data=data, database=database, replica=replica, workers=workers
        )
        if not server.serve(settings):
            raise typer.Exit(3)
    except SettingsError as error:
        misuse(str(error))
