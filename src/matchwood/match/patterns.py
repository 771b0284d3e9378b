"""Predicates that one string decides and that are no interval: `PatternIndex`, one an attribute.

`like`, `ilike`, `endswith` and `contains` go by grams (`patterns_kernels`), and so does `rlike`
where an expression needs some text; the others are asked in sets (`patterns_expressions`).
`isa` is a question to the schema for each kind.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held, renew_in_children
from matchwood.language.arithmetic import Attribute
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies
from matchwood.language.strings import fold_character
from matchwood.language.tree import Call, Like, Node
from matchwood.language.values import Family, Literal, Value, family_of, read_time
from matchwood.match.patterns_expressions import Expression, ExpressionSet, needed_text
from matchwood.match.patterns_kernels import (
    EXACT,
    FOLDED,
    NO_GRAM,
    PAIRS,
    UNDECIDED,
    Grams,
    Patterns,
    Scratch,
    choose_checks,
    choose_grams,
    file_grams,
    match_texts,
)
from matchwood.match.patterns_parsing import (
    CONTAINS,
    ENDSWITH,
    EXPRESSION,
    LIKE,
    parse_patterns,
    split_pieces,
)

CACHED_VALUES = 20_000
CACHED_SIZE = 16 << 20  # characters of values and four times their hits
CACHED_LENGTH = 4096  # longer values are not kept
CACHED_HITS = 256  # nor are elements of lists with more hits

Numbers = NDArray[np.int32]


class PatternIndex:
    """All value tests of one attribute: which of them are true of a string, or of a list.

    Built when first asked; any number of threads may ask at once. Tests have the numbers that
    the caller gave them, which come back in no promised order, each once.

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
        self.tried = 0  # candidates so far; threads may lose a few of each other's
        self.calls = 0  # values asked about so far
        self._tests = tests
        self._schema = schema
        self._lock = threading.Lock()
        self._built: _Built | None = None
        self._cache: dict[str, Numbers] = {}
        self._cache_size = 0
        self._elements: dict[str, tuple[int, ...]] = {}  # places by element of a list
        for _, node in tests:
            if isinstance(node, Call) and node.name == "isa" and schema is None:
                raise RuleError(f"{node} needs a schema with a hierarchy for its attribute")
        renew_in_children(self)

    def after_fork(self) -> None:
        if is_left_held(self._lock):
            self._lock = threading.Lock()
            self._cache, self._cache_size = {}, 0

    def hits(self, value: str) -> Numbers:
        """The numbers of the tests that are true of a string."""
        self.calls += 1
        return self._parts().numbers[self._places(value)]

    def list_hits(self, values: tuple[Value, ...]) -> Numbers:
        """The numbers of the tests that are true of a list: of any of its values.

        `contains` asks for an element that is equal, never for a substring of one.

        >>> from matchwood.language import parse
        >>> index = PatternIndex([(0, parse("contains(a, 'ab')")), (1, parse("a like '%b'"))])
        >>> index.list_hits((Value(Family.STRING, "abb"),)).tolist()
        [1]
        """
        self.calls += 1
        parts = self._parts()
        found: set[int] = set()
        for value in dict.fromkeys(values):
            if value.family is Family.STRING:
                found.update(self._places_of_element(str(value.value)))
            else:
                found.update(parts.elements.equal_to(value))
        return parts.numbers[np.fromiter(found, np.int64, len(found))]

    def strings_hits(self, texts: Iterable[str]) -> Numbers:
        """`list_hits` of a list of nothing but strings."""
        self.calls += 1
        known = self._elements
        found: set[int] = set()
        for text in texts:
            places = known.get(text)
            found.update(self._places_of_element(text) if places is None else places)
        return self._parts().numbers[np.fromiter(found, np.int64, len(found))]

    def _places_of_element(self, text: str) -> tuple[int, ...]:
        """The places of the tests that are true of a list with this string in it."""
        found = self._elements.get(text)
        if found is None:
            parts = self._parts()
            places = self._places(text)
            equal = parts.elements.equal_to(Value(Family.STRING, text))
            found = (*places[~parts.substring[places]].tolist(), *equal)
            if len(text) <= CACHED_LENGTH and len(found) <= CACHED_HITS:
                if len(self._elements) >= CACHED_VALUES:
                    self._elements.clear()
                self._elements[text] = found
        return found

    def hits_of_many(self, values: Sequence[str]) -> tuple[NDArray[np.int64], Numbers]:
        """The hits of each value: those of value i are numbers[bounds[i]:bounds[i + 1]]."""
        self.calls += len(values)
        parts = self._parts()
        bounds, places, tried = parts.texts.matches(values)
        if parts.others:
            bounds, places, more = parts.with_others(values, bounds, places)
            tried += more
        self.tried += tried
        return bounds, parts.numbers[places]

    def hits_of_elements(self, values: Sequence[Value]) -> tuple[NDArray[np.int64], Numbers]:
        """The hits of a list of each value alone, as `hits_of_many` gives them."""
        self.calls += len(values)
        parts = self._parts()
        texts = [value.family is Family.STRING for value in values]
        asked = [str(value.value) for value in values if value.family is Family.STRING]
        bounds, places, tried = parts.texts.matches(asked)
        if parts.others:
            bounds, places, more = parts.with_others(asked, bounds, places)
            tried += more
        self.tried += tried
        owner = np.repeat(np.flatnonzero(texts), np.diff(bounds))
        kept = ~parts.substring[places]
        equal = [parts.elements.equal_to(value) for value in values]
        lengths = np.fromiter(map(len, equal), np.int64, len(equal))
        owner = np.r_[owner[kept], np.repeat(np.arange(len(values)), lengths)]
        equal_places = np.array([place for found in equal for place in found], np.int64)
        places = np.r_[places[kept], equal_places].astype(np.int64)
        counts = np.bincount(owner, minlength=len(values))
        return np.r_[0, np.cumsum(counts)], parts.numbers[places[np.argsort(owner, kind="stable")]]

    def _parts(self) -> _Built:
        built = self._built
        if built is None:
            with self._lock:
                if self._built is None:
                    self._built = _Built(self._tests, self._schema)
                built = self._built
        return built

    def _places(self, value: str) -> Numbers:
        """The places, among the tests, of those that are true of a string."""
        places = self._cache.get(value)
        if places is not None:
            return places
        parts = self._parts()
        bounds, places, tried = parts.texts.matches([value])
        if parts.others:
            _, places, more = parts.with_others([value], bounds, places)
            tried += more
        self.tried += tried
        if len(value) <= CACHED_LENGTH:
            self._keep(value, places)
        return places

    def _keep(self, value: str, places: Numbers) -> None:
        """Remember the latest values, within the budget."""
        with self._lock:
            if value in self._cache:
                return
            self._cache[value] = places
            self._cache_size += len(value) + 4 * len(places)
            while len(self._cache) > CACHED_VALUES or self._cache_size > CACHED_SIZE:
                oldest = next(iter(self._cache))
                self._cache_size -= len(oldest) + 4 * len(self._cache.pop(oldest))


