"""Hostile text and the limits: linear time, no stack to exhaust, each edge on its right side."""

import json
import pickle
import time

import pytest

from matchwood import EventError, Matcher, RuleError, parse
from matchwood.language import evaluate, explain, from_json, to_json
from matchwood.language.events import MAX_DEPTH
from matchwood.language.strings import MAX_PATTERN
from matchwood.language.text.parser import MAX_TEXT
from matchwood.language.tree import MAX_LEVELS, MAX_NODES, And, Comparison, Constant, Not, Or
from matchwood.language.tree.arithmetic import MAX_TERMS

MIB = 1 << 20

# What is repeated, with what stands before and after it.
REPEATED = [
    ("", "(", ""),
    ("", ")", ""),
    ("", "( ", ""),
    ("", "not ", ""),
    ("", "not(", ""),
    ("", "a=1 and ", "a=1"),
    ("", "a or ", "a"),
    ("", "a xor b xnor ", "a"),
    ("", "(a) and ", "a"),
    ("", "a=1 and ", ""),
    ("", "a = 'x' and ", "a = 'x"),
    ("", "-- ", ""),
    ("", "-- x\n", ""),
    ("a ", "--\n", "= 1"),
    ("", "-", ""),
    ("", " ", ""),
    ("a", " ", "= 1"),
    ("", "\n", "?"),
    ("", "\xa0", ""),
    ("", "'", ""),
    ("", "'' ", ""),
    ("a = '", "x", "'"),
    ("a = '", "''", "'"),
    ("a = '", "😀", "'"),
    ("", "`", ""),
    ("`", "x", "`"),
    ("", '"', ""),
    ("", "1", ""),
    ("a = ", "1", ""),
    ("a = 1e", "1", ""),
    ("a = .", "1", ""),
    ("", "1 ", ""),
    ("", "?x + ", ""),
    ("", "((?x+", ""),
    ("", "(1+", ""),
    ("", "((1) ", ""),
    ("(" * 150 + "?x", "+?x", ""),
    ("", "?x*-", ""),
    ("", "a.", ""),
    ("", "a.", "a"),
    ("", "a . ", "a"),
    ("", "a=", ""),
    ("", "a ", ""),
    ("", "x", ""),
    ("a in (", "1,", "1)"),
    ("a in (", "'x', ", "5)"),
    ("a in (", "1,", ""),
    ("", "a in (1) and ", "a in (1, 'x')"),
    ("a like '", "%a_", "'"),
    ("a rlike '", "(a|b)*", "'"),
    ("a rlike '", "x{1000}", "'"),
    ("", "a in (1 ", ""),
    ("", "a between 1 and ", ""),
    ("", "a is not ", ""),
    ("a = 1", " ", ""),
    ("", "f(a, ", ""),
    ("f(", "a,", "a)"),
    ("", "f(", ""),
    ("", "f(a) and ", "f(a)"),
    ("(" * 200, " ", "a"),
    ("(" * 200, "--\n", "a"),
    ("", "{", ""),
    ("", '{"not":', ""),
    ("", '{"and":[', ""),
    ('{"and":[', "true,", "5]}"),
    ('{"and":[' * 150 + '{"and":[', "true,", "5]}" + ",true]}" * 150),
    ('{"not":' * 190 + '{"and":[', "true, ", "5]}" + "}" * 190),
    ('{"a":"', "x", '"}'),
    ('{"attr":"a","op":"=","value":', "1", "}"),
]


