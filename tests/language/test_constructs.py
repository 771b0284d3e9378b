"""Tests of truth, elements, `*`, lower case, thresholds, named lists and sums: what they mean."""

import json

import pytest

from matchwood import Matcher, RuleError, attr, parse
from matchwood.language import at_least, evaluate, from_json, it, to_json
from matchwood.language.named_lists import NamedList

ORDERS = {"items": [{"price": 11, "sku": "y"}, {"price": 3, "sku": "x"}]}
MEANINGS = [
    ("(a or b) is not true", {}, True),
    ("(a > 1) is unknown", {"a": "x"}, True),
    ("vip is false", {"vip": False}, True),
    ("vip is false", {}, False),
    ("any(items, price > 10 and sku = 'x')", ORDERS, False),
    ("items.price > 10 and items.sku = 'x'", ORDERS, True),
    ("any(items, price > 10)", {"items": {"price": 11}}, True),
    ("every(s, it > 3)", {"s": 5}, True),
    ("any(s, it > 3)", {"s": []}, False),
    ("any(s, it.x = 1)", {"s": [{"x": 1}]}, None),
    ("any(s, it.x = 1)", {"s": [{"it": {"x": 1}}]}, True),
    ("within_box = 5 and startswith = 1", {"within_box": 5, "startswith": 1}, True),
    ("a + b > 1", {"a": float("inf"), "b": 1}, None),
    ("a > b", {"a": float("inf"), "b": 1}, True),
    ("every(s, it > 3)", {"s": []}, True),
    ("any(s, it > 3)", {"s": None}, None),
    ("any(s, it > 3)", {"s": [None, 1]}, None),
    ("every(s, it > 3)", {"s": [None, 1]}, False),
    ("any(orders.items, p = 2)", {"orders": [{"items": [{"p": 1}]}, {"items": [{"p": 2}]}]}, True),
    ("any(m, any(it, it = 3))", {"m": [[1, 2], [3]]}, True),
    ("* = 42", {"a": {"b": [[42, None]]}}, True),
    ("* = 42", {"a": None}, None),
    ("any(s, * = 1)", {"s": [{"x": [{"y": 1}]}]}, True),
    ("lower(a) = 'x\u00e9i'", {"a": "X\u00c9\u0130"}, True),
    ("lower(a) = lower(b)", {"a": "Ab", "b": "aB"}, True),
    ("lower(a) != lower(b)", {"a": "Ab", "b": "aB"}, False),
    ("lower(a) != b", {"a": "Ab", "b": "x"}, True),
    ("lower(a) <= lower(b)", {"a": "B", "b": "a"}, False),
    ("lower(a) != 'x'", {"a": "X"}, False),
    ("lower(a) not in ('x', 1)", {"a": "Y"}, True),
    ("lower(a) not like 'x%'", {"a": "Y"}, True),
    ("* != 3", {"a": [4, "x"]}, True),
    ("a + b != 3", {"a": 1, "b": 2}, False),
    ("lower(a) = 'x'", {"a": 5}, None),
    ("at_least(2, a, b, c)", {"a": True, "b": True}, True),
    ("at_least(2, a, b, c)", {"a": False, "b": False}, False),
    ("at_least(2, a, b, c)", {"a": True, "b": False}, None),
    ("a > 3 * b", {"a": 0.9, "b": 0.3}, False),
    ("a / b > 1", {"a": 1, "b": 0}, None),
    ("a + 1 > 0", {"a": [1]}, None),
    ("a in (1, 'x', date '2026-01-31')", {"a": "2026-01-31"}, True),
    ("a in (1, 'x')", {"a": True}, None),
    ("a in (1, 'x')", {"a": 2}, False),
    ("a not in (1, 'x')", {"a": [2, True]}, True),
    ("p like any ('%.exe', '%.dll')", {"p": "a.dll"}, True),
    ("p like all ('a%', '%.exe')", {"p": "a.dll"}, False),
    ("ip in list 'tor'", {"ip": "1.2.3.4"}, True),
    ("ip not in list 'tor'", {"ip": ["1.2.3.5", 9]}, True),
    ("ip in list 'tor'", {"ip": 9}, None),
]
LISTS = {"tor": NamedList(["1.2.3.4"])}


