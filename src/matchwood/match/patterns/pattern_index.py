"""Predicates that one string decides and that are no interval: one `PatternIndex` per attribute.

`like`, `ilike`, `endswith` and `contains` are found by grams (`gram_kernels`), and `rlike` by RE2
(`expressions`). For `isa` the schema is asked about each kind.

A *test* is such a predicate. Inside this module it is identified by its index in the list that
the caller gave; results have the numbers that the caller chose.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cache
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held, renew_in_children
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies
from matchwood.language.remembered import Remembered
from matchwood.language.strings import fold_character
from matchwood.language.tree import Call, Like, Node
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.subjects import unlowered
from matchwood.language.values import Family, Literal, Value, family_of, read_time
from matchwood.language.wildcards import CODE_POINTS
from matchwood.match.patterns.expressions import ExpressionSet
from matchwood.match.patterns.gram_kernels import (
    EXACT,
    FOLDED,
    NO_GRAM,
    PAIRS,
    Grams,
    GramScratch,
    Patterns,
    choose_checks,
    choose_grams,
    file_grams,
    match_texts,
)
from matchwood.match.patterns.wildcard_kernels import (
    CONTAINS,
    ENDSWITH,
    LIKE,
    parse_patterns,
    split_pieces,
)

# Bytes of the values that are remembered, and of their tests.
VALUES_BUDGET = 16 << 20

# Characters of the longest value that is remembered.
CACHED_LENGTH = 4096

# Bytes of the elements of lists that are remembered, and of their tests.
ELEMENTS_BUDGET = 16 << 20

# Bytes of an int of Python.
_INT = getsizeof(1 << 16)

Numbers = NDArray[np.int32]


class PatternIndex:
    """All value tests of one attribute: which of them are true of a string, or of a list.

    Built when first used; any number of threads may use it at once. Tests have the numbers that
    the caller gave them; each number is returned once, in no promised order.

    >>> from matchwood.language import parse
    >>> rules = ["path like '%.exe'", "path ilike '%/TEMP/%'", "contains(path, 'temp')"]
    >>> index = PatternIndex([(7 + i, parse(rule)) for i, rule in enumerate(rules)])
    >>> sorted(index.hits("/temp/a.exe").tolist())
    [7, 8, 9]
    >>> bounds, numbers = index.hits_of_many(["a.exe", "", "b.exe"])
    >>> bounds.tolist(), numbers.tolist()
    ([0, 1, 1, 2], [7, 7])
    """

    def __init__(
        self, tests: Sequence[tuple[int, Node]], schema: Hierarchies | None = None
    ) -> None:
        self._texts_tried = 0  # threads may lose a few counts
        self.calls = 0  # values that were looked up so far
        self._tests = tests
        self._schema = schema
        self._lock = threading.Lock()
        self._built: _Built | None = None
        # Tests by value, and by element of a list.
        self._values: Remembered[str, Numbers] = Remembered(VALUES_BUDGET)
        self._elements: Remembered[str, tuple[int, ...]] = Remembered(ELEMENTS_BUDGET)
        # Whether some test is a regular expression, whose size says what it costs.
        self.has_expressions = any(
            isinstance(node, Like) and node.kind == "rlike" for _, node in tests
        )
        # Whether some test looks for an element of a list that is no string.
        self.seeks_values = any(seeks_value(node) for _, node in tests)
        for _, node in tests:
            if isinstance(node, Call) and node.name == "isa" and schema is None:
                raise RuleError(f"{node} needs a schema with a hierarchy for its attribute")
        renew_in_children(self)

    def after_fork(self) -> None:
        """Let go of what another thread was building."""
        if is_left_held(self._lock):
            self._lock = threading.Lock()

    def build(self) -> None:
        """Make what is otherwise made for the first value."""
        self._parts()

    @property
    def tried(self) -> int:
        """About how many candidates were verified so far; threads may lose a few counts."""
        built = self._built
        searched = 0 if built is None or built.expressions is None else built.expressions.tried
        return self._texts_tried + searched

    def hits(self, value: str) -> Numbers:
        """The numbers of the tests that are true of a string."""
        self.calls += 1
        return self._parts().numbers[self._true_tests(value)]

    def list_hits(self, values: tuple[Value, ...]) -> Numbers:
        """The numbers of the tests that are true of any value of a list.

        `contains` looks for an equal element, never for a substring of one.

        >>> from matchwood.language import parse
        >>> index = PatternIndex([(0, parse("contains(a, 'ab')")), (1, parse("a like '%b'"))])
        >>> index.list_hits((Value(Family.STRING, "abb"),)).tolist()
        [1]
        """
        self.calls += 1
        parts = self._parts()
        true: set[int] = set()
        for value in dict.fromkeys(values):
            if value.family is Family.STRING:
                true.update(self._tests_of_element(str(value.value)))
            else:
                true.update(parts.elements.equal_to(value))
        return parts.numbers[np.fromiter(true, np.int64, len(true))]

    def strings_hits(self, texts: Iterable[str]) -> Numbers:
        """`list_hits` for a list that holds only strings."""
        self.calls += 1
        known = self._elements
        true: set[int] = set()
        for text in texts:
            tests = known.get(text)
            true.update(self._tests_of_element(text) if tests is None else tests)
        return self._parts().numbers[np.fromiter(true, np.int64, len(true))]

    def _tests_of_element(self, text: str) -> tuple[int, ...]:
        """The tests that are true of a list with this string in it."""
        true = self._elements.get(text)
        if true is None:
            parts = self._parts()
            tests = self._true_tests(text)
            equal = parts.elements.equal_to(Value(Family.STRING, text))
            true = (*tests[~parts.substring[tests]].tolist(), *equal)
            if len(text) <= CACHED_LENGTH:
                size = getsizeof(text) + getsizeof(true) + _INT * len(true)
                self._elements.remember(text, true, size)
        return true

    def hits_of_many(self, values: Sequence[str]) -> tuple[NDArray[np.int64], Numbers]:
        """The hits of each value: those of value i are numbers[bounds[i]:bounds[i + 1]]."""
        self.calls += len(values)
        parts = self._parts()
        bounds, tests, tried = parts.texts.matches(values)
        if parts.others:
            bounds, tests = parts.with_others(values, bounds, tests)
        self._texts_tried += tried
        return bounds, parts.numbers[tests]

    def hits_of_elements(self, values: Sequence[Value]) -> tuple[NDArray[np.int64], Numbers]:
        """The hits of lists that hold one of the values each, in the form of `hits_of_many`."""
        self.calls += len(values)
        parts = self._parts()
        is_text = [value.family is Family.STRING for value in values]
        texts = [str(value.value) for value in values if value.family is Family.STRING]
        bounds, tests, tried = parts.texts.matches(texts)
        if parts.others:
            bounds, tests = parts.with_others(texts, bounds, tests)
        self._texts_tried += tried
        owner = np.repeat(np.flatnonzero(is_text), np.diff(bounds))
        kept = ~parts.substring[tests]
        equal = [parts.elements.equal_to(value) for value in values]
        lengths = np.fromiter(map(len, equal), np.int64, len(equal))
        owner = np.r_[owner[kept], np.repeat(np.arange(len(values)), lengths)]
        equal_tests = np.array([test for some in equal for test in some], np.int64)
        tests = np.r_[tests[kept], equal_tests].astype(np.int64)
        counts = np.bincount(owner, minlength=len(values))
        return np.r_[0, np.cumsum(counts)], parts.numbers[tests[np.argsort(owner, kind="stable")]]

    def _parts(self) -> _Built:
        built = self._built
        if built is None:
            with self._lock:
                if self._built is None:
                    self._built = _Built(self._tests, self._schema)
                built = self._built
        return built

    def _true_tests(self, value: str) -> Numbers:
        """The tests that are true of a string."""
        tests = self._values.get(value)
        if tests is not None:
            return tests
        parts = self._parts()
        bounds, tests, tried = parts.texts.matches([value])
        if parts.others:
            _, tests = parts.with_others([value], bounds, tests)
        self._texts_tried += tried
        if len(value) <= CACHED_LENGTH:
            self._values.remember(value, tests, getsizeof(value) + getsizeof(tests))
        return tests


class _Built:
    """The tests of an index, each in the structure that finds it."""

    def __init__(self, tests: Sequence[tuple[int, Node]], schema: Hierarchies | None) -> None:
        self.numbers: Numbers = np.array([number for number, _ in tests], np.int32)
        self.substring = np.zeros(len(tests), np.bool_)
        self.elements = _SoughtElements()
        self.kinds: list[tuple[int, str, str]] = []
        self.schema = schema
        texts: list[_Text] = []
        expressions: dict[int, str] = {}
        for number, (_, node) in enumerate(tests):
            if isinstance(node, Like):
                if node.kind == "rlike":
                    expressions[number] = node.pattern
                else:
                    compared = FOLDED if node.kind == "ilike" else EXACT
                    texts.append(_Text(number, node.pattern, LIKE, compared))
                continue
            name, attribute, argument = _call(node)
            if name == "contains":
                self.substring[number] = True
                self.elements.add(number, argument)
                if isinstance(argument, str):
                    texts.append(_Text(number, argument, CONTAINS, EXACT))
            elif name == "endswith":
                texts.append(_Text(number, str(argument), ENDSWITH, EXACT))
            else:
                self.kinds.append((number, unlowered(attribute), str(argument)))
        self.texts = _Texts(texts)
        self.expression_tests = list(expressions)
        self.expressions = ExpressionSet(list(expressions.values())) if expressions else None
        # Whether some tests are decided in Python.
        self.others = bool(expressions or self.kinds)

    def with_others(
        self, values: Sequence[str], bounds: NDArray[np.int64], tests: Numbers
    ) -> tuple[NDArray[np.int64], Numbers]:
        """Add the hits of all other tests to those of patterns."""
        flat = tests.tolist()
        ends = bounds.tolist()
        merged: list[int] = []
        new_bounds = np.zeros(len(ends), np.int64)
        for i, value in enumerate(values):
            merged += flat[ends[i] : ends[i + 1]]
            if self.expressions is not None:
                merged += [self.expression_tests[index] for index in self.expressions.found(value)]
            if self.kinds:
                merged += self._kinds_of(value)
            new_bounds[i + 1] = len(merged)
        return new_bounds, np.array(merged, np.int32)

    def _kinds_of(self, value: str) -> Iterable[int]:
        assert self.schema is not None
        is_a = self.schema.is_a
        return [test for test, attribute, kind in self.kinds if is_a(attribute, value, kind)]


def seeks_value(node: Node) -> bool:
    """Whether a test looks for an element of a list that is no string."""
    return (
        isinstance(node, Call)
        and node.name == "contains"
        and not isinstance(node.arguments[1], str)
    )


def _call(node: Node) -> tuple[str, str, Literal]:
    if isinstance(node, Call) and node.name in ("contains", "endswith", "isa"):
        subject, argument = node.arguments
        if isinstance(subject, Attribute) and isinstance(argument, Literal):
            return node.name, subject.name, argument
    raise RuleError(f"one string does not decide {node}")


class _SoughtElements:
    """The elements of lists that `contains` looks for, and the tests that look for each."""

    def __init__(self) -> None:
        self._tests: dict[tuple[Family, Literal], list[int]] = {}
        self._times = False

    def add(self, test: int, sought: Literal) -> None:
        family = family_of(sought)
        self._tests.setdefault((family, sought), []).append(test)
        self._times |= family is Family.TIME

    def equal_to(self, value: Value) -> list[int]:
        """The tests that look for an element equal to this value."""
        if value.family is None or value.value is None:
            return []
        tests = self._tests.get((value.family, value.value), [])
        if self._times and value.family is Family.STRING:
            time = read_time(str(value.value))
            if time is not None:
                return tests + self._tests.get((Family.TIME, time), [])
        return tests


class _Text(NamedTuple):
    """The text of a test that grams find."""

    test: int
    text: str
    reading: int  # LIKE, CONTAINS or ENDSWITH
    compared: int  # EXACT or FOLDED


class _Texts:
    """The patterns of an attribute in the arrays of `gram_kernels`."""

    def __init__(self, texts: Sequence[_Text]) -> None:
        fold = fold_table()
        codes, bounds = code_points([text.text for text in texts])
        reading = np.array([text.reading for text in texts], np.uint8)
        compared = np.array([text.compared for text in texts], np.uint8)
        parsed, parsed_at = parse_patterns(codes, bounds, reading, compared == FOLDED, fold)
        pieces = split_pieces(parsed, parsed_at)
        self._fold = fold
        self._tests = np.array([text.test for text in texts], np.int32)
        self._patterns = Patterns(*(_frozen(array) for array in (*pieces, compared)))
        checks = choose_checks(parsed, parsed_at, fold)
        keys, lengths = choose_grams(parsed, parsed_at, fold)
        self._grams = _grams(keys, lengths, checks)
        self._idle: list[GramScratch] = []  # a thread takes one while it matches

    def matches(self, values: Sequence[str]) -> tuple[NDArray[np.int64], Numbers, int]:
        """The hits of each value, and how many candidates were tried."""
        if not self._tests.size:
            return np.zeros(len(values) + 1, np.int64), np.empty(0, np.int32), 0
        codes, bounds = code_points(values)
        try:
            scratch = self._idle.pop()
        except IndexError:
            scratch = _scratch(self._grams)
        at, patterns, tried = match_texts(
            codes, bounds, self._patterns, self._grams, self._fold, scratch
        )
        self._idle.append(scratch)
        return at, self._tests[patterns], tried


def _grams(keys: Numbers, lengths: NDArray[np.int8], checks: NDArray[np.int16]) -> Grams:
    """File each pattern under its gram, or among those that are always tried."""
    filed = np.flatnonzero(lengths != NO_GRAM).astype(np.int32)
    always = np.flatnonzero(lengths == NO_GRAM).astype(np.int32)
    distinct, bucket, sizes = np.unique(keys[filed], return_inverse=True, return_counts=True)
    bucket_at = np.zeros(len(distinct) + 2, np.int32)
    np.cumsum([*sizes, len(always)], out=bucket_at[1:])
    used = np.zeros(9, np.uint8)
    used[lengths[filed]] = 1
    bits = max(4096, 1 << (16 * len(distinct)).bit_length())
    table = max(64, 1 << (2 * len(distinct)).bit_length())
    bitmap, table_keys, slots = file_grams(distinct, bits, table)
    members = np.concatenate([filed[np.argsort(bucket, kind="stable")], always])
    arrays = (used, bitmap, table_keys, slots, bucket_at, members, checks[members])
    return Grams(*(_frozen(array) for array in arrays))


def _scratch(grams: Grams) -> GramScratch:
    buckets = len(grams.bucket_at)
    return GramScratch(
        np.zeros(buckets, np.int32),
        np.empty(buckets, np.int32),
        np.zeros(PAIRS, np.int32),
        np.zeros(1, np.int64),
    )


def code_points(values: Sequence[str]) -> tuple[Numbers, NDArray[np.int64]]:
    """All values in one array, and the bounds of each.

    >>> codes, bounds = code_points(["a", "", "€"])
    >>> codes.tolist(), bounds.tolist()
    ([97, 8364], [0, 1, 1, 2])
    """
    bounds = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=bounds[1:])
    encoded = "".join(values).encode(CODE_POINTS, "surrogatepass")
    return np.frombuffer(encoded, "<i4"), _frozen(bounds)


@cache
def fold_table() -> Numbers:
    """The folded form of every code point.

    >>> chr(fold_table()[ord("Σ")])
    'σ'
    """
    table = np.arange(0x110000, dtype=np.int32)
    for first in range(0, 0x110000, 256):
        block = "".join(map(chr, range(first, first + 256)))
        if block.casefold() != block or block.lower() != block:
            table[first : first + 256] = [ord(fold_character(character)) for character in block]
    return _frozen(table)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Contiguous and read-only, so that kernels are compiled for one type of array."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
