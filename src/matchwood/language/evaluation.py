"""What a rule means: `evaluate`. Written for readers; everything fast is tested against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from matchwood.language.bindings import (
    Answer,
    Ask,
    Truth,
    compare_sides,
    rows_of,
    substitutions,
    truth_of_join,
)
from matchwood.language.errors import RuleError
from matchwood.language.events import Event
from matchwood.language.joins import joined
from matchwood.language.named_lists import NamedLists
from matchwood.language.predicate_truth import (
    as_family,
    compare_attributes,
    elements_of,
    in_list,
    positive_form,
)
from matchwood.language.tree import (
    And,
    AtLeast,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Constant,
    Derived,
    Elements,
    In,
    InList,
    IsNull,
    Like,
    LikeMany,
    Node,
    Not,
    Or,
    SumComparison,
    TruthTest,
    Xnor,
    Xor,
    fold,
    inner_name,
)
from matchwood.language.tree.arithmetic import Attribute, Variable
from matchwood.language.tree.calls import address, network
from matchwood.language.tree.subjects import Element, unlowered
from matchwood.language.tree.variables import Join, canonical_call
from matchwood.language.values import (
    NULL,
    Family,
    Value,
    family_of,
)

Operator = Callable[..., object]

# Substitutions of one rule that `bindings` returns.
MAX_BINDINGS = 100


class Hierarchies(Protocol):
    """What `isa` needs from a schema."""

    def is_a(self, attribute: str, value: str, kind: str) -> bool:
        """Whether `value` is `kind` or below it; a RuleError if `attribute` has no hierarchy."""


def evaluate(
    tree: Node,
    event: Mapping[str, object] | Event,
    *,
    operators: Mapping[str, Operator] | None = None,
    schema: Hierarchies | None = None,
    lists: NamedLists | None = None,
) -> Truth:
    """Whether a rule is true of an event: True, False, or None for undefined.

    `operators` are the functions that rules call, with the values of the arguments (see
    `asking`). `schema` has the hierarchies of `isa`, and `lists` the lists that rules name. It is a
    RuleError if a rule compares values
    that have an order of their own in the schema, or uses variables where it may not (see
    `joins`).

    >>> from matchwood.language import parse
    >>> rule = parse("age >= 18 and tier != 'gold'")
    >>> [evaluate(rule, event) for event in ({"age": 20, "tier": "silver"}, {"age": 9}, {})]
    [True, False, None]
    """
    seen = event if isinstance(event, Event) else Event(event)
    refuse_orders(tree, schema)
    return fold(joined(tree), truth_of(seen, asking(seen, operators or {}), schema, lists))


def refuse_orders(tree: Node, schema: Hierarchies | None, text: str | None = None) -> None:
    """Raise a RuleError if a rule compares by code point what a schema puts in another order."""
    refuse = getattr(schema, "refuse_orders", None)  # what only answers `isa` has none
    if refuse is not None:
        refuse(tree, text)


def bindings(
    tree: Node,
    event: Mapping[str, object] | Event,
    *,
    operators: Mapping[str, Operator] | None = None,
    ask: Ask | None = None,
) -> list[dict[str, object]]:
    """The substitutions that satisfy the variables of a rule, at most `MAX_BINDINGS` of them.

    Calls that share no variables have substitutions of their own. What is under a `not` binds
    nothing.

    >>> from matchwood.language import parse
    >>> rule = parse("boats(image, ?y) and guards(image, ?z) and ?y > 2 * ?z")
    >>> operators = {"boats": lambda image: [5], "guards": lambda image: [1, 2, 3]}
    >>> bindings(rule, {"image": "…"}, operators=operators)
    [{'y': 5, 'z': 1}, {'y': 5, 'z': 2}]
    """
    seen = event if isinstance(event, Event) else Event(event)
    ask = ask or asking(seen, operators or {})
    satisfying: list[dict[str, object]] = []
    for join in joins_of(joined(tree)):
        answers = [answer for call in join.calls if (answer := ask(call, seen))]
        if len(answers) == len(join.calls):
            for truth, bound in substitutions(join, answers, seen):
                if truth and len(satisfying) < MAX_BINDINGS:
                    satisfying.append({name: value for name, (value, _) in bound.items()})
    return satisfying


def joins_of(tree: Node) -> Iterator[Join]:
    """The joins of a rule that went through `joined`, except those under a `not`."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Join):
            yield node
        elif not isinstance(node, Not):
            todo.extend(reversed(node.operands))


