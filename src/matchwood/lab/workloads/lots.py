"""City lots: JSON texts with a few properties that rules ask for, and a polygon that none does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

# Streets of the lots; those that occur more often are listed more often.
STREETS = ("JEFFERSON", "TAYLOR", "MARKET", "MISSION", "MISSION", "24TH", "CRANBERRY", "SEAWELL")

# Kinds of streets.
KINDS = ("ST", "ST", "ST", "AVE", "WAY", None)

# The rules: five, as an event router has them.
RULES = (
    "properties.STREET = 'CRANBERRY'",
    "properties.STREET like 'S%' and geometry.type = 'Polygon'",
    "properties.LOT_NUM in ('027', '028') and properties.ODD_EVEN = 'E'",
    "type = 'Feature' and properties.BLOCK_NUM >= '8900' and not (properties.ST_TYPE = 'ST')",
    "properties.FROM_ST between 100 and 120 or properties.STREET is null",
)


@dataclass(frozen=True)
class Lots:
    """A seeded workload of JSON texts of about 640 bytes, and five rules.

    >>> lots = Lots(seed=2)
    >>> json.loads(lots.json_texts(1)[0])["type"]
    'Feature'
    """

    seed: int = 1

    @property
    def rules(self) -> int:
        return len(RULES)

    def texts(self) -> list[str]:
        """The rules."""
        return list(RULES)

    def events(self, n: int) -> list[dict[str, Any]]:
        """Lots as Python values."""
        random = Random(f"lots {self.seed}")
        return [_lot(random) for _ in range(n)]

    def json_texts(self, n: int) -> list[bytes]:
        """Lots as JSON."""
        return [json.dumps(event, separators=(",", ":")).encode() for event in self.events(n)]


def _lot(random: Random) -> dict[str, Any]:
    block, lot = f"{random.randint(1, 9000):04}", f"{random.randint(1, 120):03}"
    number = str(random.randint(1, 3000))
    x, y = random.uniform(-122.51, -122.36), random.uniform(37.71, 37.81)
    corners = [
        [x + random.uniform(0, 5e-4), y + random.uniform(0, 5e-4), 0.0]
        for _ in range(random.randint(6, 10))
    ]
    return {
        "type": "Feature",
        "properties": {
            "MAPBLKLOT": block + lot,
            "BLKLOT": block + lot,
            "BLOCK_NUM": block,
            "LOT_NUM": lot,
            "FROM_ST": random.choice((number, int(number))),
            "TO_ST": number,
            "STREET": random.choice(STREETS) if random.random() < 0.97 else None,
            "ST_TYPE": random.choice(KINDS),
            "ODD_EVEN": random.choice("EO"),
        },
        "geometry": {"type": "Polygon", "coordinates": [[*corners, corners[0]]]},
    }
