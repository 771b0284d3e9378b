"""What a rule means: `evaluate`. Written to be read; everything fast is tested against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from matchwood.language.arithmetic import Attribute, Variable
from matchwood.language.calls import address, network
from matchwood.language.errors import RuleError
from matchwood.language.events import Event, Seen
from matchwood.language.strings import ilike, like, rlike
from matchwood.language.tree import (
    And,
    AttributeComparison,
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
    VariableComparison,
    Xnor,
    Xor,
    fold,
)
from matchwood.language.values import (
    NULL,
    Family,
    Literal,
    Value,
    family_of,
    holds,
    read_time,
)

Truth = bool | None  # None: undefined
Operator = Callable[..., object]


class Hierarchies(Protocol):
    """What `isa` asks of a schema."""

    def is_a(self, attribute: str, value: str, kind: str) -> bool:
        """Whether `value` is `kind` or below it; a RuleError where `attribute` has no hierarchy."""


def evaluate(
    tree: Node,
    event: Mapping[str, object] | Event,
    *,
    operators: Mapping[str, Operator] | None = None,
    schema: Hierarchies | None = None,
) -> Truth:
    """Whether a rule is true of an event: True, False, or None for undefined.

    `operators` are the functions that calls name, made with the values of their arguments;
    `schema` holds the hierarchies of `isa`.

    >>> from matchwood.language import parse
    >>> rule = parse("age >= 18 and tier != 'gold'")
    >>> [evaluate(rule, event) for event in ({"age": 20, "tier": "silver"}, {"age": 9}, {})]
    [True, False, None]
    """
    seen = event if isinstance(event, Event) else Event(event)
    return fold(tree, truth_of(seen, operators or {}, schema))


def truth_of(
    seen: Event, operators: Mapping[str, Operator], schema: Hierarchies | None
) -> Callable[[Node, Sequence[Truth]], Truth]:
    """The truth of a node, given those of its operands: the whole meaning of the language."""

    def truth(node: Node, operands: Sequence[Truth]) -> Truth:
        match node:
            case Constant():
                return node.value
            case Not():
                return negation(operands[0])
            case And():
                return conjunction(operands)
            case Or():
                return disjunction(operands)
            case Xor():
                return parity(operands)
            case Xnor():
                # left to right: each further operand negates once more
                return parity((*operands, *(True for _ in operands[1:])))
            case IsNull():
                return (seen[node.attribute] == NULL) is not node.negated
            case Comparison() | Between() | In() | Like():
                positive = of_any(seen[node.attribute], lambda value: positive_form(node, value))
                return negation(positive) if node.negated else positive
            case AttributeComparison():
                return compare_attributes(seen[node.left], node.op, seen[node.right])
            case Call():
                return call(node, seen, operators, schema)
            case VariableComparison():
                raise RuleError(
                    f"evaluate does not bind variables: {node} needs the operators that bind them"
                )
        raise AssertionError(type(node))

    return truth


# The operators of three-valued logic


def negation(truth: Truth) -> Truth:
    return None if truth is None else not truth


def conjunction(truths: Sequence[Truth]) -> Truth:
    if False in truths:
        return False
    return None if None in truths else True


def disjunction(truths: Sequence[Truth]) -> Truth:
    if True in truths:
        return True
    return None if None in truths else False


def parity(truths: Sequence[Truth]) -> Truth:
    return None if None in truths else sum(map(bool, truths)) % 2 == 1


# Predicates


def of_any(seen: Seen, holds_of: Callable[[Value], Truth]) -> Truth:
    """A list satisfies a positive predicate when any of its values does, and is never undefined."""
    if isinstance(seen, Value):
        return holds_of(seen)
    return any(holds_of(value) is True for value in seen)


def positive_form(node: Comparison | Between | In | Like, value: Value) -> Truth:
    """The predicate without its `not`, of a single value."""
    found = as_family(value, node.family)
    if found is None:
        return None
    match node:
        case Comparison():
            return holds(found, "=" if node.negated else node.op, node.value)
        case Between():
            return holds(found, ">=", node.low) and holds(found, "<=", node.high)
        case In():
            return found in node.values
        case Like():
            return {"like": like, "ilike": ilike, "rlike": rlike}[node.kind](
                str(found), node.pattern
            )


def as_family(value: Value, family: Family) -> Literal | None:
    """The value where it is of the family, a string read as a time where a time is asked for."""
    if value.family is family:
        return value.value
    if family is Family.TIME and value.family is Family.STRING:
        return read_time(str(value.value))
    return None


def compare_attributes(left: Seen, op: str, right: Seen) -> Truth:
    """Undefined where either is a list or they are of two families."""
    if not isinstance(left, Value) or not isinstance(right, Value):
        return None
    if left.family is None or left.family is not right.family:
        return None
    return holds(left.value, op, right.value)


# Calls


def call(
    node: Call, seen: Event, operators: Mapping[str, Operator], schema: Hierarchies | None
) -> Truth:
    subject = node.arguments[0] if node.arguments else None
    if isinstance(subject, Attribute) and len(node.arguments) == 2:
        argument = node.arguments[1]
        if node.name == "contains":
            return contains(seen[subject.name], argument, seen)
        if node.name in ("startswith", "endswith", "isa", "in_network"):
            part = str(argument)
            if node.name == "isa" and schema is None:
                raise RuleError(f"{node} needs a schema with a hierarchy for {subject.name!r}")
            return of_any(
                seen[subject.name],
                lambda value: string_call(node.name, subject.name, value, part, schema),
            )
    return registered(node, seen, operators)


def string_call(
    name: str, attribute: str, value: Value, part: str, schema: Hierarchies | None
) -> Truth:
    found = as_family(value, Family.STRING)
    if found is None:
        return None
    text = str(found)
    if name == "startswith":
        return text.startswith(part)
    if name == "endswith":
        return text.endswith(part)
    if name == "isa":
        assert schema is not None
        return schema.is_a(attribute, text, part)
    place = address(text)
    return None if place is None else place in network(part)


def contains(whole: Seen, part: object, seen: Event) -> Truth:
    """A substring of a string; an element of a list."""
    if isinstance(part, Attribute):
        other = seen[part.name]
        if not isinstance(other, Value) or other.family is None:
            return None
        family, sought = other.family, other.value
    else:
        family, sought = family_of(part), part  # type: ignore[arg-type,assignment]
    if isinstance(whole, Value):
        if whole.family is not Family.STRING or family is not Family.STRING:
            return None
        return str(sought) in str(whole.value)
    if isinstance(part, Attribute):
        return any(value == (family, sought) for value in whole)
    return any(as_family(value, family) == sought for value in whole)


def registered(node: Call, seen: Event, operators: Mapping[str, Operator]) -> Truth:
    """A user's operator: not made where an argument is undefined; lists are passed whole."""
    if any(isinstance(argument, Variable) for argument in node.arguments):
        raise RuleError(f"evaluate does not bind variables: {node} has one")
    if node.name not in operators:
        raise RuleError(f"no operator is registered as {node.name!r}")
    values: list[object] = []
    for argument in node.arguments:
        if not isinstance(argument, Attribute):
            values.append(argument)
            continue
        found = seen[argument.name]
        if isinstance(found, Value) and found.family is None:
            return None
        values.append(seen.raw[argument.name])
    result = operators[node.name](*values)
    return None if result is None else bool(result)
