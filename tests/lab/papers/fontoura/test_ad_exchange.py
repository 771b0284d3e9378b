"""A campaign is eligible where its rule and those of all edges of its path are true."""

import random
from itertools import pairwise

import pytest

from matchwood import Matcher, RuleError
from matchwood.lab.papers.fontoura.ad_exchange import AdExchange, Campaign, Edge
from matchwood.lab.papers.fontoura.dewey import DeweyId
from matchwood.lab.papers.fontoura.dnf import Dnf
from matchwood.lab.papers.fontoura.interval import IntervalId
from matchwood.lab.papers.shared.protocol import OverBudget
from matchwood.language import evaluate, parse

OVER = pytest.mark.parametrize("over", [Matcher, DeweyId, IntervalId])
# The paper's §1.1: what X sells to Y, and a campaign of A
SOLD = (
    "(gender in ('Male') and category in ('Sports')) "
    "or (gender in ('Female') and category not in ('Finance'))"
)
WANTED = "(age in (4) and interest in ('NFL')) or (age in (5) and interest in ('NBA'))"


def paper(over=Matcher):
    return AdExchange([Edge("P", "X"), Edge("X", "A", SOLD)], over=over)


@OVER
def test_the_paper_s_example(over):
    exchange = paper(over)
    exchange.book(Campaign("c", "P", "A", WANTED))
    visit = {"gender": "Male", "interest": "NFL", "category": "Sports", "age": 4}
    assert exchange.eligible("P", visit) == ["c"]
    assert exchange.eligible("P", visit | {"age": 5}) == []
    assert exchange.eligible("P", visit | {"category": "News"}) == []
    assert exchange.eligible("P", visit | {"gender": "Female", "category": "News"}) == ["c"]
    assert exchange.eligible("X", visit) == []
    assert exchange.cancel("c").path == ("P", "X", "A")
    assert exchange.eligible("P", visit) == []


def test_sides_of_the_exchange():
    exchange = paper()
    assert exchange.publishers == {"P"}
    assert exchange.intermediaries == {"X"}
    assert exchange.advertisers == {"A"}


def right(exchange, publisher, visit):
    """Campaign by campaign, edge by edge."""
    found = set()
    for campaign in exchange._campaigns.values():
        rules = [exchange._edges[edge] for edge in pairwise(campaign.path)]
        rules.append(parse(campaign.rule))
        if campaign.publisher == publisher and all(evaluate(rule, visit) for rule in rules):
            found.add(campaign.id)
    return found


@OVER
def test_campaigns_come_and_go_and_edges_change(over):
    dice = random.Random(7)

    def rule():
        a, b = dice.sample("abcde", 2)
        x, y = dice.randrange(4), dice.randrange(4)
        return dice.choice([f"{a} = {x} or {b} < {y}", f"{a} != {x}", "true", f"not ({b} = {y})"])

    names = [[f"p{i}" for i in range(3)], [f"n{i}" for i in range(4)], [f"a{i}" for i in range(5)]]
    edges = [Edge(s, b, rule()) for left, to in pairwise(names) for s in left for b in to]
    pairs = [(p, a) for p in names[0] for a in names[2]]
    first = [Campaign(f"c{i}", *dice.choice(pairs), rule()) for i in range(40)]
    exchange = AdExchange(edges, first, over)
    eligible = 0
    for step in range(120):
        kind = dice.random()
        if kind < 0.4:
            publisher, advertiser = dice.choice(pairs)
            path = (publisher, dice.choice(names[1]), advertiser)
            exchange.book(Campaign(f"d{step}", publisher, advertiser, rule(), path))
        elif kind < 0.7:
            exchange.cancel(dice.choice(list(exchange._campaigns)))
        elif kind < 0.8:
            exchange.connect(*dice.choice(edges)[:2], rule())
        visit = {a: dice.randrange(4) for a in "abcde" if dice.random() < 0.8}
        publisher = dice.choice(names[0])
        found = exchange.eligible(publisher, visit)
        assert set(found) == right(exchange, publisher, visit)
        eligible += len(found)
    assert eligible > 100
    edge = next(edge for edge, along in exchange._along.items() if along)
    gone = exchange.disconnect(*edge)
    assert gone
    assert not {campaign.id for campaign in gone} & set(exchange._campaigns)
    assert set(exchange.eligible("p0", visit)) == right(exchange, "p0", visit)


def test_paths():
    exchange = AdExchange([Edge("P", "X"), Edge("X", "Y"), Edge("Y", "X"), Edge("Y", "A")])
    assert exchange.path("P", "A") == ("P", "X", "Y", "A")
    exchange.connect("X", "A")
    assert exchange.path("P", "A") == ("P", "X", "A")
    with pytest.raises(ValueError, match="no path leads from 'A' to 'P'"):
        exchange.path("A", "P")


def test_what_cannot_be_booked():
    exchange = paper()
    exchange.book(Campaign("c", "P", "A"))
    with pytest.raises(ValueError, match="campaign 'c' exists already"):
        exchange.book(Campaign("c", "P", "A"))
    with pytest.raises(ValueError, match="no edge leads from 'P' to 'A'"):
        exchange.book(Campaign("d", "P", "A", path=("P", "A")))
    with pytest.raises(ValueError, match="its path leads from 'X' to 'A'"):
        exchange.book(Campaign("d", "P", "A", path=("X", "A")))
    with pytest.raises(RuleError):
        exchange.book(Campaign("d", "P", "A", "age >"))
    with pytest.raises(KeyError):
        exchange.cancel("d")
    with pytest.raises(KeyError, match="no edge leads from 'P' to 'A'"):
        exchange.disconnect("P", "A")
    with pytest.raises(ValueError, match="the visit is to 'P', but its 'publisher' is 'Q'"):
        exchange.eligible("P", {"publisher": "Q"})


def test_an_edge_whose_new_rule_cannot_be_booked_keeps_the_old_one():
    exchange = AdExchange(
        [Edge("P", "X"), Edge("X", "A", "b0 = 1")], over=lambda rules: Dnf(rules, budget=4000)
    )
    exchange.book(Campaign("c", "P", "A"))
    wide = " and ".join(f"(a{i} = 1 or b{i} = 1)" for i in range(20))
    with pytest.raises(OverBudget):
        exchange.connect("X", "A", wide)
    assert exchange.eligible("P", {"b0": 1}) == ["c"]
    with pytest.raises(OverBudget):
        exchange.book(Campaign("d", "P", "A", wide))
    assert exchange.eligible("P", {"b0": 1}) == ["c"]
