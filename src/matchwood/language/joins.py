"""Where variables may be used: `joined` groups what shares variables, or refuses the rule.

The scope of a variable is one conjunction: the operands of an `and`, including those of an `and`
directly inside it, or a call that stands alone. A call in this conjunction binds the variable, and
it can be used nowhere else. What is under `or`, `not` or `xor` has variables of its own.

A *constraint* is a comparison with variables, or several of them combined by `and`, `or`, `not`
and `xor`, with nothing else in between: `(?x > 5 or ?x < 2)` may stand beside the call that binds
?x.

Two mistakes are refused: a variable that no call of its conjunction binds, and the same name in
two conjunctions that meet in an `and`, which would look joined but is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matchwood.language.errors import RuleError
from matchwood.language.text.tokens import find_variable
from matchwood.language.tree.nodes import And, Node, Not, Or, Xnor, Xor, fold
from matchwood.language.tree.predicates import Call, VariableComparison
from matchwood.language.tree.variables import Join, constrained, has_variables, variables_of

_WORDS = {
    "AtLeast": "at_least",
    "Not": "not",
    "Or": "or",
    "TruthTest": "is",
    "Xnor": "xnor",
    "Xor": "xor",
}


class _Open(NamedTuple):
    """A conjunction that an `and` further up may still extend."""

    plain: tuple[Node, ...]
    calls: tuple[Call, ...]
    constraints: tuple[Node, ...]
    inside: frozenset[str]  # variables of the conjunctions under its plain operands


def joined(tree: Node, text: str | None = None) -> Node:
    """The rule with calls and constraints that share variables grouped into `Join`s.

    A RuleError says which variable is used in a place where it may not be. `text` is the rule as
    it was written, so that the error can show the position.

    >>> from matchwood.language import parse
    >>> from matchwood.language.tree.nodes import walk
    >>> rule = joined(parse("boats(image, ?y) and mob(image, ?p) and ?y > 2 and ?p > 50 and vip"))
    >>> [str(node) for node in walk(rule) if isinstance(node, Join)]
    ['boats(image, ?y) and ?y > 2', 'mob(image, ?p) and ?p > 50']
    """
    if not has_variables(tree):
        return tree
    try:
        return _closed(fold(tree, _gathered))[0]
    except _Misplaced as wrong:
        written = str(tree) if text is None else text
        position = find_variable(written, wrong.variable) or 0  # 0 for the JSON form
        raise RuleError(wrong.reason).at(written, position) from None


class _Misplaced(Exception):
    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(reason)
        self.variable = variable
        self.reason = reason


def _gathered(node: Node, operands: Sequence[_Open]) -> _Open:
    if not operands:
        if isinstance(node, VariableComparison):
            return _Open((), (), (node,), frozenset())
        if isinstance(node, Call) and next(variables_of(node), None) is not None:
            return _Open((), (node,), (), frozenset())
        return _Open((node,), (), (), frozenset())
    combines = isinstance(node, And | Or | Not | Xor | Xnor)
    if combines and all(_is_constraint(operand) for operand in operands):
        made = node.over([operand.constraints[0] for operand in operands])
        return _Open((), (), (made,), frozenset())
    if isinstance(node, And):
        return _together(operands)
    for operand in operands:
        if _is_constraint(operand):
            name = min(constrained(operand.constraints[0]))
            raise _Misplaced(
                name,
                f"?{name} is compared directly under '{_WORDS[type(node).__name__]}', where no "
                "call binds it: put the comparison beside the call, in one 'and'",
            )
    closed = [_closed(operand) for operand in operands]
    made = node.over([operand for operand, _ in closed])
    return _Open((made,), (), (), frozenset().union(*(inside for _, inside in closed)))


def _is_constraint(operand: _Open) -> bool:
    return not operand.plain and not operand.calls and len(operand.constraints) == 1


def _together(operands: Sequence[_Open]) -> _Open:
    """The operands of an `and`, as one conjunction."""
    calls = tuple(call for operand in operands for call in operand.calls)
    constraints = tuple(tree for operand in operands for tree in operand.constraints)
    own = {name for call in calls for name in variables_of(call)}
    own |= {name for constraint in constraints for name in constrained(constraint)}
    inside: set[str] = set()
    for operand in operands:
        twice = operand.inside & (inside | own)
        if twice:
            name = min(twice)
            raise _Misplaced(
                name,
                f"?{name} is used in two conjunctions that meet in an 'and', which does not join "
                "them: use it in one 'and', or give it two names",
            )
        inside |= operand.inside
    plain = tuple(node for operand in operands for node in operand.plain)
    return _Open(plain, calls, constraints, frozenset(inside))


def _closed(conjunction: _Open) -> tuple[Node, frozenset[str]]:
    """The node of a complete conjunction, and the variables in it."""
    bound = {name for call in conjunction.calls for name in variables_of(call)}
    for constraint in conjunction.constraints:
        unbound = constrained(constraint) - bound
        if unbound:
            name = min(unbound)
            raise _Misplaced(
                name,
                f"?{name} is compared, but no call binds it in the same 'and': expected a call "
                f"such as count(image, ?{name}) beside the comparison",
            )
    operands = (*conjunction.plain, *_components(conjunction))
    node = operands[0] if len(operands) == 1 else And(operands)
    return node, conjunction.inside | frozenset(bound)


def _components(conjunction: _Open) -> Iterator[Join]:
    """The calls of a conjunction, in groups that share no variables, with their constraints."""
    groups: list[tuple[set[str], list[Call], list[Node]]] = []

    def merged(names: set[str]) -> tuple[set[str], list[Call], list[Node]]:
        touched = [group for group in groups if group[0] & names]
        whole: tuple[set[str], list[Call], list[Node]] = (set(names), [], [])
        for group in touched:
            groups.remove(group)
            whole[0].update(group[0])
            whole[1].extend(group[1])
            whole[2].extend(group[2])
        groups.append(whole)
        return whole

    for call in conjunction.calls:
        merged(set(variables_of(call)))[1].append(call)
    for constraint in conjunction.constraints:
        merged(constrained(constraint))[2].append(constraint)
    for _, calls, constraints in groups:
        yield Join(calls, constraints)
