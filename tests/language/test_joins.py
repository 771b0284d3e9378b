"""Variables: what binds them, what joins them, and where they may not stand."""

import random
from fractions import Fraction
from itertools import product

import pytest

from matchwood import RuleError, parse
from matchwood.language import evaluate, explain
from matchwood.language.bindings import MAX_ROWS, AnswerError, rows_of
from matchwood.language.evaluation import bindings
from matchwood.language.joins import joined
from matchwood.language.tree.variables import canonical_call, canonical_join

EDGES = [(1, 2), (2, 3), (3, 3), (3, 1)]
OPERATORS = {
    "mob": lambda image: [64],
    "boats": lambda image: [(5,)],
    "guards": lambda image: [1, 2, 3],
    "edge": lambda: EDGES,
    "none": lambda: [],
    "unknown": lambda: None,
    "odd": lambda: [("x", 1), (None, 2), ([1], 3), (2.5, 4)],
    "when": lambda: ["2026-01-31", "no time"],
}
EVENT = {"image": "a.png", "vip": True, "limit": 60}


@pytest.mark.parametrize(
    ("rule", "truth"),
    [
        ("mob(image, ?people) and ?people > 50", True),
        ("mob(image, ?people) and ?people > 64", False),
        ("mob(image, ?p) and (?p < 5 or not ?p < 64)", True),
        ("mob(image, ?p) and (?p < 5 xor ?p > 7 xnor ?p > 90)", False),
        ("boats(image, ?y) and guards(image, ?z) and ?y > 2 * ?z", True),
        ("boats(image, ?y) and guards(image, ?z) and ?y > 2 * ?z and ?z > 2", False),
        ("mob(image, ?p) and ?p > limit", True),
        ("mob(image, ?p) and ?p > missing", None),
        ("mob(missing, ?p)", None),
        ("edge(?a, ?b) and edge(?b, ?c) and ?a < ?b and ?b < ?c", True),
        ("edge(?a, ?b) and edge(?b, ?a)", True),
        ("edge(?a, ?b) and edge(?b, ?a) and ?a < ?b", False),
        ("edge(?a, ?a) and ?a < 3", False),
        ("mob(image, ?p) and ?p / 3 * 3 = 64", True),
        ("mob(image, ?p) and ?p / (?p - 64) > 1", None),
        ("none(?x)", False),
        ("none(?x) and unknown(?x)", False),
        ("unknown(?x)", None),
        ("not (mob(image, ?p) and ?p > 100)", True),
        ("not unknown(?x)", None),
        ("(mob(image, ?p) and ?p > 100) or (boats(image, ?p) and ?p = 5)", True),
        ("(mob(image, ?p) and vip) and ?p > 3", True),
        ("odd(?x, ?n) and ?x > 1 and ?n = 4", True),
        ("odd(?x, ?n) and ?x > 1 and ?n < 4", None),
        ("odd(?x, ?n) and ?x = 'y'", None),
        ("odd(?x, ?n) and odd(?x, ?m) and ?n != ?m", False),
        ("when(?t) and ?t < timestamp '2026-02-01T00:00:00Z'", True),
        ("when(?t) and ?t > timestamp '2026-02-01T00:00:00Z'", None),
    ],
)
def test_one_substitution_satisfies_all(rule, truth):
    assert evaluate(parse(rule), EVENT, operators=OPERATORS) is truth
    assert explain(parse(rule), EVENT, operators=OPERATORS).truth is truth


@pytest.mark.parametrize(
    ("rule", "column", "reason"),
    [
        ("vip and ?x > 5", 9, "no call binds it in the same 'and'"),
        ("mob(image, ?p) and ?q > 5", 20, r"\?q is compared"),
        ("mob(image, ?p) and (?p > 5 or vip)", 12, "directly under 'or'"),
        ("mob(image, ?p) and not (?p > 5 and vip)", 12, "no call binds it in the same 'and'|two"),
        ("mob(image, ?p) and not boats(image, ?p)", 12, "two conjunctions that meet in an 'and'"),
        ("(mob(i, ?p) or a) and (boats(i, ?p) or b)", 9, "two conjunctions"),
        ("(mob(i, ?p) or a) and boats(i, ?p)", 9, "two conjunctions"),
        ("name = '?p' and (?p > 1 xor mob(i, ?p))", 18, "directly under 'xor'"),
    ],
)
def test_variables_elsewhere_are_refused_with_their_place(rule, column, reason):
    with pytest.raises(RuleError, match=reason) as refused:
        evaluate(parse(rule), EVENT, operators=OPERATORS)
    assert refused.value.column == column
    with pytest.raises(RuleError):
        joined(parse(rule), rule)


