"""Schemas in TOML and JSON files."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood import Schema
from matchwood.schema import SchemaError
from matchwood.schema.schema_file import to_toml
from schema.auctions import FORM, SCHEMA

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize("name", ["s.toml", "s.json"])
def test_what_is_saved_loads_again(tmp_path: Path, name: str) -> None:
    SCHEMA.save(tmp_path / name)
    assert Schema.load(tmp_path / name) == SCHEMA
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with pytest.raises(SchemaError, match=r"a schema is a \.toml or \.json file"):
        SCHEMA.save(tmp_path / "s.yaml")


def test_forms_by_hand(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(FORM))
    (tmp_path / "s.toml").write_text(
        '[attributes]\nage = "number"\ncategory = { hierarchy = "f" }\n'
        '[hierarchies.f]\n"dining table" = "table"\n'
    )
    assert Schema.load(tmp_path / "s.json").declared.keys() == FORM["attributes"].keys()
    assert Schema.load(tmp_path / "s.toml").is_a("category", "dining table", "table")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("s.json", '{"hierarchies": {"h": {"a": "b", "a": "c"}}}', "'a' is there twice"),
        ("s.json", "{", "Expecting"),
        ("s.toml", "a = ", "Invalid value"),
        ("s.yaml", "", "a .toml or .json file"),
    ],
)
def test_refused(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SchemaError, match=f"(?s){name}.*{says}"):
        Schema.load(tmp_path / name)


@given(st.dictionaries(texts, st.dictionaries(texts, texts, min_size=1), max_size=3), texts)
def test_toml_of_any_text(types: dict[str, dict[str, str]], name: str) -> None:
    form = {"event_type": name, "types": types}
    again = tomllib.loads(to_toml(form))
    assert again == ({**form} if types else {"event_type": name})
