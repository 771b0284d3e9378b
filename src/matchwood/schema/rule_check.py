"""Rules against a schema: what in a rule does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from matchwood.language.errors import RuleError
from matchwood.language.tree import (
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Elements,
    In,
    Node,
    inner_name,
    walk_inside,
)
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.subjects import unlowered
from matchwood.language.values import Family
from matchwood.schema.definitions import Definitions
from matchwood.schema.domains import Domain, Enumerated, Hierarchical, shown
from matchwood.schema.errors import nearest
from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.own_order import (
    NOT_SHARED,
    ORDERED,
    compares_by_own_order,
    literals_of,
    own_order_reason,
)

# Kinds of problems that are mistakes whatever the events are; the others are warnings.
REFUSED = ("hierarchy", "domain", "order")


@dataclass(frozen=True)
class RuleProblem:
    """Something in a rule that the schema does not know, or defines in another way.

    >>> from matchwood import Schema
    >>> [problem] = Schema.from_dict({"attributes": {"age": "number"}}).check("agee > 18")
    >>> problem.kind, problem.attribute
    ('unknown-attribute', 'agee')
    """

    kind: str  # unknown-attribute, family, or one of REFUSED
    reason: str
    attribute: str


def problems_in(schema: Definitions, tree: Node) -> list[RuleProblem]:
    """What does not fit the schema in a rule: one problem per attribute and kind."""
    problems: dict[tuple[str, str], RuleProblem] = {}
    nodes = list(walk_inside(tree))
    for name, is_path in sorted(_names_in(nodes)):
        reason = _unknown(schema, name, is_path)
        if reason is not None:
            problems["unknown-attribute", name] = RuleProblem("unknown-attribute", reason, name)
    inside = {path: schema.inside(path) for path in {path for _, path in nodes}}
    for node, path in nodes:
        for problem in _of_node(inside[path], node):
            if path is not None:
                problem = replace(problem, attribute=inner_name(path, problem.attribute))
            problems.setdefault((problem.kind, problem.attribute), problem)
    return list(problems.values())


def hierarchy_of(schema: Definitions, attribute: str, kind: str) -> Hierarchy:
    """The hierarchy of an attribute; a RuleError if it has none, or none with this node."""
    known = schema.attributes.get(attribute)
    if known is None or known.hierarchy is None:
        with_one = [name for name, a in schema.attributes.items() if a.hierarchy is not None]
        near = nearest(attribute, with_one)
        raise RuleError(f"the schema has no hierarchy for {attribute!r}{near}")
    if kind not in known.hierarchy.nodes:
        near = nearest(kind, known.hierarchy.nodes)
        raise RuleError(f"the hierarchy of {attribute!r} has no node {kind!r}{near}")
    return known.hierarchy


def expected_families(node: Node) -> Iterable[tuple[str, Family]]:
    """The attributes of a predicate, each with the family of values that it needs."""
    family = getattr(node, "family", None)
    if family is not None:
        yield node.attribute, family  # type: ignore[attr-defined]
    elif isinstance(node, Call) and node.name in ("startswith", "endswith", "in_network", "isa"):
        subject = node.arguments[0]
        assert isinstance(subject, Attribute)
        yield subject.name, Family.STRING


def fits(family: Family, asked: Family) -> bool:
    """Whether values of one family can be compared as another, as strings are read as times."""
    return family is asked or (family is Family.STRING and asked is Family.TIME)


# One node


def _names_in(nodes: Iterable[tuple[Node, str | None]]) -> set[tuple[str, bool]]:
    """The names of the attributes of nodes, and whether each is the path of elements."""
    return {
        (name if path is None else inner_name(path, name), isinstance(node, Elements))
        for node, path in nodes
        for name in node.attributes
    }


def _unknown(schema: Definitions, name: str, is_path: bool) -> str | None:
    if is_path and any(known.startswith(name + ".") for known in schema.attributes):
        return None  # objects have no attribute of their own in a schema
    if name not in schema.attributes:
        return f"the schema has no attribute {name!r}{nearest(name, schema.attributes)}"
    if schema.types and name != schema.event_type and name not in schema.used:
        return f"no event type of the schema has the attribute {name!r}"
    return None


def _of_node(schema: Definitions, node: Node) -> Iterator[RuleProblem]:
    for name, family in expected_families(node):
        known = schema.attributes.get(name)
        if known is not None and not fits(known.family, family):
            yield RuleProblem(
                "family",
                f"{name!r} is asked for as a {family} and is a {known} by the schema: "
                "undefined of every event",
                name,
            )
            return
    if (
        isinstance(node, Comparison | Between | In)
        and unlowered(node.attribute) in schema.attributes
    ):
        domain = schema.attributes[unlowered(node.attribute)].domain
        if domain.family is node.family:
            yield from _of_values(schema, node, domain)
    elif isinstance(node, AttributeComparison):
        yield from _of_two(schema, node)
    elif isinstance(node, Call):
        yield from _of_call(schema, node)


def _of_values(
    schema: Definitions, node: Comparison | Between | In, domain: Domain
) -> Iterator[RuleProblem]:
    name = unlowered(node.attribute)
    for value in literals_of(node) if node.attribute == name else ():
        outside = domain.outside(value)
        if outside is not None:
            reason = f"{name!r} is compared with a value that it never has: {outside}"
            yield RuleProblem("domain", reason, name)
            return
    if isinstance(node, In) or domain.ordered:
        return
    if isinstance(node, Comparison) and node.op not in ORDERED:
        return
    if compares_by_own_order(schema, node):
        reason = own_order_reason(node, domain)
    else:
        reason = f"the values of {name!r} have no order: write in, = or !="
    yield RuleProblem("order", reason, name)


def _of_two(schema: Definitions, node: AttributeComparison) -> Iterator[RuleProblem]:
    left, right = (schema.attributes.get(name) for name in node.attributes)
    if left is None or right is None:
        return
    if left.family is not right.family:
        reason = (
            f"{node.left!r} is a {left.family} and {node.right!r} a {right.family} by the schema: "
            "undefined of every event"
        )
        yield RuleProblem("family", reason, node.left)
    elif node.op in ORDERED:
        for name, known in ((node.left, left), (node.right, right)):
            if not known.domain.ordered:
                reason = f"{name!r} is not compared with other attributes: its domain has no order"
                if known.domain.has_own_order:
                    reason = NOT_SHARED.format(name)
                yield RuleProblem("order", reason, name)


def _of_call(schema: Definitions, node: Call) -> Iterator[RuleProblem]:
    if not node.attributes:
        return
    name = node.attributes[0]
    if node.name == "isa":
        try:
            hierarchy_of(schema, name, str(node.arguments[1]))
        except RuleError as error:
            yield RuleProblem("hierarchy", error.reason, name)
    elif node.name == "contains" and name in schema.attributes:
        sought, domain = node.arguments[1], schema.attributes[name].domain
        if not isinstance(sought, str):
            return
        if isinstance(domain, Enumerated | Hierarchical) and domain.family is Family.STRING:
            values = _all_of(domain)
            if not any(sought in value for value in values):
                reason = (
                    f"{name!r} never contains {shown(sought)}: expected {domain}"
                    f"{nearest(sought, values)}"
                )
                yield RuleProblem("domain", reason, name)


def _all_of(domain: Enumerated | Hierarchical) -> list[str]:
    if isinstance(domain, Hierarchical):
        return sorted(domain.hierarchy.nodes)
    return [str(value) for value in domain.values]
