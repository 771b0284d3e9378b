"""Advertising audiences: rules that people can read, and that few events match.

A rule says where, to whom, beside what, on what device and when an advertisement is shown, and
how often at most. An event is one page view. What is common in events is common in rules, as in
a market: popular countries are both visited from and advertised in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import TypeVar

Value = str | int | float | bool | list[str]
Made = TypeVar("Made")

# Rules or events per block; each block is seeded by itself.
BLOCK = 1000

# Country: (share of page views, language, cities).
COUNTRIES: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "US": (16, "en", ("New York", "Chicago", "Houston", "Seattle")),
    "IN": (12, "hi", ("Mumbai", "Delhi", "Chennai", "Pune")),
    "BR": (9, "pt", ("São Paulo", "Rio de Janeiro", "Recife")),
    "DE": (9, "de", ("Berlin", "Hamburg", "München", "Köln")),
    "JP": (8, "ja", ("Tokyo", "Osaka", "Sapporo")),
    "GB": (8, "en", ("London", "Leeds", "Glasgow")),
    "FR": (7, "fr", ("Paris", "Lyon", "Lille")),
    "MX": (6, "es", ("Puebla", "Monterrey")),
    "ES": (5, "es", ("Madrid", "Sevilla", "Bilbao")),
    "IT": (5, "it", ("Roma", "Milano", "Torino")),
    "NL": (3, "nl", ("Amsterdam", "Utrecht")),
    "PL": (3, "pl", ("Warszawa", "Kraków")),
    "AT": (2, "de", ("Wien", "Graz")),
    "CH": (2, "de", ("Zürich", "Basel")),
    "SE": (2, "sv", ("Stockholm", "Malmö")),
    "PT": (1, "pt", ("Lisboa", "Porto")),
    "DK": (1, "da", ("København", "Aarhus")),
    "IE": (1, "en", ("Dublin", "Cork")),
}

# The countries, in the order of their cumulative shares.
COUNTRY_NAMES = tuple(COUNTRIES)

# The cumulative shares of page views by country, of 100 in all.
COUNTRY_SHARES = tuple(accumulate(share for share, _, _ in COUNTRIES.values()))

# Device: (share, operating systems, browsers).
DEVICES: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "mobile": (60, ("android", "ios"), ("chrome", "safari", "samsung")),
    "desktop": (30, ("windows", "macos", "linux"), ("chrome", "edge", "firefox", "safari")),
    "tablet": (7, ("ios", "android"), ("safari", "chrome")),
    "tv": (3, ("tizen", "webos"), ("native",)),
}

# The devices, in the order of their cumulative shares.
DEVICE_NAMES = tuple(DEVICES)

# The cumulative shares of page views by device, of 100 in all.
DEVICE_SHARES = tuple(accumulate(share for share, _, _ in DEVICES.values()))

# Section of a site: its topics, which are also people's interests.
SECTIONS: dict[str, tuple[str, ...]] = {
    "sport": ("football", "cycling", "tennis", "running", "climbing", "sailing"),
    "travel": ("beaches", "hiking", "cities", "cruises", "camping"),
    "technology": ("phones", "games", "cameras", "robots", "software"),
    "food": ("baking", "wine", "coffee", "vegan", "barbecue"),
    "money": ("stocks", "saving", "housing", "insurance", "crypto"),
    "culture": ("cinema", "books", "opera", "jazz", "museums"),
    "home": ("gardening", "furniture", "pets", "parenting", "tools"),
    "cars": ("electric", "classics", "motorbikes", "racing"),
}

# The topics of all sections.
TOPICS = tuple(topic for topics in SECTIONS.values() for topic in topics)

# The values of the attribute `weekday`.
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

# The values of the attribute `site`.
SITES = tuple(f"site{number}.example" for number in range(40))

# The number of campaigns that a visitor may have seen.
CAMPAIGNS = 500

# The values of the attribute `connection`.
CONNECTIONS = ("wifi", "cable", "5g", "4g", "3g")

# The values of the attribute `position`.
POSITIONS = ("top", "side", "inline", "footer")


@dataclass(frozen=True)
class Audiences:
    """A seeded advertising workload: an event matches some tens of 100,000 rules.

    >>> audiences = Audiences(rules=10, seed=3)
    >>> print(audiences.texts()[0])
    city in ('Leeds', 'London') and income >= 70000 and gender = 'f' and ...
    >>> sorted(audiences.events(1)[0])
    [..., 'browser', 'campaigns_seen', 'city', 'connection', 'country', ...]
    """

    rules: int = 100_000
    seed: int = 1

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The rules as texts of the rule language, the same for the same seed.

        >>> len(Audiences(rules=10).texts())
        10
        >>> Audiences(rules=2000).texts(990, 1010) == Audiences(rules=2000).texts()[990:1010]
        True
        """
        stop = self.rules if stop is None else min(stop, self.rules)
        return _part(_rule, f"rules {self.seed}", start, stop)

    def events(self, n: int, start: int = 0) -> list[dict[str, Value]]:
        """Page views of about 20 attributes; what is unknown of a visitor is missing.

        >>> [view["weekday"] in WEEKDAYS for view in Audiences().events(2)]
        [True, True]
        """
        return _part(_page_view, f"events {self.seed}", start, start + n)


