"""Tables of Delta and Iceberg as rules, events and matches, in batches and in streams."""

import pytest

from matchwood.spark import compile_rules, match_events
from matchwood.spark.endpoints import RowSource, RuleSource
from matchwood.spark.pipeline.pipeline_run import run
from matchwood.spark.stream import changing_rules
from matchwood.spark.stream.changing_rules import ChangingRules
from matchwood.spark.stream.rule_signatures import list_signature, look, signature
from matchwood.spark.stream.table_changes import table_changes
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
    listed = RowSource(table=source.table, select=("id",))
    seen = [signature(spark, source, None)]
    values = [list_signature(spark, listed)]
    assert (signature(spark, source, None), list_signature(spark, listed)) == (seen[0], values[0])
    for statement in (
        "update {}.rules set rule = 'age > 3' where id = 'teens'",
        "delete from {}.rules where id = 'teens'",
        "alter table {}.rules add columns (owner string)",
        "insert into {}.rules values ('all', 'true', null)",
    ):
        lake.sql(statement)
        seen.append(signature(spark, source, None))
        values.append(list_signature(spark, listed))
        if "alter" in statement and lake.form == "iceberg":  # which are columns, and no rows
            assert (seen.pop(), values.pop()) == (seen[-1], values[-1])
    assert len(set(seen)) == len(set(values)) == len(seen) == len(values)
    if lake.form == "delta":
        path = spark.sql(f"describe detail {lake.database}.rules").collect()[0].location
        files = RuleSource(path=path.removeprefix("file:"), format="delta")
        before = signature(spark, files, None)
        lake.sql("delete from {}.rules")  # which removes files, and adds none
        assert signature(spark, files, None) != before


class ChangingTable:
    """A table of many rules, and what a stream makes of it."""

    def __init__(self, lake, tmp_path):
        self.lake = lake
        self.spark = lake.spark
        lake.sql("drop table {}.rules")
        lake.sql(
            "create table {}.rules (id string, rule string, tags array<string>, priority double, "
            "owner string) using {}"
        )
        if lake.form == "delta":
            self.tell(True)
        lake.sql(
            "insert into {}.rules select concat('r', id), concat('age > ', id % 40), "
            "if(id % 3 = 0, array('red', null), null), if(id % 4 = 0, id / 2, null), "
            "if(id % 5 = 0, 'ann', null) from range(300)"
        )
        lake.sql(
            "insert into {}.rules values ('bad', 'age >', null, 1, null), "
            "(null, 'x', null, 1, null), ('nan', 'age > 1', null, double('NaN'), 'bob')"
        )
        self.columns = {"tags": "tags", "priority": "priority", "data": ("owner",)}
        self.source = RuleSource(table=f"{lake.database}.rules", **self.columns)
        self.changing = ChangingRules(self.source, str(tmp_path / "checkpoint"), None, 0.0, None)
        self.changing.many_rules = 1
        assert self.changing.begin(self.spark)["hashes"] is None
        self.number = 0

    def tell(self, tells):
        self.lake.sql(
            "alter table {}.rules set tblproperties "
            f"(delta.enableChangeDataFeed = {str(tells).lower()})"
        )

    def after(self, *statements):
        """The rules of a micro-batch after statements, which are as if all had been compiled."""
        for statement in statements:
            self.lake.sql(statement)
        self.number += 1
        made = self.changing.for_batch(self.spark, self.number)
        table = self.spark.table(self.source.table)
        whole = compile_rules(table, **self.columns)
        assert (made.version, made.rules) == (whole.version, whole.rules)
        assert rejected(made) == rejected(whole)
        assert described(self.spark, made) == described(self.spark, whole)
        return made


def rejected(compiled):
    return sorted(map(str, compiled.rejected.collect()))


def described(spark, compiled):
    """Matches with all that is known of their rules."""
    events = spark.createDataFrame([(1, 38), (2, 3)], "key int, age int")
    about = ["rule", "tags", "priority", "data"]
    return sorted(
        map(str, match_events(events, compiled, keep=["key"], rule_columns=about).collect())
    )


