"""`matchwood warm-up`: compile all kernels before they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.cli.arguments import AsJson
from matchwood.cli.entry_point import app, misuse, print_json


@app.command("warm-up")
def warm_up(
    input_: Annotated[
        Path | None,
        typer.Option(
            "--input", metavar="FILE", help="Use the kernels in a file that --output wrote."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all kernels to a file, for other machines."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile all kernels now, so that no event waits for it."""
    from matchwood.kernels.kernel_archive import use_archive, write_archive
    from matchwood.warm import warm_up

    notes = []
    try:
        if input_ is not None:
            used = use_archive(input_)
            notes.append(f"{used.added} kernels added from {input_}, {used.known} were there")
            notes += [f"not for this machine: {name}" for name in used.others]
        done = warm_up()
        if output is not None:
            notes.append(f"{write_archive(output)} kernels written to {output}")
    except (OSError, ValueError) as error:
        misuse(str(error))
    if as_json:
        cache = None if done.cache is None else str(done.cache)
        print_json(
            {
                "seconds": round(done.seconds, 3),
                "cache": cache,
                "compiled": done.compiled,
                "loaded": done.loaded,
            }
        )
        return
    for note in notes:
        print(note)
    if done.cache is None:
        print(f"warm in {done.seconds:.1f} s, for this process only: no cache is writable")
    else:
        print(f"warm in {done.seconds:.1f} s, kept in {done.cache}")
