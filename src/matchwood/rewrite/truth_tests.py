"""Push tests of truth down to the predicates, as far as a predicate can be asked without them.

`(a or b) is not true` says that `a` is not true and `b` is not true. So `(path like '%.exe' and
user = 'x') is not true` becomes an `or` of two tests of one predicate each. What asks for `is true`
needs no test where nothing negates it.

The rule that comes out is true of the same events, but may be undefined where the other is false.
"""

from __future__ import annotations

from matchwood.language.tree import (
    And,
    Call,
    Comparison,
    Constant,
    Derived,
    In,
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
from matchwood.language.values import Family
from matchwood.rewrite.local_rewrites import node_over, with_operands
from matchwood.rewrite.negation import opposite

# What is asked of a node: that it is true, or false, or that it is not.
_TRUE, _FALSE, _NOT_TRUE, _NOT_FALSE = range(4)

_OF_NOT = {_TRUE: _FALSE, _FALSE: _TRUE, _NOT_TRUE: _NOT_FALSE, _NOT_FALSE: _NOT_TRUE}

# What a test of truth asks of its rule, and what its negation asks; `is unknown` asks for two.
_OF_TEST = {"true": (_TRUE, _NOT_TRUE), "false": (_FALSE, _NOT_FALSE)}


def push_truth_tests(tree: Node) -> Node:
    """A rule that is true of the same events, with tests of truth of single predicates only.

    Tests of `xor`, and those inside of `at_least`, stay as they are.

    >>> from matchwood.language import parse
    >>> print(push_truth_tests(parse("a = 1 and (p like '%x' or not q like '%y') is not true")))
    a = 1 and ((p like '%x') is not true and (q like '%y') is not false)
    >>> print(push_truth_tests(parse("(a = 1 and not b = 2) is true")))
    a = 1 and b != 2
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
    if isinstance(node, TruthTest):
        return _of_test(node, what, exact)
    if exact or what in (_NOT_TRUE, _NOT_FALSE):
        return _predicate(node, what)
    if isinstance(node, Xor | Xnor):
        node = with_operands(node, [_kept(operand) for operand in node.operands])
    if what == _TRUE:
        return node
    return opposite(node) if not node.operands else Not(node)


def _kept(node: Node) -> Node:
    """A node that is true, false and undefined of the same events, with tests of predicates."""
    if isinstance(node, TruthTest):
        return _of_test(node, _TRUE, True)
    if isinstance(node, And | Or | Not | Xor | Xnor):
        return with_operands(node, [_kept(operand) for operand in node.operands])
    return node


def _of_test(node: TruthTest, what: int, exact: bool) -> Node:
    """A test of truth is never undefined: it is false where it is not true."""
    holds = (what in (_TRUE, _NOT_FALSE)) is not node.negated
    inner = node.operands[0]
    if node.truth != "unknown":
        return _asked(inner, _OF_TEST[node.truth][0 if holds else 1], exact)
    if any(isinstance(below, TruthTest) for below in walk(inner)):
        return TruthTest(inner, "unknown", not holds)  # each level would double it
    if holds:
        return node_over(And, [_asked(inner, each, exact) for each in (_NOT_TRUE, _NOT_FALSE)])
    return node_over(Or, [_asked(inner, each, exact) for each in (_TRUE, _FALSE)])


def _predicate(node: Node, what: int) -> Node:
    """A test of a predicate, or of what is taken for one."""
    if isinstance(node, Constant):
        return Constant(node.value is (what in (_TRUE, _NOT_FALSE)))
    if isinstance(node, IsNull):
        return node if what in (_TRUE, _NOT_FALSE) else opposite(node)
    positive = node if what in (_TRUE, _NOT_TRUE) else _opposite_or_none(node)
    patterns = None if positive is None else patterns_of(positive)
    negated = what in (_NOT_TRUE, _NOT_FALSE)
    if patterns is None:
        return TruthTest(node, "true" if what in (_TRUE, _NOT_TRUE) else "false", negated)
    kind = And if negated else Or
    return node_over(kind, [TruthTest(pattern, "true", negated) for pattern in patterns])


def _opposite_or_none(node: Node) -> Node | None:
    return opposite(node) if getattr(node, "negated", False) or _is_unequal(node) else None


def _is_unequal(node: Node) -> bool:
    return isinstance(node, Comparison) and node.op == "!="


def patterns_of(node: Node) -> list[Like] | None:
    """The patterns of which one is true of a value where a predicate is; None if it is not so.

    >>> from matchwood.language import parse
    >>> [str(one) for one in patterns_of(parse("a in ('x', '50%')"))]
    ["a like '50\\\\%'", "a like 'x'"]
    """
    if getattr(node, "negated", False) or any(isinstance(s, Derived) for s in node.subjects):
        return None
    match node:
        case Like():
            return [node]
        case Comparison(op="=", family=Family.STRING):
            return [Like(node.attribute, "like", _escaped(str(node.value)))]
        case In(family=Family.STRING):
            texts = sorted({str(value) for value in node.values})
            return [Like(node.attribute, "like", _escaped(text)) for text in texts]
        case Call(name="startswith", arguments=(Attribute() as subject, str() as text)):
            return [Like(subject.name, "like", _escaped(text) + "%")]
        case Call(name="endswith", arguments=(Attribute() as subject, str() as text)):
            return [Like(subject.name, "like", "%" + _escaped(text))]
    return None


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