def _part(make: Callable[[Random], Made], name: str, start: int, stop: int) -> list[Made]:
    """Rules or events from start to stop; each block is seeded by itself."""
    made = []
    for block in range(start // BLOCK, -(-stop // BLOCK)):
        random = Random(f"{name} {block}")
        size = min(BLOCK, stop - block * BLOCK)
        made += [make(random) for _ in range(size)][max(0, start - block * BLOCK) :]
    return made


def _rule(random: Random) -> str:
    """Place and subject, and up to three other parts: three to ten predicates in all."""
    rest: list[Callable[[Random], str]] = [_people, _equipment, _time, _limit, _placement]
    chosen = random.sample(rest, random.choice((1, 2, 2, 3, 3, 3)))
    clauses = [_place(random)]
    clauses += [clause(random) for clause in rest[:1] if clause in chosen]
    clauses.append(_subject(random, nested=len(chosen) < 3))
    clauses += [clause(random) for clause in rest[1:] if clause in chosen]
    return " and ".join(clauses)


def _place(random: Random) -> str:
    country, *others = dict.fromkeys(_country(random) for _ in range(random.randint(1, 3)))
    _, language, cities = COUNTRIES[country]
    kind = random.random()
    if kind < 0.35 or not others:
        return f"country = '{country}'"
    if kind < 0.55:
        return f"country in {_listed([country, *others])}"
    if kind < 0.75:
        return f"city in {_listed(random.sample(cities, min(2, len(cities))))}"
    if kind < 0.90:
        return f"country = '{country}' and language != '{language}'"
    return f"(country = '{country}' xor language = '{language}')"


def _people(random: Random) -> str:
    youngest = random.randrange(16, 60)
    age = f"age between {youngest} and {youngest + random.choice((4, 9, 14, 19))}"
    income = f"income >= {random.randrange(20, 90, 5)}000"
    gender = f"gender = '{random.choice('fm')}'"
    return random.choice(
        (age, age, f"{age} and {gender}", f"({age} or {income})", f"{income} and {gender}")
    )


def _subject(random: Random, nested: bool) -> str:
    topic = random.choice(TOPICS)
    other = random.choice(TOPICS)
    section = next(name for name, topics in SECTIONS.items() if topic in topics)
    interest = f"contains(interests, '{topic}')"
    page = f"page like '/{section}/{topic}/%'"
    if other == topic:
        return interest
    if nested and random.random() < 0.4:
        return f"{interest} and (page like '/{section}/%' or contains(interests, '{other}'))"
    return random.choice(
        (
            interest,
            page,
            f"({interest} or {page})",
            f"{interest} and not contains(interests, '{other}')",
        )
    )


def _equipment(random: Random) -> str:
    device = _device(random)
    _, systems, browsers = DEVICES[device]
    return random.choice(
        (
            f"device = '{device}'",
            f"os = '{random.choice(systems)}'",
            f"device = '{device}' and browser != '{random.choice(browsers)}'",
            f"(device = '{device}' or connection in {_listed(random.sample(CONNECTIONS, 2))})",
        )
    )


def _time(random: Random) -> str:
    opening = random.randrange(6, 20)
    hours = f"hour between {opening} and {opening + random.choice((2, 3, 4))}"
    days = f"weekday in {_listed(random.sample(WEEKDAYS, random.choice((2, 3))))}"
    return random.choice((hours, days, f"{hours} and {days}", f"({days} or {hours})"))


def _limit(random: Random) -> str:
    often = f"not frequency > {random.choice((1, 2, 3, 5))}"
    seen = f"not contains(campaigns_seen, 'c{random.randrange(CAMPAIGNS)}')"
    return random.choice((often, f"{often} and {seen}", f"not (returning or {often[4:]})"))


def _placement(random: Random) -> str:
    position = f"position = '{random.choice(POSITIONS)}'"
    sites = _listed(random.sample(SITES, random.choice((4, 8))))
    price = f"floor_price <= {random.choice((0.5, 1.0, 2.5))}"
    return random.choice(
        (f"site in {sites}", f"site not in {sites} and {position}", f"{position} and {price}")
    )


def _page_view(random: Random) -> dict[str, Value]:
    country = _country(random)
    _, language, cities = COUNTRIES[country]
    device = _device(random)
    _, systems, browsers = DEVICES[device]
    section = random.choice(tuple(SECTIONS))
    view: dict[str, Value] = {
        "country": country,
        "city": random.choice(cities),
        "language": language if random.random() < 0.9 else "en",
        "device": device,
        "os": random.choice(systems),
        "browser": random.choice(browsers),
        "connection": random.choice(CONNECTIONS),
        "page": f"/{section}/{random.choice(SECTIONS[section])}/{random.randrange(10_000)}",
        "site": random.choice(SITES),
        "position": random.choice(POSITIONS),
        "floor_price": round(random.uniform(0.1, 4.0), 2),
        "hour": random.randrange(24),
        "weekday": random.choice(WEEKDAYS),
        "interests": random.sample(TOPICS, random.randint(1, 5)),
        "frequency": min(int(random.expovariate(0.4)), 20),
        "campaigns_seen": [f"c{random.randrange(CAMPAIGNS)}" for _ in range(random.randrange(6))],
        "returning": random.random() < 0.4,
        "age": random.randint(16, 80),
        "gender": random.choice("fm"),
        "income": random.randrange(15_000, 120_000, 1000),
        "viewport": random.choice((360, 414, 768, 1280, 1920)),
    }
    for untold in ("age", "gender", "income"):
        if random.random() < 0.2:
            del view[untold]
    return view


def _country(random: Random) -> str:
    return random.choices(COUNTRY_NAMES, cum_weights=COUNTRY_SHARES)[0]


def _device(random: Random) -> str:
    return random.choices(DEVICE_NAMES, cum_weights=DEVICE_SHARES)[0]


def _listed(strings: Sequence[str]) -> str:
    return "(" + ", ".join(f"'{text}'" for text in strings) + ")"
