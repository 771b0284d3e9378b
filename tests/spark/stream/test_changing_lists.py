"""Lists of a stream: each micro-batch has one state of them, which a repeated one has again."""

import json
import logging

import pytest

from matcher.expected import expected
from matchwood.spark import match_events
from matchwood.spark.endpoints import RowSource, RuleSource
from matchwood.spark.stream.changing_rules import ChangingRules, UnusableRules
from matchwood.spark.stream.streaming import match_stream

# A stream through Connect has lists in `test_streaming`.
pytestmark = [
    pytest.mark.spark,
    pytest.mark.parametrize("spark", ["classic"], indirect=True),
]

RULES = {
    "town": "city in list 'towns'",
    "elsewhere": "city not in list 'towns' and city is not null",
    "aged": "age in list 'ages'",
    "plain": "age > 30",
}
EVENTS = [
    {"city": city, "age": age}
    for city in ("Rome", "Oslo", "Bonn", None)
    for age in (7.0, 9.5, 40.0)
]
FLOATS = "(cast('nan' as double)), (null)"


class ListedRules:
    """Rules and lists of a stream, and the pairs that its micro-batches find."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.folder = folder
        (folder / "rules.jsonl").write_text(
            "\n".join(json.dumps({"id": id, "rule": rule}) for id, rule in RULES.items())
        )
        self.sources = {
            "towns": RowSource(
                path=str(folder / "towns.txt"), format="text", options={"password": "hunter2"}
            ),
            "ages": RowSource(query="select * from ages_of_view"),
        }
        rows = [(number, *event.values()) for number, event in enumerate(EVENTS)]
        frame = spark.createDataFrame(rows, "key int, city string, age double")
        self.events = frame.coalesce(1)

    def towns(self, *names):
        (self.folder / "towns.txt").write_text("\n".join(names))

    def ages(self, values):
        self.spark.sql(f"select * from values {values} as t(age)").createOrReplaceTempView(
            "ages_of_view"
        )

    def begin(self, **sources):
        """What a stream has that is started, or started again."""
        source = RuleSource(path=str(self.folder / "rules.jsonl"), format="json")
        lists = self.sources | sources
        checkpoint = str(self.folder / "checkpoint")
        self.changing = ChangingRules(source, checkpoint, None, 0.0, None, lists=lists)
        return self.changing.begin(self.spark)

    def found(self, number):
        compiled = self.changing.for_batch(self.spark, number)
        lists = self.changing.lists(self.spark)
        found = match_events(self.events, compiled, keep=["key"], lists=lists)
        return {(row.key, row.rule_id) for row in found.collect()}


def right(towns, ages):
    return expected(RULES, EVENTS, lists={"towns": towns, "ages": ages})


@pytest.fixture
def listed(spark, tmp_path):
    made = ListedRules(spark, tmp_path)
    made.towns("Rome", "Oslo")
    made.ages(f"(7), {FLOATS}")
    yield made
    spark.catalog.dropTempView("ages_of_view")


def test_a_micro_batch_that_is_repeated_has_the_same_lists(listed, caplog):
    begun = listed.begin()
    version = begun["version"]
    # The note says how lists are read, and not with which options.
    assert "towns.txt" in begun["lists"]["towns"]["signature"]
    assert "hunter2" not in json.dumps(begun)
    assert listed.found(0) == right(["Rome", "Oslo"], [7])
    # What has not changed is not read again, nor sent.
    sent = listed.changing.lists(listed.spark)
    listed.towns("Bonn")
    assert listed.found(1) == right(["Bonn"], [7])
    assert listed.changing.lists(listed.spark)["ages"] is sent["ages"]
    listed.ages(f"(9.5), (40.0), {FLOATS}")
    assert listed.found(2) == right(["Bonn"], [9.5, 40])

    # A stream that was killed, and whose lists have changed before it is started again.
    listed.towns("Rome")
    listed.ages("(40)")
    assert listed.begin()["version"] == version
    assert listed.found(2) == right(["Bonn"], [9.5, 40])
    assert listed.found(3) == right(["Rome"], [40])

    # A list that cannot be read any more stays as it was, which is said once.
    caplog.set_level(logging.WARNING, "matchwood.spark.stream")
    (listed.folder / "towns.txt").unlink()
    listed.ages("('x')")
    assert listed.found(4) == right(["Rome"], ["x"])
    listed.changing.for_batch(listed.spark, 5)
    told = [line for line in caplog.messages if "the list 'towns' stays as it was" in line]
    assert len(told) == 1
    listed.towns("Oslo")
    assert listed.found(6) == right(["Oslo"], ["x"])


def test_rules_are_held_to_the_lists_of_a_stream(listed):
    """A list that is given later makes rules usable that were rejected."""
    ages = listed.sources.pop("ages")
    begun = listed.begin()
    assert (begun["rules"], begun["rejected"]) == (3, 1)
    rejected = listed.changing.for_batch(listed.spark, 0).rejected.collect()
    assert [row.id for row in rejected] == ["aged"]
    assert rejected[0].reason.startswith("no list is named 'ages'; there are 'towns'")
    listed.begin(ages=ages)
    assert listed.found(1) == right(["Rome", "Oslo"], [7])


def test_compiled_rules_and_lists_that_are_none(listed):
    listed.sources["ages"] = RowSource(query="select 1 as a, 2 as b")
    with pytest.raises(UnusableRules, match="the list 'ages': a list is a table of one column"):
        listed.begin()
    listed.sources["ages"] = RowSource(query="select * from ages_of_view")
    listed.begin()
    saved = str(listed.folder / "saved")
    listed.changing.for_batch(listed.spark, 0).save(saved)
    changing = ChangingRules(RuleSource(compiled=saved), f"{saved}-state", None, 0.0, None)
    with pytest.raises(UnusableRules, match="not given: 'ages', 'towns'; there are none"):
        changing.begin(listed.spark)
    stream = listed.spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match=r"the list 'towns': a stream reads it from a RowSource"):
        match_stream(
            stream, saved, checkpoint="c", sink="s", keep=["value"], lists={"towns": ["Rome"]}
        )
