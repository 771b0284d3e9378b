"""What remains of a rule for operators to decide, once all other predicates are known.

A rule is true if one of its *options* is. An option is a condition without calls, which the index
decides, and literals over calls, which have to be made. `lower` is the condition under which no
call is needed. Tests of truth and negation are pushed down to predicates first, so that undefined
can be treated as false. `(mob(image) and a > 5) is not true` then has two options: that the call is
not true, and that the comparison is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matchwood.language.joins import joined
from matchwood.language.tree import (
    And,
    AtLeast,
    Call,
    Constant,
    Elements,
    IsNull,
    Node,
    Not,
    Or,
    TruthTest,
    VariableComparison,
    Xnor,
    Xor,
    fold,
    walk,
)
from matchwood.language.tree.calls import BUILT_IN
from matchwood.language.tree.elements import walk_inside
from matchwood.language.tree.variables import (
    Join,
    canonical_call,
    canonical_join,
    constrained,
    variables_of,
)
from matchwood.rewrite.counts import expand_counts
from matchwood.rewrite.local_rewrites import at_least_over, node_over, over
from matchwood.rewrite.negation import push_negations
from matchwood.rewrite.truth_tests import push_truth_tests

# Options of a rule, at most; a rule with more is evaluated as a whole, one call after another.
MAX_OPTIONS = 64

# Operands of an `xor` or `xnor` that is expanded into options, at most.
MAX_PARITY = 6


class Option(NamedTuple):
    """A condition (None if always true), literals over one call each, and joins over several."""

    condition: Node | None
    literals: tuple[Node, ...]
    joins: tuple[Join, ...]


class Residue(NamedTuple):
    """The options of a rule, or the whole rule if it has too many of them."""

    lower: Node | None  # the condition under which the rule is true without a call
    options: tuple[Option, ...]
    whole: Node | None  # the rule with its joins, if it is evaluated as a whole
    upper: Node | None  # the condition under which that is worthwhile; None: always


def is_costly(tree: Node) -> bool:
    """Whether a rule calls operators that are not built in."""
    return any(_asks(node) for node in walk(tree))


def _asks(node: Node) -> bool:
    if isinstance(node, Call):
        return node.name not in BUILT_IN
    if isinstance(node, Elements):
        return is_costly(node.rule)
    return isinstance(node, VariableComparison | Join)


def residue(tree: Node) -> Residue:
    """What remains of a rule that calls operators.

    >>> from matchwood.language import parse
    >>> rest = residue(parse("vip or age > 17 and mob(image, ?n) and ?n > 50"))
    >>> print(rest.lower, "|", rest.options[0].condition, "|", *rest.options[0].literals)
    vip | age > 17 | mob(image, ?v0) and ?v0 > 50
    """
    whole = joined(tree)
    pushed = push_negations(push_truth_tests(expand_counts(whole)))
    try:
        options = fold(pushed, _options)
    except _TooMany:
        return Residue(None, (), whole, _upper(pushed))
    if isinstance(options, Node):
        return Residue(options, (), None, None)
    free = [option.condition for option in options if not option.literals]
    lower = _any([condition for condition in free if condition is not None])
    if None in free:
        lower = Constant(True)
    return Residue(lower, tuple(o for o in options if o.literals), None, None)


class _TooMany(Exception):
    pass


# The options of a node, or the node itself if it makes no calls.
_Options = Node | list[Option]


def _options(node: Node, operands: Sequence[_Options]) -> _Options:
    """The options of a node, given those of its operands."""
    if not operands:
        return [_of_leaf(node)] if _asks(node) else node
    plain = [operand for operand in operands if isinstance(operand, Node)]
    if len(plain) == len(operands):
        return node
    if isinstance(node, Not):
        return [_of_negation(node.operands[0])]
    if isinstance(node, TruthTest):
        return [_of_test(node)]
    if isinstance(node, Or):
        costly = [operand for operand in operands if not isinstance(operand, Node)]
        with_calls = [option for options in costly for option in options]
        condition = _any(plain)
        return _bounded([*with_calls, *([] if condition is None else [Option(condition, (), ())])])
    if isinstance(node, And):
        return _product(operands)
    if not isinstance(node, Xor | Xnor):
        raise _TooMany  # a long at_least is evaluated with what is in it
    return _of_parity(node)


def _of_leaf(node: Node) -> Option:
    if isinstance(node, Join):
        if len(node.calls) == 1:
            return Option(None, (canonical_join(node),), ())
        literals = []
        for call in node.calls:
            names = set(variables_of(call))
            own = [
                constraint for constraint in node.constraints if constrained(constraint) <= names
            ]
            literals.append(canonical_join(Join([call], own)))
        return Option(None, tuple(dict.fromkeys(literals)), (node,))
    if not isinstance(node, Call):
        raise _TooMany  # calls about the elements of a list, one for each
    return Option(None, (canonical_call(node),), ())


def _of_negation(node: Node) -> Option:
    if isinstance(node, Join):
        if len(node.calls) > 1:
            raise _TooMany
        return Option(None, (Not(canonical_join(node)),), ())
    return Option(None, (Not(node),), ())


def _of_test(node: TruthTest) -> Option:
    """A test of what one call answers."""
    asked = node.operands[0]
    if isinstance(asked, Join) and len(asked.calls) == 1:
        return Option(None, (over(node, [canonical_join(asked)]),), ())
    if not isinstance(asked, Call):
        raise _TooMany
    return Option(None, (over(node, [canonical_call(asked)]),), ())


def _of_parity(node: Node) -> _Options:
    """`a xor b` is `a and not b or not a and b`; for an `xnor` the first operand is negated."""
    if len(node.operands) > MAX_PARITY:
        raise _TooMany
    first, *others = node.operands
    turned = isinstance(node, Xnor) and len(others) % 2 == 1
    tree: Node = Not(first) if turned else first
    for other in others:
        tree = Or((And((tree, Not(other))), And((Not(tree), other))))
        if tree.size > 64 * MAX_OPTIONS:
            raise _TooMany
    return fold(push_negations(tree), _options)


def _product(operands: Sequence[_Options]) -> list[Option]:
    """The options of an `and`: what has one option only is gathered before the others."""
    costly = [operand for operand in operands if not isinstance(operand, Node)]
    plain = [Option(operand, (), ()) for operand in operands if isinstance(operand, Node)]
    combined = [_together([*plain, *(options[0] for options in costly if len(options) == 1)])]
    for options in costly:
        if len(options) * len(combined) > MAX_OPTIONS:
            raise _TooMany
        if len(options) > 1:
            combined = [_together([left, right]) for left in combined for right in options]
    return combined


def _together(options: Sequence[Option]) -> Option:
    literals = [literal for option in options for literal in option.literals]
    return Option(
        _all([option.condition for option in options if option.condition is not None]),
        tuple(dict.fromkeys(literals)),
        tuple(join for option in options for join in option.joins),
    )


def _bounded(options: list[Option]) -> list[Option]:
    if len(options) > MAX_OPTIONS:
        raise _TooMany
    return options


def _all(conditions: Sequence[Node]) -> Node | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    flat: list[Node] = []
    for condition in conditions:
        flat.extend(condition.operands if isinstance(condition, And) else (condition,))
    return node_over(And, flat)


def _any(conditions: Sequence[Node]) -> Node | None:
    if not conditions:
        return None
    return node_over(Or, conditions)


def _upper(pushed: Node) -> Node | None:
    """A condition without calls that holds whenever the rule may be true; None: always.

    `not` stands only before predicates.
    """

    def step(node: Node, operands: Sequence[Node | None]) -> Node | None:
        if isinstance(node, Not) and isinstance(node.operands[0], Elements) and is_costly(node):
            return operands[0]
        if isinstance(node, Elements) and _asks(node):
            return IsNull(node.attribute, True)
        if not operands:
            return None if _asks(node) else node
        known = [operand for operand in operands if operand is not None]
        if isinstance(node, And):
            return _all(known)
        if isinstance(node, Or):
            return _any(known) if len(known) == len(operands) else None
        if isinstance(node, AtLeast):
            count = node.count - (len(operands) - len(known))
            return at_least_over(count, known) if count > 0 else None
        return None if is_costly(node) else node

    return fold(pushed, step)


def calls_of(tree: Node) -> tuple[Call, ...]:
    """The distinct calls of operators in a rule, with variables renamed to a canonical form."""
    calls = (node for node, _ in walk_inside(tree) if isinstance(node, Call) and _asks(node))
    return tuple(dict.fromkeys(canonical_call(call) for call in calls))


def calls_in(literal: Node) -> tuple[Call, ...]:
    """The calls of a literal, or of a join."""
    if isinstance(literal, Not | TruthTest):
        literal = literal.operands[0]
    if isinstance(literal, Join):
        return tuple(map(canonical_call, literal.calls))
    assert isinstance(literal, Call)
    return (literal,)
