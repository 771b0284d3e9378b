"""Push tests of truth down to the predicates, as far as a predicate can be asked without them.

`(a or b) is not true` says that `a` is not true and `b` is not true. So `(path like '%.exe' and
user = 'x') is not true` becomes an `or` of two tests of one predicate each. What asks for `is true`
needs no test where nothing negates it.

Of a comparison of two attributes, whether it is true and whether it is defined are two literals.
The second one is the same for all comparisons of these attributes, and where one of them is null
nothing has to be compared.

The rule that comes out is true of the same events, but may be undefined where the other is false.
"""

from __future__ import annotations

from matchwood.language.tree import (
    And,
    AtLeast,
    AttributeComparison,
    Call,
    Comparison,
    Constant,
    IsNull,
    Like,
    Node,
    Not,
    Or,
    TruthTest,
    Xnor,
    Xor,
    walk,
)
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.calls import BUILT_IN
from matchwood.rewrite.local_rewrites import (
    at_least_over,
    is_modest,
    negated_predicate,
    node_over,
    over,
    with_operands,
)
from matchwood.rewrite.negation import opposite

# What is asked of a node: that it is true, or false, or that it is not.
_TRUE, _FALSE, _NOT_TRUE, _NOT_FALSE = range(4)

_OF_NOT = {_TRUE: _FALSE, _FALSE: _TRUE, _NOT_TRUE: _NOT_FALSE, _NOT_FALSE: _NOT_TRUE}

# What a test of truth asks of its rule, and what its negation asks; `is unknown` asks for two.
_OF_TEST = {"true": (_TRUE, _NOT_TRUE), "false": (_FALSE, _NOT_FALSE)}


def push_truth_tests(tree: Node) -> Node:
    """A rule that is true of the same events, with tests of truth of single predicates only.

    Tests of `xor` within `xor`, of `at_least` beside `unknown`, and of an `at_least` that would
    become very large or deep, stay as they are.

    >>> from matchwood.language import parse
    >>> print(push_truth_tests(parse("(p like '%x' or not q like '%y') is not true")))
    (p like '%x') is not true and ((q like '%y') is true or (q like '%y') is unknown)
    >>> print(push_truth_tests(parse("(a = 1 and not b = 2) is true")))
    a = 1 and b != 2
    >>> print(push_truth_tests(parse("(a < b) is not true")))
    a >= b or a is null or b is null or (a = b) is unknown
    """
    if not any(isinstance(node, TruthTest) for node in walk(tree)):
        return tree
    return _asked(tree, _TRUE)


def _asked(node: Node, what: int, exact: bool = False) -> Node:
    """What is true where a node is as it is asked for; if it is to be exact, false elsewhere."""
    if isinstance(node, Not):
        return _asked(node.operands[0], _OF_NOT[what], exact)
    if isinstance(node, And | Or):
        same = what in (_TRUE, _NOT_FALSE)
        kind: type[And | Or] = type(node) if same else (Or if isinstance(node, And) else And)
        return node_over(kind, [_asked(operand, what, exact) for operand in node.operands])
    if isinstance(node, AtLeast):
        pushed = _of_threshold(node, what, exact)
        if is_modest(pushed):
            return pushed
    if isinstance(node, TruthTest):
        return _of_test(node, what, exact)
    if exact or what in (_NOT_TRUE, _NOT_FALSE):
        if isinstance(node, Xor | Xnor) and not any(map(_would_grow, node.operands)):
            return _of_parity(node, what)
        return _predicate(node, what)
    if isinstance(node, Xor | Xnor):
        node = with_operands(node, [_kept(operand) for operand in node.operands])
    if what == _TRUE:
        return node
    return opposite(node) if not node.operands else negated_predicate(node)


def _of_threshold(node: AtLeast, what: int, exact: bool) -> Node:
    """So many are as asked unless too many are not."""
    same = what in (_TRUE, _NOT_FALSE)
    count = node.count if same else len(node.operands) - node.count + 1
    return at_least_over(count, [_asked(operand, what, exact) for operand in node.operands])


def _would_grow(operand: Node) -> bool:
    """Whether an operand of `xor` would be written three times at each of several levels."""
    return any(isinstance(below, Xor | Xnor | TruthTest) for below in walk(operand))


def _of_parity(node: Xor | Xnor, what: int) -> Node:
    """A test of `xor`, which is undefined where any of its operands is."""
    parity: Node = type(node)([_asked(operand, _TRUE, True) for operand in node.operands])
    if what in (_FALSE, _NOT_TRUE):
        parity = Not(parity)
    holds = what in (_NOT_TRUE, _NOT_FALSE)
    return node_over(Or if holds else And, [parity, *_each_unknown(node, holds)])


