"""What a rule means: `evaluate`. Written to be read; everything fast is tested against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from matchwood.language.arithmetic import Attribute, Variable
from matchwood.language.bindings import Answer, Ask, Truth, rows_of, substitutions, truth_of_join
from matchwood.language.calls import address, network
from matchwood.language.errors import RuleError
from matchwood.language.events import Event, Seen
from matchwood.language.lists import Elements
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
from matchwood.language.variables import Join, canonical_call, joined

Operator = Callable[..., object]
MAX_BINDINGS = 100  # substitutions that are told of a rule


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

    `operators` are the functions that calls name, called with the values of their arguments
    (see `asking`); `schema` holds the hierarchies of `isa`, and a rule that compares what has an
    order of its own in it is a RuleError. A rule whose variables stand where
    they may not is a RuleError (see `variables`).

    >>> from matchwood.language import parse
    >>> rule = parse("age >= 18 and tier != 'gold'")
    >>> [evaluate(rule, event) for event in ({"age": 20, "tier": "silver"}, {"age": 9}, {})]
    [True, False, None]
    """
    seen = event if isinstance(event, Event) else Event(event)
    refuse_orders(tree, schema)
    return fold(joined(tree), truth_of(seen, asking(seen, operators or {}), schema))


def refuse_orders(tree: Node, schema: Hierarchies | None, text: str | None = None) -> None:
    """A RuleError where a rule compares by code point what a schema puts in another order."""
    refuse = getattr(schema, "refuse_orders", None)  # whoever answers `isa` alone states none
    if refuse is not None:
        refuse(tree, text)


def bindings(
    tree: Node,
    event: Mapping[str, object] | Event,
    *,
    operators: Mapping[str, Operator] | None = None,
    ask: Ask | None = None,
) -> list[dict[str, object]]:
    """What satisfies the variables of a rule: substitutions, `MAX_BINDINGS` of them at most.

    Those of each conjunction apart, if it has several sets of variables that share none; what is
    under a `not` binds nothing.

    >>> from matchwood.language import parse
    >>> rule = parse("boats(image, ?y) and guards(image, ?z) and ?y > 2 * ?z")
    >>> operators = {"boats": lambda image: [5], "guards": lambda image: [1, 2, 3]}
    >>> bindings(rule, {"image": "…"}, operators=operators)
    [{'y': 5, 'z': 1}, {'y': 5, 'z': 2}]
    """
    seen = event if isinstance(event, Event) else Event(event)
    ask = ask or asking(seen, operators or {})
    found: list[dict[str, object]] = []
    for join in joins_of(joined(tree)):
        answers = [answer for answer in map(ask, join.calls) if answer]
        if len(answers) == len(join.calls):
            for truth, bound in substitutions(join, answers, seen):
                if truth and len(found) < MAX_BINDINGS:
                    found.append({name: given for name, (given, _) in bound.items()})
    return found


