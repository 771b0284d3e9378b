"""`Schema`: attributes with a family or a hierarchy, read from TOML, JSON or a dict.

[attributes]
age = "number"
tags = "list of string"
category = { hierarchy = "furniture" }

[hierarchies.furniture]
"dining table" = "table"
table = "furniture"
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from matchwood.language.arithmetic import Attribute as AttributeArgument
from matchwood.language.errors import RuleError
from matchwood.language.tree import Call, Node, attributes_in, walk
from matchwood.language.values import Family
from matchwood.schema.hierarchy import Hierarchy, HierarchyError

_LIST_OF = "list of "


class SchemaError(ValueError):
    """A schema cannot be read; says where in it and what was expected."""


@dataclass(frozen=True)
class Attribute:
    """What an attribute holds: values of a family, perhaps lists of them, or nodes of a tree."""

    family: Family
    is_list: bool = False
    hierarchy: Hierarchy | None = None

    def __str__(self) -> str:
        return f"{_LIST_OF}{self.family}" if self.is_list else str(self.family)


@dataclass(frozen=True)
class Problem:
    """Something in a rule that the schema does not know, or knows otherwise."""

    kind: str  # unknown-attribute, family or hierarchy
    reason: str
    attribute: str


class Schema:
    """The attributes of events and their hierarchies.

    >>> from matchwood import parse
    >>> schema = Schema.from_dict(
    ...     {
    ...         "attributes": {"age": "number", "category": {"hierarchy": "furniture"}},
    ...         "hierarchies": {"furniture": {"dining table": "table", "table": "furniture"}},
    ...     }
    ... )
    >>> schema.is_a("category", "dining table", "table")
    True
    >>> [problem.reason for problem in schema.check(parse("agee > 18"))]
    ["the schema has no attribute 'agee', did you mean 'age'?"]
    """

    def __init__(self, attributes: Mapping[str, Attribute]) -> None:
        self.attributes = dict(attributes)

    @classmethod
    def from_dict(cls, form: object) -> Schema:
        """The schema of its dict form; a SchemaError says what is wrong with it."""
        top = _mapping(form, "a schema")
        _refuse_others(top, ("attributes", "hierarchies"), "a schema")
        hierarchies: dict[str, Hierarchy] = {}
        for name, parents in _mapping(top.get("hierarchies", {}), "hierarchies").items():
            try:
                hierarchies[name] = Hierarchy(_mapping(parents, f"hierarchies.{name}"))
            except HierarchyError as error:
                raise SchemaError(f"hierarchies.{name}: {error}") from None
        attributes = {
            name: _attribute(name, what, hierarchies)
            for name, what in _mapping(top.get("attributes", {}), "attributes").items()
        }
        return cls(attributes)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML or JSON file."""
        file = Path(path)
        if file.suffix not in (".toml", ".json"):
            raise SchemaError(f"{file}: a schema is a .toml or .json file")
        try:
            text = file.read_text(encoding="utf-8")
            if file.suffix == ".toml":
                return cls.from_dict(tomllib.loads(text))
            return cls.from_dict(json.loads(text, object_pairs_hook=_once))
        except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise SchemaError(f"{file}: {error}") from None
        except SchemaError as error:
            raise SchemaError(f"{file}: {error}") from None

    def is_a(self, attribute: str, value: str, kind: str) -> bool:
        """Whether `value` is the node `kind` of the attribute's hierarchy, or below it."""
        return self._hierarchy(attribute, kind).is_a(value, kind)

    def check(self, tree: Node) -> list[Problem]:
        """What a rule says that does not fit the schema, each attribute once a kind."""
        problems: dict[tuple[str, str], Problem] = {}
        for name in sorted(attributes_in(tree)):
            if name not in self.attributes:
                reason = f"the schema has no attribute {name!r}{nearest(name, self.attributes)}"
                problems["unknown-attribute", name] = Problem("unknown-attribute", reason, name)
        for node in walk(tree):
            for name, family in expected_families(node):
                known = self.attributes.get(name)
                if known is not None and not fits(known.family, family):
                    reason = (
                        f"{name!r} is asked for as a {family} and is a {known} by the schema: "
                        "undefined of every event"
                    )
                    problems.setdefault(("family", name), Problem("family", reason, name))
            if isinstance(node, Call) and node.name == "isa" and node.attributes:
                name = node.attributes[0]
                try:
                    self._hierarchy(name, str(node.arguments[1]))
                except RuleError as error:
                    problems.setdefault(
                        ("hierarchy", name), Problem("hierarchy", error.reason, name)
                    )
        return list(problems.values())

    def _hierarchy(self, attribute: str, kind: str) -> Hierarchy:
        known = self.attributes.get(attribute)
        if known is None or known.hierarchy is None:
            with_one = [name for name, a in self.attributes.items() if a.hierarchy is not None]
            near = nearest(attribute, with_one)
            raise RuleError(f"the schema has no hierarchy for {attribute!r}{near}")
        if kind not in known.hierarchy.nodes:
            near = nearest(kind, known.hierarchy.nodes)
            raise RuleError(f"the hierarchy of {attribute!r} has no node {kind!r}{near}")
        return known.hierarchy


