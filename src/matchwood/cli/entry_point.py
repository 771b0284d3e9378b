"""The program itself: `app`, to which commands are added, and `main`, which runs one."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

import matchwood
from matchwood.cli.progress import CompilingMeter
from matchwood.cli.standard_streams import close_output, end_after, open_streams, say
from matchwood.kernels.readiness import show_progress
from matchwood.schema import SchemaError
from matchwood.tables import TableError

app = typer.Typer(
    name="matchwood",
    help="Keep a large set of Boolean rules, and say which are true of every event.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command; a mistake that the user can correct is one sentence, not a traceback."""
    gc.set_threshold(100_000, 50, 100)  # millions of small objects, with hardly any cycles
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # so that any rule and event can be printed
            stream.reconfigure(errors="backslashreplace")
    output = sys.stdout
    try:
        try:
            _run()
        finally:
            close_output(output)
    except OSError as error:
        end_after(error, output)


def _run() -> None:
    try:
        app()
    except (TableError, SchemaError) as error:
        misuse(str(error))
    except ValueError as error:
        from matchwood.index.file.array_file import (
            IndexFileError,  # brings Numba, so not before it is needed
        )

        if not isinstance(error, IndexFileError):
            raise
        misuse(str(error))


def misuse(sentence: str) -> NoReturn:
    """Say what is wrong with the arguments of a command, and exit with 2."""
    say(sentence)
    sys.exit(2)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"matchwood {matchwood.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Keep a large set of Boolean rules, and say which are true of every event."""
    show_progress(CompilingMeter())


def import_from_here() -> None:
    """Let modules be imported from the current folder, as `python -m` does."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())


def dumps(form: object, plain: Callable[[Any], Any] | None = None) -> str:
    """One line of JSON; `plain` converts what JSON has no form for."""
    return json.dumps(form, ensure_ascii=False, default=plain)


def print_json(form: object) -> None:
    """Print one line of JSON."""
    print(dumps(form))
