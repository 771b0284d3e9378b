"""Operators for places, known to every matcher: within_box, within_distance, in_polygon.

Latitudes and longitudes are in degrees, and undefined where they are no numbers or out of range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from matchwood.language.arithmetic import Attribute
from matchwood.language.errors import RuleError
from matchwood.language.tree import Call
from matchwood.language.variables import variables_of
from matchwood.operators.registry import Operator, Operators

RADIUS = 6_371_008.8  # metres: the mean radius of the Earth
_Event = Mapping[str, object]


def _place(latitude: object, longitude: object) -> tuple[float, float] | None:
    found = []
    for value, most in ((latitude, 90), (longitude, 180)):
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return None
        if not -most <= value <= most:
            return None
        found.append(float(value))
    return found[0], found[1]


def within_box(
    event: _Event, lat: Any, lon: Any, south: Any, west: Any, north: Any, east: Any
) -> bool | None:
    """Whether a place lies in a box, its borders included; west > east crosses longitude 180."""
    place = _place(lat, lon)
    if place is None:
        return None
    if not float(south) <= place[0] <= float(north):
        return False
    if float(west) <= float(east):
        return float(west) <= place[1] <= float(east)
    return place[1] >= float(west) or place[1] <= float(east)


def within_distance(
    event: _Event, lat: Any, lon: Any, other_lat: Any, other_lon: Any, metres: Any
) -> bool | None:
    """Whether two places are at most so far apart, on a sphere (haversine)."""
    place, other = _place(lat, lon), _place(other_lat, other_lon)
    return None if place is None or other is None else distance(place, other) <= float(metres)


def distance(place: tuple[float, float], other: tuple[float, float]) -> float:
    """Metres between two places, each a latitude and a longitude."""
    lat, lon, other_lat, other_lon = map(math.radians, (*place, *other))
    across = math.cos(lat) * math.cos(other_lat) * math.sin((other_lon - lon) / 2) ** 2
    return (
        2 * RADIUS * math.asin(min(1.0, math.sqrt(math.sin((other_lat - lat) / 2) ** 2 + across)))
    )


def in_polygon(event: _Event, lat: Any, lon: Any, polygon: str) -> bool | None:
    """Whether a place lies in a polygon, its border included."""
    place = _place(lat, lon)
    if place is None:
        return None
    import shapely

    return bool(shapely.intersects_xy(_shape(polygon), place[1], place[0]))


@lru_cache(maxsize=10_000)
def _shape(text: str) -> Any:
    """The polygon of a text, longitude before latitude; a RuleError where it is none."""
    try:
        import shapely
    except ImportError:
        raise RuleError("in_polygon needs shapely: pip install 'matchwood[geo]'") from None
    try:
        shape = shapely.from_wkt(text)
    except shapely.errors.ShapelyError as error:
        raise RuleError(f"in_polygon takes a polygon in WKT: {error}") from None
    if shape is None or shape.geom_type not in ("Polygon", "MultiPolygon") or not shape.is_valid:
        raise RuleError(
            "in_polygon takes a valid polygon like 'POLYGON ((-74 40, -73 40, -73 41, -74 40))', "
            f"longitude before latitude, found {text[:60]!r}"
        )
    shapely.prepare(shape)
    return shape


def _takes(count: int, names: str) -> Any:
    def check(call: Call) -> None:
        if len(call.arguments) != count or any(variables_of(call)):
            raise RuleError(f"{call.name} takes {names}, found {len(call.arguments)} arguments")

    return check


def _takes_polygon(call: Call) -> None:
    _takes(3, "a latitude, a longitude and a polygon")(call)
    polygon = call.arguments[2]
    if isinstance(polygon, str):
        _shape(polygon)
    elif not isinstance(polygon, Attribute):
        raise RuleError("the third argument of in_polygon is a string in single quotes")


BUILT_IN = Operators(
    [
        Operator(
            "within_box",
            within_box,
            cost=2e-6,
            check=_takes(6, "a latitude, a longitude, south, west, north and east"),
        ),
        Operator(
            "within_distance",
            within_distance,
            cost=2e-6,
            check=_takes(5, "a latitude, a longitude, those of another place, and metres"),
        ),
        Operator("in_polygon", in_polygon, cost=5e-6, check=_takes_polygon),
    ]
)


def available(given: Any) -> Operators:
    """The operators that were given, and the built-in ones whose names they leave free."""
    own = Operators.of(given)
    return Operators([*own.values(), *(one for one in BUILT_IN.values() if one.name not in own)])
