"""Arrow arrays that are hard to read, each made from the Python values that it must be read as.

A kind draws values and builds arrays of them; kinds of lists, objects and encodings hold others.
Beneath every null lies a value that must not be seen.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa

OPAQUE = b"of no family"
NAMES = ("x", "y")


class Kind:
    """An Arrow type: the values that rules see, and arrays of them."""

    def draw(self, rng):
        raise NotImplementedError

    def build(self, values):
        raise NotImplementedError

    def value(self, rng):
        return None if rng.random() < 0.2 else self.draw(rng)

    def values(self, rng, count):
        return [self.value(rng) for _ in range(count)]


class Plain(Kind):
    """A type whose values Arrow takes as they are; `told` converts one to what rules see."""

    def __init__(self, kind, pool, raw=None):
        self.kind, self.pool = kind, pool
        self.raw = raw  # the type through which values are cast, and what rules see of each

    def draw(self, rng):
        return rng.choice(self.pool)

    def build(self, values):
        if self.raw is None:
            return pa.array(values, self.kind)
        wide, ticks = self.raw
        given = [None if value is None else ticks[value] for value in values]
        return pa.array(given, wide).cast(self.kind)


class Opaque(Plain):
    """A type of no family: rules see that it is there."""

    def __init__(self, kind, one):
        super().__init__(kind, [OPAQUE])
        self.one = one

    def build(self, values):
        return pa.array([None if value is None else self.one for value in values], self.kind)


class Nulls(Kind):
    def value(self, rng):
        return None

    draw = value

    def build(self, values):
        return pa.nulls(len(values))


def ticks_of(kind, unit):
    """Times in a unit, as NumPy has them, some of them beyond the range of Python."""
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    base = 1_767_225_600 * second  # 2026-01-01
    ticks = [base, base + 12 * 3600 * second, base + 1, 0, -1, base - 1]
    ticks += [10**6 * base // 10**3] if unit == "s" else []
    return Plain(
        kind,
        [np.datetime64(tick, unit) for tick in ticks],
        (pa.int64(), {np.datetime64(tick, unit): tick for tick in ticks}),
    )


class Lists(Kind):
    def __init__(self, inner, flavour, size=None):
        self.inner, self.flavour, self.size = inner, flavour, size

    def draw(self, rng):
        return self.inner.values(rng, rng.randint(0, 3) if self.size is None else self.size)

    def build(self, values):
        hidden = [None] * (self.size or 0)
        lists = [hidden if value is None else value for value in values]
        inner = self.inner.build([item for some in lists for item in some])
        sizes = [len(some) for some in lists]
        bounds = np.r_[0, np.cumsum(sizes)]
        mask = pa.array([value is None for value in values], pa.bool_())
        if self.flavour == "fixed":
            return pa.FixedSizeListArray.from_arrays(inner, self.size, mask=mask)
        if self.flavour == "list":
            return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), inner, mask=mask)
        if self.flavour == "large":
            return pa.LargeListArray.from_arrays(pa.array(bounds, pa.int64()), inner, mask=mask)
        views, width = pa.ListViewArray, pa.int32()
        if self.flavour == "large view":
            views, width = pa.LargeListViewArray, pa.int64()
        offsets = pa.array(bounds[:-1], width)
        return views.from_arrays(offsets, pa.array(sizes, width), inner, mask=mask)


class Objects(Kind):
    def __init__(self, fields):
        self.fields = fields

    def draw(self, rng):
        return {name: kind.value(rng) for name, kind in self.fields.items()}

    def build(self, values):
        mask = pa.array([value is None for value in values], pa.bool_())
        children = []
        for name, kind in self.fields.items():
            hidden = next((v[name] for v in values if v is not None), None)
            children.append(kind.build([hidden if v is None else v[name] for v in values]))
        return pa.StructArray.from_arrays(children, list(self.fields), mask=mask)


class Maps(Kind):
    """Keys may be repeated; the last one counts."""

    def __init__(self, inner):
        self.inner = inner

    def draw(self, rng):
        pairs = [(rng.choice(NAMES), self.inner.value(rng)) for _ in range(rng.randint(0, 3))]
        return Repeated(pairs)

    def build(self, values):
        lists = [[] if value is None else value.pairs for value in values]
        bounds = list(np.r_[0, np.cumsum([len(some) for some in lists])])
        offsets = [None if v is None else b for v, b in zip(values, bounds, strict=False)]
        keys = pa.array([key for some in lists for key, _ in some], pa.string())
        items = self.inner.build([item for some in lists for _, item in some])
        return pa.MapArray.from_arrays(pa.array([*offsets, bounds[-1]], pa.int32()), keys, items)


class Repeated(dict):
    """An object that was made of pairs, of which some have the same key."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs


