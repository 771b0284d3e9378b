"""Where variables may stand: `joined` puts what shares variables together, or refuses the rule.

A variable lives in one conjunction: the operands of an `and`, those of an `and` directly inside
it included, or a call that stands alone. There a call binds it, and there alone it is used. What
is not directly an operand (under `or`, `not`, `xor`) has variables of its own.

A *constraint* is a comparison with variables, or several of them and nothing else under `and`,
`or`, `not` and `xor`: `(?x > 5 or ?x < 2)` may stand beside the call that binds ?x.

Refused are a variable that no call of its conjunction binds, and one name in two conjunctions
that meet in an `and`, which would look joined and is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matchwood.language.arithmetic import Sum, Variable
from matchwood.language.errors import RuleError
from matchwood.language.nodes import And, Node, Not, fold, walk
from matchwood.language.predicates import Call, VariableComparison
from matchwood.language.tokens import TOKEN

_set = object.__setattr__
_WORDS = {"Or": "or", "Not": "not", "Xor": "xor", "Xnor": "xnor"}


class Join(Node):
    """Calls and constraints that share variables: true when one substitution satisfies all."""

    __slots__ = ("calls", "constraints")
    binding = And.binding
    calls: tuple[Call, ...]
    constraints: tuple[Node, ...]

    def __init__(self, calls: Sequence[Call], constraints: Sequence[Node]) -> None:
        _set(self, "calls", tuple(calls))
        _set(self, "constraints", tuple(constraints))

    @property
    def attributes(self) -> tuple[str, ...]:
        nodes = (*self.calls, *(leaf for one in self.constraints for leaf in walk(one)))
        names = [name for node in nodes for name in getattr(node, "attributes", ())]
        return tuple(dict.fromkeys(names))

    def _key(self) -> tuple[object, ...]:
        return (self.calls, self.constraints)

    def __reduce__(self) -> tuple[object, ...]:
        return Join, (self.calls, self.constraints)


def has_variables(tree: Node) -> bool:
    """Whether a variable stands anywhere in a rule."""
    return any(next(variables_of(node), None) is not None for node in walk(tree))


def variables_of(node: Node) -> Iterator[str]:
    """The names of the variables of a leaf, as often as they stand there."""
    if isinstance(node, Call):
        yield from (a.name for a in node.arguments if isinstance(a, Variable))
    elif isinstance(node, VariableComparison):
        for side in (node.left, node.right):
            terms = side.postfix if isinstance(side, Sum) else (side,)
            yield from (term.name for term in terms if isinstance(term, Variable))


def constrained(constraint: Node) -> set[str]:
    """The variables of a constraint."""
    return {name for leaf in walk(constraint) for name in variables_of(leaf)}


class _Open(NamedTuple):
    """A conjunction that an `and` further up may still add to."""

    plain: tuple[Node, ...]
    calls: tuple[Call, ...]
    constraints: tuple[Node, ...]
    inside: frozenset[str]  # variables of the conjunctions under its plain operands


def joined(tree: Node, text: str | None = None) -> Node:
    """The rule with the calls and constraints that share variables put together, as `Join`s.

    A RuleError where variables stand otherwise than described above; `text` is the rule as it was
    written, for its place.

    >>> from matchwood.language import parse
    >>> from matchwood.language.nodes import walk
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
        raise RuleError(wrong.reason).at(written, _place(wrong.variable, written)) from None


class _Misplaced(Exception):
    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(reason)
        self.variable = variable
        self.reason = reason


def _place(variable: str, text: str) -> int:
    """Where a variable first stands in the text of a rule, or its start for the JSON form."""
    position = 0
    while position < len(text):
        token = TOKEN.match(text, position)
        assert token is not None
        if token["variable"] == f"?{variable}":
            return token.start("variable")
        position = max(token.end(), position + 1)
    return 0


def _gathered(node: Node, operands: Sequence[_Open]) -> _Open:
    if not operands:
        if isinstance(node, VariableComparison):
            return _Open((), (), (node,), frozenset())
        if isinstance(node, Call) and next(variables_of(node), None) is not None:
            return _Open((), (node,), (), frozenset())
        return _Open((node,), (), (), frozenset())
    if all(_is_constraint(operand) for operand in operands):
        kind = type(node)
        inner = [operand.constraints[0] for operand in operands]
        made = Not(inner[0]) if isinstance(node, Not) else kind(inner)  # type: ignore[call-arg]
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
    below = [operand for operand, _ in closed]
    made = Not(below[0]) if isinstance(node, Not) else type(node)(below)  # type: ignore[call-arg]
    return _Open((made,), (), (), frozenset().union(*(inside for _, inside in closed)))


def _is_constraint(operand: _Open) -> bool:
    return not operand.plain and not operand.calls and len(operand.constraints) == 1


def _together(operands: Sequence[_Open]) -> _Open:
    """The operands of an `and` as one conjunction."""
    calls = tuple(call for operand in operands for call in operand.calls)
    constraints = tuple(one for operand in operands for one in operand.constraints)
    own = {name for call in calls for name in variables_of(call)}
    own |= {name for one in constraints for name in constrained(one)}
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
    """The node of a conjunction that is complete, and the variables in it."""
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
    """The calls of a conjunction in sets that share no variables, with their constraints."""
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


# Calls up to the names of their variables


def canonical_call(call: Call) -> Call:
    """The call with its variables named by their places.

    >>> from matchwood.language import parse
    >>> canonical_call(parse("p(?a, ?b)")) == canonical_call(parse("p(?c, ?d)"))
    True
    >>> str(canonical_call(parse("p(?e, ?e)")))
    'p(?v0, ?v0)'
    """
    names = dict.fromkeys(variables_of(call))
    if not names:
        return call
    return renamed_call(call, {name: f"v{place}" for place, name in enumerate(names)})


def canonical_join(join: Join) -> Join:
    """The join with its variables named in the order of its calls, its constraints in order."""
    calls = sorted(join.calls, key=lambda call: str(canonical_call(call)))
    names = dict.fromkeys(name for call in calls for name in variables_of(call))
    new = {name: f"v{place}" for place, name in enumerate(names)}
    constraints = {str(one): one for one in (_renamed(one, new) for one in join.constraints)}
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
        return Not(operands[0]) if isinstance(node, Not) else type(node)(operands)  # type: ignore[call-arg]

    def side(given: object) -> object:
        if isinstance(given, Variable):
            return Variable(names[given.name])
        if isinstance(given, Sum):
            terms = [
                Variable(names[t.name]) if isinstance(t, Variable) else t for t in given.postfix
            ]
            return Sum(tuple(terms))
        return given

    return fold(constraint, step)
