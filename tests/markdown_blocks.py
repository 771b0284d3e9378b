"""Fenced code blocks of a Markdown page, with what the comments above them say."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^\s*(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
COMMENT = re.compile(r"^\s*<!--\s*(?P<name>file|exit|no-run)(?:\s*:\s*(?P<value>.*?))?\s*-->\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its text, and the file, exit code or no-run that a comment gives it."""

    page: Path
    line: int  # of the first line of text, from 1
    language: str
    text: str
    file: str | None = None
    exit: int = 0
    no_run: bool = False

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order. Comments hold for the block right below them."""
    blocks = []
    comments: dict[str, str] = {}
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        if comment := COMMENT.match(line):
            comments[comment["name"]] = comment["value"] or ""
        elif opening := FENCE.match(line):
            text = []
            for _, inner in lines:
                if inner.strip().startswith(opening["fence"]) and not inner.strip(" `~"):
                    break
                text.append(inner)
            else:
                raise ValueError(f"{page.name}:{number}: this code block is never closed")
            blocks.append(
                Block(
                    page=page,
                    line=number + 1,
                    language=opening["language"].lower(),
                    text=textwrap.dedent("\n".join(text)) + "\n",
                    file=comments.get("file"),
                    exit=int(comments.get("exit", "0")),
                    no_run="no-run" in comments,
                )
            )
            comments = {}
        elif line.strip():
            comments = {}
    return blocks
