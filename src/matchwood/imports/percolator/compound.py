"""Queries that hold other queries, and the names of those that ask for one field."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matchwood.imports.connectives import FALSE, TRUE, all_of, any_of, negated, tested
from matchwood.imports.imported import Inexpressible
from matchwood.imports.percolator.field_queries import FieldQueries
from matchwood.imports.percolator.ranges import Bounds, RangeError
from matchwood.language import evaluate
from matchwood.language.tree import IT, AtLeast, Constant, Elements, IsNull, Node

# What queries may hold that changes only how well a document fits.
SCORES = ("boost", "_name")

# The deepest nesting of queries.
MAX_DEPTH = 50


@dataclass(frozen=True)
class Position:
    """Where a query stands: its path in the document, and the nested object that it asks about."""

    place: str
    nested: str = ""
    depth: int = 0

    def at(self, step: str) -> Position:
        return replace(self, place=f"{self.place}{step}", depth=self.depth + 1)

    def refuse(self, reason: str) -> Inexpressible:
        return Inexpressible(reason, self.place)


class Queries:
    """The queries of one index, as rules."""

    def __init__(self, fields: FieldQueries) -> None:
        self.fields = fields

    def node(self, query: object, position: Position) -> Node:
        """A rule that is true of the documents of which the query is."""
        if position.depth > MAX_DEPTH:
            raise position.refuse(f"queries nest over {MAX_DEPTH} deep")
        if not isinstance(query, dict) or len(query) != 1:
            raise position.refuse("a query is an object with one name")
        ((name, form),) = query.items()
        inner = position.at(f".{name}")
        if name in _COMPOUND:
            return _COMPOUND[name](self, _object(form, inner), inner)
        if name in _OF_FIELD:
            return self.of_field(name, _object(form, inner), inner)
        raise position.refuse(f"the query {name!r} cannot be said")

    def of_field(self, name: str, form: dict[str, Any], position: Position) -> Node:
        fields = {field: value for field, value in form.items() if field not in SCORES}
        if len(fields) != 1:
            raise position.refuse("expected one field")
        ((field, value),) = fields.items()
        return _OF_FIELD[name](self, field, value, position.at(f".{field}"))

    def several(self, form: object, position: Position) -> list[Node]:
        """The queries of a list, or the one that stands without a list."""
        if isinstance(form, list):
            return [self.node(each, position.at(f"[{n}]")) for n, each in enumerate(form)]
        return [self.node(form, position)]

    # Queries of queries

    def boolean(self, form: dict[str, Any], position: Position) -> Node:
        known = ("must", "filter", "should", "must_not", "minimum_should_match", *SCORES)
        _check(form, (*known, "adjust_pure_negative"), position)
        parts = {
            name: self.several(form[name], position.at(f".{name}")) if form.get(name) else []
            for name in ("must", "filter", "should", "must_not")
        }
        if form.get("adjust_pure_negative", True) is not True:
            raise position.refuse("adjust_pure_negative is not true")
        required = [*parts["must"], *parts["filter"]]
        should = parts["should"]
        count = 0
        if form.get("minimum_should_match") is not None:
            count = self.minimum(form["minimum_should_match"], len(should), position)
        if count == 0 and should and not required:
            count = 1
        wanted = at_least(count, should)
        without = [negated(tested(any_of(parts["must_not"]), "true"))]
        return all_of((*required, wanted, *(without if parts["must_not"] else [])))

    def minimum(self, spec: object, count: int, position: Position) -> int:
        try:
            return minimum_should_match(str(spec), count)
        except ValueError:
            raise position.refuse(f"minimum_should_match is {spec!r}") from None

    def nested(self, form: dict[str, Any], position: Position) -> Node:
        _check(form, ("path", "query", "score_mode", "ignore_unmapped", *SCORES), position)
        path = form.get("path")
        if not isinstance(path, str) or path not in self.fields.mapping.nested:
            raise position.refuse(f"the mapping has no nested object {path!r}")
        around = position.nested
        if self.fields.mapping.nested_around(path) != around and around:
            raise position.refuse(f"{path!r} is not directly inside {around!r}")
        inner = replace(position.at(".query"), nested=path)
        rule = self.node(form.get("query"), inner)
        if isinstance(rule, Constant) and not rule.value:
            return FALSE
        name = path[len(around) + 1 :] if around else path
        # A null among the elements is no document
        if evaluate(rule, {}) is True:
            rule = all_of((IsNull(IT, True), rule))
        return Elements("any", name, rule)

    def filtered(self, form: dict[str, Any], position: Position) -> Node:
        _check(form, ("filter", *SCORES), position)
        return self.node(form.get("filter"), position.at(".filter"))

    def boosting(self, form: dict[str, Any], position: Position) -> Node:
        _check(form, ("positive", "negative", "negative_boost", *SCORES), position)
        return self.node(form.get("positive"), position.at(".positive"))

    def best(self, form: dict[str, Any], position: Position) -> Node:
        _check(form, ("queries", "tie_breaker", *SCORES), position)
        return any_of(self.several(form.get("queries"), position.at(".queries")))

    def scored(self, form: dict[str, Any], position: Position) -> Node:
        if form.get("min_score") is not None:
            raise position.refuse("min_score decides by how well a document fits")
        query = form.get("query")
        return TRUE if query is None else self.node(query, position.at(".query"))

    def match_all(self, form: dict[str, Any], position: Position) -> Node:
        _check(form, SCORES, position)
        return TRUE

    def match_none(self, form: dict[str, Any], position: Position) -> Node:
        _check(form, SCORES, position)
        return FALSE

    def exists(self, form: dict[str, Any], position: Position) -> Node:
        _check(form, ("field", *SCORES), position)
        return self.fields.exists(str(form.get("field")), position.nested, position.place)

    def terms(self, form: dict[str, Any], position: Position) -> Node:
        fields = {field: value for field, value in form.items() if field not in SCORES}
        if len(fields) != 1:
            raise position.refuse("expected one field")
        ((field, values),) = fields.items()
        inner = position.at(f".{field}")
        if not isinstance(values, list):
            raise inner.refuse("expected a list of values")
        return self.fields.terms(self.fields.subject(field, position.nested, inner.place), values)

    # Queries of one field

    def term(self, field: str, value: object, position: Position) -> Node:
        form = _with_value(value, ("case_insensitive",), position)
        subject = self.fields.subject(field, position.nested, position.place)
        if form.get("case_insensitive") is True:
            return self.fields.term_without_case(subject, form["value"])
        return self.fields.terms(subject, [form["value"]])

    def match(self, field: str, value: object, position: Position) -> Node:
        """A match of a field that is not analysed asks for one term."""
        harmless = ("operator", "zero_terms_query", "auto_generate_synonyms_phrase_query", "slop")
        form = _with_value(value, harmless, position, name="query")
        subject = self.fields.subject(field, position.nested, position.place)
        return self.fields.terms(subject, [form["query"]])

    def range(self, field: str, value: object, position: Position) -> Node:
        subject = self.fields.subject(field, position.nested, position.place)
        try:
            bounds = Bounds.of(_object(value, position))
        except RangeError as error:
            raise position.refuse(str(error)) from None
        return self.fields.range(subject, bounds)

    def prefix(self, field: str, value: object, position: Position) -> Node:
        form = _with_value(value, ("case_insensitive", "rewrite"), position)
        subject = self.fields.subject(field, position.nested, position.place)
        return self.fields.prefix(subject, form["value"], form.get("case_insensitive") is True)

    def wildcard(self, field: str, value: object, position: Position) -> Node:
        if isinstance(value, dict) and "wildcard" in value and "value" not in value:
            value = {**value, "value": value["wildcard"]}
            del value["wildcard"]
        form = _with_value(value, ("case_insensitive", "rewrite"), position)
        subject = self.fields.subject(field, position.nested, position.place)
        return self.fields.wildcard(subject, form["value"], form.get("case_insensitive") is True)

    def regexp(self, field: str, value: object, position: Position) -> Node:
        options = ("case_insensitive", "rewrite", "flags", "max_determinized_states")
        form = _with_value(value, options, position)
        subject = self.fields.subject(field, position.nested, position.place)
        return self.fields.regexp(subject, form)


def at_least(count: int, nodes: Sequence[Node]) -> Node:
    """Whether so many of the nodes are true."""
    left = [node for node in nodes if node != FALSE and node != TRUE]
    count -= sum(node == TRUE for node in nodes)
    if count <= 0:
        return TRUE
    if count > len(left):
        return FALSE
    if count == 1:
        return any_of(left)
    return all_of(left) if count == len(left) else AtLeast(count, left)


def minimum_should_match(spec: str, count: int) -> int:
    """How many of some clauses must be true: `2`, `-1`, `75%`, `-25%`, `2<-25% 9<-3`."""
    spec = spec.strip()
    if "<" in spec:
        result = count
        for part in re.sub(r"\s*<\s*", "<", spec).split():
            bound, _, rest = part.partition("<")
            if count <= int(bound):
                return result
            result = minimum_should_match(rest, count)
        return result
    if "%" in spec:
        percent = int(spec[: spec.index("%")])
        share = int(_single(_single(count * percent) * _single(0.01)))
        return max(0, count + share if percent < 0 else share)
    number = int(spec)
    return max(0, count + number if number < 0 else number)


def _single(number: float) -> float:
    """A number as 32 bits hold it, in which Elasticsearch computes percentages."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _object(form: object, position: Position) -> dict[str, Any]:
    if not isinstance(form, dict):
        raise position.refuse(f"expected an object, found {type(form).__name__}")
    return form


