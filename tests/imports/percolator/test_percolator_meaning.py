"""Imported queries are true of the documents of which a plain evaluator finds the queries true."""

import random

from imports.percolator.elasticsearch import true_of
from matchwood import parse
from matchwood.imports import Inexpressible
from matchwood.imports.percolator.compound import Position, Queries
from matchwood.imports.percolator.field_queries import FieldQueries
from matchwood.imports.percolator.index_mapping import IndexMapping
from matchwood.language import evaluate

QUERIES, DOCUMENTS = 700, 40

MAPPING = {
    "properties": {
        "tag": {"type": "keyword"},
        "low": {"type": "keyword", "normalizer": "lowercase"},
        "name": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 4}}},
        "n": {"type": "long"},
        "d": {"type": "double"},
        "b": {"type": "boolean"},
        "t": {"type": "date"},
        "ip": {"type": "ip"},
        "user": {"properties": {"role": {"type": "keyword"}}},
        "items": {
            "type": "nested",
            "properties": {
                "sku": {"type": "keyword"},
                "price": {"type": "long"},
                "parts": {"type": "nested", "properties": {"n": {"type": "long"}}},
            },
        },
    }
}
TYPES = {
    "tag": {"type": "keyword"},
    "low": {"type": "keyword", "normalizer": "lowercase"},
    "name.raw": {"type": "keyword", "ignore_above": 4, "path": "name"},
    "n": {"type": "long"},
    "d": {"type": "double"},
    "b": {"type": "boolean"},
    "t": {"type": "date"},
    "ip": {"type": "ip"},
    "user.role": {"type": "keyword"},
    "items.sku": {"type": "keyword"},
    "items.price": {"type": "long"},
    "items.parts.n": {"type": "long"},
}
STRINGS = ["", "a", "A", "ab", "aB", "a%b", "a_b", "b*", "x\ny", "^a", "é", "É", "ſ", "K", "abcdef"]
DATES = ["2026-01-31", "2026-01-31T23:59:59.999Z", "2026-01-31T10:00:00Z", "2026-02-01"]
DATES += ["2026-01-31T10:00:00.0005Z", "2026-01-31T12:00:00+02:00", "2026-02-01T00:00:00.000500Z"]
ADDRESSES = ["10.0.0.1", "10.0.0.9", "10.1.0.1", "::ffff:10.0.0.1", "2001:db8::1", "::1", "0.0.0.0"]
NETWORKS = ["10.0.0.0/24", "10.0.0.1", "2001:db8::/32", "::/0", "0.0.0.0/0"]
MINIMA = [0, 1, 2, 3, 5, -1, -2, "50%", "-50%", "75%", "-25%", "1<-1", "1<75% 2<-1", "3<2"]
FIELDS = ["tag", "low", "name.raw", "user.role"]


