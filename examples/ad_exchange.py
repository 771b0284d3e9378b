"""An ad exchange: visits, the rules on the way to each buyer, and who may show an ad.

Run it with `python examples/ad_exchange.py` if matchwood is installed.
"""

import random
from itertools import pairwise
from time import perf_counter

from matchwood import Matcher
from matchwood.lab.papers.fontoura.ad_exchange import AdExchange, Campaign, Edge
from matchwood.lab.papers.fontoura.dewey import DeweyId
from matchwood.lab.papers.fontoura.interval import IntervalId

# The example of Fontoura et al. 2010, §1.1. The paper joins the two halves of the campaign with
# AND, which is false for every visit; its description in words is OR.
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


def show_example_of_the_paper() -> None:
    exchange = AdExchange(EDGES, CAMPAIGNS)
    print("A campaign is booked with the rules of its path:\n")
    for campaign in CAMPAIGNS:
        print(f"  {campaign.id}: {exchange.rule(campaign.id)}")
    print("\nWho may show an ad:\n")
    for visit in VISITS:
        eligible = ", ".join(sorted(exchange.eligible("publisher P", visit))) or "nobody"
        print(f"  {', '.join(str(value) for value in visit.values()):<28}→ {eligible}")
    exchange.connect("exchange X", "agency Y", "gender = 'Female'")
    eligible = ", ".join(sorted(exchange.eligible("publisher P", VISITS[0])))
    print(f"\nOnce X sells only visits of women to Y, the first visit is for {eligible} only.")


def large_exchange(over):
    """Twenty publishers, six networks in two rows, fifty advertisers, 5,000 campaigns."""
    dice = random.Random(1)

    def some_rule():
        first, second = dice.sample("abcdefgh", 2)
        x, y = dice.randrange(20), dice.randrange(20)
        return dice.choice(
            [f"{first} < {x} or {second} = {y}", f"{first} != {x} and {second} >= {y}"]
        )

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


def show_larger_exchange() -> None:
    print("\n5,000 campaigns along three edges each, and 500 visits:\n")
    for over in (Matcher, DeweyId, IntervalId):
        exchange, visits = large_exchange(over)
        exchange.eligible(*visits[0])  # the first call compiles
        begin = perf_counter()
        eligible = sum(len(exchange.eligible(*visit)) for visit in visits)
        each = (perf_counter() - begin) / len(visits)
        print(
            f"  {over.__name__:<12}{eligible:,} eligible campaigns, {each * 1e6:,.0f} µs per visit"
        )


if __name__ == "__main__":
    show_example_of_the_paper()
    show_larger_exchange()
