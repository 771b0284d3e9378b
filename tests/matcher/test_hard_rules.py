"""Extreme rules and events: huge, equal, trivial, deep, and values that no rule mentions."""

import random
from decimal import Decimal

import pytest

from matcher.expected import STRATEGIES, assert_right, batches, expected, singles
from matchwood import Matcher

TERMS = 1000


def chain(operator, terms=TERMS):
    return f" {operator} ".join(f"a{i} = {i % 3}" for i in range(terms))


def alternating(terms=TERMS):
    words = " ".join(f"a{i} = {i % 3} {('xor', 'xnor')[i % 2]}" for i in range(terms - 1))
    return f"{words} a{terms - 1} = 1"


def chain_events(seed=1, terms=TERMS):
    some = random.Random(seed)
    full = [{f"a{i}": i % 3 for i in range(terms)}]
    full += [{f"a{i}": some.randrange(3) for i in range(terms)} for _ in range(4)]
    flipped = [full[0] | {f"a{some.randrange(terms)}": 7} for _ in range(4)]
    short = [{k: v for k, v in full[1].items() if k != f"a{terms // 2}"}, {}, {"a5": 2}]
    lists = [full[0] | {"a3": [0, 5], "a4": []}]
    return [*full, *flipped, *short, *lists]


@pytest.mark.parametrize("operator", ["and", "or", "xor", "xnor"])
def test_long_chains(operator):
    rules = {
        1: chain(operator),
        2: f"not ({chain(operator)})",
        3: chain(operator, 999),
        4: f"b = 1 and ({chain(operator)})",
        5: f"b is null xor ({chain(operator, 64)})",
    }
    assert assert_right(Matcher(rules), rules, chain_events())


def test_chains_that_change_between_xor_and_xnor():
    rules = {1: alternating(), 2: f"not ({alternating()})", 3: alternating(77)}
    assert_right(Matcher(rules), rules, chain_events())


def test_a_chain_of_xor_has_few_nodes_and_levels():
    stats = Matcher({1: chain("xor")}).stats()
    assert stats.nodes < 20 * TERMS
    assert stats.levels < 60


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["and", "or"])
def test_chains_of_patterns_and_comparisons(operator):
    patterns = f" {operator} ".join(f"a like '%{i}%'" for i in range(500))
    comparisons = f" {operator} ".join(f"a{i} < a{i + 1}" for i in range(200))
    rules = {1: patterns, 2: f"not ({patterns})", 3: comparisons, 4: f"not ({comparisons})"}
    events = [
        {"a": " ".join(map(str, range(500)))},
        {"a": "x"},
        {"a": "x7"},
        {f"a{i}": i for i in range(201)},
        {f"a{i}": i for i in range(201)} | {"a100": 0},
        {},
    ]
    assert_right(Matcher(rules), rules, events)


def test_nested_as_deep_as_the_language_allows():
    rules = {}
    for depth in (10, 100, 190):
        text = "a = 0"
        for level in range(depth):
            text = f"b{level % 7} = {level % 3} {('and', 'or', 'xor')[level % 3]} ({text})"
        rules[depth] = text
        rules[-depth] = "not " * depth + "a = 0"
    some = random.Random(2)
    events = [{f"b{i}": some.randrange(4) for i in range(7)} | {"a": 0} for _ in range(40)]
    assert_right(Matcher(rules), rules, events)


def test_a_list_of_ten_thousand_values():
    values = ", ".join(str(3 * i) for i in range(10_000))
    names = ", ".join(f"'n{7 * i}'" for i in range(10_000))
    rules = {
        1: f"a in ({values})",
        2: f"a not in ({values})",
        3: f"a in ({values}) and b = 1",
        4: f"n in ({names}) or a = 2",
        5: f"b = 1 and n not in ({names})",
    }
    events = [{"a": value, "b": 1} for value in (-1, 0, 1, 2, 3, 14_999, 15_000, 29_997, 30_000)]
    events += [{"a": [1, 2]}, {"a": [1, 3]}, {"a": [], "b": 1}, {"a": "3"}, {}]
    events += [{"n": f"n{i}", "b": [1, 2]} for i in (0, 1, 7, 69_993, 70_000)]
    assert_right(Matcher(rules), rules, events)