def _check(form: Mapping[str, Any], known: Sequence[str], position: Position) -> None:
    for name in form:
        if name not in known:
            raise position.refuse(f"{name!r} cannot be said")


def _with_value(
    form: object, options: Sequence[str], position: Position, name: str = "value"
) -> dict[str, Any]:
    """The value of a query of a field, which may stand alone or with options."""
    if not isinstance(form, dict):
        form = {name: form}
    _check(form, (name, *options, *SCORES), position)
    if isinstance(form.get(name), dict | list) or form.get(name) is None:
        raise position.refuse("expected a value")
    return form


_COMPOUND: dict[str, Callable[[Queries, dict[str, Any], Position], Node]] = {
    "bool": Queries.boolean,
    "nested": Queries.nested,
    "constant_score": Queries.filtered,
    "boosting": Queries.boosting,
    "dis_max": Queries.best,
    "function_score": Queries.scored,
    "script_score": Queries.scored,
    "match_all": Queries.match_all,
    "match_none": Queries.match_none,
    "exists": Queries.exists,
    "terms": Queries.terms,
}
_OF_FIELD: dict[str, Callable[[Queries, str, Any, Position], Node]] = {
    "term": Queries.term,
    "match": Queries.match,
    "match_phrase": Queries.match,
    "range": Queries.range,
    "prefix": Queries.prefix,
    "wildcard": Queries.wildcard,
    "regexp": Queries.regexp,
}
