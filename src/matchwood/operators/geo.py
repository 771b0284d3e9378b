"""Operators for positions on Earth: within_box, within_distance and in_polygon.

Every matcher knows them. Latitudes and longitudes are in degrees; an answer is undefined if one
is not a number or is out of range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from matchwood.language.errors import RuleError
from matchwood.language.remembered import remembered_by_text
from matchwood.language.tree import Call
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.variables import variables_of
from matchwood.operators.registry import Operator, Operators

# The mean radius of the Earth in metres.
RADIUS = 6_371_008.8

# Bytes of the polygons that are remembered. One takes at most 2,000, and four per character.
_SHAPES_BUDGET = 64 << 20

_Event = Mapping[str, object]


def _position(latitude: object, longitude: object) -> tuple[float, float] | None:
    degrees = []
    for value, most in ((latitude, 90), (longitude, 180)):
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return None
        if not -most <= value <= most:
            return None
        degrees.append(float(value))
    return degrees[0], degrees[1]


def within_box(
    event: _Event, lat: Any, lon: Any, south: Any, west: Any, north: Any, east: Any
) -> bool | None:
    """Whether a position lies in a box, borders included; west > east crosses longitude 180."""
    position = _position(lat, lon)
    if position is None:
        return None
    if not float(south) <= position[0] <= float(north):
        return False
    if float(west) <= float(east):
        return float(west) <= position[1] <= float(east)
    return position[1] >= float(west) or position[1] <= float(east)


def within_distance(
    event: _Event, lat: Any, lon: Any, other_lat: Any, other_lon: Any, metres: Any
) -> bool | None:
    """Whether two positions are at most `metres` apart on a sphere (haversine formula)."""
    position, other = _position(lat, lon), _position(other_lat, other_lon)
    return None if position is None or other is None else distance(position, other) <= float(metres)


def distance(position: tuple[float, float], other: tuple[float, float]) -> float:
    """Metres between two positions, each a latitude and a longitude."""
    lat, lon, other_lat, other_lon = map(math.radians, (*position, *other))
    across = math.cos(lat) * math.cos(other_lat) * math.sin((other_lon - lon) / 2) ** 2
    return (
        2 * RADIUS * math.asin(min(1.0, math.sqrt(math.sin((other_lat - lat) / 2) ** 2 + across)))
    )


def in_polygon(event: _Event, lat: Any, lon: Any, polygon: str) -> bool | None:
    """Whether a position lies in a polygon, border included."""
    position = _position(lat, lon)
    if position is None:
        return None
    import shapely

    return bool(shapely.intersects_xy(_shape(polygon), position[1], position[0]))


@remembered_by_text(_SHAPES_BUDGET, lambda text, _: 2_000 + 4 * len(text))
def _shape(text: str) -> Any:
    """The polygon that a WKT text describes, longitude first; raises RuleError if it is not one."""
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


BUILT_IN_OPERATORS = Operators(
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
            check=_takes(5, "a latitude, a longitude, those of another position, and metres"),
        ),
        Operator("in_polygon", in_polygon, cost=5e-6, check=_takes_polygon),
    ]
)


def available(operators: Any) -> Operators:
    """The given operators, and the built-in ones whose names are not among them."""
    own = Operators.of(operators)
    return Operators(
        [
            *own.values(),
            *(built_in for built_in in BUILT_IN_OPERATORS.values() if built_in.name not in own),
        ]
    )