def test_every_predicate_on_one_attribute():
    """20,000 distinct predicates, so that an event's one value is stabbed for among them all."""
    some = random.Random(3)
    forms = ["a = {0}", "a < {0}", "a >= {0}", "a != {0}"]
    forms += ["a between {0} and {1}", "a in ({0}, {1})"]
    rules = {
        number: forms[number % 6].format(number, number + some.randrange(5000))
        for number in range(20_000)
    }
    rules |= {-1: "a is null", -2: "a is not null", -3: "a = 'x'"}
    matcher = Matcher(rules)
    assert matcher.stats().predicates > 19_000
    events = [{"a": value} for value in (-1, 0, 5, 10_000.5, 19_999, 10**6, "x", None, [3, 9_999])]
    assert_right(matcher, rules, events)


def test_all_rules_equal():
    texts = ["a = 1 and b != 2", "b != 2 and a = 1", "not (a != 1 or b = 2)"]
    texts += ["(a = 1) and not b = 2"]
    rules = {number: texts[number % 4] for number in range(5000)}
    matcher = Matcher(rules)
    assert matcher.stats().nodes <= 3
    assert matcher.count({"a": 1, "b": 1}) == 5000
    events = [{"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": 2}, {"a": [1], "b": []}]
    assert_right(matcher, rules, events)


def test_no_two_predicates_equal():
    rules = {n: f"a{n % 50} = {n} or b{n % 50} > {n} and c{n % 50} != {n}" for n in range(2000)}
    events = [
        {f"{name}{i}": i + 50 * k for name in "abc" for i in range(50)} for k in (0, 1, 20, 40)
    ]
    matcher = Matcher(rules)
    assert matcher.stats().predicates == 6000
    assert assert_right(matcher, rules, events)


def test_rules_that_are_always_or_never_true():
    texts = [
        "true", "false", "not false", "true and true", "a = 1 or true", "a = 1 and false",
        "true xor true", "true xnor false", "a is null or a is not null", "a is null xor a is null",
        "a = 1 and a != 1", "a = 1 or a != 1", "a between 3 and 1", "a not between 3 and 1",
        "not (a between 3 and 1)", "a < 1 and a > 2", "a in (1) xnor a in (1)", "a = 1 xor true",
    ]  # fmt: skip
    rules = dict(enumerate(texts))
    values = [1, 2, None, [], [1, 2], "x", [0, 3]]
    events = [{}, *({"a": value} for value in values)]
    right = assert_right(Matcher(rules), rules, events)
    always = {rule for event, rule in right if event == 0}
    assert {0, 2, 3, 4, 8} <= always
    for number, text in rules.items():  # and each alone in its matcher
        assert_right(Matcher({number: text}), {number: text}, events)


def test_attributes_that_no_rule_names_and_events_with_none():
    rules = {1: "a = 1", 2: "b is null", 3: "not c = 1"}
    events = [{}, {"x": 1, "y": [1], "z": {"q": 1}}, {"x" * 1000: "y" * 1000, "a": 1}]
    assert_right(Matcher(rules), rules, events)
    assert Matcher().match({}) == []
    assert Matcher().match({"a": 1}) == []
    assert Matcher({1: "false"}).match({"a": 1}) == []


