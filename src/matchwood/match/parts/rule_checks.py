"""Refuse rules that nothing could answer: unknown operators, missing hierarchies, other orders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from matchwood.language import parse
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies, Operator, refuse_orders
from matchwood.language.joins import joined
from matchwood.language.named_lists import NamedLists, check_lists, lists_named
from matchwood.language.tree import Call, Node, inner_name, walk_inside
from matchwood.language.tree.calls import BUILT_IN, check_operator
from matchwood.match.parts.part import Part

# What every rule has that names a list.
_NAMES_LIST = re.compile(r"\blist\b", re.IGNORECASE)


def lists_in_texts(rules: Iterable[str]) -> set[str]:
    """The names of the lists that rules name; those that cannot be read name none.

    >>> sorted(lists_in_texts(["ip in list 'tor'", "age > 5", "in list"]))
    ['tor']
    """
    names: set[str] = set()
    for rule in filter(_NAMES_LIST.search, rules):
        with suppress(RuleError):
            names |= lists_named(parse(rule))
    return names


def may_compare_otherwise(rules: Sequence[Any], schema: Hierarchies | None) -> list[int]:
    """Indices of the rules that may name an attribute whose order the schema defines.

    Most texts show that they do not: however the name of an attribute is written, the part of it
    before a dot, a backquote or a space is in the text.
    """
    names = getattr(schema, "own_orders", ())
    if not names:
        return []
    prefixes = [re.split(r"[.`\s]", name)[0] for name in names]
    return [
        number
        for number, rule in enumerate(rules)
        if not isinstance(rule, str) or any(prefix in rule for prefix in prefixes)
    ]


def check_orders(part: Part, schema: Hierarchies | None) -> None:
    """Refuse the rules of a part that compare attributes whose order the schema defines."""
    if getattr(schema, "own_orders", None):
        rules = part.rules(part.live_ordinals())
        for number in may_compare_otherwise(rules, schema):
            refuse_orders(parse(rules[number]), schema)


def check_calls(
    tree: Node,
    operators: Mapping[str, Operator],
    schema: Hierarchies | None,
    lists: NamedLists,
    text: str | None = None,
) -> None:
    """Refuse what nothing could answer: calls, lists, misplaced variables, and orders.

    The orders are those of attributes whose order the schema defines.
    """
    joined(tree, text)
    refuse_orders(tree, schema, text)
    check_lists(tree, lists)
    for node, path in walk_inside(tree):
        if not isinstance(node, Call):
            continue
        if node.name == "isa":
            attribute = node.attributes[0] if path is None else inner_name(path, node.subjects[0])
            if schema is None:
                raise RuleError(f"{node} needs a schema with a hierarchy for {attribute!r}")
            schema.is_a(attribute, str(node.arguments[1]), str(node.arguments[1]))
        elif node.name not in BUILT_IN:
            check_operator(node.name, operators)
            check = getattr(operators[node.name], "check", None)
            if check is not None:
                check(node)