class _Built:
    """The tests of an index, each in the structure that finds it; all speak of places."""

    def __init__(self, tests: Sequence[tuple[int, Node]], schema: Hierarchies | None) -> None:
        self.numbers: Numbers = np.array([number for number, _ in tests], np.int32)
        self.substring = np.zeros(len(tests), np.bool_)
        self.elements = _Elements()
        self.kinds: list[tuple[int, str, str]] = []
        self.schema = schema
        self.expressions: dict[int, Expression] = {}
        texts: list[_Text] = []
        unaided: list[tuple[int, str]] = []  # expressions that need no text
        for place, (_, node) in enumerate(tests):
            if isinstance(node, Like):
                if node.kind != "rlike":
                    compared = FOLDED if node.kind == "ilike" else EXACT
                    texts.append(_Text(place, node.pattern, LIKE, compared))
                elif text := needed_text(node.pattern):
                    texts.append(_Text(place, text, EXPRESSION, UNDECIDED))
                    self.expressions[place] = Expression(node.pattern)
                else:
                    unaided.append((place, node.pattern))
                continue
            name, attribute, argument = _call(node)
            if name == "contains":
                self.substring[place] = True
                self.elements.add(place, argument)
                if isinstance(argument, str):
                    texts.append(_Text(place, argument, CONTAINS, EXACT))
            elif name == "endswith":
                texts.append(_Text(place, str(argument), ENDSWITH, EXACT))
            else:
                self.kinds.append((place, attribute, str(argument)))
        self.texts = _Texts(texts)
        self.unaided = [place for place, _ in unaided]
        self.set = ExpressionSet([pattern for _, pattern in unaided]) if unaided else None
        # Whether anything is left to decide in Python
        self.others = bool(self.expressions or unaided or self.kinds)

    def with_others(
        self, values: Sequence[str], bounds: NDArray[np.int64], places: Numbers
    ) -> tuple[NDArray[np.int64], Numbers, int]:
        """The matches of patterns, with those of all other tests, and how many were tried."""
        flat = places.tolist()
        ends = bounds.tolist()
        merged: list[int] = []
        new_bounds = np.zeros(len(ends), np.int64)
        tried = 0
        for i, value in enumerate(values):
            for place in flat[ends[i] : ends[i + 1]]:
                if place >= 0:
                    merged.append(place)
                    continue
                tried += 1
                if self.expressions[-1 - place].finds(value):
                    merged.append(-1 - place)
            if self.set is not None:
                merged += [self.unaided[found] for found in self.set.found(value)]
            if self.kinds:
                merged += self._kinds_of(value)
            new_bounds[i + 1] = len(merged)
        return new_bounds, np.array(merged, np.int32), tried

    def _kinds_of(self, value: str) -> Iterable[int]:
        assert self.schema is not None
        is_a = self.schema.is_a
        return [place for place, attribute, kind in self.kinds if is_a(attribute, value, kind)]