def expected_families(node: Node) -> Iterable[tuple[str, Family]]:
    """The attributes of a predicate with the family of value that it asks for."""
    family = getattr(node, "family", None)
    if family is not None:
        yield node.attribute, family  # type: ignore[attr-defined]
    elif isinstance(node, Call) and node.name in ("startswith", "endswith", "in_network", "isa"):
        subject = node.arguments[0]
        assert isinstance(subject, AttributeArgument)
        yield subject.name, Family.STRING


def fits(held: Family, asked: Family) -> bool:
    """Whether values of one family can be compared as another: strings are read as times."""
    return held is asked or (held is Family.STRING and asked is Family.TIME)


def nearest(name: str, known: Iterable[str]) -> str:
    """', did you mean …?' for the nearest known spelling, '' where none is near."""
    names = sorted(known)
    by_case = {other.lower(): other for other in names}
    if name.lower() in by_case:
        return f", did you mean {by_case[name.lower()]!r}?"
    close = get_close_matches(name, names, n=1)
    return f", did you mean {close[0]!r}?" if close else ""


# Reading the dict form


def _attribute(name: str, what: object, hierarchies: Mapping[str, Hierarchy]) -> Attribute:
    where = f"attributes.{name}"
    if isinstance(what, Mapping):
        _refuse_others(what, ("hierarchy",), where)
        named = what.get("hierarchy")
        if not isinstance(named, str) or named not in hierarchies:
            near = nearest(str(named), hierarchies)
            raise SchemaError(f"{where}: no hierarchy {named!r} is in the schema{near}")
        return Attribute(Family.STRING, hierarchy=hierarchies[named])
    families = ", ".join(Family)
    if isinstance(what, str):
        is_list = what.startswith(_LIST_OF)
        family = what.removeprefix(_LIST_OF)
        if family in list(Family):
            return Attribute(Family(family), is_list)
    raise SchemaError(
        f"{where}: expected one of {families}, 'list of' one of them, or a hierarchy, "
        f"found {what!r}"
    )


def _mapping(form: object, where: str) -> Mapping[str, Any]:
    if isinstance(form, Mapping) and all(isinstance(key, str) for key in form):
        return form
    raise SchemaError(f"{where}: expected names with values, found {type(form).__name__}")


def _refuse_others(form: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in form:
        if key not in known:
            raise SchemaError(f"{where}: expected {' or '.join(known)}, found {key!r}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys must differ: a kind written twice would have two parents."""
    form: dict[str, Any] = {}
    for key, value in pairs:
        if key in form:
            raise SchemaError(f"{key!r} is there twice: found {form[key]!r} and {value!r}")
        form[key] = value
    return form
