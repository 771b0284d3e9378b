"""`matchwood key`: make an API key for the service."""

from __future__ import annotations

from typing import Annotated

import typer

from matchwood.cli.entry_point import app, misuse


@app.command()
def key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the key.")],
    role: Annotated[
        str, typer.Option("--role", help="admin, publisher or subscriber.")
    ] = "publisher",
) -> None:
    """Make an API key for the service.

    It prints the key and the lines to add to the settings.
    """
    from matchwood.service.keys import hashed, new_secret
    from matchwood.service.settings import ROLES

    if role not in ROLES:
        misuse(f"--role is one of {', '.join(ROLES)}, found {role!r}")
    secret = new_secret("key")
    print(f"# {secret}")
    print("# is shown only once: give it to the caller, and add these lines to the settings.")
    print(f'[[keys]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{hashed(secret).hex()}"')
