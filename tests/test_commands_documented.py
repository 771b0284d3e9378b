"""docs/commands.md documents every command of the matchwood program, option by option.

A command has a section, whose heading names it as ``matchwood NAME``; the section mentions each of
its options, and no option that no command has.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from matchwood.cli import app

PAGE = Path(__file__).resolve().parent.parent / "docs" / "commands.md"
HEADING = re.compile(r"^(#+) .*$", re.MULTILINE)
LONG_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def commands(command: Any, path: str = "matchwood") -> Iterator[tuple[str, Any]]:
    """Every command that does something, with what a person types to start it."""
    below = {name: c for name, c in getattr(command, "commands", {}).items() if not c.hidden}
    if not below:
        yield path, command
    for name, child in below.items():
        yield from commands(child, f"{path} {name}")


def options(command: Any) -> set[str]:
    return {
        name
        for parameter in command.params
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
        for name in parameter.opts
        if name.startswith("--") and name != "--help"
    }


def section(page: str, path: str) -> str:
    """The section headed by the command: up to the next heading that is not below it."""
    headings = list(HEADING.finditer(page))
    for number, heading in enumerate(headings):
        if re.search(rf"\b{re.escape(path)}(?![\w-])", heading[0]):
            after = (h.start() for h in headings[number + 1 :] if len(h[1]) <= len(heading[1]))
            return page[heading.start() : next(after, len(page))]
    pytest.fail(f"docs/commands.md has no section whose heading names `{path}`")


COMMANDS = dict(commands(typer.main.get_command(app)))
NEGATED = {
    name for c in COMMANDS.values() for parameter in c.params for name in parameter.secondary_opts
}
KNOWN = {"--help", "--version"} | NEGATED | {n for c in COMMANDS.values() for n in options(c)}


@pytest.mark.parametrize("path", COMMANDS)
def test_command_is_documented(path: str) -> None:
    text = section(PAGE.read_text(encoding="utf-8"), path)
    mentioned = set(LONG_OPTION.findall(text))
    missing = options(COMMANDS[path]) - mentioned
    assert not missing, f"docs/commands.md does not document these options of `{path}`: {missing}"
    invented = mentioned - KNOWN
    assert not invented, f"docs/commands.md documents options that do not exist: {invented}"
