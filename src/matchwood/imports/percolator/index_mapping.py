"""The mapping of an index: which fields documents have, and of which types they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matchwood.imports.imported import Inexpressible
from matchwood.imports.json_documents import read_json

# Settings of a field that do not change which queries are true of a document.
HARMLESS = frozenset(
    (
        *("type", "fields", "doc_values", "store", "coerce", "ignore_malformed", "meta", "boost"),
        *("eager_global_ordinals", "norms", "similarity", "index_options", "properties"),
        *("split_queries_on_whitespace", "time_series_dimension", "time_series_metric"),
        *("dynamic", "enabled", "include_in_root", "include_in_parent", "subobjects"),
    )
)
# Settings that the queries of a field take into account.
HEEDED = frozenset(("ignore_above", "normalizer", "format", "scaling_factor"))


@dataclass(frozen=True)
class MappedField:
    """A field, where its values are in documents, and its settings."""

    name: str
    path: str
    type: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class IndexMapping:
    """The fields of documents by name."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.fields: dict[str, MappedField] = {}
        self.nested: set[str] = set()
        self.objects: set[str] = set()
        self.copies: set[str] = set()
        self.aliases: dict[str, str] = {}
        try:
            self._read(_properties(form), "")
        except (AttributeError, KeyError, TypeError):
            raise ValueError("mapping: a field is an object with its type") from None

    @staticmethod
    def load(source: str | Path | Mapping[str, Any]) -> IndexMapping:
        """The mapping of a file, or of an object; a ValueError if it is none."""
        if isinstance(source, Mapping):
            return IndexMapping(source)
        try:
            text = Path(source).read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(f"mapping: {source}: {error.strerror}") from None
        form = read_json(text)
        if not isinstance(form, dict):
            raise ValueError(f"mapping: {source}: expected an object")
        return IndexMapping(form)

    def _read(self, properties: Mapping[str, Any], prefix: str) -> None:
        for name, settings in properties.items():
            path = f"{prefix}{name}"
            kind = settings.get("type", "object")
            if kind == "alias":
                self.aliases[path] = settings["path"]
                continue
            if kind in ("object", "nested"):
                if settings.get("enabled") is False:
                    continue
                (self.nested if kind == "nested" else self.objects).add(path)
                self._read(settings.get("properties", {}), f"{path}.")
                continue
            self.fields[path] = MappedField(path, path, kind, settings)
            for inner, its in settings.get("fields", {}).items():
                full = f"{path}.{inner}"
                self.fields[full] = MappedField(full, path, its["type"], its)
            copied = settings.get("copy_to", [])
            self.copies.update([copied] if isinstance(copied, str) else copied)

    def field(self, name: str, place: str) -> MappedField:
        """The field of this name; an Inexpressible if no query of it can be said."""
        found = self.fields.get(self.aliases.get(name, name))
        if found is None:
            raise Inexpressible(
                f"the mapping has no field {name!r}, so that its type is unknown", place
            )
        if found.path in self.copies:
            raise Inexpressible(f"{name!r} has values of other fields, by copy_to", place)
        for setting, value in found.settings.items():
            if setting in HARMLESS or setting in HEEDED or setting == "copy_to":
                continue
            if setting == "index" and value is not False:
                continue
            raise Inexpressible(
                f"{name!r} has the setting {setting!r}, which cannot be said", place
            )
        return found

    def below(self, path: str) -> Iterator[str]:
        """The fields of an object that its own documents have."""
        for name, each in self.fields.items():
            if name == each.path and name.startswith(f"{path}."):
                yield name

    def nested_around(self, path: str) -> str:
        """The innermost nested object that a field is in; '' if there is none."""
        around = [each for each in self.nested if path.startswith(f"{each}.")]
        return max(around, key=len, default="")


def _properties(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties in whatever Elasticsearch prints of a mapping."""
    if "properties" in form and isinstance(form["properties"], dict):
        return form["properties"]
    if "mappings" in form:
        return _properties(form["mappings"])
    if len(form) == 1:  # the name of the index, or of the type of its documents
        (inner,) = form.values()
        if isinstance(inner, dict):
            return _properties(inner)
    raise ValueError(
        'a mapping is {"properties": …}, or what GET index/_mapping prints of one index'
    )
