"""Operators for places."""

import pytest

from matchwood import Matcher, RuleError
from matchwood.operators.geo import distance

LIBERTY = (40.6892, -74.0445)
TIMES_SQUARE = (40.7580, -73.9855)
RULES = {
    "manhattan": "within_box(lat, lon, 40.70, -74.02, 40.88, -73.91)",
    "pacific": "within_box(lat, lon, -20, 170, 20, -170)",
    "near": "within_distance(lat, lon, 40.7580, -73.9855, 5000)",
    "harbour": "in_polygon(lat, lon, 'POLYGON ((-74.1 40.6, -74.0 40.6, -74.0 40.7, -74.1 40.6))')",
    "zone": "in_polygon(lat, lon, zone)",
    "elsewhere": "not within_distance(lat, lon, 40.7580, -73.9855, 5000)",
}


def at(place, **more):
    return {"lat": place[0], "lon": place[1]} | more


def test_distance_on_a_sphere():
    assert distance(LIBERTY, TIMES_SQUARE) == pytest.approx(9_121, abs=15)
    assert distance((0, 0), (0, 180)) == pytest.approx(20_015_115, abs=1)
    assert distance(LIBERTY, LIBERTY) == 0


@pytest.mark.parametrize(
    ("event", "right"),
    [
        (at(TIMES_SQUARE), {"manhattan", "near"}),
        (at((40.62, -74.05)), {"harbour", "elsewhere"}),
        (at((0, 175)), {"pacific", "elsewhere"}),
        (at((0, -175)), {"pacific", "elsewhere"}),
        (at((0.5, 0.5), zone="POLYGON ((0 0, 2 0, 0 2, 0 0))"), {"zone", "elsewhere"}),
        (at((0.5, 0.5), zone="no polygon"), {"elsewhere"}),
        (at(("40", -73)), set()),
        (at((95, 0)), set()),
        ({"lat": 40.7}, set()),
    ],
)
def test_places(event, right):
    matcher = Matcher(RULES)
    assert set(matcher.match(event)) == right
    assert set(matcher.match_batch([event])["rule_id"].to_pylist()) == right


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("within_box(lat, lon, 1, 2, 3)", "takes a latitude, a longitude, south"),
        ("within_distance(lat, lon, 1, 2, ?x) and ?x > 3", "takes a latitude"),
        ("in_polygon(lat, lon, 'POLYGON ((0 0, 1 1))')", "takes a polygon in WKT"),
        ("in_polygon(lat, lon, 'POINT (0 0)')", "takes a valid polygon"),
        ("in_polygon(lat, lon, 5)", "is a string"),
    ],
)
def test_calls_that_could_never_be_answered_are_refused(rule, reason):
    with pytest.raises(RuleError, match=reason):
        Matcher({1: rule})


def test_names_of_ones_own_come_first():
    matcher = Matcher({1: "within_box(a)"}, operators={"within_box": lambda a: a == 1})
    assert matcher.match({"a": 1}) == [1]
