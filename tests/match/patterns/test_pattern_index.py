"""PatternIndex against `evaluate`: any pattern, any string, any list."""

import threading
from itertools import pairwise
from random import Random
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchwood.language import RuleError, evaluate, parse
from matchwood.language.events import Event
from matchwood.language.strings import fold_case, rlike
from matchwood.language.tree import Call, Like
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.values import Value
from matchwood.match.patterns import pattern_index as patterns
from matchwood.match.patterns.expressions import Expression, ExpressionSet
from matchwood.match.patterns.gram_kernels import (
    MASK,
    choose_checks,
    choose_grams,
    file_grams,
    match_texts,
)
from matchwood.match.patterns.pattern_index import PatternIndex, fold_table
from matchwood.match.patterns.wildcard_kernels import parse_patterns, split_pieces

LETTERS = "abAB.kKK\u0131İßẞσςΣſ\0é\u0301\U0001f600\U00010400\U00010428"
A = Attribute("a")

values = st.text(st.sampled_from(LETTERS), max_size=20)
long_values = st.text(st.sampled_from("ab"), min_size=30, max_size=90)
like_texts = st.lists(
    st.sampled_from([*LETTERS, "%", "%", "_", "\\%", "\\_", "\\\\"]), max_size=14
).map("".join)
long_like_texts = st.lists(st.sampled_from(["a" * 20, "ab" * 9, "%", "b", "_"]), max_size=5).map(
    "".join
)
EXPRESSIONS = [
    "a",
    "^a",
    "b$",
    "a.b",
    "(?i)k",
    "ab|ba",
    "[^a]b",
    "a{2}",
    "(a|b)+k",
    "",
    r"\.",
    "x*",
]
likes = st.builds(
    Like,
    st.just("a"),
    st.sampled_from(["like", "ilike"]),
    st.one_of(like_texts, long_like_texts),
)
tests = st.one_of(
    likes,
    st.builds(Like, st.just("a"), st.just("rlike"), st.sampled_from(EXPRESSIONS)),
    st.builds(lambda part: Call("endswith", (A, part)), values),
    st.builds(
        lambda part: Call("contains", (A, part)),
        st.one_of(values, st.integers(0, 3), st.booleans()),
    ),
)
addresses = st.sampled_from(
    ["10.1.2.3", "10.9.9.9", "11.0.0.1", "fe80::1", "fe80::1%eth0", "2001:db8::1", "010.1.2.3"]
)
strings = st.one_of(values, long_values, addresses)


class Animals:
    """The least schema that answers `isa`."""

    parents = MappingProxyType({"poodle": "dog", "dog": "animal", "cat": "animal"})

    def is_a(self, attribute, value, kind):
        assert attribute == "a"
        while value != kind and value in self.parents:
            value = self.parents[value]
        return value == kind


def expected(nodes, value, schema=None):
    event = Event({"a": value})
    return [i for i, node in enumerate(nodes) if evaluate(node, event, schema=schema) is True]


def numbered(nodes):
    return list(enumerate(nodes))


def split(bounds, numbers):
    return [sorted(numbers[a:b].tolist()) for a, b in pairwise(bounds)]


@settings(max_examples=400, deadline=None)
@given(st.lists(tests, max_size=12), st.lists(strings, max_size=6))
def test_strings_as_evaluate_says(nodes, texts):
    index = PatternIndex(numbered(nodes))
    right = [expected(nodes, text) for text in texts]
    assert split(*index.hits_of_many(texts)) == right
    for _ in range(2):  # the second time from the cache
        assert [sorted(index.hits(text).tolist()) for text in texts] == right


