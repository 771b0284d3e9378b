"""What the log says can be logged."""

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import matchwood

# Fields of every record, which `extra` must not name: logging raises a KeyError.
RESERVED = {*vars(logging.LogRecord("", 0, "", 0, "", (), None)), "message", "asctime"}


def fields(source: str) -> Iterator[str]:
    """The names of fields that are added to lines of the log, as far as they are spelled out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "extra":
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Dict):
                    yield from (
                        str(key.value) for key in inner.keys if isinstance(key, ast.Constant)
                    )


def test_no_line_has_a_field_that_every_line_has() -> None:
    found = {}
    for path in Path(matchwood.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "extra=" in source:
            found[path.name] = set(fields(source))
    assert "pid" in found["readiness.py"]
    assert {name: of & RESERVED for name, of in found.items() if of & RESERVED} == {}
