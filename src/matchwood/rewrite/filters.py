"""What the index can rule out of `at_least`: long ones are evaluated, but not for every event.

If n of m rules are true, then at least one of any m - n + 1 of them is. So the index has, in place
of `at_least(n, …)`, an `and` of it and of the `or` of those m - n + 1 rules that seem least likely.
Only where one of these is true is the rest evaluated. In place of its negation, which says that
m - n + 1 rules are false, there is an `and` of it and of an `or` of n negated rules.
"""

from __future__ import annotations

from collections.abc import Callable

from matchwood.language.tree import (
    And,
    AtLeast,
    Between,
    Call,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Node,
    Not,
    Or,
    walk,
)
from matchwood.language.tree.calls import BUILT_IN
from matchwood.rewrite.local_rewrites import negated_predicate, node_over, with_operands

# How often a predicate is taken to be true, by its kind; only the order of these counts.
_EQUAL, _PATTERN, _SET, _RANGE, _NULL, _UNKNOWN = 0.01, 0.03, 0.05, 0.4, 0.5, 2.0


def add_filters(tree: Node, indexed: Callable[[Node], Node]) -> Node:
    """A rule that is true of the same events, where `at_least` stands beside what it implies.

    `indexed` writes one of its rules as the index takes it. What is below `xor` or a test of truth
    stays as it is.

    >>> from matchwood.language import parse
    >>> print(add_filters(parse("x and at_least(2, a = 1, b = 2, c > 3)"), lambda rule: rule))
    x and ((a = 1 or b = 2) and at_least(2, a = 1, b = 2, c > 3))
    """
    if not any(isinstance(node, AtLeast) for node in walk(tree)):
        return tree
    return _with_filters(tree, False, indexed)


def _with_filters(node: Node, negated: bool, indexed: Callable[[Node], Node]) -> Node:
    """A part of a rule; if `negated`, one whose negation the index asks for."""
    if isinstance(node, AtLeast):
        return _with_filter(node, negated, indexed)
    if isinstance(node, Not):
        return negated_predicate(_with_filters(node.operands[0], not negated, indexed))
    if isinstance(node, And | Or):
        return with_operands(node, [_with_filters(o, negated, indexed) for o in node.operands])
    return node


def _with_filter(node: AtLeast, negated: bool, indexed: Callable[[Node], Node]) -> Node:
    rules = list(map(_negation, node.operands)) if negated else list(node.operands)
    needed = node.count if negated else len(rules) - node.count + 1
    least_likely = sorted(rules, key=_likelihood)[:needed]
    some = node_over(Or, [indexed(rule) for rule in least_likely])
    if negated:
        return node_over(Or, [negated_predicate(some), node])
    return node_over(And, [some, node])


def _negation(node: Node) -> Node:
    return node.operands[0] if isinstance(node, Not) else negated_predicate(node)


def _likelihood(node: Node) -> float:
    """How likely a rule seems to be true; above 1 if the index cannot tell."""
    if isinstance(node, And):
        return min(map(_likelihood, node.operands))
    if isinstance(node, Or):
        return max(map(_likelihood, node.operands))
    if isinstance(node, Constant):
        return float(node.value)
    inner = node.operands[0] if isinstance(node, Not) else node
    likelihood = _of_predicate(inner)
    is_negated = isinstance(node, Not) is not bool(getattr(inner, "negated", False))
    return 1 - likelihood if is_negated and likelihood <= 1 else likelihood


def _of_predicate(node: Node) -> float:
    """How likely a predicate seems to be true, without its `not`."""
    match node:
        case Comparison(op="=" | "!="):
            return _EQUAL
        case In():
            return _SET
        case Comparison() | Between():
            return _RANGE
        case IsNull():
            return _NULL
        case Like():
            return _PATTERN
        case Call(name=name) if name in BUILT_IN:
            return _PATTERN
    return _UNKNOWN
