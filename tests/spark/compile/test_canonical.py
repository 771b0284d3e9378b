"""Canonical texts made in bulk are those that the parser and the printer make."""

from hypothesis import given
from hypothesis import strategies as st

from matcher.random_rules import examples, rules
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.audiences import Audiences
from matchwood.language import parse
from matchwood.spark.compile.canonical import canonical_texts

WRITTEN = [
    "(a=1)", "a = 1 AND (b=2 and c = 3)", "(a=1 or b=2) or c=3", "not not (a = 1)", "not(a or b)",
    "a xor b xor c", "a xor b xnor c", "a xnor b xor c", "a xor b xor c xnor d", "a xor (b xor c)",
    "(a xor b) xnor c", "a xnor b xnor c", "(a xnor b) xnor c", "not a in (2, 1, 1)", "TRUE",
    "a between 1 and 2 and b not between 3 and 4", "a > 1 -- said so", "`a b`=0.10", "a == 1e3",
    '{"attr": "age", "op": "<", "value": 13}', "x like 'it''s'", "((((a))))", "a <> 'é'", "a.b.c",
    "a xor b or c xnor d and not e", "(a and b) xor (c or d)", "not (a xor b)", "a\n and\tb",
]  # fmt: skip


def test_written():
    assert canonical_texts(WRITTEN) == [str(parse(rule)) for rule in WRITTEN]


@examples(0.5)
@given(st.lists(rules.map(str), max_size=5), st.booleans())
def test_random(texts, wrapped):
    if wrapped:
        texts = [f"({text}) and not ((x)) or ({text})" for text in texts]
    assert canonical_texts(texts) == [str(parse(text)) for text in texts]


def test_workloads():
    for workload in (Audiences(rules=500), AbeGen(rules=500)):
        texts = workload.texts()
        assert canonical_texts(texts) == [str(parse(text)) for text in texts]


def test_none():
    assert canonical_texts([]) == []
