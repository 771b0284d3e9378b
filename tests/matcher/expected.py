"""What the engine must answer: `evaluate` of every rule and event, one after the other."""

from matchwood.language import evaluate, parse
from matchwood.language.events import Event
from matchwood.language.named_lists import NamedList
from matchwood.match.event.event_strategies import NAMED_STRATEGIES

# Strategies for batches.
EACH, SWEEP = "one by one", "sweep"
STRATEGIES = (EACH, SWEEP)


def expected(rules, events, operators=None, schema=None, lists=None):
    """{(number of the event, id)} of all matches."""
    trees = [(rule_id, parse(rule)) for rule_id, rule in rules.items()]
    named = {name: NamedList(values) for name, values in (lists or {}).items()}
    found = set()
    for number, event in enumerate(events):
        seen = Event(event)
        for rule_id, tree in trees:
            if evaluate(tree, seen, operators=operators, schema=schema, lists=named) is True:
                found.add((number, rule_id))
    return found


def force(matcher, strategy):
    """Match batches with one strategy, whatever it costs; whether any part allows it."""
    allowed = [part.batch.force(strategy) for part in matcher.store.snapshot.parts]
    return any(allowed)


def force_single(matcher, strategy):
    """Match single events with one strategy, whatever it costs; whether any part allows it."""
    allowed = [part.matcher.force(strategy) for part in matcher.store.snapshot.parts]
    return any(allowed)


def singles(matcher, events, **selection):
    found = [
        (number, rule_id)
        for number, event in enumerate(events)
        for rule_id in matcher.match(event, **selection)
    ]
    assert len(found) == len(set(found)), "a rule is reported twice"
    return set(found)


def pairs(table):
    found = list(zip(table["event"].to_pylist(), table["rule_id"].to_pylist(), strict=True))
    assert len(found) == len(set(found)), "a pair is reported twice"
    return set(found)


def batches(matcher, events, strategy, **options):
    force(matcher, strategy)
    return pairs(matcher.match_batch(events, **options))


def assert_right(matcher, rules, events, operators=None, schema=None, lists=None):
    """All strategies for single events and for batches agree with `evaluate`."""
    right = expected(rules, events, operators, schema, lists)
    assert singles(matcher, events) == right
    for strategy in NAMED_STRATEGIES:
        if force_single(matcher, strategy):
            assert singles(matcher, events) == right, strategy
    force_single(matcher, "push")
    for strategy in STRATEGIES:
        assert batches(matcher, events, strategy) == right, strategy
    return right