def truth_of(
    seen: Event, ask: Ask, schema: Hierarchies | None, lists: NamedLists | None = None
) -> Callable[[Node, Sequence[Truth]], Truth]:
    """A function from a node and the truths of its operands to its truth: the whole language.

    `ask` answers the calls of registered operators, for an event or an element. The rule must have
    gone through `joined`.
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
                # From left to right, each further operand negates once more.
                return parity((*operands, *(True for _ in operands[1:])))
            case AtLeast():
                return threshold(node.count, operands)
            case TruthTest():
                return (operands[0] is TRUTHS[node.truth]) is not node.negated
            case IsNull():
                return (seen[node.attribute] == NULL) is not node.negated
            case Comparison() | Between() | In() | Like():
                positive = positive_form(node, seen)
                return negation(positive) if node.negated else positive
            case LikeMany():
                several = [positive_form(pattern, seen) for pattern in node.each()]
                return disjunction(several) if node.which == "any" else conjunction(several)
            case InList():
                positive = in_list(node, seen, lists)
                return negation(positive) if node.negated else positive
            case Elements():
                return elements(node, seen, ask, schema, lists)
            case SumComparison():
                return compare_sides(node.left, node.op, node.right, {}, seen)
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


def threshold(count: int, truths: Sequence[Truth]) -> Truth:
    """Whether so many truths are true; undefined if the undefined ones decide it."""
    true = sum(truth is True for truth in truths)
    if true >= count:
        return True
    return None if true + sum(truth is None for truth in truths) >= count else False


# What each test of truth asks for.
TRUTHS: dict[str, Truth] = {"true": True, "false": False, "unknown": None}


# Elements


def elements(
    node: Elements,
    seen: Event,
    ask: Ask,
    schema: Hierarchies | None,
    lists: NamedLists | None,
) -> Truth:
    """Whether a rule is true of some element, or of every one."""
    inside = seen.inside(node.attribute)
    if inside is None:
        return None
    below = None if schema is None else ElementHierarchies(schema, node.attribute)
    truths = [fold(node.rule, truth_of(element, ask, below, lists)) for element in inside]
    return disjunction(truths) if node.kind == "any" else conjunction(truths)


class ElementHierarchies:
    """The hierarchies of the attributes of elements, which are named after their path."""

    def __init__(self, schema: Hierarchies, path: str) -> None:
        self._schema = schema
        self._path = path

    def is_a(self, attribute: str, value: str, kind: str) -> bool:
        """Whether `value` is `kind` or below it in the hierarchy of an attribute."""
        return self._schema.is_a(inner_name(self._path, attribute), value, kind)


# Calls


def call(node: Call, seen: Event, ask: Ask, schema: Hierarchies | None) -> Truth:
    """The truth of a built-in call, or of one that `ask` answers."""
    subject = node.arguments[0] if node.arguments else None
    if isinstance(subject, Attribute) and len(node.arguments) == 2:
        argument = node.arguments[1]
        if node.name == "contains":
            return contains(subject.name, argument, seen)
        if node.name in ("startswith", "endswith", "isa", "in_network"):
            part = str(argument)
            if node.name == "isa" and schema is None:
                raise RuleError(f"{node} needs a schema with a hierarchy for {subject.name!r}")
            value = seen[subject.name]
            if isinstance(value, Value):
                text = as_family(value, Family.STRING)
                if text is None:
                    return None
                return string_call(node.name, subject.name, str(text), part, schema)
            texts = elements_of(seen, subject.name).of(Family.STRING).values
            return any(
                string_call(node.name, subject.name, text, part, schema) is True for text in texts
            )
    answer = ask(node, seen)
    return None if answer is None else bool(answer)


def string_call(
    name: str, attribute: str, text: str, part: str, schema: Hierarchies | None
) -> Truth:
    """The truth of a built-in call for one string."""
    if name == "startswith":
        return text.startswith(part)
    if name == "endswith":
        return text.endswith(part)
    if name == "isa":
        assert schema is not None
        return schema.is_a(unlowered(attribute), text, part)
    ip_address = address(text)
    return None if ip_address is None else ip_address in network(part)


def contains(attribute: str, part: object, seen: Event) -> Truth:
    """Whether a string contains another one, or a list contains a value."""
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
        return (family, sought) in whole  # beside an attribute, no string is read as a time
    return sought in elements_of(seen, attribute).of(family).members


def asking(seen: Event, operators: Mapping[str, Operator]) -> Ask:
    """What answers the calls of registered operators, each once regardless of variable names, for
    the event and for each of its elements.

    A function gets the values of the arguments that are not variables; a list is passed as a
    whole. It is not called if one of the values is undefined, and the call is undefined if the
    function raises. An operator that was registered with `@operator` answers for itself.
    """
    known: dict[tuple[Call, int], Answer] = {}  # the event keeps its elements, and so their ids

    def ask(node: Call, about: Event) -> Answer:
        canonical = canonical_call(node)
        key = canonical, id(about)
        if key not in known:
            known[key] = registered(canonical, about, operators)
        return known[key]

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
    """The values of the arguments that are not variables; None if one is undefined."""
    values: list[object] = []
    for argument in node.arguments:
        if isinstance(argument, Variable):
            continue
        if not isinstance(argument, Attribute):
            values.append(argument)
            continue
        value = seen[argument.name]
        if isinstance(value, Value) and value.family is None:
            return None
        if isinstance(argument.name, Derived) and not isinstance(argument.name, Element):
            given = value.value if isinstance(value, Value) else [one.value for one in value]
            values.append(given)
        else:
            values.append(seen.given(argument.name))
    return values
