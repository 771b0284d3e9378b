"""match: what it prints and writes, and how it exits."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.commands.people import EVENTS, MATCHES, RULES, jsonl, matches_in, write_files
from matchwood import Matcher
from matchwood.cli import event_chunks
from matchwood.tables import formats


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


@pytest.mark.parametrize("events", ["events.jsonl", "events.csv", "events.parquet"])
def test_match(command, events: str) -> None:
    code, out, err = command("match", "rules.jsonl", events)
    assert (code, matches_in(out)) == (0, MATCHES)
    assert err.startswith("3 events, 0 rejected, 4 matches in ")
    assert err.endswith(" events per second\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("events", ["events.jsonl", "events.csv", "events.parquet"])
def test_key(command, events: str) -> None:
    _, out, _ = command("match", "rules.jsonl", events, "--key", "key")
    assert matches_in(out) == {"a": MATCHES[0], "c": MATCHES[2]}


def test_stdin(command) -> None:
    stdin = jsonl(EVENTS).encode()
    code, out, _ = command("match", "rules.jsonl", "-", stdin=stdin)
    assert (code, matches_in(out)) == (0, MATCHES)
    code, _, err = command("match", "rules.jsonl", "-", stdin=b"{\n")
    assert code == 1
    assert err.startswith("standard input:1: not JSON")


def test_as_a_program(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "matchwood.cli", "match", "rules.jsonl", "-"],
        cwd=folder, input=jsonl(EVENTS), capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert (done.returncode, matches_in(done.stdout)) == (0, MATCHES)
    assert done.stderr.startswith("3 events, ")


def test_tags_and_limit(command) -> None:
    _, out, _ = command("match", "rules.jsonl", "events.jsonl", "--tags", "us")
    assert matches_in(out) == {0: {"adults"}, 2: {"adults"}}
    _, out, _ = command("match", "rules.jsonl", "events.jsonl", "--tags", "us", "--tags", "eu")
    assert matches_in(out) == {0: {"adults", "vip"}, 2: {"adults"}}
    _, out, _ = command("match", "rules.jsonl", "events.jsonl", "--limit", "2")
    first = json.loads(out.splitlines()[0])
    assert first == {"event": 0, "rules": ["vip", "adults"]}


@pytest.mark.parametrize("more", [[], ["--format", "parquet"], ["--threads", "2"]])
def test_parquet_out(command, folder: Path, more: list[str]) -> None:
    code, out, _ = command("match", "rules.jsonl", "events.csv", "--output", "m.parquet", *more)
    assert (code, out) == (0, "")
    table = pq.read_table(folder / "m.parquet")
    assert table.column_names == ["event", "rule_id"]
    pairs = {(row["event"], row["rule_id"]) for row in table.to_pylist()}
    assert pairs == {(event, rule) for event, rules in MATCHES.items() for rule in rules}


def test_parquet_out_where_nothing_matches(command, folder: Path) -> None:
    (folder / "none.jsonl").write_text("{}\n")
    command("match", "rules.jsonl", "none.jsonl", "--output", "m.parquet", "--key", "x")
    assert pq.read_table(folder / "m.parquet").num_rows == 0


def test_keys_of_several_types(command, folder: Path) -> None:
    (folder / "keys.jsonl").write_text('{"k": 1, "age": 20}\n{"k": "x", "age": 20}\n')
    _, out, _ = command("match", "rules.jsonl", "keys.jsonl", "--key", "k")
    assert list(matches_in(out)) == [1, "x"]
    arguments = ("match", "rules.jsonl", "keys.jsonl", "--key", "k", "--output", "m.parquet")
    code, _, err = command(*arguments)
    assert code == 2
    assert "of several types" in err
    assert not list(folder.glob("m.parquet*"))


def test_csv_fields(command, folder: Path) -> None:
    (folder / "r.csv").write_text("id,rule,tags,priority\nn,zip = 184,a;b,2\ns,zip = '00184',,\n")
    (folder / "e.csv").write_text("zip\n184\n00184\n")
    _, out, _ = command("match", "r.csv", "e.csv")
    assert matches_in(out) == {0: {"n"}, 1: {"s"}}
    _, out, _ = command("match", "r.csv", "e.csv", "--strings")
    assert matches_in(out) == {1: {"s"}}
    _, out, _ = command("match", "r.csv", "e.csv", "--key", "zip")
    assert matches_in(out) == {"184": {"n"}, "00184": {"s"}}
    _, out, _ = command("match", "r.csv", "e.csv", "--tags", "b")
    assert matches_in(out) == {0: {"n"}}


def test_summary_for_machines(command) -> None:
    _, _, err = command("match", "rules.jsonl", "events.jsonl", "--json")
    figures = json.loads(err)
    assert figures["rules"] == figures["events"] == 3
    assert (figures["rejected"], figures["matches"]) == (0, 4)


REJECTED = [
    ("nope", "not JSON"),
    ("[1]", "an event is an object, found list"),
    ('{"age": "\\ud800"}', "not valid Unicode"),
    ('{"a": {"b": 1}, "a.b": 2}', "spells it two ways"),
]


def test_bad_events_are_rejected_and_the_rest_goes_on(command, folder: Path) -> None:
    bad = "".join(text + "\n" for text, _ in REJECTED)
    (folder / "mixed.jsonl").write_text(bad + "\n" + jsonl(EVENTS))
    code, out, err = command("match", "rules.jsonl", "mixed.jsonl")
    assert (code, matches_in(out)) == (1, {event + 4: rules for event, rules in MATCHES.items()})
    for line, (_, reason) in enumerate(REJECTED, 1):
        assert any(
            shown.startswith(f"mixed.jsonl:{line}: ") and reason in shown
            for shown in err.splitlines()
        )
    assert "7 events, 4 rejected, 4 matches" in err
    code, again, err = command("match", "rules.jsonl", "mixed.jsonl", "--rejects", "bad.out")
    assert (code, again, err.count("\n")) == (1, out, 1)
    rejects = [json.loads(line) for line in (folder / "bad.out").read_text().splitlines()]
    assert sorted(one["line"] for one in rejects) == [1, 2, 3, 4]
    assert all(list(one) == ["line", "reason", "text"] for one in rejects)
    assert next(one["text"] for one in rejects if one["line"] == 1) == "nope"


def test_rejected_rows(command, folder: Path) -> None:
    (folder / "e.csv").write_text("age,key\n20,a\n30\n40,b,c\n50,\n60,e\n")
    code, out, err = command("match", "rules.jsonl", "e.csv", "--key", "key")
    assert (code, matches_in(out)) == (1, {"a": {"adults"}, "e": {"adults"}})
    assert err.startswith("e.csv:3: expected 2 fields, found 1\ne.csv:4: expected 2 fields")
    assert "e.csv:5: no 'key' to name the event by" in err
    pq.write_table(pa.table({"age": [20, 30], "key": [None, "b"]}), folder / "e.parquet")
    code, out, err = command("match", "rules.jsonl", "e.parquet", "--key", "key")
    assert (code, matches_in(out)) == (1, {"b": {"adults"}})
    assert err.startswith("e.parquet:1: no 'key'")


# Values of a key as JSON, and some lines that have none or cannot be read.
KEYS = [
    "7",
    '"a"',
    "0",
    '""',
    "false",
    "2.5",
    "[1, null]",
    "[]",
    '{"x": 1}',
    '"\\u00e9\\ud83d\\ude00"',
]
KEYED = [f'{{"id": {value}, "age": 20}}' for value in KEYS]
WITHOUT = [
    '{"age": 20}',
    '{"id": null, "age": 20}',
    '{"id": 5, "age": 20, "id": null}',
    '{"id.x": 5, "age": 20}',
    '{"a": {"b": 1}, "a.b": 2, "age": 20}',
]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_lines_are_named_by_any_value_of_the_key(command, folder: Path, threads: str) -> None:
    lines = [line for pair in zip(KEYED, WITHOUT * 2, strict=True) for line in pair]
    repeated = [*lines, "nope", '{"id": 9, "age": 3}', ""] * 300
    (folder / "keyed.jsonl").write_text("\n".join(repeated))
    code, out, err = command(
        *("match", "rules.jsonl", "keyed.jsonl", "--key", "id", "--rejects", "bad"),
        *("--threads", threads, "--json"),
    )
    names = [json.loads(line)["event"] for line in out.splitlines()]
    assert (code, names) == (1, [json.loads(key) for key in KEYS] * 300)
    figures = json.loads(err.splitlines()[-1])  # after what says how far it is
    assert (figures["events"], figures["rejected"], figures["matches"]) == (6_600, 3_300, 3_000)
    rejected = [json.loads(line) for line in (folder / "bad").read_text().splitlines()]
    assert [one["text"] for one in rejected[:11]] == [*WITHOUT * 2, "nope"]
    assert rejected[0]["reason"] == "no 'id' to name the event by"
    assert rejected[-1]["line"] == len(repeated) - 2
    code, out, _ = command("match", "rules.jsonl", "keyed.jsonl", "--key", "id.x")
    assert (code, {json.loads(line)["event"] for line in out.splitlines()}) == (1, {5})


def test_hostile_rows_of_parquet_do_not_end_the_rest(command, folder: Path) -> None:
    """A map may repeat a key, and a string may be no UTF-8."""
    kind = pa.map_(pa.string(), pa.int64())
    maps = pa.array([[("age", 5), ("age", 18)], [("age", 18), ("age", 5)], None, []], kind)
    texts = pa.array([b"tin", b"gold", b"\xff", b"gold"], pa.binary()).view(pa.string())
    table = pa.table({"who": maps, "tier": texts, "blocked": [False] * 4})
    pq.write_table(table, folder / "hostile.parquet")
    rules = [{"id": "adults", "rule": "who.age >= 18"}, RULES[1]]
    (folder / "who.jsonl").write_text(jsonl(rules))
    code, out, err = command("match", "who.jsonl", "hostile.parquet")
    assert (code, matches_in(out)) == (1, {0: {"adults"}, 1: {"vip"}, 3: {"vip"}})
    assert "hostile.parquet:3: attribute 'tier': a string is not valid Unicode\n" in err
    _, out, err = command("match", "who.jsonl", "hostile.parquet", "--key", "tier")
    assert matches_in(out.splitlines()[0]) == {"tin": {"adults"}}
    assert "hostile.parquet:3: its 'tier' is not valid UTF-8\n" in err


def test_few_rejects_are_shown(command) -> None:
    code, _, err = command("match", "rules.jsonl", "-", stdin=b"x\n" * 500)
    assert code == 1
    assert "--rejects FILE keeps all" in err
    assert err.count("\n") == event_chunks.MOST_REPORTED + 2


@pytest.mark.parametrize("piece", [100, 5_000])
def test_json_lines_stream_in_pieces(
    command, folder: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    rows = [{"age": number % 40, "tier": "gold"} for number in range(3_000)]
    (folder / "many.jsonl").write_text(jsonl(rows))
    monkeypatch.setattr(formats, "PIECE", piece)
    monkeypatch.setattr(formats, "MAX_LINE", 10_000)
    matcher = Matcher((rule["id"], rule["rule"]) for rule in RULES)
    expected = {n: found for n, row in enumerate(rows) if (found := set(matcher.match(row)))}
    for more in ([], ["--threads", "2"]):
        code, out, _ = command("match", "rules.jsonl", "many.jsonl", *more)
        assert (code, matches_in(out)) == (0, expected)
    long = '{"age": "' + "x" * 30_000 + '"}'
    (folder / "long.jsonl").write_text(f'{{"age": 20}}\n{long}\n\n{{"age": \n{{"age": 20}}')
    code, out, err = command("match", "rules.jsonl", "long.jsonl")
    assert (code, matches_in(out)) == (1, {0: {"adults"}, 3: {"adults"}})
    assert "long.jsonl:2: the line has over 10,000 bytes" in err
    assert "long.jsonl:4: not JSON: Expecting value at column 9" in err
    # lines are counted on behind several that are lost, and behind blank ones
    (folder / "more.jsonl").write_text(f'\n\n{{"age": 20}}\n{long}\n{long}\n\n{{"age": \n')
    _, out, err = command("match", "rules.jsonl", "more.jsonl")
    assert matches_in(out) == {0: {"adults"}}
    assert re.findall(r"more.jsonl:(\d+)", err) == ["4", "5", "7"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_events_stream_in_chunks(
    command, folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    rows = [{"age": number % 40, "tier": "gold"} for number in range(3_000)]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "many.parquet", row_group_size=700)
    (folder / "many.csv").write_text("age,tier\n" + "".join(f"{r['age']},gold\n" for r in rows))
    held: list[int] = []
    match_batches = Matcher.match_batches

    def watched(self: Matcher, events: Any, **options: Any) -> Any:
        held.append(len(events))
        return match_batches(self, events, **options)

    monkeypatch.setattr(Matcher, "match_batches", watched)
    monkeypatch.setattr(event_chunks, "MOST_MATCHES", 500)
    code, out, _ = command("match", "rules.jsonl", f"many.{suffix}")
    matcher = Matcher((rule["id"], rule["rule"]) for rule in RULES)
    expected = {n: found for n, row in enumerate(rows) if (found := set(matcher.match(row)))}
    assert (code, matches_in(out)) == (0, expected)
    assert sum(held) == 3_000
    assert max(held) <= 4 * event_chunks.FIRST_EVENTS
    assert len(held) > 4


# Bad rules


def test_bad_rules_are_left_out(command) -> None:
    code, out, err = command("match", "bad.jsonl", "events.jsonl")
    assert (code, matches_in(out)) == (1, MATCHES)
    assert err.startswith("bad.jsonl:4: error: rule 'bad': column 6: expected")
    code, out, err = command("match", "bad.jsonl", "events.jsonl", "--strict", "--output", "m")
    assert (code, out) == (1, "")
    assert err.endswith("1 bad rule: nothing was done\n")
    assert not list(Path().glob("m*"))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('{"id": "vip", "rule": "a"}', "rule 'vip': the id is there already, at rules.jsonl:2"),
        ('{"id": 7, "rule": "a"}', "rule 7: the ids before it are strings, this one is an integer"),
        ('{"id": "\\ud800", "rule": "a"}', "the id is not valid Unicode"),
        ('{"id": "x", "rule": "f(a)"}', "rule 'x': no operator is registered as 'f'"),
        ('{"id": "x", "rule": "isa(a, \'b\')"}', "needs a schema"),
        ('{"id": "x", "rule": {"no": 1}}', "rule 'x': column 1: expected an object with"),
        ('{"id": "x", "rule": "a", "tags": 1}', "rule 'x': tags are a list of strings, found 1"),
        ('{"id": "x", "rule": "a", "priority": "p"}', "rule 'x': a priority is a number"),
        ("{", "not JSON"),
    ],
)
def test_what_is_wrong_with_a_rule(command, folder: Path, row: str, says: str) -> None:
    (folder / "rules.jsonl").write_text(jsonl(RULES) + row + "\n")
    code, out, err = command("match", "rules.jsonl", "events.jsonl")
    assert (code, matches_in(out)) == (1, MATCHES)
    assert err.startswith("rules.jsonl:4: error: ")
    assert says in err


def test_schema(command, folder: Path) -> None:
    schema = '[attributes]\nkind = { hierarchy = "h" }\n[hierarchies.h]\n"dining table" = "table"\n'
    (folder / "schema.toml").write_text(schema)
    (folder / "isa.jsonl").write_text(jsonl([{"id": 1, "rule": "isa(kind, 'table')"}]))
    stdin = b'{"kind": "dining table"}'
    given = ("--schema", "schema.toml")
    assert command("build", "isa.jsonl", "isa.mw", *given)[0] == 0
    for rules in ("isa.jsonl", "isa.mw"):
        code, out, _ = command("match", rules, "-", *given, stdin=stdin)
        assert (code, matches_in(out)) == (0, {0: {1}})
    code, _, err = command("match", "isa.mw", "-", stdin=stdin)
    assert code == 2
    assert "isa.mw: " in err
    assert "needs a schema" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("match none.jsonl events.jsonl", "none.jsonl: no such file"),
        ("match none.mw events.jsonl", "none.mw: no such file"),
        ("match rules.jsonl none.jsonl", "none.jsonl: no such file"),
        ("match rules.jsonl rules.txt", "expected a .jsonl, .csv or .parquet file"),
        ("match rules.jsonl events.jsonl --format xml", "no format 'xml'"),
        ("match rules.jsonl events.jsonl --format parquet", "--output FILE"),
        ("match rules.jsonl events.jsonl --output no/m.jsonl", "No such file or directory"),
        ("match rules.jsonl events.jsonl --output .", "is a folder"),
        ("match rules.jsonl events.parquet --key no", "no column 'no' to name the events by"),
        ("match rules.jsonl events.jsonl --limit -1", "Invalid value for '--limit'"),
        ("match rules.jsonl", "Missing argument 'EVENTS'"),
    ],
)
def test_misuse_is_one_sentence(command, arguments: str, says: str) -> None:
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert says in err
    assert not list(Path().glob("*.tmp-*"))


def test_aliases(command, folder: Path) -> None:
    Path("rules.jsonl").write_text('{"id": "a", "rule": "host = \'x\' and size is null"}\n')
    Path("events.jsonl").write_text('{"Event": {"computer": "x"}}\n{"host": "y"}\n')
    Path("names.toml").write_text('host = ["Host Name", "computer"]\n"*" = "Event.*"\n')
    code, out, _ = command("match", "rules.jsonl", "events.jsonl", "--aliases", "names.toml")
    assert (code, out) == (0, '{"event": 0, "rules": ["a"]}\n')
    event = '{"computer": "x"}'
    _, out, _ = command("explain", "host = 'x'", event, "--aliases", "names.toml")
    assert out == "true       host = 'x'  host: 'x'\n"
    _, out, _ = command("check", "rules.jsonl", "--events", "events.jsonl")
    assert "no event of the sample has 'size'" in out
    Path("cases.jsonl").write_text('{"event": {"Host Name": "x"}, "match": ["a"]}\n')
    assert command("test", "rules.jsonl", "cases.jsonl", "--aliases", "names.toml")[0] == 0
    assert command("test", "rules.jsonl", "cases.jsonl")[0] == 1


@pytest.mark.parametrize("text", ["host = 5", "host = ", '"a*" = "b"', '[host]\na = "b"'])
def test_bad_aliases(command, folder: Path, text: str) -> None:
    Path("names.toml").write_text(text)
    code, _, err = command("explain", "host = 'x'", "{}", "--aliases", "names.toml")
    assert code == 2
    assert "names.toml" in err


def test_what_is_written_about_rules(command, folder: Path) -> None:
    rule = {"id": "a", "rule": "x > 1", "tags": ["t"], "priority": 2, "title": "A"}
    Path("about.jsonl").write_text(json.dumps(rule) + "\n" + '{"id": "b", "rule": "x > 2"}\n')
    Path("x.jsonl").write_text('{"x": 2, "k": "p"}\n{"x": 3, "k": "q"}\n')
    named = ("--with", "rule,tags,priority,data")
    first = {"id": "a", "rule": "x > 1", "tags": ["t"], "priority": 2.0, "data": {"title": "A"}}
    second = {"id": "b", "rule": "x > 2", "tags": [], "priority": 0.0, "data": None}
    for more, names in (((), [0, 1]), (("--key", "k"), ["p", "q"])):
        code, out, _ = command("match", "about.jsonl", "x.jsonl", *named, *more)
        lines = [json.loads(line) for line in out.splitlines()]
        assert code == 0
        assert [line["event"] for line in lines] == names
        assert lines[0]["rules"] == [first]
        assert sorted(lines[1]["rules"], key=lambda each: each["id"]) == [first, second]
        command("match", "about.jsonl", "x.jsonl", *named, *more, "--output", "about.parquet")
        rows = pq.read_table("about.parquet").to_pylist()
        assert rows[0] == {
            "event": names[0], "rule_id": "a", "rule": "x > 1", "tags": ["t"],
            "priority": 2.0, "data": '{"title":"A"}',
        }  # fmt: skip
        assert len(rows) == 3
    command("build", "about.jsonl", "about.mw")
    _, out, _ = command("match", "about.mw", "x.jsonl", "--with", "data")
    assert json.loads(out.splitlines()[0])["rules"] == [{"id": "a", "data": {"title": "A"}}]
    code, _, err = command("match", "about.mw", "x.jsonl", "--with", "title")
    assert (code, "--with: expected rule, tags, priority, data, found 'title'" in err) == (2, True)


@pytest.mark.parametrize("more", [(), ("--key", "key")])
def test_the_first_matches_are_explained(command, more) -> None:
    code, _, err = command("match", "rules.jsonl", "events.jsonl", "--explain", "2", *more)
    assert code == 0
    assert err.count(", rule ") == 2
    assert err.startswith("event 0, rule " if not more else "event a, rule ")
    assert "\ntrue  " in err
