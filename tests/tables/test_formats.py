"""Files that cannot be read to their end, or only in part."""

import gzip
from pathlib import Path

import pytest

from matchwood.tables import BadRow, EventRow, formats, read_events


def test_a_line_without_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_LINE", 100)
    path = tmp_path / "events.jsonl"
    path.write_text('{"a": "' + "x" * 500 + '"}\n{"b": 1}\n')
    bad, good = read_events(path)
    assert isinstance(bad, BadRow)
    assert bad.reason == "the line has over 100 bytes"
    assert good == EventRow(str(path), 2, {"b": 1})


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 10_000)[:-20])
    last = list(read_events(path))[-1]
    assert isinstance(last, BadRow)
    assert "cannot be read further" in last.reason
