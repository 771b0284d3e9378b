"""JSON files as documents: one of a `.json` file, or one of each line of a `.jsonl` file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from matchwood.imports.imported import NotImported

# The names of files with a document on each line end in one of these.
OF_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class JsonDocument:
    """A JSON value, and the file, and the line of it, where it stands.

    Numbers with a fraction or an exponent are Decimals, so that rules keep their digits.
    """

    value: Any
    place: str
    name: str  # of the file, and the number of the line; an id for what has none


def documents(sources: Sequence[Path]) -> Iterator[JsonDocument | NotImported]:
    """The documents of files, and of all files with JSON in folders."""
    for path in _files(sources):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            yield NotImported(str(path), "the file is not UTF-8")
            continue
        except OSError as error:
            yield NotImported(str(path), error.strerror or str(error))
            continue
        if path.suffix not in OF_LINES:
            yield _document(text, str(path), path.stem)
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield _document(line, f"{path}:{number}", f"{path.stem}-{number}")


def _files(sources: Sequence[Path]) -> Iterator[Path]:
    for source in sources:
        if not source.is_dir():
            yield source
            continue
        kept = (".json", *OF_LINES)
        yield from sorted(p for p in source.rglob("*") if p.suffix in kept and p.is_file())


def _document(text: str, place: str, name: str) -> JsonDocument | NotImported:
    try:
        return JsonDocument(read_json(text), place, name)
    except ValueError as error:
        return NotImported(place, str(error))


def read_json(text: str) -> Any:
    """The value of JSON text; a ValueError says what is wrong with it."""
    try:
        return json.loads(
            text,
            parse_float=Decimal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_duplicates,
        )
    except json.JSONDecodeError as error:
        raise ValueError(
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise ValueError("not JSON that can be read: it is nested too deeply") from None


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"not JSON: {word} is no number of JSON")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; readers of JSON disagree about one in which a key stands twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in made if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return made


def plain_json(value: Any) -> Any:
    """The value with floats for Decimals, as a column of a table of rules has them."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain_json(inner) for key, inner in value.items()}
    return [plain_json(inner) for inner in value] if isinstance(value, list) else value
