"""A pipeline file: its keys and defaults, and errors with their lines."""

import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

from matchwood.spark.endpoints import EventSource, RowSource
from matchwood.spark.pipeline.pipeline_file import Pipeline, PipelineError

GOOD = """\
[rules]
table = "ads.rules"

[events]
path = ["visits/1.parquet", "visits/2.parquet"]
keep = ["key"]

[matches]
format = "parquet"
path = "out"
"""


def read(folder: Path, text: str) -> Pipeline:
    file = folder / "pipeline.toml"
    file.write_text(dedent(text))
    return Pipeline.read(file)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(PipelineError) as error:
        read(folder, text)
    return str(error.value).removeprefix(f"{folder}/pipeline.toml")


def test_sections_and_their_defaults(tmp_path):
    pipeline = read(tmp_path, GOOD)
    assert (pipeline.rules.table, pipeline.rules.id, pipeline.rules.rule) == (
        *("ads.rules", "id", "rule"),
    )
    assert pipeline.events == EventSource(
        path=("visits/1.parquet", "visits/2.parquet"), keep=("key",)
    )
    assert (pipeline.matches.mode, pipeline.matches.output) == ("error", "rows")
    assert (pipeline.job.mode, pipeline.job.layout, pipeline.rejects) == ("batch", "auto", None)


def test_every_key(tmp_path):
    pipeline = read(
        tmp_path,
        """\
        [rules]
        format = "jdbc"
        options = { url = "jdbc:postgresql://db/ads", dbtable = "rules", fetchsize = 1000 }
        select = ["id", "text as rule", "labels as tags"]
        where = "active"
        tags = "tags"
        [events]
        format = "kafka"
        keep = ["key"]
        attributes = "value"
        [events.options]
        subscribe = "visits"
        failOnDataLoss = false
        [matches]
        table = "ads.matches"
        mode = "append"
        output = "array"
        partition_by = ["day"]
        [rejects]
        path = "rejects.json"
        [rejected_rules]
        path = "bad.csv"
        mode = "overwrite"
        [lists.tor]
        table = "ads.exits"
        [job]
        name = "night"
        mode = "stream"
        layout = "sharded"
        tags = ["eu"]
        limit = 10
        device = "auto"
        schema = "schema.toml"
        report = "report"
        checkpoint = "checkpoint"
        trigger = "1 minute"
        poll = 60
        [spark]
        spark.sql.shuffle.partitions = 8
        "spark.ui.enabled" = false
        """,
    )
    assert pipeline.rules.options["fetchsize"] == "1000"
    assert pipeline.events.options == {"subscribe": "visits", "failOnDataLoss": "false"}
    assert pipeline.matches.partition_by == ("day",)
    assert pipeline.matches.output == "events"  # which was called "array" before
    assert (pipeline.job.limit, pipeline.job.poll, pipeline.job.tags) == (10, 60, ("eu",))
    assert pipeline.job.device == "auto"
    assert pipeline.lists == {"tor": RowSource(table="ads.exits")}
    assert pipeline.spark == {"spark.sql.shuffle.partitions": "8", "spark.ui.enabled": "false"}


