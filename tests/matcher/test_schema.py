"""A matcher that holds rules and events to a schema."""

import copy
from pathlib import Path

import pyarrow as pa
import pytest

from matchwood import EventError, Matcher, RuleError, Schema, parse
from matchwood.language import evaluate, explain

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "price": {"minimum": 0},
            "kind": {"values": ["lamp", "table"]},
            "tags": "list of string",
        },
        "types": {"offer": {"price": "mandatory", "kind": "optional", "tags": "optional"}},
    }
)
GOOD = {"event_type": "offer", "price": 5, "kind": "lamp"}


def test_rules_are_held_to_the_schema() -> None:
    m = Matcher({"a": "kind = 'lamp'"}, schema=SCHEMA, enforce=True)
    for rule in ("kind = 'lmap'", "prise > 5", "price > 'x'", "price < -1", "not (kind = 'x')"):
        with pytest.raises(RuleError):
            m["b"] = rule
        with pytest.raises(RuleError):
            m.update({"b": rule, "c": "price > 1"})
    refused = m.update({"b": "kind = 'lmap'", "c": "price >", "d": "price > 1"}, errors="collect")
    assert sorted(rule_id for rule_id, _ in refused) == ["b", "c"]
    assert sorted(m) == ["a", "d"]
    assert sorted(m.match(GOOD)) == ["a", "d"]


def test_without_enforcing_rules_are_free() -> None:
    m = Matcher({"a": "kind = 'lmap'"}, schema=SCHEMA)
    assert m.match({"kind": "lmap"}) == ["a"]


def test_events_are_held_to_the_schema(tmp_path: Path) -> None:
    m = Matcher({"a": "kind = 'lamp'"}, schema=SCHEMA, enforce=True)
    m.save(tmp_path / "rules.mw")
    loaded = Matcher.load(tmp_path / "rules.mw", schema=SCHEMA, enforce=True)
    for one in (m, loaded, copy.copy(m)):
        assert one.match(GOOD) == ["a"]
        assert one.match_batch([GOOD]).num_rows == 1
        for bad in ({"kind": "lamp"}, {**GOOD, "colour": 1}, {**GOOD, "price": -1}):
            with pytest.raises(EventError):
                one.match(bad)
            with pytest.raises(EventError):
                one.count(bad)
            with pytest.raises(EventError):
                one.match_batch([GOOD, bad])


def test_tables_are_held_to_the_schema() -> None:
    m = Matcher({"a": "kind = 'lamp'"}, schema=SCHEMA, enforce=True)
    table = pa.Table.from_pylist([{**GOOD, "key": 7, "tags": ["x", "y"]}, {**GOOD, "key": 8}])
    assert m.match_batch(table, key="key")["event"].to_pylist() == [7, 8]
    assert sum(batch.num_rows for batch in m.match_batches(table.to_pandas(), key="key")) == 2
    with pytest.raises(EventError, match="'key'"):
        m.match_batch(table)
    bad = table.set_column(1, "price", pa.array([1, -1]))
    with pytest.raises(EventError, match="'price'"):
        list(m.match_batches(bad, key="key"))


def test_enforcing_needs_a_schema() -> None:
    with pytest.raises(TypeError, match="enforce needs a Schema, found NoneType"):
        Matcher(enforce=True)


def test_another_schema_is_used_from_then_on() -> None:
    def of(parents: dict[str, str]) -> Schema:
        form = {"attributes": {"kind": "kinds"}, "hierarchies": {"kinds": parents}}
        return Schema.from_dict(form)

    m = Matcher(dict.fromkeys(range(40), "isa(kind, 'table')"), schema=of({"desk": "table"}))
    m[40] = "isa(kind, 'table') and x = 1"  # pending
    assert m.match({"kind": "stand", "x": 1}) == []
    m.use_schema(of({"stand": "table"}))
    assert len(m.match({"kind": "stand", "x": 1})) == 41
    assert m.match({"kind": "desk", "x": 1}) == []
    assert m.match_batch([{"kind": "stand"}, {"kind": "desk"}]).num_rows == 40
    with pytest.raises(RuleError, match="no node 'table'"):
        m.use_schema(of({"a": "b"}))
    assert len(m.match({"kind": "stand", "x": 1})) == 41
    m.use_schema(of({"stand": "table"}))
    m[41] = "isa(kind, 'table') and x = 1"  # whose part is made while the schema changes
    made = m.store._part
    with pytest.MonkeyPatch.context() as patch:
        other = of({"desk": "table"})
        patch.setattr(m.store, "_part", lambda *given: (made(*given), m.use_schema(other))[0])
        m.match_batch([{"kind": "stand", "x": 1}] * 1_000)
    assert len(m.match({"kind": "desk", "x": 1})) == 42
    assert m.match_batch([{"kind": "desk", "x": 1}] * 1_000).num_rows == 42_000
    m.update(dict.fromkeys(range(42), "x = 1"))
    m.use_schema(None)  # the rules that asked are gone
    assert len(m.match({"kind": "stand", "x": 1})) == 42