@settings(max_examples=200, deadline=None)
@given(
    st.lists(tests, max_size=12),
    st.lists(st.one_of(strings, st.integers(0, 3), st.booleans(), st.none()), max_size=5),
)
def test_lists_as_evaluate_says(nodes, elements):
    index = PatternIndex(numbered(nodes))
    seen = Event({"a": elements})["a"]
    assert not isinstance(seen, Value)
    assert sorted(index.list_hits(tuple(seen)).tolist()) == expected(nodes, elements)
    texts = [element for element in elements if isinstance(element, str)]
    for _ in range(2):  # the second time from the cache
        assert sorted(index.strings_hits(texts).tolist()) == expected(nodes, texts)


@settings(max_examples=300, deadline=None)
@given(likes, st.one_of(values, long_values))
def test_lone_patterns(node, text):
    assert PatternIndex([(5, node)]).hits(text).tolist() == [5] * len(expected([node], text))


def test_times_in_lists_are_read_from_strings():
    rules = ["contains(a, timestamp '2026-01-31T10:00:00Z')", "contains(a, date '2026-01-31')"]
    index = PatternIndex(numbered(map(parse, rules)))
    for elements, hits in (
        (["2026-01-31T11:00:00+01:00"], [0]),
        (["2026-01-31", "x"], [1]),
        (["2026-01-31 "], []),
    ):
        seen = Event({"a": elements})["a"]
        assert sorted(index.list_hits(tuple(seen)).tolist()) == hits
    assert index.hits("2026-01-31").tolist() == []


def test_every_character_folds_as_the_language_folds():
    every = "".join(chr(i) for i in range(0x110000))
    assert "".join(map(chr, fold_table())) == fold_case(every)


@pytest.mark.slow
def test_ten_thousand_patterns_against_brute_force():
    random = Random(3)
    words = ["".join(random.choices("abcdeABCDE.\\/-", k=random.randint(1, 7))) for _ in range(400)]
    nodes = []
    for _ in range(10_000):
        some = random.choices(words, k=random.randint(1, 3))
        text = random.choice(["", "%", "_"]) + random.choice(["%", "_", "%%"]).join(
            word.replace("\\", "\\\\") for word in some
        ) + random.choice(["", "%", "%", "_"])  # fmt: skip
        nodes.append(
            random.choice(
                [
                    Like("a", "like", text),
                    Like("a", "ilike", text),
                    Call("contains", (A, some[0])),
                    Call("endswith", (A, "".join(some[:2]))),
                ]
            )
        )
    index = PatternIndex(numbered(nodes))
    texts = ["".join(random.choices(words, k=random.randint(1, 12))) for _ in range(40)]
    found = split(*index.hits_of_many(texts))
    assert found == [expected(nodes, text) for text in texts]
    assert sum(map(len, found)) > 1000
    assert index.calls == 40
    assert sum(map(len, found)) <= index.tried < 40 * len(nodes) / 2


def test_numbers_are_the_callers_and_come_once():
    nodes = [Like("a", "like", "%aa%"), Call("contains", (A, "aa")), Call("contains", (A, ""))]
    index = PatternIndex([(40, nodes[0]), (7, nodes[1]), (1000, nodes[2])])
    found = index.hits("aaaa aaaa")
    assert sorted(found.tolist()) == [7, 40, 1000]
    assert found.dtype == np.int32


def test_nothing_to_test():
    index = PatternIndex([])
    assert index.hits("a").tolist() == []
    assert index.list_hits(()).tolist() == []
    bounds, numbers = index.hits_of_many(["a", "b"])
    assert (bounds.tolist(), numbers.tolist()) == ([0, 0, 0], [])
    bounds, numbers = PatternIndex([(0, Like("a", "like", "%b"))]).hits_of_many([])
    assert (bounds.tolist(), numbers.tolist()) == ([0], [])


def test_isa_asks_the_schema():
    nodes = [Call("isa", (A, kind)) for kind in ("animal", "dog", "cat")]
    index = PatternIndex(numbered(nodes), Animals())
    for value in ("poodle", "cat", "stone", ""):
        assert sorted(index.hits(value).tolist()) == expected(nodes, value, Animals())
    seen = Event({"a": ["poodle", "cat", 3]})["a"]
    assert sorted(index.list_hits(tuple(seen)).tolist()) == [0, 1, 2]
    with pytest.raises(RuleError, match="needs a schema"):
        PatternIndex(numbered(nodes))


