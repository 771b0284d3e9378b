"""Events in files: what a field of CSV is, and what cannot be read."""

from pathlib import Path

import pytest

from matchwood.tables import BadRow, EventRow, TableError, read_events
from matchwood.tables.event_table import field_value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("18", 18),
        ("-3", -3),
        ("0", 0),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("9007199254740993", 9007199254740993),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("", None),
        ("007", "007"),
        ("+5", "+5"),
        ("1,000", "1,000"),
        (".5", ".5"),
        ("NaN", "NaN"),
        ("inf", "inf"),
        (" 18", " 18"),
        ("١٢", "١٢"),
        ("2024-01-01", "2024-01-01"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_field(field: str, value: object) -> None:
    found = field_value(field)
    assert found == value
    assert type(found) is type(value)


def test_csv_places_and_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text('a,b\n1,"two\nlines"\n\n2\n3,x,y\n4,\n')
    assert list(read_events(path)) == [
        EventRow(str(path), 2, {"a": 1, "b": "two\nlines"}),
        BadRow(str(path), 5, "expected 2 fields, found 1", "2"),
        BadRow(str(path), 6, "expected 2 fields, found 3", "3,x,y"),
        EventRow(str(path), 7, {"a": 4}),
    ]
    last = list(read_events(path, strings=True))[-1]
    assert last == EventRow(str(path), 7, {"a": "4", "b": ""})


@pytest.mark.parametrize(
    ("text", "says"), [("", "a header"), ("a,a\n", "two columns"), ("a,\n", "no name")]
)
def test_csv_header(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "events.csv").write_text(text)
    with pytest.raises(TableError, match=says):
        list(read_events(tmp_path / "events.csv"))
