"""Rules against a schema: what does not fit, and an order of a domain's own written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matchwood.language.arithmetic import Attribute as AttributeArgument
from matchwood.language.errors import RuleError
from matchwood.language.tokens import Tokens
from matchwood.language.tree import (
    AttributeComparison,
    Between,
    Call,
    Comparison,
    In,
    Node,
    Not,
    VariableComparison,
    attributes_in,
    fold,
    walk,
)
from matchwood.language.values import Family, Literal
from matchwood.schema.domains import Domain, Enumerated, Hierarchical, shown
from matchwood.schema.errors import nearest
from matchwood.schema.hierarchy import Hierarchy

if TYPE_CHECKING:
    from matchwood.schema.schema import Schema

ORDERED = ("<", "<=", ">", ">=")
_ADVICE = 200  # characters of a predicate that an error still shows
_NOT_SHARED = "{} has an order of its own, which attributes do not share"
REFUSED = ("hierarchy", "domain", "order")  # mistakes, whatever the events; the rest are doubts


@dataclass(frozen=True)
class Problem:
    """Something in a rule that the schema does not know, or knows otherwise."""

    kind: str  # unknown-attribute, family, or one of REFUSED
    reason: str
    attribute: str


def problems_in(schema: Schema, tree: Node) -> list[Problem]:
    """What a rule says that does not fit the schema, each attribute once a kind."""
    found: dict[tuple[str, str], Problem] = {}
    for name in sorted(attributes_in(tree)):
        reason = _unknown(schema, name)
        if reason is not None:
            found["unknown-attribute", name] = Problem("unknown-attribute", reason, name)
    for node in walk(tree):
        for problem in _of_node(schema, node):
            found.setdefault((problem.kind, problem.attribute), problem)
    return list(found.values())


def spelled_out(schema: Schema, tree: Node) -> Node:
    """The rule with comparisons in the order of a domain written as `in` and `isa`."""

    def rebuilt(node: Node, operands: Sequence[Node]) -> Node:
        if isinstance(node, Not):
            return Not(operands[0])
        if operands:
            return type(node)(operands)  # type: ignore[call-arg]
        if isinstance(node, Comparison | Between) and _has_own_order(schema, node):
            return _in_order(node, schema.attributes[node.attribute].domain)
        return node

    return fold(tree, rebuilt)


def refuse_orders(schema: Schema, tree: Node, text: str | None) -> None:
    """A RuleError where a rule compares what has an order of its own by that of its family."""
    for node in walk(tree):
        if isinstance(node, Comparison | Between):
            if _has_own_order(schema, node):
                domain = schema.attributes[node.attribute].domain
                if domain.family is node.family:
                    raise error_at(_own_order_reason(node, domain), node.attribute, text)
        elif isinstance(node, AttributeComparison | VariableComparison) and node.op in ORDERED:
            for name in node.attributes:
                if name in schema.own_orders:
                    raise error_at(_NOT_SHARED.format(repr(name)), name, text)


def hierarchy_of(schema: Schema, attribute: str, kind: str) -> Hierarchy:
    """The hierarchy of an attribute, with a node of that name; a RuleError where it has none."""
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


def error_at(reason: str, attribute: str, text: str | None) -> RuleError:
    """An error about an attribute, with its place where the text of the rule is known."""
    error = RuleError(reason)
    place = None if text is None else place_of(text, attribute)
    return error if text is None or place is None else error.at(text, place)


def place_of(text: str, attribute: str) -> int | None:
    """Where in the text of a rule an attribute is first named."""
    tokens = Tokens(text)
    while (token := tokens.take()).kind != "end":
        if token.kind == "name" and "".join(token.text.split()) == attribute:
            return token.start
        if token.kind == "quoted" and token.text[1:-1].replace("``", "`") == attribute:
            return token.start
    return None


# One node


def _unknown(schema: Schema, name: str) -> str | None:
    if name not in schema.attributes:
        return f"the schema has no attribute {name!r}{nearest(name, schema.attributes)}"
    if schema.types and name != schema.event_type and name not in schema.used:
        return f"no event type of the schema has the attribute {name!r}"
    return None


def _of_node(schema: Schema, node: Node) -> Iterator[Problem]:
    for name, family in expected_families(node):
        known = schema.attributes.get(name)
        if known is not None and not fits(known.family, family):
            yield Problem(
                "family",
                f"{name!r} is asked for as a {family} and is a {known} by the schema: "
                "undefined of every event",
                name,
            )
            return
    if isinstance(node, Comparison | Between | In) and node.attribute in schema.attributes:
        domain = schema.attributes[node.attribute].domain
        if domain.family is node.family:
            yield from _of_values(schema, node, domain)
    elif isinstance(node, AttributeComparison):
        yield from _of_two(schema, node)
    elif isinstance(node, Call):
        yield from _of_call(schema, node)


def _of_values(
    schema: Schema, node: Comparison | Between | In, domain: Domain
) -> Iterator[Problem]:
    for value in _values(node):
        outside = domain.outside(value)
        if outside is not None:
            reason = f"{node.attribute!r} is compared with a value that it never has: {outside}"
            yield Problem("domain", reason, node.attribute)
            return
    if isinstance(node, In) or domain.ordered:
        return
    if isinstance(node, Comparison) and node.op not in ORDERED:
        return
    if _has_own_order(schema, node):
        reason = _own_order_reason(node, domain)
    else:
        reason = f"the values of {node.attribute!r} have no order: write in, = or !="
    yield Problem("order", reason, node.attribute)


def _own_order_reason(node: Comparison | Between, domain: Domain) -> str:
    reason = f"{node.attribute!r} has an order of its own, and rules compare strings by code point"
    try:
        advice = str(_in_order(node, domain))
    except RuleError as error:
        return f"{reason}: {error.reason}"
    return f"{reason}: write {advice}" if len(advice) <= _ADVICE else reason


def _of_two(schema: Schema, node: AttributeComparison) -> Iterator[Problem]:
    left, right = (schema.attributes.get(name) for name in node.attributes)
    if left is None or right is None:
        return
    if left.family is not right.family:
        reason = (
            f"{node.left!r} is a {left.family} and {node.right!r} a {right.family} by the schema: "
            "undefined of every event"
        )
        yield Problem("family", reason, node.left)
    elif node.op in ORDERED:
        for name, known in ((node.left, left), (node.right, right)):
            if not known.domain.ordered:
                reason = f"{name!r} is not compared with other attributes: its domain has no order"
                if has_own_order(known.domain):
                    reason = _NOT_SHARED.format(repr(name))
                yield Problem("order", reason, name)


def _of_call(schema: Schema, node: Call) -> Iterator[Problem]:
    if not node.attributes:
        return
    name = node.attributes[0]
    if node.name == "isa":
        try:
            hierarchy_of(schema, name, str(node.arguments[1]))
        except RuleError as error:
            yield Problem("hierarchy", error.reason, name)
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
                yield Problem("domain", reason, name)


def _all_of(domain: Enumerated | Hierarchical) -> list[str]:
    if isinstance(domain, Hierarchical):
        return sorted(domain.hierarchy.nodes)
    return [str(value) for value in domain.values]


def _values(node: Comparison | Between | In) -> tuple[Literal, ...]:
    if isinstance(node, Comparison):
        return (node.value,)
    return (node.low, node.high) if isinstance(node, Between) else node.values


# An order of a domain's own


def has_own_order(domain: Domain) -> bool:
    """Whether a domain states an order that is not that of its family."""
    if domain.ordered:
        return False
    return not isinstance(domain, Enumerated) or domain.chains is not None


def _has_own_order(schema: Schema, node: Comparison | Between) -> bool:
    """Whether the node compares by an order that only the domain knows."""
    if isinstance(node, Comparison) and node.op not in ORDERED:
        return False
    return node.attribute in schema.own_orders


def _in_order(node: Comparison | Between, domain: Domain) -> Node:
    for value in _values(node):
        outside = domain.outside(value)
        if outside is not None:
            raise RuleError(f"{node.attribute!r} is compared with a value it never has: {outside}")
    if isinstance(node, Between):
        upper = domain.compared("<=", node.high) or []
        found = [v for v in domain.compared(">=", node.low) or [] if v in upper]
        wanted, negated = f"between {shown(node.low)} and {shown(node.high)}", node.negated
    else:
        if node.op == "<=" and isinstance(domain, Hierarchical):
            return Call("isa", [AttributeArgument(node.attribute), node.value])
        found = domain.compared(node.op, node.value) or []
        wanted, negated = f"{node.op} {shown(node.value)}", False
    if not found:
        raise RuleError(f"no value of {node.attribute!r} is {wanted} in its order")
    return In(node.attribute, found, negated)
