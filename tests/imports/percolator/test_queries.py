"""Queries as rules, and what is refused, with its place."""

import pytest

from matchwood import parse
from matchwood.imports import Inexpressible
from matchwood.imports.percolator.compound import Position, Queries, minimum_should_match
from matchwood.imports.percolator.field_queries import FieldQueries
from matchwood.imports.percolator.index_mapping import IndexMapping
from matchwood.language import evaluate

MAPPING = {
    "properties": {
        "tag": {"type": "keyword"},
        "also": {"type": "alias", "path": "tag"},
        "low": {"type": "keyword", "normalizer": "lowercase"},
        "odd": {"type": "keyword", "normalizer": "my_own"},
        "short": {"type": "keyword", "ignore_above": 3},
        "all": {"type": "keyword"},
        "name": {"type": "text", "fields": {"raw": {"type": "keyword"}}, "copy_to": "all"},
        "n": {"type": "long"},
        "byte": {"type": "byte"},
        "d": {"type": "double"},
        "f": {"type": "float"},
        "cents": {"type": "scaled_float", "scaling_factor": 100},
        "b": {"type": "boolean"},
        "filled": {"type": "keyword", "null_value": "none"},
        "t": {"type": "date", "format": "strict_date_optional_time"},
        "any": {"type": "date"},
        "secs": {"type": "date", "format": "epoch_second"},
        "german": {"type": "date", "format": "dd.MM.yyyy"},
        "ip": {"type": "ip"},
        "place": {"type": "geo_point"},
        "user": {"properties": {"role": {"type": "keyword"}, "age": {"type": "long"}}},
        "items": {"type": "nested", "properties": {"sku": {"type": "keyword"}}},
    }
}


def rule(query):
    queries = Queries(FieldQueries(IndexMapping(MAPPING), None))
    return str(queries.node(query, Position("query")))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"term": {"tag": "x"}}, "tag = 'x'"),
        ({"term": {"also": {"value": "x", "boost": 2}}}, "tag = 'x'"),
        ({"term": {"name.raw": 5}}, "name = '5'"),
        ({"term": {"low": "ÀX"}}, "lower(low) = 'àx'"),
        ({"term": {"short": "long"}}, "false"),
        ({"term": {"n": 2.5}}, "false"),
        ({"term": {"b": "true"}}, "b in (true, 'true')"),
        ({"terms": {"tag": ["a", "b"], "boost": 1}}, "tag in ('a', 'b')"),
        ({"terms": {"tag": []}}, "false"),
        ({"range": {"n": {"gt": 1.5, "lt": 9}}}, "n between 2 and 8"),
        ({"range": {"n": {"gt": 1, "lt": 2}}}, "false"),
        ({"range": {"n": {"from": 1, "to": None, "include_lower": False}}}, "n >= 2"),
        ({"range": {"byte": {"gte": 200}}}, "false"),
        ({"range": {"d": {"gt": 1, "lte": 2.5}}}, "any(d, it > 1 and it <= 2.5)"),
        ({"range": {"d": {}}}, "any(d, it is not null)"),
        (
            {"range": {"low": {"gt": "A", "lt": "C"}}},
            "any(low, lower(it) > 'a' and lower(it) < 'c')",
        ),
        ({"range": {"secs": {"gte": 10, "lt": "20"}}}, "secs between 10 and 19"),
        ({"prefix": {"tag": "50%"}}, r"tag like '50\%%'"),
        ({"wildcard": {"tag": "a?\\*%*"}}, r"tag like 'a_*\%%'"),
        ({"wildcard": {"tag": "a\\*"}}, "tag = 'a*'"),
        ({"wildcard": {"tag": {"wildcard": "*x"}}}, "tag like '%x'"),
        ({"exists": {"field": "n"}}, "any(n, it is not null)"),
        (
            {"exists": {"field": "user"}},
            "any(user.role, it is not null) or any(user.age, it is not null)",
        ),
        ({"exists": {"field": "short"}}, "any(short, it like '%' and not it rlike '(?s)^.{4}')"),
        ({"term": {"ip": "2001:db8::/32"}}, "in_network(ip, '2001:db8::/32')"),
        (
            {
                "nested": {
                    "path": "items",
                    "query": {"bool": {"must_not": {"term": {"items.sku": "a"}}}},
                }
            },
            "any(items, it is not null and (sku = 'a') is not true)",
        ),
        (
            {
                "bool": {
                    "should": [{"term": {"n": i}} for i in (1, 2, 3)],
                    "minimum_should_match": 2,
                }
            },
            "at_least(2, n = 1, n = 2, n = 3)",
        ),
        ({"bool": {"should": {"term": {"n": 1}}, "minimum_should_match": 2}}, "false"),
        ({"bool": {"should": {"term": {"n": 1}}, "filter": {"term": {"n": 2}}}}, "n = 2"),
        (
            {"bool": {"should": {"term": {"n": 1}}, "must_not": {"term": {"n": 2}}}},
            "n = 1 and (n = 2) is not true",
        ),
        ({"bool": {}}, "true"),
        ({"function_score": {"query": {"term": {"n": 1}}, "functions": []}}, "n = 1"),
    ],
)
def test_rules(query, expected):
    assert rule(query) == expected


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        ({"term": {"name": "x"}}, "query.term.name: 'name' is text"),
        ({"term": {"none": "x"}}, "query.term.none: the mapping has no field 'none'"),
        ({"term": {"all": "x"}}, "query.term.all: 'all' has values of other fields"),
        ({"term": {"filled": "x"}}, "query.term.filled: 'filled' has the setting 'null_value'"),
        ({"term": {"odd": "x"}}, "query.term.odd: what the normalizer 'my_own' does"),
        ({"term": {"n": "x"}}, "query.term.n: 'x' is no number"),
        ({"term": {"n": True}}, "query.term.n: True is no number"),
        ({"term": {"b": "yes"}}, "query.term.b: expected true or false"),
        ({"term": {"f": 0.1234567}}, "query.term.f: 0.1234567 has more digits than a float keeps"),
        ({"term": {"cents": 0.125}}, "query.term.cents: 0.125 is rounded by the scaling factor"),
        ({"term": {"ip": "10.0"}}, "query.term.ip: '10.0' is no address"),
        ({"term": {"place": "x"}}, "query.term.place: 'place' has the type 'geo_point'"),
        (
            {"term": {"items.sku": "x"}},
            "query.term.items.sku: 'items.sku' can be asked for in a nes",
        ),
        ({"term": {"tag": "a", "n": 1}}, "query.term: expected one field"),
        ({"terms": {"tag": {"index": "x"}}}, "query.terms.tag: expected a list of values"),
        ({"match": {"tag": {"query": "x", "fuzziness": 1}}}, "query.match.tag: 'fuzziness'"),
        ({"range": {"any": {"gte": "now-1d"}}}, "query.range.any: 'now-1d' depends on the present"),
        ({"range": {"t": {"gte": 5}}}, "query.range.t: 5 is a number, and the format is"),
        (
            {"range": {"german": {"gte": "1"}}},
            "query.range.german: dates in the format 'dd.MM.yyyy'",
        ),
        ({"range": {"t": {"gte": "01/02/2026"}}}, "query.range.t: '01/02/2026' is not a date"),
        ({"range": {"n": {"above": 3}}}, "query.range.n: 'above' is no part of a range"),
        ({"prefix": {"n": "1"}}, "query.prefix.n: a pattern of a field of type long"),
        ({"regexp": {"tag": "a&b"}}, "query.regexp.tag: &, an intersection, is not in RE2"),
        (
            {"bool": {"must": [{"match_all": {}}, {"geo_shape": {}}]}},
            "query.bool.must[1]: the query 'geo",
        ),
        ({"bool": {"mustnot": []}}, "query.bool: 'mustnot' cannot be said"),
        (
            {"bool": {"should": [], "minimum_should_match": "x"}},
            "query.bool: minimum_should_match is",
        ),
        (
            {"nested": {"path": "user", "query": {}}},
            "query.nested: the mapping has no nested object",
        ),
        ({"ids": {"values": ["1"]}}, "query: the query 'ids' cannot be said"),
        ([], "query: a query is an object with one name"),
    ],
)
def test_refused_with_its_place(query, refusal):
    with pytest.raises(Inexpressible) as refused:
        rule(query)
    assert str(refused.value).startswith(refusal)


