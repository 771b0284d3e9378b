"""The dict form of a schema, as TOML and JSON files hold it, both ways.

[domains]
rating = { minimum = 0, maximum = 5 }
condition = { values = ["poor", "good", "mint"], order = "listed" }

[hierarchies.furniture]     # child = parent
"dining table" = "table"
table = "furniture"

[attributes]
price = "number"            # number, string, boolean, time, or the name of a domain or hierarchy
tags = "list of string"
condition = "condition"
category = "furniture"

[types.offer]
price = "mandatory"
category = "optional"
tags = "optional multiple"
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from matchwood.language.errors import RuleError
from matchwood.language.values import Literal, is_text, literal
from matchwood.schema.domains import (
    FAMILIES,
    Domain,
    Enumerated,
    Hierarchical,
    Plain,
    Range,
)
from matchwood.schema.errors import SchemaError, nearest
from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.types import Use

if TYPE_CHECKING:
    from matchwood.schema.schema import Attribute, Schema

PARTS = ("domains", "hierarchies", "attributes", "types", "event_type")
_LIST_OF = "list of "


def read(given: object) -> Schema:
    """The schema of a dict form."""
    from matchwood.schema.schema import EVENT_TYPE, Schema

    top = _mapping(given, "a schema")
    _refuse_others(top, PARTS, "a schema")
    event_type = top.get("event_type", EVENT_TYPE)
    if not isinstance(event_type, str) or not is_text(event_type):
        raise SchemaError(f"event_type: expected the name of an attribute, found {event_type!r}")
    domains = _domains(top, {})
    attributes = _attributes(top, domains)
    return Schema(attributes, domains=domains, types=_types(top, attributes), event_type=event_type)


def write(schema: Schema) -> dict[str, Any]:
    """The dict form of a schema; what has no name of its own stands where it is used."""
    hierarchies = {
        name: _parents(domain)
        for name, domain in schema.domains.items()
        if isinstance(domain, Hierarchical)
    }
    domains = {
        name: _domain_form(domain)
        for name, domain in schema.domains.items()
        if not isinstance(domain, Hierarchical)
    }
    attributes: dict[str, Any] = {}
    for name, attribute in schema.declared.items():
        if attribute.hierarchy is not None and attribute.of is None:
            own = _unused(name, {*hierarchies, *domains, *FAMILIES})
            hierarchies[own] = _parents(attribute.domain)
            attributes[name] = _LIST_OF + own if attribute.is_list else own
        else:
            attributes[name] = _attribute_form(attribute)
    types = {
        name: {attribute: str(use) for attribute, use in uses.items()}
        for name, uses in schema.types.items()
    }
    held = {
        "domains": domains,
        "hierarchies": hierarchies,
        "attributes": attributes,
        "types": types,
    }
    found: dict[str, Any] = {name: part for name, part in held.items() if part}
    from matchwood.schema.schema import EVENT_TYPE

    if schema.event_type != EVENT_TYPE:
        found["event_type"] = schema.event_type
    return found


def extend(schema: Schema, given: object) -> Schema:
    """A schema with the domains, attributes, types and uses that a dict form adds to it."""
    top = _mapping(given, "an extension")
    _refuse_others(top, PARTS[:-1], "an extension")
    for name, domain in _domains(top, schema.domains).items():
        if name not in schema.domains:
            schema = schema.add_domain(name, domain)
    for name, attribute in _attributes(top, schema.domains).items():
        if name in schema.attributes:
            raise SchemaError(f"attributes.{name}: it is there already, and what is there stays")
        schema = schema._with(attributes={**schema.declared, name: attribute})
    for name, uses in _types(top, schema.declared).items():
        if name not in schema.types:
            schema = schema.add_type(name, uses)
            continue
        for added, use in uses.items():
            if use.mandatory:
                raise SchemaError(
                    f"types.{name}.{added}: a type that is there is extended by optional "
                    "attributes, as others publish events of it without this one"
                )
            schema = schema.extend_type(name, added, multiple=use.multiple)
    return schema


# Domains


def _domains(top: Mapping[str, Any], known: Mapping[str, Domain]) -> dict[str, Domain]:
    found = dict(known)
    for name, parents in _mapping(top.get("hierarchies", {}), "hierarchies").items():
        where = f"hierarchies.{name}"
        _refuse_known(name, known, where)
        try:
            found[name] = Hierarchical(Hierarchy(_mapping(parents, where)))
        except SchemaError as error:
            raise _at(where, error) from None
    for name, what in _mapping(top.get("domains", {}), "domains").items():
        where = f"domains.{name}"
        _refuse_known(name, found, where)
        found[name] = _domain(what, where)
    return found


def _refuse_known(name: str, known: Mapping[str, Domain], where: str) -> None:
    if name in FAMILIES or name in known:
        raise SchemaError(f"{where}: there is a domain of that name already")
    if name.startswith(_LIST_OF):
        raise SchemaError(f"{where}: a name that starts with {_LIST_OF!r} reads as a list")


def _domain(what: object, where: str) -> Domain:
    if isinstance(what, str) and what in FAMILIES:
        return FAMILIES[what]
    if isinstance(what, Mapping):
        try:
            if "values" in what:
                return _enumerated(what, where)
            _refuse_others(what, ("minimum", "maximum"), where)
            if what:
                bounds = (_number(what.get(key), f"{where}.{key}") for key in _BOUNDS)
                return Range(*bounds)
        except SchemaError as error:
            raise _at(where, error) from None
    raise SchemaError(
        f"{where}: expected one of {', '.join(FAMILIES)}, a minimum or maximum, or values, "
        f"found {what!r}"
    )


_BOUNDS = ("minimum", "maximum")


def _enumerated(what: Mapping[str, Any], where: str) -> Enumerated:
    _refuse_others(what, ("values", "order"), where)
    values, order = what["values"], what.get("order")
    if not isinstance(values, list | tuple):
        raise SchemaError(f"{where}.values: expected a list, found {type(values).__name__}")
    if order is None:
        return Enumerated(values)
    if order == "listed":
        return Enumerated(values, [values])
    if isinstance(order, list) and all(isinstance(chain, list | tuple) for chain in order):
        return Enumerated(values, order)
    raise SchemaError(
        f"{where}.order: expected 'listed', or lists of values from least to greatest, "
        f"found {order!r}"
    )


def _number(value: object, where: str) -> int | Decimal | None:
    if value is None:
        return None
    try:
        found = literal(value)
    except RuleError as error:
        raise SchemaError(f"{where}: {error.reason}") from None
    if isinstance(found, bool) or not isinstance(found, int | Decimal):
        raise SchemaError(f"{where}: expected a number, found {value!r}")
    return found


def _domain_form(domain: Domain) -> Any:
    if isinstance(domain, Range):
        bounds = {"minimum": domain.minimum, "maximum": domain.maximum}
        return {name: _plain(value) for name, value in bounds.items() if value is not None}
    if isinstance(domain, Enumerated):
        form: dict[str, Any] = {"values": [_plain(value) for value in domain.values]}
        if domain.chains == (domain.values,):
            form["order"] = "listed"
        elif domain.chains is not None:
            form["order"] = [[_plain(value) for value in chain] for chain in domain.chains]
        return form
    assert isinstance(domain, Plain)
    return str(domain.family)


def _plain(value: Literal) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _parents(domain: Domain) -> dict[str, str]:
    assert isinstance(domain, Hierarchical)
    return dict(domain.hierarchy.parents)


# Attributes


def _attributes(top: Mapping[str, Any], domains: Mapping[str, Domain]) -> dict[str, Attribute]:
    return {
        name: _attribute(what, f"attributes.{name}", domains)
        for name, what in _mapping(top.get("attributes", {}), "attributes").items()
    }


def _attribute(what: object, where: str, domains: Mapping[str, Domain]) -> Attribute:
    from matchwood.schema.schema import Attribute

    if isinstance(what, Mapping) and "hierarchy" in what:
        _refuse_others(what, ("hierarchy", "list"), where)
        named = what["hierarchy"]
        if not isinstance(named, str) or not isinstance(domains.get(named), Hierarchical):
            near = nearest(str(named), domains)
            raise SchemaError(f"{where}: no hierarchy {named!r} is in the schema{near}")
        return Attribute(domains[named], _is_list(what, where), named)
    if isinstance(what, Mapping):
        rest = {key: value for key, value in what.items() if key != "list"}
        return Attribute(_domain(rest, where), _is_list(what, where))
    if isinstance(what, str):
        name = what.removeprefix(_LIST_OF)
        if name in FAMILIES:
            return Attribute(FAMILIES[name], name != what)
        if name in domains:
            return Attribute(domains[name], name != what, name)
    known = ", ".join((*FAMILIES, *domains))
    raise SchemaError(
        f"{where}: expected one of {known}, 'list of' one of them, values, or a minimum or "
        f"maximum, found {what!r}"
    )


def _is_list(what: Mapping[str, Any], where: str) -> bool:
    given = what.get("list", False)
    if isinstance(given, bool):
        return given
    raise SchemaError(f"{where}.list: expected true or false, found {given!r}")


def _attribute_form(attribute: Attribute) -> Any:
    form = attribute.of or _domain_form(attribute.domain)
    if isinstance(form, str):
        return _LIST_OF + form if attribute.is_list else form
    return {**form, "list": True} if attribute.is_list else form


def _unused(name: str, taken: set[str]) -> str:
    while name in taken or name.startswith(_LIST_OF):
        name = "_" + name
    return name


# Types


def _types(
    top: Mapping[str, Any], attributes: Mapping[str, Attribute]
) -> dict[str, dict[str, Use]]:
    return {
        name: {
            attribute: _use(what, f"types.{name}.{attribute}", attributes.get(attribute))
            for attribute, what in _mapping(uses, f"types.{name}").items()
        }
        for name, uses in _mapping(top.get("types", {}), "types").items()
    }


def _use(what: object, where: str, attribute: Attribute | None) -> Use:
    words = what.split() if isinstance(what, str) else []
    known = ("mandatory", "optional", "unique", "multiple")
    two = {"mandatory", "optional"} <= set(words) or {"unique", "multiple"} <= set(words)
    if not words or len(words) > 2 or two or any(word not in known for word in words):
        raise SchemaError(
            f"{where}: expected mandatory or optional, with unique or multiple, found {what!r}"
        )
    is_list = attribute is not None and attribute.is_list
    multiple = "multiple" in words or (is_list and "unique" not in words)
    return Use("mandatory" in words, multiple)


# Any part


def _at(where: str, error: SchemaError) -> SchemaError:
    text = str(error)
    return error if text.startswith(where) else SchemaError(f"{where}: {text}")


def _mapping(form: object, where: str) -> Mapping[str, Any]:
    if isinstance(form, Mapping) and all(isinstance(key, str) for key in form):
        for key in form:
            if not is_text(key):
                raise SchemaError(f"{where}: the name {key!r} is not valid Unicode")
        return form
    raise SchemaError(f"{where}: expected names with values, found {type(form).__name__}")


def _refuse_others(form: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in form:
        if key not in known:
            raise SchemaError(f"{where}: expected {' or '.join(known)}, found {key!r}")
