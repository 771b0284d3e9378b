"""Le Subscribe's language means over every algorithm what its paper says, binding by binding."""

import random
from itertools import product

import pytest

from matchwood import EventError, Schema
from matchwood.lab.papers.algorithms import ALGORITHMS
from matchwood.lab.papers.le_subscribe.subscription_language import Subscriptions
from matchwood.lab.papers.shared.protocol import Unsupported
from matchwood.language import evaluate, parse
from matchwood.language.tree import And, Call

NAMES = [
    "fair-predicate", "equality-preferred", "quarantining", "gough", "hanson", "aguilera", "neon",
]  # fmt: skip
over = pytest.mark.parametrize("kind", [ALGORITHMS[name] for name in NAMES], ids=NAMES)

# The schema of §2.1, with several prices and a condition that has an order of its own.
SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "price": "number", "quantity": "number", "period": "string", "colours": "string",
            "condition": {"values": ["poor", "fair", "mint"], "order": "listed"},
            "category": "goods",
        },
        "hierarchies": {
            "goods": {
                "dining table": "table", "desk": "table", "table": "furniture",
                "chair": "furniture", "bed": "bedroom",
            }
        },
        "types": {
            "antiques": {
                "price": "mandatory multiple", "period": "mandatory", "quantity": "mandatory",
                "condition": "optional",
            },
            "furniture": {
                "price": "mandatory", "quantity": "mandatory", "category": "mandatory",
                "colours": "optional multiple",
            },
        },
    }
)  # fmt: skip
KINDS = ["dining table", "desk", "table", "chair", "furniture", "bed", "bedroom"]
COLOURS = ["red", "green", "blue"]


def some_rule(dice):
    parts = [
        f"price {dice.choice(['<', '<=', '=', '>', '>='])} {dice.randrange(9)}",
        f"price > {dice.randrange(9)}",
        f"quantity <= {dice.randrange(4)}",
        f"period = '{dice.choice(['XVI', 'XVIII'])}'",
        f"contains(colours, '{dice.choice(COLOURS)}')",
        f"isa(category, '{dice.choice(KINDS)}')",
        f"category {dice.choice(['<', '<='])} '{dice.choice(KINDS)}'",
        f"condition >= '{dice.choice(['poor', 'fair', 'mint'])}'",
        *(f"contains(event_type, '{each}')" for each in ("antiques", "furniture")),
    ]
    return " and ".join(dice.sample(parts, dice.randrange(1, 5)))


def some_event(dice):
    types = dice.choice([["antiques"], ["furniture"], ["antiques", "furniture"]])
    event = {"event_type": types, "price": dice.randrange(9), "quantity": dice.randrange(4)}
    if "antiques" in types:
        event["price"] = [dice.randrange(9) for _ in range(dice.randrange(1, 4))]
        event["period"] = dice.choice(["XVI", "XVIII"])
        if dice.random() < 0.5:
            event["condition"] = dice.choice(["poor", "fair", "mint"])
    if "furniture" in types:
        event["category"] = dice.choice(KINDS)
        event["colours"] = dice.sample(COLOURS, dice.randrange(1, 3))
    return event


def satisfied(rule, event):
    """§2.3, word by word: one binding for all predicates, and `contains` about the set."""
    tree = SCHEMA.spell_out(rule.replace("category < ", "category <= "))  # the same, as it says
    parts = tree.operands if isinstance(tree, And) else (tree,)
    sets = [part for part in parts if isinstance(part, Call) and part.name == "contains"]
    others = [part for part in parts if part not in sets]
    if not all(evaluate(part, event, schema=SCHEMA) for part in sets):
        return False
    names = [name for name in event if name != "event_type"]
    values = [one if isinstance(one := event[name], list) else [one] for name in names]
    bindings = [dict(zip(names, chosen, strict=True)) for chosen in product(*values)]
    return any(all(evaluate(p, bound, schema=SCHEMA) for p in others) for bound in bindings)


