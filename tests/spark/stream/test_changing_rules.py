"""Of many rules only what changed is compiled again; the answers are as if all had been."""

import json
import os

import pytest

from matchwood import parse
from matchwood.spark import match_events
from matchwood.spark.compile import layered_rules
from matchwood.spark.compile.rule_buckets import bucket_of
from matchwood.spark.compile.rules_version import bucket_hashes, version_of
from matchwood.spark.endpoints import RuleSource
from matchwood.spark.stream.changing_rules import ChangingRules
from matchwood.spark.stream.rule_places import RulePlaces
from matchwood.spark.stream.table_changes import TableVersion, Untold, table_changes
from spark.stream.stream_folders import PEOPLE, SIMPLE, pairs, right

pytestmark = pytest.mark.spark
MANIFEST = "format int, version string, facts string"
FIRST = {f"r{n}": f"age >= {n % 40} and city = '{('Rome', 'Oslo')[n % 2]}'" for n in range(300)}


class Rules:
    """A file of rules that change, and what a stream makes of them."""

    def __init__(self, spark, folder, rules):
        self.spark = spark
        self.folder = folder
        self.rules = dict(rules)
        self.number = 0
        self.path = folder / "rules.jsonl"
        self.changing = self.begin()

    def begin(self, *more):
        """What a stream has that is started, or started again."""
        self.write(*more)
        source = RuleSource(path=str(self.path), format="json", schema="id string, rule string")
        made = ChangingRules(source, str(self.folder / "checkpoint"), None, 0.0, None)
        made.many_rules = 1
        made.begin(self.spark)
        return made

    def write(self, *more):
        lines = [json.dumps({"id": id, "rule": rule}) for id, rule in self.rules.items()]
        self.path.write_text("\n".join([*lines, *more]))

    def next(self, *more):
        """The rules of the next micro-batch; `more` are lines that are no rules."""
        self.write(*more)
        self.number += 1
        return self.changing.for_batch(self.spark, self.number)


def check(compiled, rules):
    """The version is as if all rules had been compiled at once."""
    texts = [(name, str(parse(rule))) for name, rule in rules.items()]
    assert compiled.version == version_of(bucket_hashes(texts), "string", None)
    assert compiled.rules == len(rules)


def check_matches(spark, compiled, rules, layout):
    events = spark.createDataFrame([tuple(one.values()) for one in PEOPLE], SIMPLE).coalesce(1)
    found = match_events(events, compiled, keep=["key"], layout=layout).collect()
    assert pairs(found) == right(rules, PEOPLE)