def _call(node: Node) -> tuple[str, str, Literal]:
    if isinstance(node, Call) and node.name in ("contains", "endswith", "isa"):
        subject, argument = node.arguments
        if isinstance(subject, Attribute) and isinstance(argument, Literal):
            return node.name, subject.name, argument
    raise RuleError(f"one string does not decide {node}")


class _Elements:
    """What `contains` asks of the elements of a list."""

    def __init__(self) -> None:
        self._places: dict[tuple[Family, Literal], list[int]] = {}
        self._times = False

    def add(self, place: int, sought: Literal) -> None:
        family = family_of(sought)
        self._places.setdefault((family, sought), []).append(place)
        self._times |= family is Family.TIME

    def equal_to(self, value: Value) -> list[int]:
        if value.family is None or value.value is None:
            return []
        places = self._places.get((value.family, value.value), [])
        if self._times and value.family is Family.STRING:
            time = read_time(str(value.value))
            if time is not None:
                return places + self._places.get((Family.TIME, time), [])
        return places


class _Text(NamedTuple):
    place: int
    text: str
    reading: int  # LIKE, CONTAINS, ENDSWITH or EXPRESSION
    compared: int  # EXACT, FOLDED or UNDECIDED


class _Texts:
    """The patterns of an attribute in the arrays of `patterns_kernels`."""

    def __init__(self, texts: Sequence[_Text]) -> None:
        fold = fold_table()
        codes, bounds = code_points([text.text for text in texts])
        reading = np.array([text.reading for text in texts], np.uint8)
        compared = np.array([text.compared for text in texts], np.uint8)
        parsed, parsed_at = parse_patterns(codes, bounds, reading, compared == FOLDED, fold)
        pieces = split_pieces(parsed, parsed_at)
        self._fold = fold
        self._places = np.array([text.place for text in texts], np.int32)
        self._patterns = Patterns(*(_frozen(array) for array in (*pieces, compared)))
        checks = choose_checks(parsed, parsed_at, fold)
        keys, lengths = choose_grams(parsed, parsed_at, fold)
        self._grams = _grams(keys, lengths, checks)
        self._idle: list[Scratch] = []  # taken while a thread matches

    def matches(self, values: Sequence[str]) -> tuple[NDArray[np.int64], Numbers, int]:
        """Bounds and places; a place below zero is -1 - that of an undecided expression."""
        if not self._places.size:
            return np.zeros(len(values) + 1, np.int64), np.empty(0, np.int32), 0
        codes, bounds = code_points(values)
        try:
            scratch = self._idle.pop()
        except IndexError:
            scratch = _scratch(self._grams)
        at, found, tried = match_texts(
            codes, bounds, self._patterns, self._grams, self._fold, scratch
        )
        self._idle.append(scratch)
        if not found.size or found.min() >= 0:
            return at, self._places[found], tried
        decided = self._places[np.where(found < 0, -1 - found, found)]
        return at, np.where(found < 0, -1 - decided, decided), tried


def _grams(keys: Numbers, lengths: NDArray[np.int8], checks: NDArray[np.int16]) -> Grams:
    """File each pattern under its gram, or among those always tried."""
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


def _scratch(grams: Grams) -> Scratch:
    buckets = len(grams.bucket_at)
    return Scratch(
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
    encoded = "".join(values).encode("utf-32-le", "surrogatepass")
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