def test_conjunctions_that_meet_in_an_or_have_variables_of_their_own():
    rule = parse("(mob(image, ?p) and ?p > 60) and (vip or a) or (boats(image, ?p) and ?p < 2)")
    assert evaluate(rule, EVENT, operators=OPERATORS) is True


def test_bindings_are_what_satisfies_the_rule():
    rule = parse("boats(image, ?y) and guards(image, ?z) and ?y > 2 * ?z")
    found = bindings(rule, EVENT, operators=OPERATORS)
    assert found == [{"y": 5, "z": 1}, {"y": 5, "z": 2}]
    assert bindings(parse("not none(?x) and not mob(image, ?y)"), EVENT, operators=OPERATORS) == []
    many = {"many": lambda: range(500)}
    assert len(bindings(parse("many(?x)"), {}, operators=many)) == 100


def test_a_call_is_made_once_whatever_its_variables_are_called():
    calls = []

    def count(image):
        calls.append(image)
        return [3]

    rule = parse("(count(image, ?a) and ?a > 5) or (count(image, ?b) and ?b > 2)")
    assert evaluate(rule, EVENT, operators={"count": count}) is True
    assert calls == ["a.png"]


def test_calls_are_equal_up_to_the_names_of_their_variables():
    same = [canonical_call(parse(text)) for text in ("p(?a, x, ?b)", "p(?c, x, ?d)")]
    assert same[0] == same[1]
    assert canonical_call(parse("p(?e, x, ?e)")) != same[0]
    texts = ("q(?z) and p(?x) and ?x > 1 and ?x < ?z", "p(?a) and ?a < ?b and q(?b) and ?a > 1")
    first, second = (canonical_join(joined(parse(text))) for text in texts)
    assert first == second
    assert str(first) == "p(?v0) and q(?v1) and ?v0 < ?v1 and ?v0 > 1"


def test_explanations_show_what_was_bound():
    rule = parse("vip and mob(image, ?n) and ?n > 50")
    assert str(explain(rule, EVENT, operators=OPERATORS)).split("\n") == [
        "true       and",
        "true       ├─ vip                         vip: True",
        "true       └─ mob(image, ?n) and ?n > 50  image: 'a.png', ?n: 64",
    ]


def test_rows_however_they_are_given():
    call = parse("p(?x, ?y)")
    assert rows_of([(1, 2), [3, 4]], call) == ((1, 2), (3, 4))
    assert rows_of([{"y": 2, "x": 1}], call, ("x", "y")) == ((1, 2),)
    assert rows_of({"y": 2, "x": 1}, call, ("x", "y")) == ((1, 2),)
    assert rows_of(False, call) == ()
    assert rows_of(None, call) is None
    assert rows_of((n for n in [1]), parse("p(a)")) == ((),)
    assert rows_of(iter([]), parse("p(a)")) == ()
    for wrong in (True, 5, "ab", [1], [(1, 2, 3)], [{"x": 1}], [(1, 2)] * (MAX_ROWS + 1)):
        with pytest.raises(AnswerError):
            rows_of(wrong, call, ("x", "y"))


@pytest.mark.slow
def test_a_join_that_looks_at_too_many_rows_is_undefined():
    many = {"many": lambda: range(2_000)}
    rule = parse("many(?a) and many(?b) and ?a + ?b > 100000")
    assert evaluate(rule, {}, operators=many) is None


def test_joins_are_those_of_all_rows_together():
    """Against every combination of rows, one after the other."""
    some = random.Random(7)
    for _ in range(60):
        tables = {
            name: [(some.randrange(4), some.randrange(4)) for _ in range(some.randrange(5))]
            for name in "pqr"
        }
        operators = {name: (lambda rows=rows: rows) for name, rows in tables.items()}
        names = ["abcd"[some.randrange(4)] for _ in range(6)]
        calls = [f"{table}(?{names[2 * i]}, ?{names[2 * i + 1]})" for i, table in enumerate("pqr")]
        left, right = some.choice(names), some.choice(names)
        text = " and ".join([*calls, f"2 * ?{left} - 1 < ?{right} / 3 + 2"])
        right_answer = False
        for rows in product(*tables.values()):
            values = [value for row in rows for value in row]
            bound = {}
            if all(bound.setdefault(n, v) == v for n, v in zip(names, values, strict=True)):
                right_answer |= 2 * bound[left] - 1 < Fraction(bound[right], 3) + 2
        assert evaluate(parse(text), {}, operators=operators) is right_answer, text
