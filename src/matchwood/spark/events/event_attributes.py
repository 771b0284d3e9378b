"""Which attributes the events of a DataFrame have, and how executors read them.

Either columns are attributes, and the fields of a struct have dotted names; or one column holds
the whole event: a map with string keys, a JSON text, or a variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
)

from matchwood.language.aliases import Aliases
from matchwood.language.values import Family
from matchwood.schema import Schema
from matchwood.schema.errors import nearest
from matchwood.schema.rule_check import fits

# Where attributes are: in columns, or in one column that holds a map or a JSON text.
COLUMNS, MAP, JSON = "columns", "map", "json"
# The name under which a column that holds the whole event is sent to executors.
EVENT = "__event"


class Reading(NamedTuple):
    """How a worker reads events out of Arrow batches."""

    form: str  # COLUMNS, MAP or JSON
    attributes: tuple[str, ...]  # the columns that are attributes, for COLUMNS
    wanted: tuple[str, ...] | None  # the attributes that rules mention; None for all
    keep: tuple[str, ...]  # the columns that go with matches
    schema: Schema | None = None  # the schema that events are held to
    aliases: Aliases | None = None  # other names of attributes; `wanted` has them too


def column(name: str) -> Column:
    """A column by its plain name, whatever characters the name has."""
    return F.col("`" + name.replace("`", "``") + "`")


def prepare(
    events: DataFrame,
    attributes: str | None,
    keep: Sequence[str],
    wanted: Iterable[str] | None,
    schema: Schema | None = None,
    aliases: Aliases | None = None,
) -> tuple[DataFrame, Reading]:
    """Select only the columns that executors need, and say how they are read.

    With a `schema` that events are held to, executors need all columns that can be attributes. A
    column in `keep` that the schema does not know is sent too, but is not an attribute.
    """
    names = events.columns
    for name in keep:
        if name not in names:
            raise ValueError(f"keep: the events have no column {name!r}{nearest(name, names)}")
        if names.count(name) > 1:
            raise ValueError(f"keep: the events have {names.count(name)} columns {name!r}")
    mentioned = spelled_needs(wanted, aliases)
    if attributes is not None:
        frame, reading = _in_one_column(
            events, attributes, keep, mentioned if schema is None else None
        )
        return frame, reading._replace(schema=schema, aliases=aliases)
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the events have {names.count(name)} columns {name!r}")
    _refuse_two_spellings(events.schema)
    if schema is None:
        chosen = [field.name for field in events.schema if _is_attribute(field, mentioned)]
    else:
        known = {*_spellings(schema.attributes, aliases), schema.event_type}
        chosen = [
            field.name
            for field in events.schema
            if _is_attribute(field, None)
            and (field.name not in keep or provides(field.name, known))
        ]
    kept = [name for name in keep if name not in chosen]
    frame = events.select(*(column(name) for name in (*chosen, *kept)))
    return frame, Reading(COLUMNS, tuple(chosen), mentioned, tuple(keep), schema, aliases)


def spelled_needs(wanted: Iterable[str] | None, aliases: Aliases | None) -> tuple[str, ...] | None:
    """The names under which events may have the attributes that rules mention; None for all."""
    return None if wanted is None else tuple(sorted(_spellings(wanted, aliases)))


def _spellings(attributes: Iterable[str], aliases: Aliases | None) -> set[str]:
    """All names under which events may have some attributes."""
    if aliases is None:
        return set(attributes)
    return {name for attribute in attributes for name in aliases.spellings(attribute)}


def _is_attribute(field: StructField, mentioned: Sequence[str] | None) -> bool:
    """Whether a column is sent to executors: rules mention it, or may look at any attribute."""
    kind = field.dataType
    if mentioned is None:
        nested = isinstance(kind, StructType | ArrayType | MapType)
        return nested or family_of(kind) is not None
    if not provides(field.name, mentioned):
        return False
    if kind.typeName() == "variant":
        raise ValueError(
            f"the column {field.name!r} is a variant: if it holds the event, name it with "
            "attributes=; else select what rules need of it as separate columns"
        )
    return True


def _in_one_column(
    events: DataFrame, attributes: str, keep: Sequence[str], wanted: tuple[str, ...] | None
) -> tuple[DataFrame, Reading]:
    if attributes not in events.columns:
        near = nearest(attributes, events.columns)
        raise ValueError(f"attributes: the events have no column {attributes!r}{near}")
    kind = events.schema[attributes].dataType
    event = column(attributes)
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType):
        form = MAP
    elif isinstance(kind, StringType | BinaryType):
        form = JSON
    elif kind.typeName() == "variant":
        form, event = JSON, F.to_json(event)
    else:
        raise ValueError(
            f"attributes: {attributes!r} is {kind.simpleString()}; expected a map from strings, "
            "a JSON string, bytes of JSON, or a variant"
        )
    frame = events.select(event.alias(EVENT), *(column(name) for name in keep))
    return frame, Reading(form, (), wanted, tuple(keep))


def provides(name: str, mentioned: Iterable[str]) -> bool:
    """Whether a column is one of these attributes, or a struct that has it."""
    prefix = name + "."
    return any(attribute == name or attribute.startswith(prefix) for attribute in mentioned)


def _refuse_two_spellings(schema: StructType) -> None:
    seen: set[str] = set()
    for name, _ in provided(schema):
        if name in seen:
            raise ValueError(f"attribute {name!r}: two columns of the events provide it")
        seen.add(name)


def provided(schema: StructType, prefix: str = "") -> Iterator[tuple[str, DataType]]:
    """Every attribute of rows with this schema and its type; for a list, that of its items.

    The items of lists in a list have no type that predicates can see, and stay an array here.
    """
    for field in schema.fields:
        name, kind = prefix + field.name, field.dataType
        if isinstance(kind, ArrayType):
            kind = kind.elementType
        yield name, kind
        if isinstance(kind, StructType):
            yield from provided(kind, name + ".")


def family_of(kind: DataType) -> Family | None:
    """The family of the values of a type; None if they have none, or may have any."""
    if isinstance(kind, NumericType):
        return Family.NUMBER
    if isinstance(kind, StringType):
        return Family.STRING
    if isinstance(kind, BooleanType):
        return Family.BOOLEAN
    if isinstance(kind, DateType) or kind.typeName().startswith("timestamp"):
        return Family.TIME
    return None


def problems(
    schema: StructType,
    attributes: str | None,
    asked: Mapping[str, Sequence[str]],
    aliases: Aliases | None = None,
) -> list[str]:
    """What rules ask for and events with this schema cannot have, one sentence per problem."""
    if aliases is not None:
        there = dict(provided(schema))
        asked = {_spelled(name, there, aliases): families for name, families in asked.items()}
    if attributes is not None:
        return _map_problems(schema, attributes, asked)
    known: dict[str, Any] = dict(provided(schema))
    open_ = [name for name, kind in known.items() if _is_open(kind)]
    sentences = []
    for name, families in asked.items():
        if name not in known:
            if not any(name.startswith(prefix + ".") for prefix in open_):
                near = nearest(name, known)
                sentences.append(f"no column provides the attribute {name!r}{near}")
            continue
        sentences += _misfits(name, known[name], families)
    return sentences


def _spelled(attribute: str, known: Mapping[str, Any], aliases: Aliases) -> str:
    """The first spelling of an attribute that events have; its own if they have none."""
    return next((name for name in aliases.spellings(attribute) if name in known), attribute)


def _is_open(kind: DataType) -> bool:
    """Whether each value of a type has attributes of its own."""
    return isinstance(kind, MapType) or kind.typeName() == "variant"


def _misfits(name: str, kind: DataType, families: Sequence[str]) -> list[str]:
    family = family_of(kind)
    if family is None and _is_open(kind):
        return []
    wrong = [asked for asked in families if family is None or not fits(family, Family(asked))]
    shown = kind.simpleString()
    if isinstance(kind, ArrayType):
        shown = f"lists of lists (array<{shown}>)"
    return [
        f"rules ask for {name!r} as a {asked}, but events have it as {shown}: "
        "it is undefined for every event"
        for asked in wrong
    ]


def _map_problems(
    schema: StructType, attributes: str, asked: Mapping[str, Sequence[str]]
) -> list[str]:
    kind = schema[attributes].dataType
    if not isinstance(kind, MapType) or isinstance(kind.valueType, StructType | MapType):
        return []
    value = kind.valueType
    if isinstance(value, ArrayType):
        value = value.elementType
    return [
        sentence for name, families in asked.items() for sentence in _misfits(name, value, families)
    ]