def test_numbers_beyond_doubles():
    near = [2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, 2**63, 2**63 + 1, 10**30, 10**30 + 1]
    ops = ("=", "<", "<=", ">", ">=", "!=")
    rules = {f"{op} {n}": f"a {op} {n}" for op in ops for n in near}
    rules |= {f"{op} {n}": f"a {op} {n}" for op in ops for n in ("0.1", "1e-30", "1e400", "-1e400")}
    values = [*near, *map(float, near), *(Decimal(n) + Decimal("0.5") for n in near[:3])]
    values += [0.1, Decimal("0.1"), 0.1 + 1e-17, Decimal("1e-30"), 10**400, -(10**400)]
    values += [float("inf"), float("-inf"), Decimal("1e999999"), 10**4000]
    events = [{"a": value} for value in values]
    events += [{"a": [left, right]} for left, right in zip(values, values[3:], strict=False)]
    assert_right(Matcher(rules), rules, events)


def test_strings_of_every_sort():
    texts = ["", " ", "a", "A", "ä", "ａ", "ß", "ẞ", "ſ", "K", "\u212a", "😀", "\ud7ff", "\ue000"]
    texts += ["\U0010ffff", "\x00", "a\x00", "a\n", "e\u0301", "é", "%", "_", "\\"]
    rules = {}
    for text in texts:
        literal = text.replace("'", "''")
        pattern = literal.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        for name, rule in {
            "eq": f"a = '{literal}'",
            "less": f"a < '{literal}'",
            "like": f"a like '{pattern}%'",
            "ilike": f"a ilike '%{pattern}'",
            "starts": f"startswith(a, '{literal}')",
            "ends": f"not endswith(a, '{literal}')",
            "holds": f"contains(a, '{literal}')",
        }.items():
            rules[f"{name} {text}"] = rule
    longer = [*(text + "x" for text in texts), *("x" + text for text in texts)]
    events = [{"a": text} for text in [*texts, *longer]]
    assert_right(Matcher(rules), rules, events)
    assert_right(Matcher(rules), rules, [{"a": texts[:5]}, {"a": [t + "x" for t in texts]}])


def test_lists_meet_ranges_value_by_value():
    """`a >= 3 and a <= 5` is true of [1, 20]; `a between 3 and 5` is not."""
    rules = {
        "pair": "a >= 3 and a <= 5",
        "range": "a between 3 and 5",
        "not pair": "not (a >= 3 and a <= 5)",
        "not range": "a not between 3 and 5",
        "none": "a != 3 and a != 5",
        "in": "a in (3, 5)",
        "not in": "a not in (3, 5)",
        "families": "a = 3 and a = 'x'",
        "time": "a >= date '2026-01-01' or a = 'x'",
    }
    events = [{"a": a} for a in ([1, 20], [4], [], [3, 5], [1, 2], [None], ["x", 3], [[3]], [{}])]
    events += [{"a": ["2026-01-02", 3]}, {"a": ("x",)}, {"a": {3}}, {"a": frozenset([4])}]
    assert_right(Matcher(rules), rules, events)


def test_objects_and_lists_of_objects():
    rules = {
        1: "items.price < 5", 2: "not (items.price < 5)", 3: "items.price is null",
        4: "items is null", 5: "items.tags = 'x'", 6: "items.price = items.price",
        7: "items.x.y = 1",
    }  # fmt: skip
    events = [
        {"items": [{"price": 3}, {"price": 9}]},
        {"items": [{"price": None}, {}]},
        {"items": [1, {"price": 9}, "x"]},
        {"items": [{"tags": ["x", "y"]}, {"tags": []}]},
        {"items": {"price": 3, "x": {"y": 1}}},
        {"items": [{"x": {"y": 1}}, {"x": [{"y": 2}]}]},
        {"items": []},
        {"items.price": 3},
    ]
    assert_right(Matcher(rules), rules, events)


