"""Push `not` down to the predicates, by De Morgan's laws, which hold for undefined as well.

A predicate loses its `not` only if it has a negative form: `not (a = 1)` is `a != 1`, but
`not (a < 5)` stays. For a list it says that no value is below 5, while `a >= 5` says that some
value is 5 or more. A comparison of two attributes is undefined if one of them is a list, so
`not (a < b)` is `a >= b`.

`xor` and `xnor` are not expanded, so a chain of n keeps its n operands. The negation of an even
chain is the same chain with the other word; that of an odd chain has its last operand negated. That
`at_least(k, …)` of n rules is not true says that n - k + 1 of them are false.
"""

from __future__ import annotations

from matchwood.language.tree import (
    And,
    AtLeast,
    AttributeComparison,
    Between,
    Comparison,
    Constant,
    In,
    InList,
    IsNull,
    Like,
    Node,
    Not,
    Or,
    SumComparison,
    TruthTest,
    Xnor,
    Xor,
    walk,
)
from matchwood.rewrite.local_rewrites import (
    OperatorKind,
    at_least_over,
    negated_predicate,
    node_over,
    over,
)

NEGATED_OP = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
NEGATED_KIND: dict[type[Node], OperatorKind] = {And: Or, Or: And, Xor: Xnor, Xnor: Xor}


def push_negations(tree: Node) -> Node:
    """The same rule with `not` only before predicates that have no negative form.

    >>> from matchwood.language import parse
    >>> push_negations(parse("not (a = 1 and (b < 2 or not c) and (d xor e))"))
    parse('a != 1 or not b < 2 and c or d xnor e')
    """
    if not any(isinstance(node, Not) for node in walk(tree)):
        return tree
    results: list[Node] = []
    todo: list[tuple[Node, bool, bool]] = [(tree, False, False)]
    while todo:
        node, negate, ready = todo.pop()
        if not node.operands:
            results.append(opposite(node) if negate else node)
        elif isinstance(node, Not):
            todo.append((node.operands[0], not negate, False))
        elif ready:
            first = len(results) - len(node.operands)
            results[first:] = [_over(node, negate, results[first:])]
        else:
            todo.append((node, negate, True))
            todo.extend(_operands(node, negate))
    return results[0]


def _over(node: Node, negate: bool, operands: list[Node]) -> Node:
    """The node, or its negation, over operands that are rewritten already."""
    if isinstance(node, TruthTest):
        return over(opposite(node) if negate else node, operands)
    if isinstance(node, AtLeast):
        count = len(operands) - node.count + 1 if negate else node.count
        return at_least_over(count, operands)
    return node_over(_kind(node, negate), operands)


def _kind(node: Node, negate: bool) -> OperatorKind:
    odd_parity = isinstance(node, Xor | Xnor) and len(node.operands) % 2 == 1
    return NEGATED_KIND[type(node)] if negate and not odd_parity else type(node)  # type: ignore[return-value]


def _operands(node: Node, negate: bool) -> list[tuple[Node, bool, bool]]:
    """The operands, last first, each with whether it is to be negated and whether it is done."""
    if isinstance(node, TruthTest):
        return [(node.operands[0], False, False)]
    if isinstance(node, And | Or | AtLeast):
        return [(operand, negate, False) for operand in reversed(node.operands)]
    last = len(node.operands) - 1
    odd = last % 2 == 0
    return [
        (node.operands[index], negate and odd and index == last, False)
        for index in range(last, -1, -1)
    ]


def opposite(predicate: Node) -> Node:
    """The exact negation of a predicate, of a `not` before one, or of a test of truth."""
    match predicate:
        case Not():
            return predicate.operands[0]
        case TruthTest(truth=truth, negated=negated):
            return over(TruthTest(Constant(True), truth, not negated), predicate.operands)
        case Constant():
            return Constant(not predicate.value)
        case Comparison(attribute=name, op="=" | "!=" as op, value=value):
            return Comparison(name, NEGATED_OP[op], value)
        case AttributeComparison(left=left, op=op, right=right):
            return AttributeComparison(left, NEGATED_OP[op], right)
        case Between(attribute=name, low=low, high=high, negated=negated):
            return Between(name, low, high, not negated)
        case In(attribute=name, values=values, negated=negated):
            return In(name, values, not negated)
        case InList(attribute=name, name=listed, negated=negated):
            return InList(name, listed, not negated)
        case SumComparison(left=left, op=op, right=right):
            return SumComparison(left, NEGATED_OP[op], right)
        case Like(attribute=name, kind=kind, pattern=pattern, negated=negated):
            return Like(name, kind, pattern, not negated)
        case IsNull(attribute=name, negated=negated):
            return IsNull(name, not negated)
    return negated_predicate(predicate)
