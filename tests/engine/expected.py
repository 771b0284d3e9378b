"""What the engine must answer: `evaluate` of every rule and event, one after the other."""

from matchwood.language import evaluate, parse
from matchwood.language.events import Event
from matchwood.match.single import SegmentMatcher

EACH, SWEEP = "each", "sweep"
STRATEGIES = (EACH, SWEEP)


def expected(rules, events, operators=None, schema=None):
    """{(number of the event, id)} of all matches."""
    trees = [(rule_id, parse(rule)) for rule_id, rule in rules.items()]
    found = set()
    for number, event in enumerate(events):
        seen = Event(event)
        for rule_id, tree in trees:
            if evaluate(tree, seen, operators=operators, schema=schema) is True:
                found.add((number, rule_id))
    return found


def force(matcher, strategy):
    """Make every part take one way of matching batches, whatever it would cost."""
    for part in matcher._snapshot.parts:
        part.batch._each.seconds, part.batch._sweep.seconds = (
            (0.0, 1e9) if strategy == EACH else (1e9, 0.0)
        )


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


def assert_right(matcher, rules, events, operators=None, schema=None):
    """All ways of matching single events and batches agree with `evaluate`."""
    right = expected(rules, events, operators, schema)
    assert singles(matcher, events) == right
    for way in (SegmentMatcher.go_by_cells, SegmentMatcher.go_by_walks):
        for part in matcher._snapshot.parts:
            way(part.matcher)
        assert singles(matcher, events) == right, way
    for part in matcher._snapshot.parts:
        part.matcher.go_by_push_lists()
    for strategy in STRATEGIES:
        assert batches(matcher, events, strategy) == right, strategy
    return right
