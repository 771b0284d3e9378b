"""Files of queries: alone, in documents and lists, as hits of a search, and in bulk format."""

import json
from datetime import datetime

import pytest

from matchwood.imports import ImportedRule, NotImported, read
from matchwood.imports.percolator.index_mapping import IndexMapping

MAPPING = {"properties": {"n": {"type": "long"}, "t": {"type": "date", "format": "date"}}}
ONE, TWO = {"term": {"n": 1}}, {"term": {"n": 2}}


def rules(path, **options):
    return [(rule.id, rule.rule) for rule in read("percolator", path, mapping=MAPPING, **options)]


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("one.json", [ONE], [("one", "n = 1")]),
        ("one.json", [{"query": ONE}], [("one", "n = 1")]),
        ("one.json", [{"id": 7, "query": ONE}], [("7", "n = 1")]),
        ("l.json", [[ONE, {"_id": "b", "query": TWO}]], [("l-1", "n = 1"), ("b", "n = 2")]),
        ("l.jsonl", [{"id": "a", "query": ONE}, TWO], [("a", "n = 1"), ("l-2", "n = 2")]),
        ("l.jsonl", [{"_id": "a", "_source": {"query": ONE}}], [("a", "n = 1")]),
        (
            "h.json",
            [{"hits": {"hits": [{"_id": "a", "_source": {"query": ONE}}]}}],
            [("a", "n = 1")],
        ),
        (
            "bulk.ndjson",
            [{"index": {"_id": "a"}}, {"query": ONE}, {"create": {"_id": "b"}}, {"query": TWO}],
            [("a", "n = 1"), ("b", "n = 2")],
        ),
    ],
)
def test_files(tmp_path, name, lines, expected):
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, lines)))
    assert rules(path) == expected
    assert rules(tmp_path) == expected


def test_other_fields_are_columns_and_data(tmp_path):
    path = tmp_path / "q.jsonl"
    document = {"tags": ["x"], "priority": 2, "title": "T", "owner": {"n": 1.5}, "rule": "r"}
    path.write_text(json.dumps({"_id": "a", "_source": {"q": ONE, **document}}))
    (rule,) = read("percolator", path, mapping=MAPPING, field="q")
    assert (rule.tags, rule.priority, rule.title) == (("x",), 2.0, "T")
    assert rule.data == {"owner": {"n": 1.5}, "original_rule": "r"}
    assert rule.source == f"{path}:1"


def test_what_is_no_query_has_its_place(tmp_path):
    path = tmp_path / "bulk.jsonl"
    lines = [
        {"delete": {"_id": "a"}},
        {"update": {"_id": "b"}},
        {"doc": {}},
        5,
        {"_id": "c", "_source": {"query": {"fuzzy": {"n": 1}}}},
        {"_id": "d", "_source": {"query": ONE, "priority": "high"}},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\nnot JSON")
    found = list(read("percolator", path, mapping=MAPPING))
    assert all(isinstance(each, NotImported) for each in found)
    assert [str(each).removeprefix(str(path)) for each in found] == [
        ":1: a deletion is no query",
        ":3: rule 'b': an update is no whole query",
        ":4: rule 'bulk-4': expected a query, found int",
        ":5: rule 'c': query: the query 'fuzzy' cannot be said",
        ":6: rule 'd': a priority is a number, found 'high'",
        ":7: not JSON: Expecting value at line 1, column 1",
    ]


def test_now_as_text_and_as_datetime(tmp_path):
    path = tmp_path / "q.json"
    path.write_text(json.dumps({"range": {"t": {"lt": "now/d"}}}))
    wanted = "t <= timestamp '2026-01-30T23:59:59.999999999Z'"
    for now in ("2026-01-31T10:00:00Z", datetime(2026, 1, 31, 10)):
        (rule,) = read("percolator", path, mapping=MAPPING, now=now)
        assert rule.rule == wanted
    with pytest.raises(ValueError, match="now is a time"):
        read("percolator", path, mapping=MAPPING, now="yesterday")


def test_mapping_as_it_is_printed(tmp_path):
    for form in (MAPPING, {"mappings": MAPPING}, {"index": {"mappings": {"_doc": MAPPING}}}):
        path = tmp_path / "mapping"
        path.write_text(json.dumps(form))
        assert set(IndexMapping.load(path).fields) == {"n", "t"}
    for wrong in ("[]", '{"a": {"mappings": {}}, "b": {}}', "{", '{"properties": {"n": 1}}'):
        path.write_text(wrong)
        with pytest.raises(ValueError, match=r"mapping|JSON"):
            IndexMapping.load(path)
    with pytest.raises(ValueError, match="No such file"):
        IndexMapping.load(tmp_path / "none")


def test_without_a_mapping_fields_have_no_type(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(ONE) + '\n{"match_all": {}}')
    refused, everything = read("percolator", path)
    assert "its type is unknown" in refused.reason
    assert isinstance(everything, ImportedRule)
