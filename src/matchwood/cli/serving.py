"""The commands of the service: serve, key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.cli.program import app, import_from_here, misuse

NEEDED = "this needs more packages: pip install 'matchwood[service]'"


@app.command()
def serve(
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Settings: .toml.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to bind to.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on.")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="Database and snapshots.")
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="Instead of a SQLite file.")
    ] = None,
) -> None:
    """Serve rules, subscriptions and events over HTTP."""
    try:
        from matchwood.service import server
    except ImportError as error:
        misuse(f"{NEEDED} ({error})")
    from matchwood.service.settings import Settings, SettingsError

    import_from_here()  # a module with operators
    try:
        settings = Settings.load(config) if config is not None else Settings.read()
        settings = settings.changed(host=host, port=port, data=data, database=database)
        if not server.serve(settings):
            raise typer.Exit(3)
    except SettingsError as error:
        misuse(str(error))


@app.command()
def key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is called.")],
    role: Annotated[
        str, typer.Option("--role", help="admin, publisher or subscriber.")
    ] = "publisher",
) -> None:
    """Make an API key for the service: the key itself, and what its settings are to have."""
    from matchwood.service.keys import hashed, new_secret
    from matchwood.service.settings import ROLES

    if role not in ROLES:
        misuse(f"--role is one of {', '.join(ROLES)}, found {role!r}")
    secret = new_secret("key")
    print(f"# {secret}\n# is told only here: give it to who calls, and these lines to the service.")
    print(f'[[keys]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{hashed(secret).hex()}"')