def joins_of(tree: Node) -> Iterator[Join]:
    """The joins of a rule that went through `joined`, but for those under a `not`."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Join):
            yield node
        elif not isinstance(node, Not):
            todo.extend(reversed(node.operands))


def truth_of(
    seen: Event, ask: Ask, schema: Hierarchies | None
) -> Callable[[Node, Sequence[Truth]], Truth]:
    """The truth of a node, given those of its operands: the whole meaning of the language.

    `ask` answers the calls of registered operators; the rule went through `joined`.
    """

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
                positive = positive_form(node, seen)
                return negation(positive) if node.negated else positive
            case AttributeComparison():
                return compare_attributes(seen[node.left], node.op, seen[node.right])
            case Call():
                return call(node, seen, ask, schema)
            case Join():
                return truth_of_join(node, seen, ask)
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


def positive_form(node: Comparison | Between | In | Like, seen: Event) -> Truth:
    """The predicate without its `not`.

    A list satisfies it when any of its values does, and is never undefined.
    """
    found = seen[node.attribute]
    if isinstance(found, Value):
        return of_single(node, found)
    ordered = elements_of(seen, node.attribute).of(node.family)
    if isinstance(node, Like):
        return any(PATTERNS[node.kind](text, node.pattern) for text in ordered.values)
    return ordered.satisfies(node)


def of_single(node: Comparison | Between | In | Like, value: Value) -> Truth:
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
            return PATTERNS[node.kind](str(found), node.pattern)


PATTERNS: dict[str, Callable[[str, str], bool]] = {"like": like, "ilike": ilike, "rlike": rlike}


def elements_of(seen: Event, attribute: str) -> Elements:
    """The values of a list in order, which are put so when they are first asked for."""
    found = seen.elements.get(attribute)
    if found is None:
        values = seen[attribute]
        assert not isinstance(values, Value)
        found = seen.elements[attribute] = Elements(values)
    return found


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


def call(node: Call, seen: Event, ask: Ask, schema: Hierarchies | None) -> Truth:
    subject = node.arguments[0] if node.arguments else None
    if isinstance(subject, Attribute) and len(node.arguments) == 2:
        argument = node.arguments[1]
        if node.name == "contains":
            return contains(subject.name, argument, seen)
        if node.name in ("startswith", "endswith", "isa", "in_network"):
            part = str(argument)
            if node.name == "isa" and schema is None:
                raise RuleError(f"{node} needs a schema with a hierarchy for {subject.name!r}")
            found = seen[subject.name]
            if isinstance(found, Value):
                text = as_family(found, Family.STRING)
                if text is None:
                    return None
                return string_call(node.name, subject.name, str(text), part, schema)
            texts = elements_of(seen, subject.name).of(Family.STRING).values
            return any(
                string_call(node.name, subject.name, text, part, schema) is True for text in texts
            )
    answer = ask(node)
    return None if answer is None else bool(answer)


def string_call(
    name: str, attribute: str, text: str, part: str, schema: Hierarchies | None
) -> Truth:
    if name == "startswith":
        return text.startswith(part)
    if name == "endswith":
        return text.endswith(part)
    if name == "isa":
        assert schema is not None
        return schema.is_a(attribute, text, part)
    place = address(text)
    return None if place is None else place in network(part)


def contains(attribute: str, part: object, seen: Event) -> Truth:
    """A substring of a string; an element of a list."""
    if isinstance(part, Attribute):
        other = seen[part.name]
        if not isinstance(other, Value) or other.family is None:
            return None
        family, sought = other.family, other.value
    else:
        family, sought = family_of(part), part  # type: ignore[arg-type,assignment]
    whole = seen[attribute]
    if isinstance(whole, Value):
        if whole.family is not Family.STRING or family is not Family.STRING:
            return None
        return str(sought) in str(whole.value)
    if isinstance(part, Attribute) and family is Family.TIME:
        return (family, sought) in whole  # no string is read as a time beside an attribute
    return sought in elements_of(seen, attribute).of(family).members


def asking(seen: Event, operators: Mapping[str, Operator]) -> Ask:
    """What answers the calls of registered operators, each once, whatever its variables' names.

    A function gets the values of the arguments that are no variables. It is not called where one
    is undefined, gets lists whole, and is undefined where it raises. One that was registered with
    `@operator` answers for itself.
    """
    known: dict[Call, Answer] = {}

    def ask(node: Call) -> Answer:
        canonical = canonical_call(node)
        if canonical not in known:
            known[canonical] = registered(canonical, seen, operators)
        return known[canonical]

    return ask


def registered(node: Call, seen: Event, operators: Mapping[str, Operator]) -> Answer:
    """The answer of a user's operator."""
    if node.name not in operators:
        raise RuleError(f"no operator is registered as {node.name!r}")
    values = argument_values(node, seen)
    if values is None:
        return None
    operator = operators[node.name]
    if hasattr(operator, "answer"):
        return operator.answer(node, values, seen)  # type: ignore[no-any-return]
    try:
        return rows_of(operator(*values), node)
    except Exception:
        return None


def argument_values(node: Call, seen: Event) -> list[object] | None:
    """The values of the arguments that are no variables; None where one is undefined."""
    values: list[object] = []
    for argument in node.arguments:
        if isinstance(argument, Variable):
            continue
        if not isinstance(argument, Attribute):
            values.append(argument)
            continue
        found = seen[argument.name]
        if isinstance(found, Value) and found.family is None:
            return None
        values.append(seen.raw[argument.name])
    return values
