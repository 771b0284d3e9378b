"""City cameras: five subscriptions that call expensive recognisers, and the calls saved.

    python examples/cameras.py

Cameras on drones publish images with their coordinates. The subscriptions need image recognition
and look-ups of places, which are simulated here: the scenario of Liu et al., *Scalable Event
Matching for Overlapping Subscriptions in Pub/Sub Systems* (DEBS 2007), §2.1.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from matchwood import Matcher, operator, parse
from matchwood.language.evaluation import asking, truth_of
from matchwood.language.events import Event
from matchwood.language.joins import joined
from matchwood.operators import Operators
from matchwood.operators.geo import distance

# Images that are published.
FRAMES = 500
# South, west, north and east of each borough, in degrees.
BOROUGHS = {"Bronx": (40.79, -73.93, 40.91, -73.75), "Manhattan": (40.70, -74.02, 40.88, -73.91)}
# Latitude and longitude of each place, in degrees.
PLACES = {"Statue of Liberty": (40.6892, -74.0445), "Times Square": (40.7580, -73.9855)}

SUBSCRIPTIONS = {
    "police chase in the Bronx": "in_area(lat, lon, 'Bronx') and chase(image, 'police car', 'car')",
    "mob in the Bronx": "in_area(lat, lon, 'Bronx') and people(image, ?n) and ?n > 50",
    "crowd in a jam at Times Square": (
        "distance_from(lat, lon, 'Times Square', ?far) and ?far < 5000 "
        "and traffic(image, 'congestion') and pedestrians(image, ?n) and ?n > 250"
    ),
    "accident without police": (
        "in_area(lat, lon, 'Bronx') and traffic(image, 'congestion') "
        "and traffic(image, 'accident') and police_cars(image, ?cars) and ?cars < 2"
    ),
    "too few guards for the boats": (
        "distance_from(lat, lon, 'Statue of Liberty', ?far) and ?far < 1000 "
        "and tour_boats(image, ?y) and guard_boats(image, ?z) and ?y > 2 * ?z"
    ),
}

# What each image shows.
SCENES: dict[str, dict[str, Any]] = {}
# How often each operator was called.
CALLS: Counter[str] = Counter()


@operator("in_area", cost=0.002)
def in_area(event, lat, lon, area):
    CALLS["in_area"] += 1
    south, west, north, east = BOROUGHS[area]
    return south <= lat <= north and west <= lon <= east


@operator("distance_from", cost=0.002)
def distance_from(event, lat, lon, place):
    CALLS["distance_from"] += 1
    return [distance((lat, lon), PLACES[place])]


@operator("chase", cost=0.050)
def chase(event, image, hunter, hunted):
    CALLS["chase"] += 1
    return SCENES[image]["chase"]


@operator("traffic", cost=0.020)
def traffic(event, image, pattern):
    CALLS["traffic"] += 1
    return pattern in SCENES[image]["traffic"]


def counter(name, cost):
    """A recogniser that counts what it sees."""

    @operator(name, cost=cost)
    def count(event, image):
        CALLS[name] += 1
        return [SCENES[image][name]]

    return count


RECOGNISERS = Operators(
    [
        in_area,
        distance_from,
        chase,
        traffic,
        counter("people", 0.040),
        counter("pedestrians", 0.040),
        counter("police_cars", 0.030),
        counter("tour_boats", 0.030),
        counter("guard_boats", 0.030),
    ]
)


def film(frames):
    """Images of a city, with what they show."""
    dice = random.Random(7)
    for number in range(frames):
        image = f"frame-{number:04}"
        SCENES[image] = {
            "chase": dice.random() < 0.05,
            "traffic": {p for p in ("congestion", "accident") if dice.random() < 0.3},
            "people": int(dice.expovariate(1 / 30)),
            "pedestrians": int(dice.expovariate(1 / 150)),
            "police_cars": dice.randrange(4),
            "tour_boats": dice.randrange(8),
            "guard_boats": dice.randrange(4),
        }
        lat, lon = dice.choice([*PLACES.values(), (40.85, -73.85), (40.72, -74.0)])
        yield {
            "image": image,
            "lat": lat + dice.uniform(-0.02, 0.02),
            "lon": lon + dice.uniform(-0.02, 0.02),
            "altitude": dice.randrange(50, 400),
        }


def one_by_one(event):
    """Evaluate each subscription by itself, in the order in which it is written."""
    seen = Event(event)
    matched = []
    for name, text in SUBSCRIPTIONS.items():
        ask = asking(seen, RECOGNISERS)  # forgets the calls of the subscription before
        truth = truth_of(seen, ask, None)
        parts = joined(parse(text))
        if all(truth(part, ()) is True for part in parts.operands or (parts,)):
            matched.append(name)
    return matched


def main() -> None:
    events = list(film(FRAMES))
    alone = [sorted(one_by_one(event)) for event in events]
    apart = CALLS.total()
    CALLS.clear()
    matcher = Matcher(SUBSCRIPTIONS, operators=RECOGNISERS)
    together = [sorted(matcher.match(event)) for event in events]
    assert together == alone
    for name, frames in Counter(name for names in together for name in names).most_common():
        print(f"{frames:4} frames: {name}")
    event = next(e for e, names in zip(events, together, strict=True) if len(names) > 1)
    print(f"\n{event['image']}:")
    for name, bound in matcher.match(event, bindings=True).items():
        print(f"  {name}", *(f"?{k} = {v:g}" for row in bound for k, v in row.items()))
    saved = 1 - CALLS.total() / apart
    print(
        f"\n{apart:,} calls if each subscription is evaluated by itself, "
        f"{CALLS.total():,} together: {saved:.0%} saved"
    )


if __name__ == "__main__":
    main()
