"""An ad exchange at work: visits, the rules that guard their way, and who may show an ad.

Run it with `python examples/ad_exchange.py` where matchwood is installed.
"""

import random
from itertools import pairwise
from time import perf_counter

from matchwood import Matcher
from matchwood.papers.ad_exchange import AdExchange, Campaign, Edge
from matchwood.papers.dewey import DeweyId
from matchwood.papers.interval import IntervalId

# The example of Fontoura et al. 2010, §1.1. The paper joins the two halves of the campaign with
# AND, which no visit could be true of; what it says about it in words is OR.
EDGES = [
    Edge("publisher P", "exchange X"),
    Edge(
        "exchange X",
        "agency Y",
        "gender = 'Male' and category = 'Sports' or gender = 'Female' and category != 'Finance'",
    ),
    Edge("agency Y", "advertiser A"),
    Edge("exchange X", "advertiser B", "category in ('Sports', 'News')"),
]
CAMPAIGNS = [
    Campaign(
        "season tickets",
        "publisher P",
        "advertiser A",
        "(age = 4 and interest = 'NFL') or (age = 5 and interest = 'NBA')",
    ),
    Campaign("running shoes", "publisher P", "advertiser B", "age between 2 and 4"),
]
VISITS = [
    {"gender": "Male", "interest": "NFL", "category": "Sports", "age": 4},
    {"gender": "Male", "interest": "NFL", "category": "Finance", "age": 4},
    {"gender": "Female", "interest": "NBA", "category": "News", "age": 5},
    {"interest": "NFL", "category": "Sports", "age": 3},
]


def show_the_paper_s_example() -> None:
    exchange = AdExchange(EDGES, CAMPAIGNS)
    print("A campaign is booked with the rules of its path:\n")
    for campaign in CAMPAIGNS:
        print(f"  {campaign.id}: {exchange.rule(campaign.id)}")
    print("\nWho may show an ad:\n")
    for visit in VISITS:
        found = ", ".join(sorted(exchange.eligible("publisher P", visit))) or "nobody"
        print(f"  {', '.join(str(value) for value in visit.values()):<28}→ {found}")
    exchange.connect("exchange X", "agency Y", "gender = 'Female'")
    found = ", ".join(sorted(exchange.eligible("publisher P", VISITS[0])))
    print(f"\nOnce X sells only visits of women to Y, the first is for {found} alone.")


def large_exchange(over):
    """Twenty publishers, six networks in two rows, fifty advertisers, 5,000 campaigns."""
    dice = random.Random(1)

    def some_rule():
        one, other = dice.sample("abcdefgh", 2)
        x, y = dice.randrange(20), dice.randrange(20)
        return dice.choice([f"{one} < {x} or {other} = {y}", f"{one} != {x} and {other} >= {y}"])

    sizes = {"p": 20, "n": 3, "m": 3, "a": 50}
    rows = [[f"{kind}{i}" for i in range(n)] for kind, n in sizes.items()]
    edges = [
        Edge(seller, buyer, some_rule())
        for sellers, buyers in pairwise(rows)
        for seller in sellers
        for buyer in buyers
    ]
    campaigns = [
        Campaign(i, path[0], path[-1], some_rule(), path)
        for i, path in enumerate(tuple(map(dice.choice, rows)) for _ in range(5_000))
    ]
    visits = [
        (dice.choice(rows[0]), {a: dice.randrange(20) for a in "abcdefgh"}) for _ in range(500)
    ]
    return AdExchange(edges, campaigns, over), visits


def show_a_larger_one() -> None:
    print("\n5,000 campaigns along three edges each, and 500 visits:\n")
    for over in (Matcher, DeweyId, IntervalId):
        exchange, visits = large_exchange(over)
        exchange.eligible(*visits[0])  # compiles, the first time
        begin = perf_counter()
        found = sum(len(exchange.eligible(*visit)) for visit in visits)
        each = (perf_counter() - begin) / len(visits)
        print(f"  {over.__name__:<12}{found:,} eligible campaigns, {each * 1e6:,.0f} µs a visit")


if __name__ == "__main__":
    show_the_paper_s_example()
    show_a_larger_one()
