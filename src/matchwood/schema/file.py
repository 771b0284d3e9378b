"""Schemas in TOML and JSON files, read and written."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchwood.schema import form
from matchwood.schema.errors import SchemaError

if TYPE_CHECKING:
    from matchwood.schema.schema import Schema

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE = re.compile("[\x7f]")  # all else that TOML wants escaped, JSON escapes too


def load(path: str | Path) -> Schema:
    """The schema in a file."""
    file = _file(path)
    try:
        return form.read(parsed(file.read_text(encoding="utf-8"), file.suffix))
    except (UnicodeDecodeError, SchemaError) as error:
        raise SchemaError(f"{file}: {error}") from None


def save(schema: Schema, path: str | Path) -> None:
    """Write a file beside, and rename it: a reader has the old one or the new."""
    file = _file(path)
    given = schema.to_dict()
    text = to_toml(given) if file.suffix == ".toml" else json.dumps(given, indent=2) + "\n"
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def parsed(text: str, kind: str) -> Any:
    """The dict form in a text of JSON (`.json`) or TOML (`.toml`)."""
    try:
        if kind == ".toml":
            return tomllib.loads(text)
        return json.loads(text, object_pairs_hook=_once)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise SchemaError(str(error)) from None


def to_toml(given: Mapping[str, Any]) -> str:
    """A dict form as TOML: a table a part, and a table each for hierarchies and types."""
    lines = [f"{_key(name)} = {_value(part)}" for name, part in given.items() if _is_flat(part)]
    for name, part in given.items():
        if _is_flat(part):
            continue
        nested = name in ("hierarchies", "types")
        tables = {f"{_key(name)}.{_key(one)}": inner for one, inner in part.items()}
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
        inner = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _file(path: str | Path) -> Path:
    file = Path(path)
    if file.suffix not in (".toml", ".json"):
        raise SchemaError(f"{file}: a schema is a .toml or .json file")
    return file


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys must differ: a kind written twice would have two parents."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SchemaError(f"{key!r} is there twice: found {found[key]!r} and {value!r}")
        found[key] = value
    return found