def test_only_the_rows_that_changed_are_read(spark, lake, tmp_path, monkeypatch):
    """They come from the table's own account of changes, and all others from what is compiled."""
    table = ChangingTable(lake, tmp_path)
    base = table.after().segments[0].name
    with monkeypatch.context() as patched:
        patched.setattr(changing_rules, "frame_of", None)  # which nobody may call
        assert (
            table.after("update {}.rules set rule = 'age > 37' where id = 'r7'").segments[0].name
            == base
        )
        table.after(
            "delete from {}.rules where id in ('r8', 'r9')",
            "insert into {}.rules values ('r8', 'age = 3', array('new'), 7, 'cid')",
            "update {}.rules set priority = 3, owner = 'dan' where id = 'r0'",
        )
        table.after(
            "alter table {}.rules add columns (note string)",
            f"merge into {{}}.rules t using (select * from {MERGED}) s on t.id = s.id "
            "when matched then update set rule = s.rule "
            "when not matched then insert (id, rule, owner) values (s.id, s.rule, s.owner)",
            "update {}.rules set note = 'which is no part of rules'",
        )
        # There are two rules with an id now, which are both rejected.
        table.after("insert into {}.rules (id, rule) values ('r20', 'age = 38')")
        last = table.after("update {}.rules set rule = 'age >= 38' where id = 'r21'")
        assert last.segments[0].name == base
    # Of a rule that was rejected only the text is known: its bucket is read from the table.
    table.after("delete from {}.rules where rule = 'age = 38'")
    mended = table.after("update {}.rules set rule = 'age > 2', priority = 2 where id = 'nan'")
    assert mended.segments[0].name == base


def read_in_full(caplog):
    return [told for told in caplog.messages if told.startswith("all rules are read to find")]


def test_a_gap_in_what_a_table_tells(spark, lake, tmp_path, caplog):
    """All rules are read once, which is said, and later changes come from the table again."""
    table = ChangingTable(lake, tmp_path)
    table.after("update {}.rules set rule = 'age > 36' where id = 'r1'")
    assert not read_in_full(caplog)
    change = "update {}.rules set rule = 'age > 35' where id = 'r2'"
    if lake.form == "delta":
        table.tell(False)
        table.after(change)
        table.tell(True)
    else:
        newest = "select max(committed_at) from {}.rules.snapshots"
        lake.sql(change)
        until = lake.sql(newest).collect()[0][0]
        table.after(
            "call ice.system.expire_snapshots(table => '{}.rules', retain_last => 1, "
            f"older_than => timestamp '{until}')"
        )
    assert len(read_in_full(caplog)) == 1
    table.after("update {}.rules set rule = 'age > 34' where id = 'r3'")
    base = table.changing.for_batch(spark, table.number).segments[0].name
    last = table.after("delete from {}.rules where id = 'r4'")
    assert last.segments[0].name == base
    assert len(last.segments) == 2
    assert len(read_in_full(caplog)) == 1


def test_a_table_that_becomes_one_of_delta(spark, tmp_path):
    """It has no versions at first, and tells what changed from its second one on."""
    spark.sql("drop table if exists becoming")
    rules = spark.range(300).selectExpr("concat('r', id) as id", "concat('age > ', id) as rule")
    rules.coalesce(1).write.saveAsTable("becoming")
    changing = ChangingRules(
        RuleSource(table="becoming"), str(tmp_path / "checkpoint"), None, 0.0, None
    )
    changing.many_rules = 1
    changing.begin(spark)
    try:
        spark.sql("convert to delta becoming")
        spark.sql("alter table becoming set tblproperties (delta.enableChangeDataFeed = true)")
        for number in range(2):
            spark.sql(f"update becoming set rule = 'age = {number}' where id = 'r{number}'")
            made = changing.for_batch(spark, number)
            assert made.version == compile_rules(spark.table("becoming")).version
            assert len(made.segments) == 2
    finally:
        spark.sql("drop table becoming")


def test_tables_that_do_not_tell(spark, lake):
    source = RuleSource(table=f"{lake.database}.rules", where="id <> 'x'")
    now = look(spark, source, None).version
    with table_changes(spark, source, now.text(), now) as told:
        assert told.why == "its rows are not used as they are"
    with table_changes(spark, source, "another 1", now) as told:
        assert told.why == "the table was made anew"