class Dictionary(Kind):
    """Each array has a dictionary of its own, in an order of its own, with a null in it."""

    def __init__(self, inner, index, rng):
        self.inner, self.index, self.rng = inner, index, rng

    def draw(self, rng):
        return self.inner.draw(rng)

    def build(self, values):
        order = list(range(len(values)))
        self.rng.shuffle(order)
        hidden = self.inner.value(self.rng)
        dictionary = self.inner.build([hidden, *(values[place] for place in order)])
        place_of = {place: at for at, place in enumerate(order, 1)}
        indices = [
            None if value is None and self.rng.random() < 0.5 else place_of[place]
            for place, value in enumerate(values)
        ]
        return pa.DictionaryArray.from_arrays(pa.array(indices, self.index), dictionary)


class Runs(Kind):
    def __init__(self, inner, end):
        self.inner, self.end = inner, end

    def draw(self, rng):
        return self.inner.draw(rng)

    def build(self, values):
        ends = pa.array(range(1, len(values) + 1), self.end)
        return pa.RunEndEncodedArray.from_arrays(ends, self.inner.build(values))


class Label(pa.ExtensionType):
    """An extension over any storage."""

    def __init__(self, storage):
        super().__init__(storage, "tests.label")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


class Extension(Kind):
    def __init__(self, inner, kind=None):
        self.inner, self.kind = inner, kind

    def draw(self, rng):
        return self.inner.draw(rng)

    def build(self, values):
        storage = self.inner.build(values)
        return pa.ExtensionArray.from_storage(self.kind or Label(storage.type), storage)


class Booleans8(Kind):
    """Booleans in bytes."""

    def draw(self, rng):
        return rng.random() < 0.5

    def build(self, values):
        storage = pa.array([None if v is None else int(v) for v in values], pa.int8())
        return pa.ExtensionArray.from_storage(pa.bool8(), storage)


class Unions(Kind):
    def __init__(self, kinds, dense, rng):
        self.kinds, self.dense, self.rng = kinds, dense, rng

    def draw(self, rng):
        code = rng.randrange(len(self.kinds))
        return Member(code, self.kinds[code].value(rng))

    def value(self, rng):
        return self.draw(rng)

    def build(self, values):
        members = [Member(0, None) if value is None else value for value in values]
        codes = [member.code for member in members]
        type_codes = pa.array(codes, pa.int8())
        if not self.dense:
            children = [
                kind.build([m.value if m.code == code else kind.value(self.rng) for m in members])
                for code, kind in enumerate(self.kinds)
            ]
            return pa.UnionArray.from_sparse(type_codes, children)
        children = [
            kind.build([m.value for m in members if m.code == code])
            for code, kind in enumerate(self.kinds)
        ]
        offsets = [codes[:place].count(code) for place, code in enumerate(codes)]
        return pa.UnionArray.from_dense(type_codes, pa.array(offsets, pa.int32()), children)


class Member:
    def __init__(self, code, value):
        self.code, self.value = code, value


def told(value):
    """A value as rules see it, without what only builds arrays."""
    if isinstance(value, Member):
        return told(value.value)
    if isinstance(value, dict):
        return {name: told(inner) for name, inner in value.items()}
    return [told(item) for item in value] if isinstance(value, list) else value


# Every type