def _each_unknown(node: Xor | Xnor, holds: bool) -> list[Node]:
    """Whether each operand is undefined; if not `holds`, whether it is defined."""
    return [
        _of_test(TruthTest(operand, "unknown", not holds), _TRUE, True) for operand in node.operands
    ]


def _kept(node: Node) -> Node:
    """A node that is true, false and undefined of the same events, with tests of predicates."""
    if isinstance(node, TruthTest):
        return _of_test(node, _TRUE, True)
    if isinstance(node, And | Or | Not | Xor | Xnor | AtLeast):
        kept = with_operands(node, [_kept(operand) for operand in node.operands])
        return kept if not isinstance(node, AtLeast) or is_modest(kept) else node
    return node


def _of_test(node: TruthTest, what: int, exact: bool) -> Node:
    """A test of truth is never undefined: it is false where it is not true."""
    holds = (what in (_TRUE, _NOT_FALSE)) is not node.negated
    inner = node.operands[0]
    if node.truth != "unknown":
        return _asked(inner, _OF_TEST[node.truth][0 if holds else 1], exact)
    if not inner.operands:
        return _is_unknown(inner, holds)
    if any(isinstance(below, TruthTest) for below in walk(inner)):
        return _tested(inner, "unknown", not holds)  # each level would double it
    if isinstance(inner, Xor | Xnor):
        return node_over(Or if holds else And, _each_unknown(inner, holds))
    if holds:
        return node_over(And, [_asked(inner, each, exact) for each in (_NOT_TRUE, _NOT_FALSE)])
    return node_over(Or, [_asked(inner, each, exact) for each in (_TRUE, _FALSE)])


def _predicate(node: Node, what: int) -> Node:
    """A test of a predicate, or of what is taken for one."""
    if isinstance(node, Constant | IsNull):  # it is never undefined
        return node if what in (_TRUE, _NOT_FALSE) else opposite(node)
    positive, is_negation = _positive(node)
    if is_negation:
        what = _OF_NOT[what]
    negated = what in (_NOT_TRUE, _NOT_FALSE)
    if isinstance(positive, AttributeComparison):
        answer = positive if what in (_TRUE, _NOT_FALSE) else opposite(positive)
        is_unknown = _is_unknown(positive, negated)
        same_kind = is_unknown.operands if type(is_unknown) in (And, Or) else (is_unknown,)
        return node_over(Or if negated else And, [answer, *same_kind])
    if what in (_TRUE, _NOT_TRUE) or not _is_string_test(positive):
        truth = "true" if what in (_TRUE, _NOT_TRUE) else "false"
        return _tested(positive, truth, negated)
    is_true, is_unknown = (TruthTest(positive, truth, what == _FALSE) for truth in _NOT_FALSES)
    return node_over(Or if negated else And, [is_true, is_unknown])


# What is not false is one of these.
_NOT_FALSES = ("true", "unknown")


def _tested(node: Node, truth: str, negated: bool) -> Node:
    """A test of truth, regardless of the limits of the language."""
    return over(TruthTest(Constant(True), truth, negated), [node])


def _is_unknown(node: Node, holds: bool) -> Node:
    """Whether a predicate is undefined; if not `holds`, whether it is defined."""
    if isinstance(node, Constant | IsNull):
        return Constant(not holds)
    if isinstance(node, AttributeComparison):
        return _are_incomparable(node, holds)
    return TruthTest(_positive(node)[0], "unknown", not holds)


def _are_incomparable(node: AttributeComparison, holds: bool) -> Node:
    """Whether two attributes cannot be compared; if not `holds`, whether they can be."""
    names = sorted((node.left, node.right), key=lambda name: (type(name).__name__, name))
    unknown = TruthTest(AttributeComparison(names[0], "=", names[1]), "unknown", not holds)
    of_null = [IsNull(name, not holds) for name in dict.fromkeys(names)]
    return node_over(Or if holds else And, [*of_null, unknown])


def _positive(node: Node) -> tuple[Node, bool]:
    """A predicate without its `not`, which is exactly its negation; whether it had one."""
    is_negation = getattr(node, "negated", False) or (
        isinstance(node, Comparison | AttributeComparison) and node.op == "!="
    )
    return (opposite(node), True) if is_negation else (node, False)


def _is_string_test(node: Node) -> bool:
    """Whether one string decides a predicate, which is undefined of other single values.

    That it is not false is two tests: it is true, or there is no string to decide it.
    """
    if isinstance(node, Call):
        return node.name in BUILT_IN and not isinstance(node.arguments[-1], Attribute)
    return isinstance(node, Like)