@pytest.mark.parametrize(("text", "event", "truth"), MEANINGS)
def test_meaning(text, event, truth):
    rule = parse(text)
    assert evaluate(rule, event, lists=LISTS) is truth
    assert parse(str(rule)) == rule
    assert from_json(json.dumps(to_json(rule))) == rule
    matcher = Matcher({1: rule, 2: ~rule, 3: rule.is_unknown()}, lists=LISTS)
    right = [{True: 1, False: 2, None: 3}[truth]]
    assert matcher.match(event) == right
    assert matcher.match_json(json.dumps(event)) == right
    assert matcher.match_batch([event])["rule_id"].to_pylist() == right


def test_python_says_what_text_says():
    built = {
        "(a > 1) is not true": (attr("a") > 1).is_not_true(),
        "p ilike any ('%.exe', '%.dll')": attr("p").ilike_any("%.exe", "%.dll"),
        "any(items, price > 10)": attr("items").any(attr("price") > 10),
        "every(s, it > 0)": attr("s").every(it > 0),
        "* ilike '%x%'": attr("*").ilike("%x%"),
        "(* = true) is not true": attr("*").eq(True).is_not_true(),
        "lower(a) = lower(b)": attr("a").lower() == attr("b").lower(),
        "at_least(2, a, b > 1, true)": at_least(2, attr("a"), attr("b") > 1, True),
        "ip in list 'tor'": attr("ip").in_list("tor"),
        "a > 3 * b": attr("a") > 3 * attr("b"),
    }
    for text, rule in built.items():
        assert rule == parse(text)
        assert str(rule) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a not like any ('x')", "not (a like any (…)) or not (a like all (…))"),
        ("a > 1 is true", "expected 'and'"),
        ("* is null", "never null"),
        ("5 = *", "stands on the left"),
        ("at_least(0, a)", "from 1 to 1"),
        ("at_least(3, a, b)", "from 1 to 2"),
        ("lower(a, 'x')", "expected ')'"),
        ("any(a, f(b, ?n))", "variables cannot be used inside"),
        ("a + 1 > 'x'", "compared with a number"),
    ],
)
def test_refused(text, reason):
    with pytest.raises(RuleError, match=r".") as caught:
        parse(text)
    assert reason in str(caught.value)


def test_the_element_stands_only_inside():
    with pytest.raises(RuleError, match="use it inside any"):
        parse(it > 3)
    assert parse("it = 3") == parse("`it` = 3")


def test_named_lists():
    matcher = Matcher()
    with pytest.raises(RuleError, match="no list is named 'tor'"):
        matcher["exit"] = "ip in list 'tor'"
    matcher.lists["tor"] = ["1.2.3.4"]
    matcher["exit"] = "ip in list 'tor'"
    matcher["safe"] = "any(ips, it not in list 'tor')"
    matcher.compact()
    assert matcher.match({"ip": "1.2.3.4", "ips": ["1.2.3.4"]}) == ["exit"]
    matcher.lists["tor"] = ["5.6.7.8"]
    assert matcher.match({"ip": "1.2.3.4", "ips": ["1.2.3.4"]}) == ["safe"]
    with pytest.raises(RuleError, match="named by the rule"):
        del matcher.lists["tor"]
    matcher.clear()
    del matcher.lists["tor"]
    assert not matcher.lists


def test_files_and_copies_keep_what_lists_mean(tmp_path):
    matcher = Matcher({1: "ip in list 'tor' or * = 3"}, lists=LISTS)
    matcher.save(tmp_path / "rules.mw")
    assert Matcher.load(tmp_path / "rules.mw", lists=LISTS).match({"ip": "1.2.3.4"}) == [1]
    with pytest.raises(RuleError, match="no list is named"):
        Matcher.load(tmp_path / "rules.mw")