def _numbers():
    for bits in (8, 16, 32, 64):
        least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        large = [2**53 + 1] if bits == 64 else []
        yield Plain(getattr(pa, f"int{bits}")(), [0, 1, 2, 5, least, most, *large])
        yield Plain(getattr(pa, f"uint{bits}")(), [0, 1, 2, 5, 2**bits - 1, *large])
    floats = [0.1, 0.5, 1.0, 1.1, -0.0, 5.0, np.inf, -np.inf, np.nan]
    yield Plain(pa.float16(), [np.float16(value) for value in floats])
    yield Plain(pa.float32(), [float(np.float32(value)) for value in floats])
    yield Plain(pa.float64(), [*floats, 1e22, 2.0**63])
    decimals = [Decimal("0.1"), Decimal("1.1"), Decimal(1), Decimal("5.00"), Decimal("-3")]
    for name, *form in (
        ("decimal32", 6, 2), ("decimal64", 12, 2), ("decimal128", 38, 4), ("decimal256", 60, 20),
    ):  # fmt: skip
        if hasattr(pa, name):
            yield Plain(getattr(pa, name)(*form), decimals)


TEXTS = ["x", "y", "ab", "", "É", "2026-01-01", "2026-01-01T12:00:00Z", "\U0010ffff"]


def _texts():
    yield Plain(pa.string(), TEXTS)
    yield Plain(pa.large_string(), TEXTS)
    if hasattr(pa, "string_view"):
        yield Plain(pa.string_view(), TEXTS)


def _times():
    days = [date(2026, 1, 1), date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31)]
    yield Plain(pa.date32(), days)
    epoch = date(1970, 1, 1)
    late = {day: (day - epoch) // timedelta(milliseconds=1) + 3_600_000 for day in days}
    yield Plain(pa.date64(), days, (pa.int64(), late))  # an hour past midnight
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "America/New_York", "+05:30", "Nowhere/Such"):
            yield ticks_of(pa.timestamp(unit, zone), unit)


def _opaque():
    for kind in (pa.binary(), pa.large_binary(), pa.binary(2)):
        yield Opaque(kind, b"xy")
    if hasattr(pa, "binary_view"):
        yield Opaque(pa.binary_view(), b"x")
    for unit in ("s", "ms", "us", "ns"):
        yield Opaque(pa.duration(unit), 5)
    yield Opaque(pa.time32("s"), 5)
    yield Opaque(pa.time32("ms"), 5)
    yield Opaque(pa.time64("us"), 5)
    yield Opaque(pa.time64("ns"), 5)
    yield Opaque(pa.month_day_nano_interval(), (1, 2, 3))


BASIC = [
    *_numbers(), *_texts(), *_times(), *_opaque(), Nulls(), Plain(pa.bool_(), [True, False]),
]  # fmt: skip
LIST_FLAVOURS = ["list", "large", "fixed"]
if hasattr(pa, "list_view"):
    LIST_FLAVOURS += ["view", "large view"]
INDICES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
]
ENDS = [pa.int16(), pa.int32(), pa.int64()]


def any_kind(rng, depth=3):
    """A kind, with as many others inside as the depth allows."""
    if depth == 0 or rng.random() < 0.35:
        return rng.choice(BASIC)
    made = rng.choice((_list, _list, _object, _object, _dictionary, _dictionary, _run, _rare))
    return made(rng, depth - 1)


def _list(rng, depth):
    flavour = rng.choice(LIST_FLAVOURS)
    return Lists(any_kind(rng, depth), flavour, 2 if flavour == "fixed" else None)


def _object(rng, depth):
    return Objects({name: any_kind(rng, depth) for name in NAMES[: rng.randint(1, 2)]})


def _dictionary(rng, depth):
    return Dictionary(any_kind(rng, depth), rng.choice(INDICES), rng)


def _run(rng, depth):
    return Runs(any_kind(rng, depth), rng.choice(ENDS))


def _rare(rng, depth):
    choice = rng.randrange(4)
    if choice == 0:
        return Maps(any_kind(rng, depth))
    if choice == 1:
        return Unions([any_kind(rng, depth), any_kind(rng, depth)], rng.random() < 0.5, rng)
    if choice == 2 and hasattr(pa, "bool8"):
        return Booleans8()
    return Extension(any_kind(rng, depth))
