"""build: the file that it writes, and what reads it."""

import json
from pathlib import Path

import pytest

from cli.commands.people import matches_in, write_files
from matchwood import Matcher


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


def test_build_and_match(command, folder: Path) -> None:
    (folder / "more.csv").write_text("id,rule\nall,true\n")
    code, out, _ = command("build", "rules.jsonl", "more.csv", "all.mw", "--events", "events.jsonl")
    assert code == 0
    assert out.startswith("all.mw: 4 rules, 0 bad, ")
    code, out, _ = command("match", "all.mw", "events.parquet", "--tags", "eu")
    assert (code, matches_in(out)) == (0, {0: {"adults", "vip"}, 2: {"adults"}})
    code, out, _ = command("match", "all.mw", "events.parquet", "--limit", "1")
    assert matches_in(out)[0] == {"vip"}
    assert set(Matcher.load(folder / "all.mw")) == {"adults", "vip", "teens", "all"}


def test_build_reports_bad_rules(command, folder: Path) -> None:
    code, out, err = command("build", "bad.jsonl", "bad.mw", "--json")
    figures = json.loads(out)
    assert (code, figures["rules"], figures["bad"]) == (1, 3, 1)
    assert err.startswith("bad.jsonl:4: error: rule 'bad'")
    before = (folder / "bad.mw").read_bytes()
    assert command("build", "bad.jsonl", "bad.mw", "--strict")[0] == 1
    assert (folder / "bad.mw").read_bytes() == before
    command("build", "rules.jsonl", "bad.mw")
    assert [path.name for path in folder.glob("bad.mw*")] == ["bad.mw"]


@pytest.mark.parametrize("damage", ["cut", "altered", "ids", "empty", "other"])
def test_damaged_file(command, folder: Path, damage: str) -> None:
    command("build", "rules.jsonl", "rules.mw")
    data = bytearray((folder / "rules.mw").read_bytes())
    if damage == "altered":
        data[len(data) // 2] ^= 1
    if damage == "ids":  # only looked at when an id is needed
        data[data.rindex(b"adults")] = 65
    other = {"cut": data[: len(data) // 2], "empty": b"", "other": b"hello" * 100}
    (folder / "rules.mw").write_bytes(other.get(damage, data))
    code, out, err = command("match", "rules.mw", "events.jsonl", "--output", "m.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("matchwood: rules.mw ")
    assert err.count("\n") == 1
    assert not list(folder.glob("m.jsonl*"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("build rules.jsonl", "Missing argument"),
        ("build rules.jsonl rules.bin", "the file to write ends in .mw"),
        ("build rules.jsonl no/rules.mw", "no file can be written there"),
        ("build none.jsonl rules.mw", "none.jsonl: no such file"),
    ],
)
def test_misuse_is_one_sentence(command, arguments: str, says: str) -> None:
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert says in err
    assert not list(Path().glob("*.tmp-*"))