class RandomQueries:
    def __init__(self, rng):
        self.rng = rng

    def pick(self, *options):
        return self.rng.choice(options)

    def query(self, depth=3):
        if depth == 0 or self.rng.random() < 0.3:
            return self.leaf()
        kind = self.pick("bool", "bool", "bool", "nested", "other")
        if kind == "bool":
            return self.boolean(lambda: self.query(depth - 1))
        if kind == "nested":
            return self.nested(depth)
        inner = self.query(depth - 1)
        return self.pick(
            {"constant_score": {"filter": inner, "boost": 2}},
            {"dis_max": {"queries": [inner, self.leaf()]}},
            {"boosting": {"positive": inner, "negative": self.leaf(), "negative_boost": 0.5}},
        )

    def boolean(self, inner):
        form = {}
        for name in self.rng.sample(
            ["must", "filter", "should", "must_not"], self.rng.randint(0, 3)
        ):
            form[name] = [inner() for _ in range(self.rng.randint(1, 4 if name == "should" else 2))]
            if self.rng.random() < 0.2:
                form[name] = form[name][0]
        if self.rng.random() < 0.5:
            form["minimum_should_match"] = self.pick(*MINIMA)
        return {"bool": form}

    def nested(self, depth):
        def inner():
            return self.pick(
                {"term": {"items.sku": self.pick("a", "b")}},
                {"range": {"items.price": {self.pick("gt", "gte", "lt", "lte"): self.pick(1, 2)}}},
                {"exists": {"field": "items.price"}},
                {"bool": {"must_not": {"term": {"items.sku": "a"}}}},
                {"nested": {"path": "items.parts", "query": self.parts()}},
            )

        return {"nested": {"path": "items", "query": self.boolean(inner) if depth > 1 else inner()}}

    def parts(self):
        one = {"term": {"items.parts.n": self.pick(1, 2)}}
        return self.pick(one, {"bool": {"must_not": [one]}})

    def bounds(self, *values):
        return (
            {
                self.pick("gt", "gte"): self.pick(*values),
                self.pick("lt", "lte"): self.pick(*values),
            }
            if self.rng.random() < 0.6
            else {self.pick("gt", "gte", "lt", "lte"): self.pick(*values)}
        )

    def leaf(self):
        field, text = self.pick(*FIELDS), self.pick(*STRINGS)
        case = {"value": text, "case_insensitive": True}
        wildcard = "".join(self.rng.choices(["*", "?", "a", "b", "%", "_", "B", "\\*", "é"], k=2))
        return self.pick(
            {"term": {field: self.pick(text, {"value": text, "boost": 2}, case)}},
            {"terms": {field: [text, self.pick(*STRINGS)]}},
            {"match": {field: text}},
            {"prefix": {field: self.pick(text, case)}},
            {"wildcard": {field: self.pick(wildcard, {**case, "value": wildcard})}},
            {
                "regexp": {
                    self.pick("tag", "name.raw"): self.pick(
                        "a.*", "[ab]{1,2}", ".", "a|b.", "^.+", "\\d?(ab)*"
                    )
                }
            },
            {"range": {field: self.bounds("a", "aB", "b", "")}},
            {"exists": {"field": self.pick(*FIELDS, "n", "d", "b", "t", "ip")}},
            {"term": {"n": self.pick(1, 2, "2", 2.5)}},
            {"nested": {"path": "items.parts", "query": self.parts()}},
            {"terms": {"n": [1, 3, -5]}},
            {"range": {"n": self.bounds(1, 2, 1.5, "3", -5)}},
            {"term": {"d": self.pick(1, 0.1, "1.5")}},
            {"range": {"d": self.bounds(0.1, 1, 1.5, 2)}},
            {"term": {"b": self.pick(True, False, "true", "false")}},
            {"range": {"t": self.bounds(*DATES[:4], 1769853600000)}},
            {"term": {"t": self.pick(*DATES[:4])}},
            {"term": {"ip": self.pick(*NETWORKS)}},
            {"range": {"ip": self.bounds(*ADDRESSES)}},
            self.pick({"match_all": {}}, {"match_none": {}}, {"exists": {"field": "n"}}),
        )


def documents(rng):
    def some(*values):
        chance = rng.random()
        if chance < 0.15:
            return None
        if chance < 0.45:
            return [rng.choice([*values, None]) for _ in range(rng.randrange(4))]
        return rng.choice(values)

    def item():
        parts = some({"n": 1}, {"n": 2}, {"n": [1, 2]}, {})
        return {"sku": some("a", "b"), "price": some(1, 2, 3), "parts": parts}

    for _ in range(DOCUMENTS):
        document = {
            "tag": some(*STRINGS),
            "low": some(*STRINGS),
            "name": some(*STRINGS),
            "n": some(1, 2, 3, -5),
            "d": some(0.1, 1.0, 1.5, 2, -7.25),
            "b": some(True, False, "true", "false", ""),
            "t": some(*DATES, 1769853600000),
            "ip": some(*ADDRESSES),
            "user": some({"role": some(*STRINGS)}, {}),
            "items": some(item(), item(), {}, None),
        }
        yield {name: value for name, value in document.items() if rng.random() < 0.85}


def test_rules_are_true_where_queries_are():
    rng = random.Random(5)
    source, queries = RandomQueries(rng), Queries(FieldQueries(IndexMapping(MAPPING), None))
    all_documents = list(documents(rng))
    wrong, true, refused = [], 0, 0
    for _ in range(QUERIES):
        query = source.query()
        try:
            rule = parse(str(queries.node(query, Position("query"))))
        except Inexpressible:
            refused += 1
            continue
        for document in all_documents:
            expected = true_of(query, document, TYPES)
            true += expected
            if (evaluate(rule, document) is True) is not expected:
                wrong.append((query, str(rule), document, expected))
    assert wrong[:2] == []
    assert refused == 0
    assert 0.1 < true / (QUERIES * DOCUMENTS) < 0.9
