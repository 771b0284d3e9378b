"""The quick way gives what the parser gives that reads token by token, or leaves the rule to it."""

import random
import re

import pytest

from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.audiences import Audiences
from matchwood.language import RuleError
from matchwood.language.text import fast_path, parser
from matchwood.language.text.fast_path import simple_predicate, simple_rule

VOCABULARY = """
and or xor xnor not AND Or NOT ( ) ( ) and or and or
a b.c b . c vip in is null between like true false date timestamp `q`
a=1 a!=-2.5 a<>'x' a<='it''s' b.c>1e3 a==.5 a=1. a=-0 a=01 a=1e999 a='
a|in|(1,|2) a|not|in|('x') a|IN|(1) a|in|(1,'x') a|in|()
a|between|1|and|2 a|not|between|'a'|and|'b' a|BETWEEN|1|AND|2 a|between|1|AND|'x'
a|like|'x%' a|not|ilike|'_' a|rlike|'(' a|LIKE|'\\x' a|is|null a|is|not|null a|IS|NOT|NULL
true=1 not|in|(1) and|in|(1) null=1 date=1 date|'2026-01-31' a=date|'2026-01-31'
f(a,1) f(b.c,|'x') contains|(|a|,|1|) startswith(a,1) b.c(a,1) f(true,1) in_network(a,'x')
not(a,1) 1=a a=b 1=1 ?x=1 (1+?x)=2 f(a) -- , ' " ; é=1 a=é
"""
PIECES = VOCABULARY.split()


def token_by_token(rule: str, monkeypatch: pytest.MonkeyPatch) -> object:
    with monkeypatch.context() as patch:
        patch.setattr(parser, "_OPERAND", re.compile("(?!)"))
        try:
            return parser.parse_canonical(rule)
        except RuleError as error:
            return str(error)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_tokens_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    simple = 0
    for _ in range(3_000):
        pieces = chance.choices(PIECES, k=chance.randint(1, 9))
        if chance.random() < 0.7:  # operands and connectives in turn, so that many are rules
            operands = [p for p in pieces if "=" in p or "|" in p] or ["a=1"]
            words = chance.choices(("and", "or", "xor", "xnor", "OR", "and not"), k=len(operands))
            pieces = [p for pair in zip(operands, words, strict=True) for p in pair][:-1]
        space = chance.choice((" ", "  ", "\n", "\t "))
        rule = space.join(pieces).replace("|", space)
        tree = simple_rule(rule)
        if tree is not None:
            simple += 1
            assert tree == token_by_token(rule, monkeypatch), rule
        expected = token_by_token(rule, monkeypatch)
        try:
            found: object = parser.parse_text(rule)
        except RuleError as error:
            found = str(error)
        assert found == expected, rule
    assert simple > 300


def test_large_sets_go_the_quick_way() -> None:
    assert None not in map(simple_rule, AbeGen(rules=1_000).texts())
    audiences = [simple_rule(rule) for rule in Audiences(rules=200).texts()]
    assert audiences.count(None) < 100


@pytest.mark.parametrize("depth", [199, 200, 201])
def test_limits_are_said_by_the_parser(depth: int) -> None:
    rule = "(" * depth + "a = 1" + ")" * depth
    if depth <= 200:
        assert simple_rule(rule) == parser.parse_text("a = 1")
        return
    assert simple_rule(rule) is None
    with pytest.raises(RuleError, match="at most 200 levels") as caught:
        parser.parse_text(rule)
    assert caught.value.column == 201


def test_equal_predicates_are_one_object() -> None:
    assert simple_predicate("age >= 18") is simple_predicate("age >= 18")
    long = f"a = '{'x' * 300}'"
    assert simple_predicate(long) is not simple_predicate(long)


def test_predicates_that_come_again_stay_and_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path, "_MAX_INTERNED", 100)
    fast_path.forget()
    again = simple_predicate("again = 1")
    for number in range(1_000):
        assert simple_predicate(f"once = {number}") is not None
        if number % 50 == 0:
            assert simple_predicate("again = 1") is again
        assert len(fast_path._interned) + len(fast_path._older) <= 200
    fast_path.forget()
    assert not fast_path._interned
    assert not fast_path._older
    assert simple_predicate("again = 1") == again