def seconds(text):
    start = time.process_time()
    try:
        parse(text)
    except RuleError as error:
        str(error)
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "unit", "after"), [pytest.param(*case, id=repr(case)[:40]) for case in REPEATED]
)
def test_time_is_linear(before, unit, after):
    """Eight times the text takes about eight times as long: seconds at most for 1 MiB."""

    def text(size):
        count = (size - len((before + after).encode())) // len(unit.encode())
        return before + unit * count + after

    for _ in range(5):  # another process may have slowed one of the two down
        large = seconds(text(MIB // 4))
        small = min(seconds(text(MIB // 32)) for _ in range(3)) if large > 0.1 else large
        if large < 24 * small + 0.1:  # 64 where time is quadratic
            break
    else:
        pytest.fail(f"{large:.2f} s, and {small:.4f} s for an eighth of the text")
    assert large < 5


@pytest.mark.parametrize("word", ["and", "or", "xor", "xnor"])
def test_a_long_chain_is_an_ordinary_rule(word):
    tree = parse(f" {word} ".join(["a = 1"] * 1000))
    assert (tree.size, tree.levels, len(tree.operands)) == (1001, 0, 1000)
    check_ordinary(tree)


def test_a_chain_that_alternates_is_an_ordinary_rule():
    for count in (1000, 1001, 1002, 1003):
        words = [("xor", "xnor")[i % 2] for i in range(count - 1)]
        tree = parse("a = 1" + "".join(f" {word} a = 1" for word in words))
        assert tree.size <= count + 2
        assert tree.levels == 0
        check_ordinary(tree)
        xnors = words.count("xnor")
        assert evaluate(tree, {"a": 1}) is ((count + xnors) % 2 == 1)


def check_ordinary(tree):
    assert parse(str(tree)) == tree
    assert from_json(json.dumps(to_json(tree))) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(tree) == hash(parse(str(tree)))
    assert evaluate(tree, {"a": 1}) is not None
    assert evaluate(tree, {}) is None
    assert len(str(explain(tree, {"a": 1}))) < 100_000


def test_chains_of_every_operator_at_every_level():
    text = "a or b"
    for _ in range(MAX_LEVELS):
        text = f"a or b xor c xnor d and ({text})"
    tree = parse(text)
    assert tree.levels == MAX_LEVELS
    assert parse(str(tree)) == tree
    assert from_json(to_json(tree)) == tree
    assert evaluate(tree, {"a": False, "b": True, "c": True, "d": True}) is not None


# The limits: exactly at each, and one over


def refused(rule):
    with pytest.raises(RuleError) as caught:
        parse(rule)
    assert caught.value.line is not None
    return caught.value.reason


def test_text():
    assert MAX_TEXT == MIB
    assert parse("a" + " " * (MIB - 1)) == parse("a")
    assert refused("a" + " " * MIB) == "a rule has at most 1,048,576 bytes of text"
    # bytes, not characters
    assert parse("a = '" + "é" * (MIB // 2 - 3) + "'").value == "é" * (MIB // 2 - 3)
    assert "1,048,576 bytes" in refused("a = '" + "é" * (MIB // 2 - 2) + "'")
    assert "1,048,576 bytes" in refused('{"a": 1}' + " " * MIB)


def test_nodes():
    assert MAX_NODES == 200_000
    leaf = Constant(True)
    assert And([leaf] * (MAX_NODES - 1)).size == MAX_NODES
    with pytest.raises(RuleError, match="at most 200,000 nodes"):
        And([leaf] * MAX_NODES)
    assert parse(" or ".join(["a"] * (MAX_NODES - 1))).size == MAX_NODES
    assert refused(" or ".join(["a"] * MAX_NODES)) == "a rule has at most 200,000 nodes"
    assert from_json({"or": [True] * (MAX_NODES - 1)}).size == MAX_NODES
    with pytest.raises(RuleError, match="at most 200,000 nodes"):
        from_json({"or": [True] * MAX_NODES})


def test_a_tree_with_more_text_than_a_rule_may_have_is_still_pickled():
    tree = Or([Comparison("a long attribute", "=", n) for n in range(40_000)])
    assert len(str(tree)) > MIB
    assert pickle.loads(pickle.dumps(tree)) == tree


@pytest.mark.parametrize(
    ("before", "after"),
    [("(", ")"), ("not ", ""), ("(b or not ", ")"), ("not (b or ", ")"), ("(b and ", ")")],
)
def test_levels(before, after):
    each = before.count("(") + before.count("not")
    at_limit = before * (MAX_LEVELS // each) + "a" + after * (MAX_LEVELS // each)
    tree = parse(at_limit)
    assert parse(str(tree)) == tree
    assert from_json(to_json(tree)) == tree
    assert evaluate(tree, {"a": True, "b": True}) in (True, False)
    reason = "a rule has at most 200 levels of parentheses and 'not's"
    assert refused(before + at_limit + after) == reason


def test_levels_of_trees_that_are_not_text():
    tree = Constant(True)
    form = True
    for _ in range(MAX_LEVELS):
        tree, form = Not(tree), {"not": form}
    assert from_json(form) == tree == parse(str(tree)) == from_json(json.dumps(form))
    with pytest.raises(RuleError, match="at most 200 levels"):
        Not(tree)
    with pytest.raises(RuleError, match="at most 200 levels"):
        from_json({"not": form})


def test_digits():
    for digits in ("1" * 400, "0." + "1" * 399, "1" * 200 + "." + "1" * 200):
        tree = parse(f"a = {digits}")
        assert parse(str(tree)) == tree
        assert from_json(json.dumps(to_json(tree))) == tree
        assert parse(f"a = -{digits}") != tree
        assert refused(f"a = {digits}1") == "a number has at most 400 digits"
        reason = refused(f'{{"attr": "a", "op": "=", "value": {digits}1}}')
        assert reason == "a number has at most 400 digits"


def test_exponents():
    for number in ("1e400", "1e-400", "-1e400", "9.99e400", "1" * 400 + "e400"):
        tree = parse(f"a = {number}")
        assert parse(str(tree)) == tree
        assert from_json(json.dumps(to_json(tree))) == tree
    for number in ("1e401", "1e-401", "0e401", "1e99999999999999999999"):
        assert refused(f"a = {number}") == "the exponent of a number lies within ±400"


def test_sums():
    tree = parse("?x < " + " + ".join(["?x"] * MAX_TERMS))
    assert parse(str(tree)) == tree
    assert from_json(json.dumps(to_json(tree))) == tree
    reason = f"a sum has at most {MAX_TERMS} terms"
    assert refused("?x < " + " + ".join(["?x"] * (MAX_TERMS + 1))) == reason
    deep = "?x < " + "(" * MAX_LEVELS + "?x" + ")" * MAX_LEVELS
    assert parse(deep) == parse("?x < ?x")
    assert "levels of parentheses" in refused(deep.replace("(?x)", "((?x))"))


def test_patterns():
    assert parse(f"a rlike '{'x' * MAX_PATTERN}'").size == 1
    assert "at most 32,768 characters" in refused(f"a rlike '{'x' * (MAX_PATTERN + 1)}'")


def test_expressions_that_take_long_to_compile_are_refused_and_compiled_once(monkeypatch):
    import re2

    compiled = []
    compile_ = re2.compile
    monkeypatch.setattr(
        re2, "compile", lambda *given: (compiled.append(given), compile_(*given))[1]
    )
    for n in (200, 999):
        text = f"a rlike '\\pL{{{n}}}hostile'"
        for _ in range(3):
            assert "too large" in refused(text)
    assert len(compiled) == 2
    for pattern in (r"\pL{30}hostile", r"\w{999}hostile", r"\pL+hostile", r".{999}hostile"):
        assert evaluate(parse(f"a rlike '{pattern}'"), {"a": "é" * 40}) is False
    assert len(compiled) == 10  # each to be checked, and with more memory to search


def test_depth_of_events():
    event = value = {}
    for _ in range(MAX_DEPTH - 1):
        value["a"] = value = {}
    assert evaluate(parse("a is null"), event) is False
    value["a"] = {}
    with pytest.raises(EventError, match="nest at most 100 deep"):
        evaluate(parse("a is null"), event)


@pytest.mark.slow
def test_parts_that_are_shared_grow_no_further_than_the_limits(monkeypatch):
    monkeypatch.setattr("matchwood.language.events.MAX_VALUES", 10_000)
    event = {"x": 1}
    for _ in range(60):
        event = {"a": event, "b": event}
    with pytest.raises(EventError, match="at most 10,000 values"):
        evaluate(parse("a is null"), event)
    form = True
    for _ in range(40):
        form = {"and": [form, form]}
    with pytest.raises(RuleError, match="at most 200,000 nodes"):
        from_json(form)


def test_many_large_expressions_take_as_long_as_those_that_are_accepted():
    """Repetitions of a class of a thousand steps, most of which RE2 would take long to compile."""

    def seconds(work):
        started = time.process_time()
        work()
        return time.process_time() - started

    repetitions = range(1, 201, 10)
    rules = {n: rf"a rlike '\pL{{{n}}}z{n}'" for n in repetitions}
    longest = min(seconds(lambda n=n: parse(rf"a rlike '\pL{{30}}y{n}'")) for n in range(3))
    matcher, refused = Matcher(), []
    took = seconds(
        lambda: refused.extend(matcher.update(rules, errors="collect")) or matcher.join()
    )
    assert sorted(rule_id for rule_id, _ in refused) == [n for n in repetitions if n > 35]
    assert matcher.match({"a": "é" * 40 + "z11"}) == [1, 11]
    # each is read, compiled, and put into a set with others
    assert took < 4 * len(rules) * longest
