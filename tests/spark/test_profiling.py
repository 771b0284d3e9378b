"""Statistics of events on Spark are those that `Matcher.profile` gathers."""

import pytest

from matchwood import Matcher
from matchwood.spark import compile_rules, match_events, profile
from spark.cases import EVENTS

pytestmark = pytest.mark.spark


def rows(count):
    return [(n, n % 10 if n % 4 else None, "IT" if n % 3 else "FR") for n in range(count)]


@pytest.fixture(scope="module")
def visits(spark):
    return spark.createDataFrame(rows(2_000), "key bigint, age int, country string").repartition(3)


def test_as_in_process(visits):
    found = profile(visits)
    right = Matcher.profile(
        [{"key": key, "age": age, "country": country} for key, age, country in rows(2_000)]
    )
    assert found.events == right.events
    assert found.present == right.present
    assert sorted(found.values["age"]) == sorted(right.values["age"])


def test_samples_evenly(visits):
    found = profile(visits, sample=500)
    assert found.events == 2_000
    assert found.present["age"] == 1_500
    assert len(found.values["country"]) == 500
    share = sum(value.value == "IT" for value in found.values["country"]) / 500
    assert 0.58 < share < 0.75


def test_nested_and_json(spark, events):
    found = profile(events)
    right = Matcher.profile(EVENTS)
    assert found.present == right.present
    texts = spark.createDataFrame(
        [('{"a": {"b": 1}, "c": null}',), ('{"a": {"b": null}}',), ("{",)], "event string"
    )
    of_texts = profile(texts, "event")
    assert of_texts.events == 2
    assert of_texts.present == {"a": 2, "a.b": 1}


def test_feeds_the_compiler(spark, visits):
    rules = spark.createDataFrame(
        [(n, f"country = 'IT' and age = {n % 10}") for n in range(50)], "id int, rule string"
    )
    plain, tuned = compile_rules(rules), compile_rules(rules, statistics=profile(visits))
    assert plain.version == tuned.version
    found = [
        sorted(map(tuple, match_events(visits, one, keep=["key"]).collect()))
        for one in (plain, tuned)
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 1_000
