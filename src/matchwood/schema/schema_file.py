"""Schemas in TOML and JSON files."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matchwood.schema.errors import SchemaError

_BARE = re.compile(r"[A-Za-z0-9_-]+")

# The one character that TOML wants escaped and JSON does not escape.
_UNSAFE = re.compile("[\x7f]")


def load(path: str | Path) -> Any:
    """The dict form in a file."""
    file = _file(path)
    try:
        return parsed(file.read_text(encoding="utf-8"), file.suffix)
    except (UnicodeDecodeError, SchemaError) as error:
        raise SchemaError(f"{file}: {error}") from None


def save(form: Mapping[str, Any], path: str | Path) -> None:
    """Write a dict form to a temporary file and rename it, so that readers see a whole file."""
    file = _file(path)
    text = to_toml(form) if file.suffix == ".toml" else json.dumps(form, indent=2) + "\n"
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def parsed(text: str, kind: str) -> Any:
    """The dict form in JSON (`.json`) or TOML (`.toml`) text."""
    try:
        if kind == ".toml":
            return tomllib.loads(text)
        return json.loads(text, object_pairs_hook=_once)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise SchemaError(str(error)) from None


def to_toml(form: Mapping[str, Any]) -> str:
    """A dict form as TOML: one table per part, and one per hierarchy and event type."""
    lines = [f"{_key(name)} = {_value(part)}" for name, part in form.items() if _is_flat(part)]
    for name, part in form.items():
        if _is_flat(part):
            continue
        nested = name in ("hierarchies", "types")
        tables = {f"{_key(name)}.{_key(table)}": inner for table, inner in part.items()}
        for heading, table in tables.items() if nested else [(_key(name), part)]:
            lines += ["", f"[{heading}]"]
            lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_flat(part: object) -> bool:
    return not isinstance(part, Mapping)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _file(path: str | Path) -> Path:
    file = Path(path)
    if file.suffix not in (".toml", ".json"):
        raise SchemaError(f"{file}: a schema is a .toml or .json file")
    return file


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without repeated keys: a kind that is there twice would have two parents."""
    form: dict[str, Any] = {}
    for key, value in pairs:
        if key in form:
            raise SchemaError(f"{key!r} is there twice: found {form[key]!r} and {value!r}")
        form[key] = value
    return form