def test_calls_are_made_only_when_a_rule_depends_on_them():
    calls = []

    def costly(value):
        calls.append(value)
        return True

    rules = {1: "a = 1 and costly(b)", 2: "a = 2 or costly(b)", 3: "costly(b) and c = 3"}
    matcher = Matcher({1: rules[1], 3: rules[3]}, operators={"costly": costly})
    assert matcher.match({"a": 2, "b": 5}) == []
    assert calls == []
    assert sorted(matcher.match({"a": 1, "b": 5, "c": 3})) == [1, 3]
    assert calls == [5]  # once per event, whatever the number of rules
    both = Matcher(rules, operators={"costly": costly})
    calls.clear()
    assert both.match({"a": 2, "b": 5}) == [2]
    assert calls == []


def test_a_call_that_fails_is_undefined():
    def fragile(value):
        return 1 / value > 0

    rules = {1: "fragile(a) and b = 1", 2: "a is not null", 3: "not fragile(a) or a != 5"}
    matcher = Matcher(rules, operators={"fragile": fragile})
    events = [{"a": 0, "b": 1}, {"a": 2, "b": 1}, {"a": 5, "b": 1}]
    right = {(0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2)}
    assert assert_right(matcher, rules, events, {"fragile": fragile}) == right


def test_many_calls_that_wait_for_each_other():
    """Comparisons nested so that each round of answers asks for more."""

    def nest(depth):
        text = "a0 < b0"
        for i in range(1, depth):
            op = ("and", "or", "xor")[i % 3]
            text = f"(a{i} < b{i} {op} ({text}))"
        return text

    rules = {depth: nest(depth) for depth in range(1, 40)} | {-1: f"not {nest(40)}"}
    rules |= {100 + i: f"a{i} < b{i} and a{i + 1} < b{i + 1} and c = 1" for i in range(38)}
    some = random.Random(4)
    events = [
        {f"{name}{i}": some.randrange(3) for name in "ab" for i in range(40)} | {"c": 1}
        for _ in range(30)
    ]
    events += [{k: v for k, v in e.items() if some.random() < 0.8} for e in events]
    assert_right(Matcher(rules), rules, events)


def test_more_attributes_than_an_event_has():
    rules = {n: f"a{n} = 1 and a{(n + 1) % 3000} is null" for n in range(3000)}
    matcher = Matcher(rules)
    events = [{"a5": 1}, {"a5": 1, "a6": 1}, {f"a{n}": 1 for n in range(3000)}, {}]
    right = expected(rules, events)
    assert singles(matcher, events) == right
    for strategy in STRATEGIES:
        assert batches(matcher, events, strategy) == right


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["and", "or"])
def test_more_operands_than_a_record_holds(operator):
    """A header counts operands in few bits: wider nodes are cut."""
    wide = f" {operator} ".join(f"a{i} = {i % 3}" for i in range(20_000))
    patterns = f" {operator} ".join(f"p not like '%{i}'" for i in range(17_000))
    rules = {1: wide, 2: f"not ({patterns})", 3: "a1 = 1"}
    full = {f"a{i}": i % 3 for i in range(20_000)} | {"p": "x"}
    none = {f"a{i}": 7 for i in range(20_000)} | {"p": ["1", "16999"]}
    events = [full, none, full | {"a19999": 5}, none | {"a19999": 1}, {"p": "16999"}, {"p": []}, {}]
    assert_right(Matcher(rules), rules, events)


@pytest.mark.slow
def test_more_attributes_than_a_word_can_name():
    def rule(number):
        wanted = " and ".join(f"a{10 * number + i} = {i}" for i in range(9))
        return f"{wanted} and a{10 * number + 9} != 2"

    rules = {number: rule(number) for number in range(26_500)}
    matcher = Matcher(rules)
    assert matcher.stats().attributes > 1 << 18
    last = {f"a{264_990 + i}": i for i in range(10)}
    events = [
        last,
        last | {"a264999": 2},
        last | {"a264991": [5, 1]},
        {f"a{i}": i for i in range(10)},
    ]
    named = {number: rules[number] for number in (0, 1, 26_498, 26_499)}
    assert len(assert_right(matcher, named, events)) == 3
