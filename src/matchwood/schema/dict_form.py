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
from typing import Any, NamedTuple, TypeVar

from matchwood.language.errors import RuleError
from matchwood.language.values import Literal, is_text, literal
from matchwood.schema.definitions import EVENT_TYPE, Definitions, SchemaAttribute
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

# The keys of a dict form.
PARTS = ("domains", "hierarchies", "attributes", "types", "event_type")
_LIST_OF = "list of "

AnyDefinitions = TypeVar("AnyDefinitions", bound=Definitions)


class Extension(NamedTuple):
    """What a dict form adds to the definitions of a schema."""

    domains: dict[str, Domain]
    attributes: dict[str, SchemaAttribute]
    types: dict[str, dict[str, Use]]


def read(form: object, kind: type[AnyDefinitions]) -> AnyDefinitions:
    """The definitions in a dict form, as an object of a class of definitions."""
    top = _mapping(form, "a schema")
    _refuse_others(top, PARTS, "a schema")
    event_type = top.get("event_type", EVENT_TYPE)
    if not isinstance(event_type, str) or not is_text(event_type):
        raise SchemaError(f"event_type: expected the name of an attribute, found {event_type!r}")
    domains = _domains(top, {})
    attributes = _attributes(top, domains)
    return kind(attributes, domains=domains, types=_types(top, attributes), event_type=event_type)


def write(schema: Definitions) -> dict[str, Any]:
    """The dict form of definitions; a domain without a name is written where it is used."""
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
    parts = {
        "domains": domains,
        "hierarchies": hierarchies,
        "attributes": attributes,
        "types": types,
    }
    form: dict[str, Any] = {name: part for name, part in parts.items() if part}
    if schema.event_type != EVENT_TYPE:
        form["event_type"] = schema.event_type
    return form


def read_extension(form: object, schema: Definitions) -> Extension:
    """What a dict form adds to the definitions of a schema, whose domains it may use."""
    top = _mapping(form, "an extension")
    _refuse_others(top, PARTS[:-1], "an extension")
    domains = _domains(top, schema.domains)
    attributes = _attributes(top, domains)
    types = _types(top, {**schema.declared, **attributes})
    added = {name: domain for name, domain in domains.items() if name not in schema.domains}
    return Extension(added, attributes, types)


# Domains


def _domains(top: Mapping[str, Any], known: Mapping[str, Domain]) -> dict[str, Domain]:
    domains = dict(known)
    for name, parents in _mapping(top.get("hierarchies", {}), "hierarchies").items():
        where = f"hierarchies.{name}"
        _refuse_known(name, known, where)
        try:
            domains[name] = Hierarchical(Hierarchy(_mapping(parents, where)))
        except SchemaError as error:
            raise _at(where, error) from None
    for name, definition in _mapping(top.get("domains", {}), "domains").items():
        where = f"domains.{name}"
        _refuse_known(name, domains, where)
        domains[name] = _domain(definition, where)
    return domains


def _refuse_known(name: str, known: Mapping[str, Domain], where: str) -> None:
    if name in FAMILIES or name in known:
        raise SchemaError(f"{where}: there is a domain of that name already")
    if name.startswith(_LIST_OF):
        raise SchemaError(f"{where}: a name that starts with {_LIST_OF!r} reads as a list")


def _domain(definition: object, where: str) -> Domain:
    if isinstance(definition, str) and definition in FAMILIES:
        return FAMILIES[definition]
    if isinstance(definition, Mapping):
        try:
            if "values" in definition:
                return _enumerated(definition, where)
            _refuse_others(definition, ("minimum", "maximum"), where)
            if definition:
                bounds = (_number(definition.get(key), f"{where}.{key}") for key in _BOUNDS)
                return Range(*bounds)
        except SchemaError as error:
            raise _at(where, error) from None
    raise SchemaError(
        f"{where}: expected one of {', '.join(FAMILIES)}, a minimum or maximum, or values, "
        f"found {definition!r}"
    )


_BOUNDS = ("minimum", "maximum")


def _enumerated(definition: Mapping[str, Any], where: str) -> Enumerated:
    _refuse_others(definition, ("values", "order"), where)
    values, order = definition["values"], definition.get("order")
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
        number = literal(value)
    except RuleError as error:
        raise SchemaError(f"{where}: {error.reason}") from None
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        raise SchemaError(f"{where}: expected a number, found {value!r}")
    return number


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


def _attributes(
    top: Mapping[str, Any], domains: Mapping[str, Domain]
) -> dict[str, SchemaAttribute]:
    return {
        name: _attribute(definition, f"attributes.{name}", domains)
        for name, definition in _mapping(top.get("attributes", {}), "attributes").items()
    }


def _attribute(definition: object, where: str, domains: Mapping[str, Domain]) -> SchemaAttribute:
    if isinstance(definition, Mapping) and "hierarchy" in definition:
        _refuse_others(definition, ("hierarchy", "list"), where)
        named = definition["hierarchy"]
        if not isinstance(named, str) or not isinstance(domains.get(named), Hierarchical):
            near = nearest(str(named), domains)
            raise SchemaError(f"{where}: no hierarchy {named!r} is in the schema{near}")
        return SchemaAttribute(domains[named], _is_list(definition, where), named)
    if isinstance(definition, Mapping):
        rest = {key: value for key, value in definition.items() if key != "list"}
        return SchemaAttribute(_domain(rest, where), _is_list(definition, where))
    if isinstance(definition, str):
        name = definition.removeprefix(_LIST_OF)
        if name in FAMILIES:
            return SchemaAttribute(FAMILIES[name], name != definition)
        if name in domains:
            return SchemaAttribute(domains[name], name != definition, name)
    known = ", ".join((*FAMILIES, *domains))
    raise SchemaError(
        f"{where}: expected one of {known}, 'list of' one of them, values, or a minimum or "
        f"maximum, found {definition!r}"
    )


def _is_list(definition: Mapping[str, Any], where: str) -> bool:
    is_list = definition.get("list", False)
    if isinstance(is_list, bool):
        return is_list
    raise SchemaError(f"{where}.list: expected true or false, found {is_list!r}")


def _attribute_form(attribute: SchemaAttribute) -> Any:
    form = attribute.of or _domain_form(attribute.domain)
    if isinstance(form, str):
        return _LIST_OF + form if attribute.is_list else form
    return {**form, "list": True} if attribute.is_list else form


def _unused(name: str, used_names: set[str]) -> str:
    while name in used_names or name.startswith(_LIST_OF):
        name = "_" + name
    return name


# Types


def _types(
    top: Mapping[str, Any], attributes: Mapping[str, SchemaAttribute]
) -> dict[str, dict[str, Use]]:
    return {
        name: {
            attribute: _use(definition, f"types.{name}.{attribute}", attributes.get(attribute))
            for attribute, definition in _mapping(uses, f"types.{name}").items()
        }
        for name, uses in _mapping(top.get("types", {}), "types").items()
    }


def _use(definition: object, where: str, attribute: SchemaAttribute | None) -> Use:
    words = definition.split() if isinstance(definition, str) else []
    known = ("mandatory", "optional", "unique", "multiple")
    two = {"mandatory", "optional"} <= set(words) or {"unique", "multiple"} <= set(words)
    if not words or len(words) > 2 or two or any(word not in known for word in words):
        raise SchemaError(
            f"{where}: expected mandatory or optional, with unique or multiple, "
            f"found {definition!r}"
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
