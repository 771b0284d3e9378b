"""The ad exchange (Fontoura et al. 2010, §1.1): a graph whose edges carry rules.

Nodes are publishers, who have visits to sell, advertisers, who buy, and intermediaries, who do
both. An edge leads from a seller to a buyer, and its rule says which visits are sold along it. A
campaign is booked with a publisher along a path, and is eligible for a visit if its own rule and
those of all edges of the path are true: it is booked as the conjunction of them, beside a predicate
that names the publisher, so that the campaigns of all publishers are in one matcher.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from matchwood.lab.papers.shared.protocol import Algorithm, Id, Rule
from matchwood.language import parse
from matchwood.language.builder import attr
from matchwood.language.tree import And, Node
from matchwood.matcher import Matcher

# The rule of an edge that carries every visit.
_ALL = parse("true")


class Edge(NamedTuple):
    """Visits that a seller sells to a buyer."""

    seller: str
    buyer: str
    rule: Rule = "true"


class Campaign(NamedTuple):
    """What an advertiser books with a publisher; the shortest path, if no other is given."""

    id: Id
    publisher: str
    advertiser: str
    rule: Rule = "true"
    path: tuple[str, ...] = ()  # all nodes, from the publisher to the advertiser


class AdExchange:
    """Campaigns booked along the paths of a graph, and which of them are eligible for a visit.

    `over` is what finds them: a `Matcher`, or an algorithm of this package. `attribute` is the one
    that names the publisher of a visit.

    >>> exchange = AdExchange([Edge("news", "network", "age >= 18"), Edge("network", "shoes")])
    >>> exchange.book(Campaign("spring", "news", "shoes", "interest = 'running'"))
    >>> print(exchange.rule("spring"))
    publisher = 'news' and age >= 18 and interest = 'running'
    >>> exchange.eligible("news", {"age": 30, "interest": "running"})
    ['spring']
    >>> exchange.eligible("news", {"age": 16, "interest": "running"})
    []
    """

    def __init__(
        self,
        edges: Iterable[Edge],
        campaigns: Iterable[Campaign] = (),
        over: Callable[[dict[Id, Node]], Matcher | Algorithm] = Matcher,
        attribute: str = "publisher",
    ) -> None:
        self.attribute = attribute
        self._edges: dict[tuple[str, str], Node] = {}
        self._buyers: dict[str, list[str]] = {}
        self._along: dict[tuple[str, str], set[Id]] = {}  # campaigns by edge
        self._campaigns: dict[Id, Campaign] = {}
        for edge in edges:
            self.connect(*edge)
        for campaign in campaigns:
            self._note(campaign)
        self._matcher = over({campaign: self.rule(campaign) for campaign in self._campaigns})

    # The graph

    @property
    def publishers(self) -> set[str]:
        """Nodes that sell and do not buy."""
        return {seller for seller, _ in self._edges} - {buyer for _, buyer in self._edges}

    @property
    def advertisers(self) -> set[str]:
        """Nodes that buy and do not sell."""
        return {buyer for _, buyer in self._edges} - {seller for seller, _ in self._edges}

    @property
    def intermediaries(self) -> set[str]:
        """Nodes that do both."""
        return {buyer for _, buyer in self._edges} & {seller for seller, _ in self._edges}

    def connect(self, seller: str, buyer: str, rule: Rule = "true") -> None:
        """Add an edge, or change its rule; campaigns along it are booked again."""
        edge, tree = (seller, buyer), parse(rule)
        before = self._edges.get(edge)
        self._edges[edge] = tree
        if before is None:
            self._buyers.setdefault(seller, []).append(buyer)
            self._along[edge] = set()
            return
        try:
            self._put(self._along[edge])
        except Exception:  # if one cannot be booked under the new rule, all stay under the old one
            self._edges[edge] = before
            self._put(self._along[edge])
            raise

    def disconnect(self, seller: str, buyer: str) -> list[Campaign]:
        """Remove an edge and cancel the campaigns along it; returns these campaigns."""
        edge = seller, buyer
        if edge not in self._edges:
            raise KeyError(f"no edge leads from {seller!r} to {buyer!r}")
        cancelled = [self.cancel(campaign) for campaign in list(self._along[edge])]
        self._buyers[seller].remove(buyer)
        del self._edges[edge], self._along[edge]
        return cancelled

    def path(self, publisher: str, advertiser: str) -> tuple[str, ...]:
        """A shortest path; of several, the one whose edges came first."""
        before: dict[str, str] = {}
        todo = deque([publisher])
        while todo and advertiser not in before:
            node = todo.popleft()
            for buyer in self._buyers.get(node, ()):
                if buyer != publisher and buyer not in before:
                    before[buyer] = node
                    todo.append(buyer)
        if advertiser not in before:
            raise ValueError(f"no path leads from {publisher!r} to {advertiser!r}: connect them")
        path = [advertiser]
        while path[-1] != publisher:
            path.append(before[path[-1]])
        return tuple(reversed(path))

    # Campaigns

    def book(self, campaign: Campaign) -> None:
        """Book a campaign; its id is new."""
        self._note(campaign)
        try:
            self._put([campaign.id])
        except Exception:
            self._forget(campaign.id)
            raise

    def cancel(self, campaign: Id) -> Campaign:
        """Remove a campaign; a KeyError if it does not exist."""
        booked = self._campaigns[campaign]
        self._drop(campaign)
        self._forget(campaign)
        return booked

    def rule(self, campaign: Id) -> Node:
        """The rule that a campaign is booked as."""
        booked = self._campaigns[campaign]
        parts = [self._edges[edge] for edge in pairwise(booked.path)]
        parts = [part for part in (*parts, parse(booked.rule)) if part != _ALL]
        named = attr(self.attribute).eq(booked.publisher)
        return And([named, *parts]) if parts else named

    def eligible(self, publisher: str, visit: Mapping[str, object]) -> list[Id]:
        """The campaigns that may be shown for a visit to a publisher, in no order."""
        if visit.get(self.attribute, publisher) != publisher:
            raise ValueError(
                f"the visit is to {publisher!r}, but its {self.attribute!r} is "
                f"{visit[self.attribute]!r}"
            )
        campaigns: list[Id] = self._matcher.match({**visit, self.attribute: publisher})
        return campaigns

    def _note(self, campaign: Campaign) -> None:
        """Note a campaign and its path."""
        if campaign.id in self._campaigns:
            raise ValueError(f"campaign {campaign.id!r} exists already: cancel it first")
        parse(campaign.rule)
        path = campaign.path or self.path(campaign.publisher, campaign.advertiser)
        if (path[0], path[-1]) != (campaign.publisher, campaign.advertiser):
            raise ValueError(
                f"campaign {campaign.id!r} is of {campaign.advertiser!r} with "
                f"{campaign.publisher!r}, but its path leads from {path[0]!r} to {path[-1]!r}"
            )
        for seller, buyer in pairwise(path):
            if (seller, buyer) not in self._edges:
                raise ValueError(f"no edge leads from {seller!r} to {buyer!r}: connect them")
        self._campaigns[campaign.id] = campaign._replace(path=path)
        for edge in pairwise(path):
            self._along[edge].add(campaign.id)

    def _forget(self, campaign: Id) -> None:
        for edge in pairwise(self._campaigns.pop(campaign).path):
            self._along[edge].discard(campaign)

    def _put(self, campaigns: Iterable[Id]) -> None:
        """Put the current rules of campaigns into the matcher, in place of their old ones."""
        for campaign in campaigns:
            with suppress(KeyError):
                self._drop(campaign)
            self._matcher.add(campaign, self.rule(campaign))

    def _drop(self, campaign: Id) -> None:
        if isinstance(self._matcher, Matcher):
            del self._matcher[campaign]
        else:
            self._matcher.remove(campaign)