@over
def test_rules_are_satisfied_by_one_binding(kind):
    dice = random.Random(11)
    count = 150 if kind.updates else 20  # the tree of one that has no updates explodes
    rules = {number: some_rule(dice) for number in range(count)}
    subscriptions = Subscriptions(SCHEMA, rules, kind)
    matches = 0
    for step in range(120):
        if step % 3 == 0 and kind.updates:
            gone = dice.choice(sorted(rules))
            del rules[gone]
            subscriptions.remove(gone)
            rules[1000 + step] = some_rule(dice)
            subscriptions.add(1000 + step, rules[1000 + step])
        event = some_event(dice)
        right = {number for number, rule in rules.items() if satisfied(rule, event)}
        found = subscriptions.match(event)
        assert len(found) == len(set(found))
        assert set(found) == right
        matches += len(right)
    assert matches > 3 * count


@over
def test_the_papers_example(kind):
    """§2.3: antiques that belong to any sub-category of dining tables; §2.1: e1 and e2."""
    rules = {
        "tables": "contains(event_type, 'antiques') and category <= 'table'",
        "dining tables": "contains(event_type, 'antiques') and category < 'dining table'",
    }
    subscriptions = Subscriptions(SCHEMA, rules, kind)
    both = {"event_type": ["antiques", "furniture"], "period": "XVI", "quantity": 2}
    first = {**both, "price": 200, "category": "dining table"}
    assert sorted(subscriptions.match(first)) == ["dining tables", "tables"]
    assert subscriptions.match({**first, "category": "desk"}) == ["tables"]
    assert subscriptions.match({**first, "category": "chair"}) == []
    with pytest.raises(EventError, match="'category': it is mandatory"):
        subscriptions.match({**both, "price": 100})
    view = SCHEMA.view("antiques", "furniture", without=["colours", "condition"])
    assert "tables" in subscriptions.match(first, view)
    with pytest.raises(EventError, match="the view is of antiques and furniture"):
        subscriptions.match({"event_type": "antiques", "price": 1}, view)
    with pytest.raises(EventError, match="no such attribute"):
        subscriptions.match({**first, "condition": "mint"}, view)


def test_a_binding_has_one_value_of_each_attribute():
    """Which differs from matchwood's own language, where any value may satisfy each predicate."""
    subscriptions = Subscriptions(SCHEMA, {"between": "price > 5 and price < 20"})
    event = {"event_type": "antiques", "period": "XVI", "quantity": 1, "price": [3, 25]}
    assert subscriptions.match(event) == []
    assert evaluate(parse("price > 5 and price < 20"), event) is True
    assert subscriptions.match({**event, "price": [3, 7, 25]}) == ["between"]


def test_neon_locates_the_predicates_of_an_events_type_only():
    """Its operations belong to an event type; 50 predicates of the other type are not looked at."""
    rules = {n: f"contains(event_type, 'antiques') and quantity > {n}" for n in range(50)}
    rules["desks"] = "contains(event_type, 'furniture') and quantity = 1"
    subscriptions = Subscriptions(SCHEMA, rules, ALGORITHMS["neon"])
    event = {"event_type": "furniture", "price": 1, "quantity": 1, "category": "desk"}
    assert subscriptions.match(event) == ["desks"]
    assert subscriptions.algorithm.work.predicates == 2


@pytest.mark.parametrize(
    "rule",
    ["price = 1 or price = 2", "price != 1", "period is null", "period like 'X%'",
     "contains(colours, period)"],
)  # fmt: skip
def test_what_is_no_elementary_predicate_is_refused(rule):
    with pytest.raises(Unsupported, match="no elementary predicate"):
        Subscriptions(SCHEMA, {1: rule})


def test_an_event_has_no_more_bindings_than_can_be_matched():
    subscriptions = Subscriptions(SCHEMA, {1: "price > 5"})
    event = {"event_type": "antiques", "period": "XVI", "quantity": 1, "price": list(range(5000))}
    with pytest.raises(EventError, match="5,000 bindings"):
        subscriptions.match(event)
