"""Variables: which a node uses, the `Join` of what shares them, and canonical names for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matchwood.language.tree.arithmetic import Sum, Variable
from matchwood.language.tree.nodes import And, Node, fold, walk
from matchwood.language.tree.predicates import Call, VariableComparison

_set = object.__setattr__


class Join(Node):
    """Calls and constraints that share variables; true if one substitution satisfies all."""

    __slots__ = ("calls", "constraints")
    binding = And.binding
    calls: tuple[Call, ...]
    constraints: tuple[Node, ...]

    def __init__(self, calls: Sequence[Call], constraints: Sequence[Node]) -> None:
        _set(self, "calls", tuple(calls))
        _set(self, "constraints", tuple(constraints))

    @property
    def subjects(self) -> tuple[str, ...]:
        nodes = (*self.calls, *(leaf for tree in self.constraints for leaf in walk(tree)))
        names = [name for node in nodes for name in node.subjects]
        return tuple(dict.fromkeys(names))

    def _key(self) -> tuple[object, ...]:
        return (self.calls, self.constraints)

    def __reduce__(self) -> tuple[object, ...]:
        return Join, (self.calls, self.constraints)


def has_variables(tree: Node) -> bool:
    """Whether a rule uses variables."""
    return any(next(variables_of(node), None) is not None for node in walk(tree))


def variables_of(node: Node) -> Iterator[str]:
    """The names of the variables of a leaf, once per occurrence."""
    if isinstance(node, Call):
        yield from (a.name for a in node.arguments if isinstance(a, Variable))
    elif isinstance(node, VariableComparison):
        for side in (node.left, node.right):
            terms = side.postfix if isinstance(side, Sum) else (side,)
            yield from (term.name for term in terms if isinstance(term, Variable))


def constrained(constraint: Node) -> set[str]:
    """The variables of a constraint."""
    return {name for leaf in walk(constraint) for name in variables_of(leaf)}


# Calls and joins with canonical names for their variables


def canonical_call(call: Call) -> Call:
    """The call with its variables named in the order of their first occurrence.

    >>> from matchwood.language import parse
    >>> canonical_call(parse("p(?a, ?b)")) == canonical_call(parse("p(?c, ?d)"))
    True
    >>> str(canonical_call(parse("p(?e, ?e)")))
    'p(?v0, ?v0)'
    """
    names = dict.fromkeys(variables_of(call))
    if not names:
        return call
    return renamed_call(call, {name: f"v{number}" for number, name in enumerate(names)})


def canonical_join(join: Join) -> Join:
    """The join with variables named in the order of its calls, and its constraints sorted."""
    calls = sorted(join.calls, key=lambda call: str(canonical_call(call)))
    names = dict.fromkeys(name for call in calls for name in variables_of(call))
    new = {name: f"v{number}" for number, name in enumerate(names)}
    renamed = [_renamed(constraint, new) for constraint in join.constraints]
    constraints = {str(constraint): constraint for constraint in renamed}
    return Join(
        [renamed_call(call, new) for call in calls],
        [constraints[key] for key in sorted(constraints)],
    )


def renamed_call(call: Call, names: dict[str, str]) -> Call:
    """The call with other names for its variables."""
    return Call(
        call.name,
        [Variable(names[a.name]) if isinstance(a, Variable) else a for a in call.arguments],
    )


def _renamed(constraint: Node, names: dict[str, str]) -> Node:
    def step(node: Node, operands: Sequence[Node]) -> Node:
        if isinstance(node, VariableComparison):
            return VariableComparison(side(node.left), node.op, side(node.right))
        return node.over(operands)

    def side(operand: object) -> object:
        if isinstance(operand, Variable):
            return Variable(names[operand.name])
        if isinstance(operand, Sum):
            terms = [
                Variable(names[t.name]) if isinstance(t, Variable) else t for t in operand.postfix
            ]
            return Sum(tuple(terms))
        return operand

    return fold(constraint, step)
