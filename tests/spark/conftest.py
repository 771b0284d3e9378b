"""Rules and events that many Spark tests share."""

import pytest

from spark.cases import EVENTS, RULES, SCHEMA


@pytest.fixture(scope="session")
def compiled(spark):
    """The rules of `cases`, in several shards."""
    from matchwood.spark import compile_rules

    rules = spark.createDataFrame(list(RULES.items()), "id string, rule string")
    return compile_rules(rules, shards=3)


@pytest.fixture(scope="session")
def events(spark):
    """The events of `cases`, as columns."""
    rows = [tuple(one.values()) for one in EVENTS]
    return spark.createDataFrame(rows, SCHEMA).repartition(2)