# Orders of a domain's own, where the schema is not enforced

ORDERS = Schema.from_dict(
    {
        "hierarchies": {"furniture": {"dining table": "table", "table": "furniture"}},
        "attributes": {
            "cond": {"values": ["poor", "good", "mint"], "order": "listed"},
            "item.size": {"values": [3, 1, 2], "order": "listed"},
            "category": "furniture",
            "kind": {"values": ["lamp", "table"]},
            "price": "number",
        },
    }
)
BY_ANOTHER_ORDER = [
    "cond >= 'good'",
    "cond >= 'nonsense'",
    "not (price > 3 or `cond` < 'good')",
    "cond between 'poor' and 'good'",
    "cond not between 'poor' and 'good'",
    "item . size > 1",
    "`item.size` > 1",
    "category <= 'table'",
    "cond < category",
    "price > 1 and cond > kind",
    "mob(price, ?n) and ?n < cond",
    "lower(cond) >= 'good'",
    "price > 1 or lower(cond) not between 'good' and 'poor'",
    "lower(item.size) < 7",
]
BY_NO_ORDER = [
    "cond = 'good'",
    "cond in ('good', 'mint')",
    "cond like 'g%'",
    "isa(category, 'table')",
    "kind < 'm'",
    "price < 5",
    "cond != kind",
    "cond > 5",
    "cond is not null",
    "lower(cond) = 'good'",
    "lower(kind) < 'm'",
]
MOB = {"mob": lambda price: ["a"]}


@pytest.mark.parametrize("rule", BY_ANOTHER_ORDER)
def test_an_order_of_the_schema_is_never_taken_for_that_of_code_points(rule, tmp_path) -> None:
    event = {"cond": "poor", "price": 5, "category": "dining table", "kind": "lamp"}
    m = Matcher({"a": "price > 0"}, schema=ORDERS, operators=MOB)
    with pytest.raises(RuleError, match="an order of its own") as refusal:
        m["b"] = rule
    assert refusal.value.column is not None
    with pytest.raises(RuleError, match="an order of its own"):
        m.update({"b": rule})
    [(refused, error)] = m.update({"b": rule, "c": "price > 1"}, errors="collect")
    assert refused == "b"
    assert "an order of its own" in str(error)
    for asked in (lambda: evaluate(parse(rule), event, schema=ORDERS, operators=MOB),
                  lambda: explain(parse(rule), event, schema=ORDERS, operators=MOB),
                  lambda: m.explain(rule, event)):  # fmt: skip
        with pytest.raises(RuleError, match="an order of its own"):
            asked()
    assert sorted(m.match(event)) == ["a", "c"]
    assert m.match_batch([event]).num_rows == 2

    without = Matcher({"b": rule}, operators=MOB)
    without.save(tmp_path / "rules.mw")
    with pytest.raises(RuleError, match="an order of its own"):
        Matcher.load(tmp_path / "rules.mw", schema=ORDERS, operators=MOB)
    pending = Matcher(operators=MOB)
    pending["b"] = rule
    for matcher in (without, pending):
        with pytest.raises(RuleError, match="an order of its own"):
            matcher.use_schema(ORDERS)
        del matcher["b"]
        matcher.use_schema(ORDERS)


def test_what_asks_for_no_order_of_the_schema_is_free() -> None:
    rules = dict(enumerate(BY_NO_ORDER))
    m = Matcher(rules, schema=ORDERS)
    event = {"cond": "good", "price": 4, "category": "dining table", "kind": "lamp"}
    assert sorted(m.match(event)) == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]
    assert [evaluate(parse(rule), event, schema=ORDERS) for rule in BY_NO_ORDER].count(True) == 10
    for rule_id in rules:
        m[rule_id] = rules[rule_id]
    assert sorted(m.match(event)) == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]


def test_written_out_an_order_of_the_schema_holds() -> None:
    m = Matcher({"at least good": ORDERS.spell_out("cond >= 'good'")}, schema=ORDERS)
    found = [len(m.match({"cond": value})) for value in ("poor", "good", "mint")]
    assert found == [0, 1, 1]
