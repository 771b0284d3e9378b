"""What is remembered takes no more memory than its budget, whatever the length of the values."""

import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from matchwood.language import parse, strings
from matchwood.language.remembered import Remembered, remembered_by_text
from matchwood.match.event import element_index, string_hits
from matchwood.match.event.string_hits import StringHits
from matchwood.match.patterns import pattern_index
from matchwood.match.patterns.pattern_index import PatternIndex
from matchwood.matcher import Matcher

# Bytes that what is remembered may take in these tests.
BUDGET = 100_000


def growth(work: Callable[[], object]) -> int:
    """Bytes of Python that are allocated after the work and were not before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def texts(count: int, length: int) -> Iterator[str]:
    """Texts of which no two are alike."""
    return (f"{number:06}".ljust(length, "x") for number in range(count))


@pytest.mark.parametrize("length", [6, 1_000, 50_000])
def test_the_budget_is_kept(length: int) -> None:
    @remembered_by_text(BUDGET, lambda _, result: len(result))
    def reversed_text(text: str) -> str:
        return text[::-1]

    count = max(20, min(2_000, 3 * BUDGET // length))
    work = lambda: [reversed_text(text) for text in texts(count, length)] and None  # noqa: E731
    assert growth(work) < 1.3 * BUDGET + 20_000
    assert reversed_text.known.bytes <= BUDGET
    assert reversed_text("abc") == reversed_text.known["abc"] == "cba"


def test_what_is_too_large_drives_nothing_out() -> None:
    known: Remembered[str, int] = Remembered(10_000)
    known.remember("a", 1, 50)
    known.remember("b", 2, 9_000)
    assert known == {"a": 1}
    for number in range(1_000):
        known.remember(str(number), number, 50)
    assert 0 < len(known) < 100
    known.clear()
    assert known.bytes == 0


PATTERNS = {
    strings.like_pieces: "x%",
    strings.folded_pieces: "X%",
    strings.compiled_program: "",
    strings.regular_expression: "",
}


@pytest.mark.parametrize("function", PATTERNS, ids=lambda function: function.__name__)
def test_patterns(function: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(function, type(strings.like_pieces))
    monkeypatch.setattr(function.known, "budget", BUDGET)
    function.known.clear()
    ending = PATTERNS[function]  # type: ignore[index]
    for text in texts(30, 5_000):
        function(text + ending)
    assert function.known.bytes <= BUDGET
    monkeypatch.undo()
    assert strings.like("xab", "x%")
    assert strings.ilike("XAB", "x%")
    assert strings.rlike("xab", "a.")


@pytest.mark.slow  # without compiled kernels
@pytest.mark.parametrize(("count", "length"), [(500, 30), (40, 4_000)])
def test_lists_and_their_elements(count: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_hits, "LISTS_BUDGET", BUDGET)
    monkeypatch.setattr(pattern_index, "ELEMENTS_BUDGET", BUDGET)
    monkeypatch.setattr(pattern_index, "VALUES_BUDGET", BUDGET)
    rules = ["a like '%x'", "a like '0%'", *(f"contains(a, '{text}')" for text in texts(50, 9))]
    index = PatternIndex([(number, parse(rule)) for number, rule in enumerate(rules)])
    hits = StringHits({"a": index})
    assert sorted(hits.hits("a", ("0x", "b")).tolist()) == [0, 1]

    def work() -> None:
        for text in texts(count, length):
            found = hits.hits("a", (text, text + "b", text + "c"))
            assert sorted(found.tolist()) == [0, 1]

    assert growth(work) < 1.3 * 3 * BUDGET + 20_000
    assert hits._lists.bytes <= BUDGET
    assert index._elements.bytes <= BUDGET


@pytest.mark.slow
def test_elements_that_many_rules_are_true_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_index, "ELEMENTS_BUDGET", BUDGET)
    matcher = Matcher({number: f"any(a, it > {-number})" for number in range(1_000)})
    matcher.join()
    for number in range(200):
        assert len(matcher.match({"a": [number, 3]})) == 1_000
    (part,) = matcher.store.snapshot.parts
    assert part.matcher.lazy is not None
    (known,) = [index._known for index in part.matcher.lazy.elements._paths.values()]
    assert 0 < known.bytes <= BUDGET


@pytest.mark.slow
def test_strings_that_many_patterns_are_true_of() -> None:
    letters = "abcdefghijklmn"
    pairs = [f"a like '%{x}%{y}%{z}%'" for x in letters for y in letters for z in letters]
    matcher = Matcher(dict(enumerate(pairs)))
    matcher.join()
    for value in ("no", ["no"], 3 * letters, [3 * letters], [3 * letters, "no"]):
        expected = 0 if value in ("no", ["no"]) else len(pairs)
        assert len(matcher.match({"a": value})) == expected
    (part,) = matcher.store.snapshot.parts
    tables = part.matcher._own_tables["a"]
    assert list(tables[str]) == list(tables[list]._elements) == ["no"]
