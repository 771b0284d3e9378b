"""Columns with their types, as Spark prints them: `age int, tags array<string>`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from matchwood.language.values import Family

_FAMILIES = {
    **dict.fromkeys(("tinyint", "byte", "smallint", "short", "int", "integer"), Family.NUMBER),
    **dict.fromkeys(("bigint", "long", "float", "real", "double"), Family.NUMBER),
    **dict.fromkeys(("decimal", "dec", "numeric"), Family.NUMBER),
    **dict.fromkeys(("string", "varchar"), Family.STRING),
    "boolean": Family.BOOLEAN,
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz", "timestamp_ltz"), Family.TIME),
}
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_NAMES |= {"real": "float", "dec": "decimal", "numeric": "decimal", "timestamp_ltz": "timestamp"}
INTEGERS = ("tinyint", "smallint", "int", "bigint")

_PIECE = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^\W]\w*)|'((?:[^'\\]|\\.)*)'|([<>(),:]))")


@dataclass(frozen=True)
class ColumnType:
    """A type of Spark: `name` is its name, with fields, or with one element type in lists."""

    name: str
    fields: Mapping[str, tuple[str, ColumnType]] = field(default_factory=dict)  # by folded name
    element: ColumnType | None = None  # of an array, or of the values of a map

    @property
    def family(self) -> Family | None:
        return _FAMILIES.get(self.name)


def read_columns(columns: str | Path) -> ColumnType:
    """The columns of a table as one struct; of a text, or of a file with the text.

    >>> read_columns("age int, tags array<string>").fields["tags"][1].element.name
    'string'
    """
    text = str(columns)
    if isinstance(columns, Path) or not re.search(r"[\s<{]", text.strip()):
        try:
            text = Path(text).read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(
                f"columns are written as 'age int, name string' in a text or in a file, found "
                f"{str(columns)!r}: {error.strerror}"
            ) from None
    if text.lstrip().startswith("{"):
        try:
            return _of_json(json.loads(text))
        except (KeyError, TypeError):
            raise ValueError("columns: a field in JSON has a name and a type") from None
    if re.match(r"\s*struct\s*<", text, re.IGNORECASE):
        return read_type(text)
    return _TypeReader(text).struct(None)


def read_type(text: str) -> ColumnType:
    """The type of this name; a ValueError if it is none."""
    reader = _TypeReader(text)
    kind = reader.type()
    if reader.at != len(reader.pieces):
        raise ValueError(f"expected the name of a type, found {text!r}")
    return kind


def _of_json(form: object) -> ColumnType:
    """A type in the JSON form of Spark's schemas."""
    if isinstance(form, str):
        return read_type(form)
    if isinstance(form, dict):
        kind = form.get("type")
        if kind == "struct":
            fields = form["fields"]
            return _struct([(each["name"], _of_json(each["type"])) for each in fields])
        if kind == "array":
            return ColumnType("array", element=_of_json(form["elementType"]))
        if kind == "map":
            return ColumnType("map", element=_of_json(form["valueType"]))
    raise ValueError(f"expected a type of Spark, found {form!r}")


def _struct(fields: list[tuple[str, ColumnType]]) -> ColumnType:
    return ColumnType("struct", {name.lower(): (name, kind) for name, kind in fields})


class _TypeReader:
    """Reads the text of a struct, from left to right."""

    def __init__(self, text: str) -> None:
        self.pieces: list[tuple[str, str]] = []
        at = 0
        while at < len(text.rstrip()):
            match = _PIECE.match(text, at)
            if match is None:
                raise ValueError(f"columns: expected 'name type, …', found {text[at : at + 40]!r}")
            kind = (
                "name" if match[1] is not None or match[2] else "text" if match[4] is None else ""
            )
            piece = match[1].replace("``", "`") if match[1] is not None else match[2] or match[4]
            self.pieces.append((kind, piece or ""))
            at = match.end()
        self.at = 0

    def accept(self, *texts: str) -> bool:
        if self.at < len(self.pieces) and self.pieces[self.at][1].lower() in texts:
            self.at += 1
            return True
        return False

    def name(self) -> str:
        if self.at == len(self.pieces) or self.pieces[self.at][0] != "name":
            found = self.pieces[self.at][1] if self.at < len(self.pieces) else "the end"
            raise ValueError(f"columns: expected a name, found {found}")
        self.at += 1
        return self.pieces[self.at - 1][1]

    def struct(self, end: str | None) -> ColumnType:
        fields: list[tuple[str, ColumnType]] = []
        if end is not None and self.accept(end):
            return _struct(fields)
        while True:
            name = self.name()
            self.accept(":")
            fields.append((name, self.type()))
            if self.accept("not"):
                self.name()  # null
            if self.accept("comment"):
                self.at += 1
            if self.accept(","):
                continue
            if end is None and self.at == len(self.pieces):
                return _struct(fields)
            if end is None or not self.accept(end):
                found = self.pieces[self.at][1] if self.at < len(self.pieces) else "the end"
                raise ValueError(f"columns: expected ',' after column {name!r}, found {found}")
            return _struct(fields)

    def type(self) -> ColumnType:
        name = self.name().lower()
        if name == "struct" and self.accept("<"):
            return self.struct(">")
        if name == "array" and self.accept("<"):
            element = self.type()
            self.expect(">")
            return ColumnType("array", element=element)
        if name == "map" and self.accept("<"):
            self.type()
            self.expect(",")
            element = self.type()
            self.expect(">")
            return ColumnType("map", element=element)
        if self.accept("("):
            while not self.accept(")"):
                self.at += 1
                if self.at >= len(self.pieces):
                    raise ValueError(f"columns: expected ')' after {name}(")
        if self.accept("collate"):
            return ColumnType(f"{name} collate {self.name()}")
        return ColumnType(_NAMES.get(name, name))

    def expect(self, text: str) -> None:
        if not self.accept(text):
            found = self.pieces[self.at][1] if self.at < len(self.pieces) else "the end"
            raise ValueError(f"columns: expected {text!r}, found {found!r}")
