"""Every mistake in a table of rules is found with its place, and the rest is checked."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matchwood import Schema, parse
from matchwood.check import CheckReport, check_rules
from matchwood.language import evaluate
from matchwood.tables import TableError

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": "number",
            "kind": {"hierarchy": "things"},
            "size": {"values": ["s", "m", "l"], "order": "listed"},
        },
        "hierarchies": {"things": {"dining table": "table"}},
    }
)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rules(*texts: object, events: list[object] | None = None, **options: object) -> CheckReport:
    """The report on rules r0, r1, …"""
    lines = [json.dumps({"id": f"r{i}", "rule": text}) for i, text in enumerate(texts)]
    Path("rules.jsonl").write_text("\n".join(lines))
    if events is not None:
        Path("events.jsonl").write_text("\n".join(map(json.dumps, events)))
        options["events"] = "events.jsonl"
    return check_rules(["rules.jsonl"], **options)  # type: ignore[arg-type]


def found(report: CheckReport) -> list[tuple[int, str, str]]:
    return [(f.line, f.level, f.kind) for f in report.findings]


def test_nothing_to_say() -> None:
    report = rules("age >= 18", "vip and not blocked", {"attr": "age", "op": "<", "value": 9})
    assert report.findings == []
    assert report.summary() == "checked 3 rules: 0 errors, 0 warnings"


def test_bad_lines_do_not_stop_the_rest() -> None:
    Path("rules.jsonl").write_bytes(
        b'\xef\xbb\xbf{"id": 1, "rule": "a"}\nnope\n\n{"rule": "a"}\n{"id": 2}\n'
        b'{"id": 1, "rule": "b"}\n'
        b'[1]\n{"id": 3, "rule": "c \xff"}\n{"id": 4, "rule": "a >"}\n{"id": true, "rule": "a"}\n'
        b'{"id": 5, "rule": 5}\n{"id": 6, "rule": "c < 1 and c > 2"}\n' + b"[" * 100_000 + b"\n"
    )
    report = check_rules(["rules.jsonl"])
    assert found(report) == [
        (2, "error", "unreadable"),
        (4, "error", "unreadable"),
        (5, "error", "unreadable"),
        (6, "error", "duplicate-id"),
        (7, "error", "unreadable"),
        (8, "error", "unreadable"),
        (9, "error", "malformed"),
        (10, "error", "unreadable"),
        (11, "error", "malformed"),
        (12, "warning", "never-true"),
        (13, "error", "unreadable"),
    ]


def test_the_place_in_a_csv_with_quoted_newlines() -> None:
    text = (
        'id,note,rule\na,x,"age >= 18\nand vip"\n\nb,"two\nlines","age >=\n 18 and"\nc,y\nd,z,vip\n'
    )
    Path("rules.csv").write_text(text)
    report = check_rules(["rules.csv"])
    assert found(report) == [(5, "error", "malformed"), (8, "error", "unreadable")]
    assert (report.findings[0].rule_line, report.findings[0].rule_column) == (2, 8)
    assert report.rules == 4


def test_parquet_and_gzip() -> None:
    table = pa.table({"id": ["a", "b"], "rule": ["age >", "vip"], "more": [1, 2]})
    pq.write_table(table, "rules.parquet")
    with gzip.open("more.jsonl.gz", "wt") as file:
        file.write('{"id": "c", "rule": "vip"}\n')
    report = check_rules(["rules.parquet", "more.jsonl.gz"])
    assert [(f.file, f.line, f.kind) for f in report.findings] == [
        ("rules.parquet", 1, "malformed"),
        ("more.jsonl.gz", 1, "equal"),
    ]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("rules.txt", b"", "expected a .jsonl, .csv or .parquet file"),
        ("rules.csv", b"id;rule\n", "expected a column 'id', found id;rule"),
        ("rules.csv", b"", "expected a header"),
        ("rules.parquet", b"nope", "rules.parquet: "),
    ],
)
def test_files_that_are_no_tables(name: str, data: bytes, says: str) -> None:
    Path(name).write_bytes(data)
    with pytest.raises(TableError, match=says):
        check_rules([name])


def test_an_error_shows_its_caret() -> None:
    assert str(rules("age >= ").findings[0]) == (
        "rules.jsonl:1: error: rule 'r0': column 8: expected an attribute or a literal, "
        "found the end of the rule\n    age >=\n           ^"
    )


def test_equal_in_meaning_names_the_first() -> None:
    report = rules("a and (b or c)", "b", "a and b or c and a", "not (not a or not c and not b)")
    assert [(f.line, f.kind, f.other) for f in report.findings] == [
        (3, "equal", "r0"),
        (4, "equal", "r0"),
    ]
    assert "equal in meaning to rule 'r0', at rules.jsonl:1" in str(report.findings[0])


def test_always_true() -> None:
    assert found(rules("a is null or a is not null")) == [(1, "warning", "always-true")]


# Against events


def test_attributes_that_no_event_has() -> None:
    report = rules(
        "agee > 1 or age > 1", "Age is null", "gone > 1", events=[{"age": 5, "gone": None}]
    )
    assert [(f.line, f.kind) for f in report.findings] == [
        (1, "unknown-attribute"),
        (2, "unknown-attribute"),
        (3, "unknown-attribute"),
        (3, "undefined"),
    ]
    assert "'agee', did you mean 'age'?" in report.findings[0].reason
    assert "'Age', did you mean 'age'?" in report.findings[1].reason
    assert "'gone' is null in every event" in report.findings[2].reason


def test_families_that_do_not_fit() -> None:
    events = [{"age": 5, "at": "2026-01-01", "no": "x", "tags": ["x"], "both": 1}, {"both": "x"}]
    fitting = [
        "age > 5",
        "at > date '2026-01-01'",
        "at > '2026'",
        "tags = 'x'",
        "both = 'x'",
        "both = 1",
    ]
    assert rules(*fitting, events=events).findings == []
    report = rules("age > '5'", "no > date '2026-01-01'", "tags = 5", events=events)
    assert [(f.line, f.kind) for f in report.findings] == [
        (1, "family"),
        (1, "undefined"),
        (2, "family"),
        (2, "undefined"),
        (3, "family"),
    ]
    assert "'age' is asked for as a string, in the sample it is a number" in str(report.findings[0])
    assert "a string that does not read as one" in str(report.findings[2])


def test_rules_undefined_for_every_event() -> None:
    events = [{"a": 1}, {"b": 1}]
    report = rules(
        "a < 5 and b < 5", "a > 5 and b < 5", "near(a)", "a < b", "a is null", events=events
    )
    assert found(report) == [(1, "warning", "undefined"), (4, "warning", "undefined")]
    assert "each of 2 events" in str(report.findings[0])


def test_bad_events_are_named_and_left_out() -> None:
    Path("events.jsonl").write_text('{"a": 1}\nnope\n{"a": {"b": 1}, "a.b": 2}\n5\n')
    Path("rules.jsonl").write_text('{"id": 1, "rule": "a = 1"}')
    report = check_rules(["rules.jsonl"], events="events.jsonl")
    assert [(f.file, f.line, f.level) for f in report.findings] == [
        ("events.jsonl", line, "error") for line in (2, 3, 4)
    ]
    assert report.events == 1


def test_the_sample_is_capped_and_says_so() -> None:
    report = rules("a = 1", events=[{"a": 1}] * 1_500)
    assert report.summary() == "checked 1 rule against the first 1,000 events: 0 errors, 0 warnings"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_samples_in_tables(ending: str) -> None:
    Path("rules.jsonl").write_text('{"id": 1, "rule": "age > 1 and city = \'x\'"}')
    if ending == "csv":
        Path("events.csv").write_text("age,city\n5,x\n")
    else:
        pq.write_table(pa.table({"age": [5], "city": ["x"]}), "events.parquet")
    assert check_rules(["rules.jsonl"], events=f"events.{ending}").findings == []


# Against a schema


def test_schema() -> None:
    report = rules(
        "age > 1 and isa(kind, 'table')",
        "agee > 1",
        "age > '1'",
        "isa(kind, 'tabel')",
        "size = 'xl'",
        "size > 's'",
        schema=SCHEMA,
    )
    assert found(report) == [
        (2, "warning", "unknown-attribute"),
        (3, "warning", "family"),
        (4, "error", "hierarchy"),
        (5, "error", "domain"),
        (6, "error", "order"),
    ]


def test_dialect_notes_casts_and_names_of_either_case() -> None:
    report = rules("age > '1'", "Age > 2", "age > 3", dialect="spark", schema=SCHEMA)
    reasons = [f.reason for f in report.findings]
    assert "Spark would cast" in reasons[0]
    assert "names are case-sensitive: 'Age' is not the 'age' of others" in reasons


def test_json() -> None:
    form = rules("age >", "a", "a").to_json()
    assert json.loads(json.dumps(form)) == form
    assert (form["rules"], form["errors"], form["warnings"]) == (3, 1, 1)


def test_variables_that_stand_where_they_may_not_are_errors() -> None:
    report = rules("mob(image, ?n) and ?n > 5", "vip and ?n > 5", "mob(i, ?n) and (?n > 5 or vip)")
    errors = [finding for finding in report.findings if finding.level == "error"]
    assert [finding.id for finding in errors] == ["r1", "r2"]
    assert "no call binds it in the same 'and'" in errors[0].reason


def test_families_that_a_sibling_branch_has() -> None:
    events = [{"port": 22, "host": "a"}]
    report = rules(
        "port = 22 or port = '22'",
        "port = '22' and port = 22",
        "not (port != 22 and port != '22')",
        "not (port != 22 or port != '22')",
        "at_least(1, port = 22, port = '22')",
        "(port = '22' or host = 'a') and port = 22",
        "port in (22, '22')",
        events=events,
    )
    assert [(f.kind, f.id) for f in report.findings if f.kind == "family"] == [
        ("family", "r1"),
        ("family", "r3"),
        ("family", "r5"),
    ]


def test_upper_case_that_lower_case_never_has() -> None:
    report = rules(
        "lower(name) = 'ABC'",
        "any(items, lower(it) in ('a', 'B'))",
        "lower(name) like any ('a%', 'A%') and lower(name) ilike 'A%' and name = 'ABC'",
        "lower(name) = 'abc'",
    )
    assert [(f.kind, f.id) for f in report.findings] == [
        ("upper-case", "r0"),
        ("upper-case", "r1"),
        ("upper-case", "r2"),
    ]
    assert report.findings[0].reason == "lower(name) is never 'ABC': write 'abc'"


UNDEFINED = [
    ("missing = 1", True),
    ("missing = 1 and a = 1", True),
    ("missing = 1 and a = 2", False),
    ("missing = 1 xor a = 1", True),
    ("missing = 1 xor missing is null", True),
    ("(missing = 1) is unknown", False),
    ("at_least(2, missing = 1, gone = 2, a = 1)", True),
    ("at_least(2, missing = 1, gone = 2, a = 3)", True),
    ("at_least(2, missing = 1, a = 2, s = 'x')", False),
    ("in_network(s, '10.0.0.0/8')", True),
    ("lower(a) = 'x'", True),
    ("lower(s) = 'x'", False),
    ("any(s, it = 1)", True),
    ("any(gone, it = 1)", True),
    ("* = 'x'", False),
    ("a > 3 * missing", True),
    ("true or missing = 1", False),
    ("a = 1 or missing = 1", False),
]


@pytest.mark.parametrize(("rule", "undefined"), UNDEFINED)
def test_rules_that_are_never_defined(rule: str, undefined: bool) -> None:
    events: list[object] = [{"a": 1, "s": "text"}, {"b": 2}]
    assert any(f.kind == "undefined" for f in rules(rule, events=events).findings) is undefined
    seen = [evaluate(parse(rule), event) for event in events]
    assert all(truth is None for truth in seen) is undefined