def test_only_what_changed_is_compiled(spark, tmp_path, monkeypatch):
    rules = Rules(spark, tmp_path, FIRST)
    first = rules.next()
    base = first.segments[0].name

    # Rules are added, changed and deleted, and some cannot be read.
    rules.rules |= {"r7": "age < 3", "new": "age = 1 or tier is null"}
    for gone in ("r8", "r9"):
        del rules.rules[gone]
    twice = [{"id": "r9", "rule": "age > 1"}, {"id": "r9", "rule": "age > 2"}]
    bad = [json.dumps(one) for one in (*twice, {"id": "bad", "rule": "age >="})]
    second = rules.next(*bad)
    changed = set(map(bucket_of, ("r7", "new", "r8", "r9")))
    layer = sum(bucket_of(name) in changed for name in rules.rules)
    assert [segment.rules for segment in second.segments] == [300, layer]
    assert second.segments[0].name == base
    check(second, rules.rules)
    assert second.rejected_count == 3
    check_matches(spark, second, rules.rules, "replicated")
    asked = RulePlaces(f"{tmp_path}/checkpoint").attributes(spark, rules.changing._versions.last)
    assert asked == second.attributes
    assert {*asked} == {"age", "city", "tier"}  # one of which only the layer asks for

    # The stream is started again, and a rule that could not be read is mended.
    rules.changing = rules.begin(*bad)
    rules.rules |= {"r10": "age = 7"}
    rules.rules["bad"] = "age >= 39"
    third = rules.next(*bad[:2])
    check(third, rules.rules)
    assert third.segments[0].name == base
    assert {row.id for row in third.rejected.collect()} == {"r9"}
    check_matches(spark, third, rules.rules, "sharded")

    # A file that is written again and says the same makes no new version.
    os.utime(rules.path, (1, 1))
    assert rules.next(*bad[:2]).version == third.version
    # Where most buckets have changed, all rules are compiled.
    monkeypatch.setattr(layered_rules, "MOST_IN_LAYERS", 0.0)
    rules.rules["new"] = "age = 2"
    whole = rules.next()
    check(whole, rules.rules)
    assert len(whole.segments) == 1

    # An older matchwood has compiled the rules of a micro-batch that is run again.
    note = rules.changing._versions.last
    place = f"{tmp_path}/checkpoint/rules/{note['slot']}/manifest"
    [manifest] = spark.read.parquet(place).collect()
    facts = json.dumps(json.loads(manifest.facts) | {"files": 1})
    older = spark.createDataFrame([manifest.asDict() | {"facts": facts}], MANIFEST)
    older.write.mode("overwrite").parquet(place)
    rules.changing = rules.begin(*bad[:2])
    again = rules.changing.for_batch(spark, rules.number)
    assert (again.version, again.rules) == (whole.version, whole.rules)
    # It is noted where they are now.
    newest = rules.begin(*bad[:2])._versions.last
    assert (newest["number"], newest["slot"]) == (rules.number, str(1 - int(note["slot"])))


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_a_stop_is_no_fault_of_the_rules(spark, tmp_path):
    """A stream that is stopped while it looks at its rules does not go on with the old ones."""
    rules = Rules(spark, tmp_path, {"adults": "age >= 18"})
    rules.next()
    thread = spark._jvm.java.lang.Thread
    thread.currentThread().interrupt()  # which is how Spark stops a query
    try:
        with pytest.raises(Exception, match="Interrupt"):
            rules.next()
    finally:
        thread.interrupted()
    rules.next()


def test_a_table_that_has_versions_only_now(spark):
    """One of Parquet becomes one of Delta under its name: nobody knows what changed meanwhile."""
    now = TableVersion("delta", "rules", "id", 3)
    with table_changes(spark, RuleSource(table="rules"), None, now) as told:
        assert told == Untold("the table had no versions before")


@pytest.mark.parametrize("layout", ["replicated", "sharded"])
def test_data_that_changed_is_compiled_as_a_layer(spark, tmp_path, layout):
    def write(owner):
        rows = [{"id": f"r{n}", "rule": f"age = {n}", "notes": {"owner": "Ann"}} for n in range(60)]
        rows[1]["notes"] = {"owner": owner}
        (tmp_path / "rules.jsonl").write_text("\n".join(map(json.dumps, rows)))

    write("Ann")
    source = RuleSource(
        path=f"{tmp_path}/rules.jsonl",
        format="json",
        schema="id string, rule string, notes map<string, string>",
        data=("notes",),
    )
    changing = ChangingRules(source, f"{tmp_path}/checkpoint", None, 0.0, None)
    changing.many_rules = 1
    changing.begin(spark)
    write("Ben")
    compiled = changing.for_batch(spark, 0)
    assert len(compiled.segments) == 2
    assert compiled.segments[1].rules < 60
    events = spark.createDataFrame([(1, 1), (2, 2)], "key int, age int").coalesce(1)
    found = match_events(events, compiled, keep=["key"], rule_columns=["data"], layout=layout)
    assert {(row.key, row.rule_id, row.data) for row in found.collect()} == {
        (1, "r1", '{"notes":{"owner":"Ben"}}'),
        (2, "r2", '{"notes":{"owner":"Ann"}}'),
    }