def test_what_a_string_does_not_decide_is_refused():
    with pytest.raises(RuleError, match="does not decide"):
        PatternIndex([(0, parse("a = 'x'"))]).hits("x")


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(patterns, "VALUES_BUDGET", 4_000)
    index = PatternIndex([(0, Like("a", "like", "%1%"))])
    for _ in range(2):
        assert [index.hits(str(i)).tolist() for i in range(20)] == [
            [0] if "1" in str(i) else [] for i in range(20)
        ]
    assert 0 < len(index._values) < 20
    assert index._values.bytes <= 4_000
    index = PatternIndex([(0, Like("a", "like", "%1%"))])
    index.hits("1" * (patterns.CACHED_LENGTH + 1))
    assert not index._values


def test_threads_build_once_and_agree():
    nodes = [Like("a", "ilike", f"%{i}_x%") for i in range(200)]
    nodes += [Like("a", "rlike", f"[{i % 10}]{i}$") for i in range(100)]
    index = PatternIndex(numbered(nodes))
    texts = [f"{i}yX{i}{i}" for i in range(40)]
    right = [expected(nodes, text) for text in texts]
    answers = []
    threads = [
        threading.Thread(
            target=lambda: answers.append([sorted(index.hits(text).tolist()) for text in texts])
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [right] * 4


def test_scratch_starts_over_when_its_numbers_run_out():
    index = PatternIndex(numbered([Like("a", "like", "%ab_d%"), Like("a", "ilike", "%ab%")]))
    right = [[], [1], [0, 1], [], [0, 1]]
    texts = ["xxab"[:3], "xAb", "abcd", "", "xabbd"]
    index.hits("")
    for spent in range(6):
        (scratch,) = index._parts().texts._idle
        scratch.epoch[0] = MASK - spent
        assert split(*index.hits_of_many(texts)) == right


def test_each_kernel_is_compiled_for_one_type_of_arrays():
    for nodes in ([Like("a", "like", "_%")], [Call("contains", (A, "é")), Like("a", "ilike", "x")]):
        index = PatternIndex(numbered(nodes))
        index.hits("x")
        index.hits_of_many(["", "é"])
        index.hits_of_many([])
    kernels = (parse_patterns, split_pieces, choose_grams, choose_checks, file_grams, match_texts)
    assert all(len(getattr(kernel, "signatures", "1")) == 1 for kernel in kernels)


# Regular expressions

FRAGMENTS = [*"abk.^$|()[]{}*+?-,\\", "(?i)", "(?:", "[^", "[]", "[[:alpha:]]", r"\d", r"\."]
FRAGMENTS += [r"\Qa|b\E", r"\x61", r"\pL", r"\b", "{2}", "{,2}", "{1,}", r"\[", r"[\]]", "ab", "é"]
# Texts that a filter looks for, which must not be shorter.
FRAGMENTS += ["akaba", "KABAK", "ékaba", r"\x{212a}aba", "kaba|", "(kab|bak)a"]
fragments = st.sampled_from(FRAGMENTS)
characters = st.sampled_from("abkAKK.éÉ1|{},2")
strings = st.text(characters, max_size=10)
strings |= st.lists(st.sampled_from(["kab", "aKA", "KABA", "bak", "É", " "]), max_size=5).map(
    "".join
)


@pytest.mark.slow
@settings(max_examples=700, deadline=None)
@given(
    st.lists(st.lists(fragments, max_size=9).map("".join), max_size=5),
    st.lists(strings, max_size=8),
)
def test_expressions_are_found_together_as_each_alone(written, texts):
    nodes = []
    for pattern in written:
        try:
            nodes.append(Like("a", "rlike", pattern))
        except RuleError:
            pass
    together = ExpressionSet([node.pattern for node in nodes])
    for text in texts:
        assert together.found(text) == [
            i for i, node in enumerate(nodes) if Expression(node.pattern).finds(text)
        ]
    index = PatternIndex(numbered(nodes))
    for text in texts:
        assert sorted(index.hits(text).tolist()) == expected(nodes, text)


def test_only_expressions_whose_texts_are_there_are_searched():
    patterns = [
        "invoke-.*",
        r"^C:\\Users\\",
        "(curl|wget) http",
        "(?i)POWERshell",
        "[ab]{2}",
        "a|b",
    ]
    expressions = ExpressionSet(patterns)
    assert expressions._unaided == [4, 5]  # which need no text
    assert expressions.found("PowerShell, curl, wget") == [3]
    assert expressions.tried == 1
    assert expressions.found("xyz") == []
    assert expressions.tried == 1
    assert expressions.found("Invoke-a, wget http://, b") == [2, 5]


def test_a_filter_that_is_too_large_is_divided(monkeypatch):
    monkeypatch.setattr("matchwood.match.patterns.expressions.FILTER_TEXT", 1 << 20)
    patterns = [f"{i * 7919 % 10_007:05}{i:07}{i * 31 % 997:03}abc+$" for i in range(9_000)]
    expressions = ExpressionSet(patterns)
    assert len(expressions._filters) > 1
    for i in (0, 4_321, 8_999):
        assert expressions.found(patterns[i][:-2]) == [i]
        assert expressions.found(patterns[i][:-3]) == []


@pytest.mark.slow
def test_an_expression_that_is_too_large_for_a_filter_is_searched_anyway():
    text = "x" * 30_000
    expressions = ExpressionSet(["needed", "[ab]{4}" + text, "other"])
    assert expressions._unaided == [1]
    assert expressions.found(f"abab{text} needed") == [0, 1]
    assert expressions.found(f"abcb{text}") == []


def test_all_expressions_are_searched_if_their_filter_runs_out_of_memory():
    class Exhausted:
        def __init__(self, whole):
            self.re = whole.re

        def Match(self, text, potential):
            return None

    expressions = ExpressionSet(["needed", "other$"])
    expressions._filters[0]._filter = Exhausted(expressions._filters[0]._filter)
    assert expressions.found("another") == [1]
    assert expressions.tried == 2


def test_a_set_that_runs_out_of_memory_is_asked_one_by_one(monkeypatch):
    monkeypatch.setattr("matchwood.match.patterns.expressions.LEAST_MEMORY", 1 << 12)
    monkeypatch.setattr("matchwood.match.patterns.expressions.SET_MEMORY", 1 << 12)
    expressions = [f"[ab].{{{i}}}[bc]$" for i in range(1, 60)]
    together = ExpressionSet(expressions)
    text = "abc" * 20
    assert sorted(together.found(text)) == [
        i for i, expression in enumerate(expressions) if Expression(expression).finds(text)
    ]


def test_no_expression_hangs():
    nodes = [Like("a", "rlike", "(a+)+$"), Like("a", "rlike", "(a|aa)*b(a|b)*c")]
    nodes.append(Like("a", "like", "%" + "a" * 5000 + "b%"))
    index = PatternIndex(numbered(nodes))
    assert index.hits("a" * 200_000 + "!").tolist() == []
    assert index.hits("x\0" + "a" * 1000).tolist() == [0]


def test_large_expressions_are_not_put_into_one_set():
    patterns = [rf"\pL{{{n}}}|{n}" for n in range(1, 21)]
    expressions = ExpressionSet(patterns)
    assert len(expressions._sets) > 2
    for text in ("é" * 12, "5", "nothing here: 17", ""):
        expected = [n for n, pattern in enumerate(patterns) if rlike(text, pattern)]
        assert expressions.found(text) == expected
