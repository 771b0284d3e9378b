"""Queries of one field, by the type of the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from matchwood.imports.connectives import FALSE, all_of, any_of, negated
from matchwood.imports.imported import Inexpressible
from matchwood.imports.percolator.addresses import LAST, AddressError, ends, networks, position
from matchwood.imports.percolator.index_mapping import IndexMapping, MappedField
from matchwood.imports.percolator.lucene_patterns import (
    LucenePatternError,
    either_case,
    escaped_like,
    has_wildcards,
    like_pattern,
    regular_expression,
    unescaped,
    wildcard_expression,
)
from matchwood.imports.percolator.ranges import (
    FRACTIONS,
    INTEGERS,
    Bounds,
    Calendar,
    RangeError,
    between,
    fraction,
    fraction_range,
    integer_range,
    number_of,
    of_one,
    present,
)
from matchwood.language.subjects import lower_case
from matchwood.language.tree import Call, Comparison, In, Like, Lowered, Node
from matchwood.language.tree.arithmetic import Attribute

STRINGS = ("keyword", "wildcard")

# The longest `ignore_above` that RE2 can count to.
COUNTED = 1000


@dataclass(frozen=True)
class Subject:
    """A field as a rule names it: in the event, or in an element of a nested object."""

    name: str
    field: MappedField
    place: str

    def refuse(self, reason: str) -> Inexpressible:
        return Inexpressible(reason, self.place)

    @property
    def type(self) -> str:
        return self.field.type


class FieldQueries:
    """Queries of the fields of one index."""

    def __init__(self, mapping: IndexMapping, now: datetime | None) -> None:
        self.mapping = mapping
        self.now = now

    def subject(self, name: str, nested: str, place: str) -> Subject:
        field = self.mapping.field(name, place)
        around = self.mapping.nested_around(field.path)
        if around != nested:
            where = f"a nested query of {around!r}" if around else "no nested query"
            raise Inexpressible(f"{name!r} can be asked for in {where} only", place)
        if field.type in ("text", "match_only_text", "search_as_you_type", "annotated_text"):
            raise Inexpressible(f"{name!r} is {field.type}: its words are analysed", place)
        if field.type not in (*STRINGS, *INTEGERS, *FRACTIONS, "boolean", "date", "ip"):
            raise Inexpressible(f"{name!r} has the type {field.type!r}", place)
        return Subject(field.path[len(nested) + 1 :] if nested else field.path, field, place)

    # Strings

    def strings(self, subject: Subject, test: Callable[[str], Node]) -> Node:
        """A test of the strings of a field that are indexed, normalised."""
        limit = subject.field.settings.get("ignore_above")
        if limit is None:
            return test(self.normalised(subject, subject.name))
        if not 0 < limit <= COUNTED:
            raise subject.refuse(f"ignore_above is {limit}, and rules count to {COUNTED}")
        long = f"(?s)^.{{{limit + 1}}}"
        return of_one(
            subject.name,
            lambda it: all_of(
                (test(self.normalised(subject, it)), negated(Like(it, "rlike", long)))
            ),
        )

    def normalised(self, subject: Subject, name: str) -> str:
        normalizer = subject.field.settings.get("normalizer")
        if normalizer is None:
            return name
        if normalizer != "lowercase":
            raise subject.refuse(f"what the normalizer {normalizer!r} does is not known")
        return Lowered(name)

    def text(self, subject: Subject, value: object) -> str:
        """The text of a literal that is compared with strings."""
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, int):
            value = str(value)
        if not isinstance(value, str):
            raise subject.refuse(f"expected a string, found {value!r}")
        lowered = subject.field.settings.get("normalizer") == "lowercase"
        return lower_case(value) if lowered else value

    def short(self, subject: Subject, texts: list[str]) -> list[str]:
        """The texts that are not longer than those that the field has."""
        limit = subject.field.settings.get("ignore_above")
        return [text for text in texts if limit is None or len(text) <= limit]

    # Terms

    def terms(self, subject: Subject, values: list[object]) -> Node:
        """Whether a field has one of some values."""
        if subject.type in STRINGS:
            texts = self.short(subject, [self.text(subject, value) for value in values])
            return one_of(self.normalised(subject, subject.name), texts)
        if subject.type == "boolean":
            return one_of(
                subject.name, [v for value in values for v in self.boolean(subject, value)]
            )
        if subject.type in INTEGERS:
            numbers = [self.number(subject, value) for value in values]
            return one_of(subject.name, [int(n) for n in numbers if n == int(n)])
        if subject.type in FRACTIONS:
            factor = subject.field.settings.get("scaling_factor")
            read = partial(fraction, subject.type, factor)
            found = [self.exact(subject, partial(read, value)) for value in values]
            return one_of(subject.name, found)
        if subject.type == "ip":
            return any_of([self.network(subject, value) for value in values])
        return any_of(self.range(subject, Bounds(value, value, True, True)) for value in values)

    def term_without_case(self, subject: Subject, value: object) -> Node:
        if subject.type not in STRINGS:
            raise subject.refuse(f"case_insensitive of a field of type {subject.type}")
        text = self.text(subject, value)
        return self.strings(subject, lambda name: Like(name, "rlike", f"(?s)^{either_case(text)}$"))

    def number(self, subject: Subject, value: object) -> Decimal:
        found: Decimal = self.exact(subject, lambda: number_of(value))
        return found

    def boolean(self, subject: Subject, value: object) -> tuple[object, ...]:
        """The values of documents that count as a boolean."""
        if value is True or value == "true":
            return (True, "true")
        if value is False or value in ("false", ""):
            return (False, "false", "")
        raise subject.refuse(f"expected true or false, found {value!r}")

    def network(self, subject: Subject, value: object) -> Node:
        if not isinstance(value, str):
            raise subject.refuse(f"expected an address, found {value!r}")
        return self.addresses(subject, *self.exact(subject, lambda: ends(value)))

    def addresses(self, subject: Subject, first: int, last: int) -> Node:
        found = self.exact(subject, lambda: networks(first, last))
        return any_of(Call("in_network", (Attribute(subject.name), each)) for each in found)

    def exact(self, subject: Subject, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (RangeError, AddressError, LucenePatternError) as error:
            raise subject.refuse(str(error)) from None

    # Ranges

    def range(self, subject: Subject, bounds: Bounds) -> Node:
        found: Node = self.exact(subject, lambda: self._range(subject, bounds))
        return found

    def _range(self, subject: Subject, bounds: Bounds) -> Node:
        settings = subject.field.settings
        if subject.type in INTEGERS:
            return integer_range(subject.name, subject.type, bounds)
        if subject.type in FRACTIONS:
            factor = settings.get("scaling_factor")
            return fraction_range(subject.name, subject.type, factor, bounds)
        if subject.type == "date":
            return Calendar.of(settings.get("format"), self.now).range(subject.name, bounds)
        if subject.type == "ip":
            first = 0 if bounds.low is None else position(str(bounds.low)) + (not bounds.with_low)
            last = LAST
            if bounds.high is not None:
                last = position(str(bounds.high)) - (not bounds.with_high)
            return self.addresses(subject, first, last)
        if subject.type in STRINGS:
            low, high = (
                None if bound is None else self.text(subject, bound)
                for bound in (bounds.low, bounds.high)
            )
            return self.strings(
                subject, lambda name: between(name, low, high, bounds.with_low, bounds.with_high)
            )
        raise subject.refuse(f"a range of a field of type {subject.type}")

    # Patterns

    def prefix(self, subject: Subject, value: object, ignore_case: bool) -> Node:
        text = self.pattern_text(subject, value)
        if ignore_case:
            pattern = f"(?s)^{either_case(text)}"
            return self.strings(subject, lambda name: Like(name, "rlike", pattern))
        return self.strings(subject, lambda name: Like(name, "like", f"{escaped_like(text)}%"))

    def wildcard(self, subject: Subject, value: object, ignore_case: bool) -> Node:
        text = self.pattern_text(subject, value)
        if ignore_case:
            pattern = wildcard_expression(text)
            return self.strings(subject, lambda name: Like(name, "rlike", pattern))
        if not has_wildcards(text):
            return self.strings(subject, lambda name: Comparison(name, "=", unescaped(text)))
        return self.strings(subject, lambda name: Like(name, "like", like_pattern(text)))

    def regexp(self, subject: Subject, form: Mapping[str, Any]) -> Node:
        text = self.pattern_text(subject, form["value"])
        if subject.field.settings.get("normalizer"):
            raise subject.refuse("a regular expression of a field with a normalizer")
        flags = str(form.get("flags", "ALL")).upper()
        if flags not in ("ALL", "NONE"):
            raise subject.refuse(f"the flags {flags!r} of a regular expression")
        ignore_case = form.get("case_insensitive") is True
        pattern = self.exact(
            subject, lambda: regular_expression(text, ignore_case, operators=flags == "ALL")
        )
        return self.strings(subject, lambda name: Like(name, "rlike", pattern))

    def pattern_text(self, subject: Subject, value: object) -> str:
        if subject.type not in STRINGS:
            raise subject.refuse(f"a pattern of a field of type {subject.type}")
        if not isinstance(value, str):
            raise subject.refuse(f"expected a string, found {value!r}")
        return self.text(subject, value)

    # Existence

    def exists(self, name: str, nested: str, place: str) -> Node:
        if name in self.mapping.objects:
            return any_of(
                present(self.subject(each, nested, place).name) for each in self.mapping.below(name)
            )
        subject = self.subject(name, nested, place)
        if subject.type in STRINGS:
            if "ignore_above" not in subject.field.settings:
                return present(subject.name)
            return self.strings(subject, lambda it: Like(it, "like", "%"))
        return present(subject.name)


def one_of(name: str, values: list[Any]) -> Node:
    """Whether a value is one of some, which may be none at all."""
    if not values:
        return FALSE
    return Comparison(name, "=", values[0]) if len(values) == 1 else In(name, values)
