"""An order of a domain's own: refused in rules, which compare by code point, and spelled out."""

from __future__ import annotations

from collections.abc import Sequence

from matchwood.language.errors import RuleError
from matchwood.language.text.tokens import find_attribute
from matchwood.language.tree import (
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Elements,
    In,
    Node,
    VariableComparison,
    fold,
    walk,
)
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.subjects import Lowered, unlowered
from matchwood.language.values import Literal
from matchwood.schema.definitions import Definitions
from matchwood.schema.domains import Domain, Hierarchical, shown

# Comparisons that ask for an order.
ORDERED = ("<", "<=", ">", ">=")

# What an error says of attributes that are compared with each other.
NOT_SHARED = "{!r} has an order of its own, which attributes do not share"

# Characters of the longest predicate that an error advises to write instead.
_MAX_ADVICE = 200


def compares_by_own_order(schema: Definitions, node: Comparison | Between) -> bool:
    """Whether a predicate asks for an order that only the domain of its attribute knows."""
    if isinstance(node, Comparison) and node.op not in ORDERED:
        return False
    return unlowered(node.attribute) in schema.own_orders


def spelled_out(schema: Definitions, tree: Node) -> Node:
    """The rule with comparisons in the order of a domain written as `in` and `isa`."""

    def rebuilt(node: Node, operands: Sequence[Node]) -> Node:
        if operands:
            return node.over(operands)
        if isinstance(node, Elements):
            inside = spelled_out(schema.inside(node.attribute), node.rule)
            return Elements(node.kind, node.attribute, inside)
        if isinstance(node, Comparison | Between) and compares_by_own_order(schema, node):
            domain = schema.attributes[unlowered(node.attribute)].domain
            if not isinstance(node.attribute, Lowered):
                return _spelled_predicate(node, domain)
            if domain.family is node.family:
                raise RuleError(_in_lower_case(node))
        return node

    return fold(tree, rebuilt)


def refuse_orders(schema: Definitions, tree: Node, text: str | None) -> None:
    """A RuleError where a rule compares by the order of the family what has its own order."""
    for node in walk(tree):
        if isinstance(node, Elements):
            inside = schema.inside(node.attribute)
            if inside.own_orders:
                refuse_orders(inside, node.rule, text)
        elif isinstance(node, Comparison | Between):
            if compares_by_own_order(schema, node):
                name = unlowered(node.attribute)
                domain = schema.attributes[name].domain
                if domain.family is node.family:
                    raise error_at(own_order_reason(node, domain), name, text)
        elif isinstance(node, AttributeComparison | VariableComparison) and node.op in ORDERED:
            for name in node.attributes:
                if name in schema.own_orders:
                    raise error_at(NOT_SHARED.format(name), name, text)


def own_order_reason(node: Comparison | Between, domain: Domain) -> str:
    """Why a predicate is refused, and what to write instead where that is short."""
    if isinstance(node.attribute, Lowered):
        return _in_lower_case(node)
    reason = f"{node.attribute!r} has an order of its own, and rules compare strings by code point"
    try:
        advice = str(_spelled_predicate(node, domain))
    except RuleError as error:
        return f"{reason}: {error.reason}"
    return f"{reason}: write {advice}" if len(advice) <= _MAX_ADVICE else reason


def _in_lower_case(node: Comparison | Between) -> str:
    name = unlowered(node.attribute)
    return f"{name!r} has an order of its own, which lower({name}) does not have: compare {name!r}"


def error_at(reason: str, attribute: str, text: str | None) -> RuleError:
    """An error about an attribute, with its position where the text of the rule is known."""
    error = RuleError(reason)
    while text is not None:
        position = find_attribute(text, attribute)
        if position is not None:
            return error.at(text, position)
        # Inside elements, the end of the name stands alone: `price` is that of `items.price`.
        attribute, dot, rest = attribute.partition(".")
        if not dot:
            break
        attribute = rest
    return error


def literals_of(node: Comparison | Between | In) -> tuple[Literal, ...]:
    """The literals that a predicate compares its attribute with."""
    if isinstance(node, Comparison):
        return (node.value,)
    return (node.low, node.high) if isinstance(node, Between) else node.values


def _spelled_predicate(node: Comparison | Between, domain: Domain) -> Node:
    for value in literals_of(node):
        outside = domain.outside(value)
        if outside is not None:
            raise RuleError(f"{node.attribute!r} is compared with a value it never has: {outside}")
    if isinstance(node, Between):
        upper = domain.compared("<=", node.high) or []
        values = [value for value in domain.compared(">=", node.low) or [] if value in upper]
        wanted, negated = f"between {shown(node.low)} and {shown(node.high)}", node.negated
    else:
        if node.op == "<=" and isinstance(domain, Hierarchical):
            return Call("isa", [Attribute(node.attribute), node.value])
        values = domain.compared(node.op, node.value) or []
        wanted, negated = f"{node.op} {shown(node.value)}", False
    if not values:
        raise RuleError(f"no value of {node.attribute!r} is {wanted} in its order")
    return In(node.attribute, values, negated)