def test_queries_do_not_nest_without_end():
    query = {"match_all": {}}
    for _ in range(200):
        query = {"bool": {"must": query}}
    with pytest.raises(Inexpressible, match="nest over"):
        rule(query)


@pytest.mark.parametrize(
    ("spec", "count", "expected"),
    [
        ("3", 5, 3), ("-2", 5, 3), ("75%", 4, 3), ("-25%", 4, 3), ("75%", 5, 3), ("-25%", 5, 4),
        ("3<90%", 3, 3), ("3<90%", 10, 9), ("2<-25% 9<-3", 2, 2), ("2<-25% 9<-3", 8, 6),
        ("2<-25% 9<-3", 12, 9), ("70%", 10, 7), ("-9", 5, 0), ("2 < 1", 9, 1),
    ],
)  # fmt: skip
def test_minimum_should_match(spec, count, expected):
    assert minimum_should_match(spec, count) == expected


@pytest.mark.parametrize(
    ("pattern", "true_of", "false_of"),
    [
        ("a+?", ["", "a", "aa"], ["b"]),
        ("a**", ["", "aaa"], ["b"]),
        ("^a$", ["^a$"], ["a"]),
        ("a.b", ["a\nb", "axb"], ["ab"]),
        ('"a.b"c', ["a.bc"], ["axbc"]),
        ("(ab|c){2,3}", ["abc", "ccc"], ["c", "cccc"]),
        ("[^a-c]x", ["dx"], ["ax", "x"]),
        (r"a\.b\d", ["a.b5"], ["axb5"]),
        ("a()b", ["ab"], ["a()b"]),
        ("é|b", ["é", "b"], ["e"]),
        ("x]", ["x]"], ["x"]),
    ],
)
def test_expressions_of_lucene(pattern, true_of, false_of):
    tree = parse(rule({"regexp": {"tag": pattern}}))
    assert [evaluate(tree, {"tag": text}) for text in true_of] == [True] * len(true_of)
    assert [evaluate(tree, {"tag": text}) for text in false_of] == [False] * len(false_of)


def test_case_of_ascii_only():
    tree = parse(rule({"regexp": {"tag": {"value": "k[s]é.", "case_insensitive": True}}}))
    texts = ["KSéx", "ksÉx", "\u212asé.", "k\u017fé."]
    assert [evaluate(tree, {"tag": text}) for text in texts] == [True, False, False, False]


def test_expression_without_operators():
    tree = parse(rule({"regexp": {"tag": {"value": 'a&"b"~', "flags": "NONE"}}}))
    assert evaluate(tree, {"tag": 'a&"b"~'}) is True