def test_values_of_kafka(tmp_path):
    text = """\
        [rules]
        table = "rules"
        [events]
        format = "kafka"
        value = "json"
        {}
        keep = ["key"]
        [matches]
        table = "matches"
        """
    assert read(tmp_path, text.format("")).events.attributes == "value"
    with pytest.raises(PipelineError, match="has 'value' and 'attributes'"):
        read(tmp_path, text.format('attributes = "key"'))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[rules]", "[rule]"), ":1: unknown section 'rule', did you mean 'rules'?"),
        (("table =", "tabel ="), ":2: unknown key 'tabel' in [rules], did you mean 'table'?"),
        (('keep = ["key"]', ""), ":4: [events] needs 'keep'"),
        (('keep = ["key"]', 'keep = "key"'), ":6: keep is a list of texts, found 'key'"),
        (('keep = ["key"]', 'keep = ["key", 7]'), ":6: keep is text, found 7"),
        (('"ads.rules"', "7"), ":2: table is text, found 7"),
        (('"ads.rules"', '"r"\npath = "x.csv"'), ":2: [rules] has 'path' and 'table': expected "),
        (('table = "ads.rules"', ""), ":1: [rules] needs 'path', 'table', 'query' or 'format'"),
        (('format = "parquet"', ""), ":10: [matches] needs 'format': its path has no ending"),
        (('format = "parquet"', "mode = 'apend'"), ":9: mode is 'append' or 'overwrite' or "),
        (("[matches]", "[matches]\noptions = 1"), ":9: options is a table of keys and values, "),
        (("[matches]", "[job]\nlimit = 0\n[matches]"), ":9: limit is at least 1, found 0"),
        (("[matches]", "[job]\nlimit = '9'\n[matches]"), ":9: limit is an integer, found '9'"),
        (
            ("[matches]", "[job]\ndevice = 'tpu'\n[matches]"),
            ":9: device is 'cpu' or 'gpu' or 'auto'",
        ),
        (("[matches]", "[job]\nprofile = 1\n[matches]"), ":9: profile is true or false, found 1"),
        (("[matches]", "[job]\nmode = 'stream'\n[matches]"), ":8: a stream needs 'checkpoint'"),
        (("[matches]", "[job]\ntrigger = 'x'\n[matches]"), ":9: 'trigger' is for mode = 'stream'"),
        (("[matches]", "[lists.tor]\nwhere = 'x'\n[matches]"), ":8: [lists.tor] needs 'path', "),
        (("[matches]", "[lists.tor]\npath = 'x'\n[matches]"), ":9: [lists.tor] needs 'format'"),
        (("[matches]", "[lists.tor]\ntabel = 'x'\n[matches]"), ":9: unknown key 'tabel' in [lists"),
        (("[matches]", "[matches]\nkey = 'day'"), ":9: 'key' is for format = 'kafka'"),
        (('keep = ["key"]', 'keep = []\nvalue = "json"'), ":7: 'value' is for format = 'kafka'"),
        (
            ("[matches]", "[matches]\nwriter = 'workers'\npartition_by = ['key']"),
            ":9: writer = 'workers' is for a path of Parquet, without partition_by and options",
        ),
        (
            ("[matches]", "[job]\nlayout = 'sharded'\n[matches]\nwriter = 'workers'"),
            ":11: writer = 'workers' is for mode = 'batch' and the replicated layout",
        ),
        (
            ("[matches]", "[job]\ncheck = true\n[matches]"),
            ":9: unknown key 'check' in [job], did you mean 'enforce'?",
        ),
        (("[matches]", "[matches]]"), ":8: not TOML: "),
        (("[matches]", "[rejects]"), ": no [matches]: where do matches go?"),
        (('"ads.rules"', '"${NOPE_X}"'), ":2: the environment has no variable 'NOPE_X'"),
        (('"ads.rules"', '"${1}"'), ":2: expected ${NAME}, found '${1}'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, change, message):
    assert change[0] in GOOD
    assert refused(tmp_path, GOOD.replace(*change)).startswith(message)


def test_no_file(tmp_path):
    with pytest.raises(PipelineError, match=r"none\.toml: no such file"):
        Pipeline.read(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(PipelineError, match=r"latin.toml: .*utf-8"):
        Pipeline.read(tmp_path / "latin.toml")


def test_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKE", "s3://lake")
    monkeypatch.setenv("MOST", "5")
    monkeypatch.setenv("YES", "true")
    text = GOOD.replace('"out"', '"${LAKE}/$${out}/${ABSENT:-day}"')
    text += '[job]\nlimit = "${MOST}"\nprofile = "${YES}"\nreport = "${HERE}/report"\n'
    pipeline = read(tmp_path, text)
    assert pipeline.matches.path == "s3://lake/${out}/day"
    assert (pipeline.job.limit, pipeline.job.profile) == (5, True)
    assert pipeline.job.report == f"{tmp_path}/report"
    monkeypatch.setenv("MOST", "few")
    assert refused(tmp_path, text) == ":12: limit is an integer, found 'few'"


def test_a_mapping_is_a_pipeline_without_lines():
    form = tomllib.loads(GOOD)
    pipeline = Pipeline.of(form)
    assert Pipeline.of(pipeline) is pipeline
    assert str(pipeline.error("not there", "events", "path")) == "pipeline: events.path: not there"
    form["events"]["keeep"] = []
    with pytest.raises(PipelineError, match=r"pipeline: events\.keeep: unknown key 'keeep'"):
        Pipeline.of(form)


def test_aliases(tmp_path):
    section = '[events.aliases]\nhost = ["Host Name", "computer"]\n"*" = "Event.*"\n\n[matches]'
    pipeline = read(tmp_path, GOOD.replace("[matches]", section))
    assert pipeline.events.aliases == {"host": ("Host Name", "computer"), "*": "Event.*"}
    wrong = GOOD.replace("[matches]", '[events.aliases]\nhost = "x*"\n\n[matches]')
    assert refused(tmp_path, wrong) == (
        ":8: [events] aliases: the alias 'x*' of 'host': either both end with `*`, or neither does"
    )
    wrong = GOOD.replace("[matches]", "[events.aliases]\nhost = 5\n\n[matches]")
    assert refused(tmp_path, wrong) == ":9: host is text or a list of texts, found 5"
