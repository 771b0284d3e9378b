"""Tables of Delta and Iceberg as rules, events and matches, in batches and in streams."""

import pytest

from matchwood.spark import compile_rules
from matchwood.spark.compile.rule_buckets import bucket_of
from matchwood.spark.endpoints import RuleSource
from matchwood.spark.pipeline.pipeline_run import run
from matchwood.spark.stream.changed_buckets import changed_by_feed
from matchwood.spark.stream.changing_rules import ChangingRules
from matchwood.spark.stream.rule_signatures import look, signature
from spark.spark_session import needs_iceberg
from spark.stream.stream_folders import PEOPLE, right, versions_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.connectors,
    pytest.mark.parametrize("spark", ["classic"], indirect=True),
]
FIRST = {"adults": "age >= 18", "romans": "city = 'Rome'", "teens": "age between 13 and 19"}
# What the statements of `change` make of them.
SECOND = {"adults": "age >= 21", "romans": "city = 'Rome'", "gold": "tier = 'gold'"}
MERGED = (
    "values ('adults', 'age >= 21', 'ann'), ('gold', \"tier = 'gold'\", null) as r(id, rule, owner)"
)
EARLY = PEOPLE[:30]
LATE = [{**person, "tier": ("gold", "tin")[person["key"] % 2]} for person in PEOPLE[30:]]


class Lake:
    """Tables of one format, and a pipeline over them."""

    def __init__(self, spark, form, folder):
        self.spark = spark
        self.form = form
        self.folder = folder
        self.database = f"{'ice.' if form == 'iceberg' else ''}lake_{folder.name}"
        spark.sql(f"create database {self.database}")
        self.sql("create table {}.rules (id string, rule string) using {}")
        self.sql("create table {}.events (key bigint, age int, city string) using {}")
        self.insert("rules", list(FIRST.items()))
        self.insert("events", [tuple(person.values()) for person in EARLY])

    def sql(self, statement):
        return self.spark.sql(statement.format(self.database, self.form))

    def insert(self, name, rows):
        table = f"{self.database}.{name}"
        columns = self.spark.table(table).schema
        frame = self.spark.createDataFrame(rows, columns).coalesce(1)
        frame.write.format(self.form).mode("append").saveAsTable(table)

    def change(self):
        """Rules are merged and deleted, and both tables get a column."""
        self.sql("alter table {}.rules add columns (owner string)")
        self.sql(
            f"merge into {{}}.rules t using (select * from {MERGED}) s on t.id = s.id "
            "when matched then update set * when not matched then insert *"
        )
        self.sql("delete from {}.rules where id = 'teens'")
        self.sql("alter table {}.events add columns (tier string)")
        self.insert("events", [tuple(person.values()) for person in LATE])

    def pipeline(self, **job):
        return {
            "rules": {"table": f"{self.database}.rules"},
            "events": {"table": f"{self.database}.events", "keep": ["key"]},
            "matches": {
                "table": f"{self.database}.matches",
                "format": self.form,
                "mode": "append" if job else "overwrite",
            },
            "job": {"report": str(self.folder / "report"), **job},
        }

    def matches(self):
        self.spark.catalog.refreshTable(f"{self.database}.matches")  # which a stream has written
        return self.spark.table(f"{self.database}.matches").collect()

    def pairs(self):
        rows = [(row.key, row.rule_id) for row in self.matches()]
        assert len(set(rows)) == len(rows), "a match is there twice"
        return set(rows)


@pytest.fixture(params=["delta", "iceberg"])
def lake(spark, request, tmp_path):
    if request.param == "iceberg":
        needs_iceberg(spark)
    made = Lake(spark, request.param, tmp_path)
    yield made
    for table in ("rules", "events", "matches"):
        made.sql(f"drop table if exists {{}}.{table}")
    made.sql("drop database {}")


def test_batches(spark, lake):
    run(lake.pipeline(), spark)
    assert lake.pairs() == right(FIRST, EARLY)
    lake.change()
    summary = run(lake.pipeline(), spark)
    assert lake.pairs() == right(SECOND, EARLY + LATE)
    assert (summary.rules, summary.counts.events) == (3, 60)


def test_streams(spark, lake, tmp_path):
    form = lake.pipeline(
        mode="stream", trigger="availableNow", checkpoint=str(tmp_path / "checkpoint")
    )
    assert run(form, spark).counts.matches == len(right(FIRST, EARLY))
    assert lake.pairs() == right(FIRST, EARLY)
    lake.change()
    run(form, spark)
    expect = right(FIRST, EARLY) | right(SECOND, LATE)
    assert lake.pairs() == expect
    versions = versions_of(lake.matches())
    assert all(len(version) == 1 for version in versions.values())
    # What a kill leaves after the table has committed and before Spark has.
    last = max(versions)
    (tmp_path / "checkpoint" / "commits" / str(last)).unlink()
    (tmp_path / "checkpoint" / "commits" / f".{last}.crc").unlink(missing_ok=True)
    run(form, spark)
    assert lake.pairs() == expect


def test_versions_tell_of_changes(spark, lake):
    """Every change is noticed, and none where there is none, without reading rows."""
    source = RuleSource(table=f"{lake.database}.rules")
    seen = [signature(spark, source, None)]
    assert signature(spark, source, None) == seen[0]
    for statement in (
        "update {}.rules set rule = 'age > 3' where id = 'teens'",
        "delete from {}.rules where id = 'teens'",
        "alter table {}.rules add columns (owner string)",
        "insert into {}.rules values ('all', 'true', null)",
    ):
        lake.sql(statement)
        seen.append(signature(spark, source, None))
        if "alter" in statement and lake.form == "iceberg":  # which are columns, and no rows
            seen.pop()
    assert len(set(seen)) == len(seen)
    if lake.form == "delta":
        path = spark.sql(f"describe detail {lake.database}.rules").collect()[0].location
        files = RuleSource(path=path.removeprefix("file:"), format="delta")
        before = signature(spark, files, None)
        lake.sql("delete from {}.rules")  # which removes files, and adds none
        assert signature(spark, files, None) != before


def test_tables_tell_which_rules_changed(spark, lake, tmp_path):
    """Only the rows that changed are read to find out which rules to compile again."""
    if lake.form == "delta":
        lake.sql("alter table {}.rules set tblproperties (delta.enableChangeDataFeed = true)")
    source = RuleSource(table=f"{lake.database}.rules")
    rules = ChangingRules(source, str(tmp_path / "checkpoint"), None, 0.0, None)
    rules.many_rules = 1
    note = rules.begin(spark)
    assert note["hashes"] is None
    before = look(spark, source, None).version
    base = rules.for_batch(spark, 0).segments[0].name
    lake.change()  # with a new column, and files in which most rows only moved
    seen = look(spark, source, None).version
    names = {"adults", "gold", "teens"}
    assert changed_by_feed(spark, source, before.text(), seen) == set(map(bucket_of, names))
    compiled = rules.for_batch(spark, 1)
    assert [segment.rules for segment in compiled.segments] == [3, 2]
    assert compiled.segments[0].name == base
    assert compiled.version == compile_rules(spark.table(source.table)).version
    # Without a feed, rows are hashed from the next change on.
    lake.sql("delete from {}.rules where id = 'gold'")
    other = RuleSource(table=source.table, where="id <> 'x'")
    assert changed_by_feed(spark, other, seen.text(), look(spark, other, None).version) is None
